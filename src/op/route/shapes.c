/* Routers of released models. */
#include "op/route/contract.h"
#include "op/route/internal.h"
#include "registry/bench.h"

static const struct {
    const char *name;
    size_t experts, used;
} shapes[] = {
    {"Qwen3.8-Flash-Next router", 512, 10},
    {"Qwen3.8-Flash-Next pruned router", 256, 10},
};

static void bench_shape(struct vv_bench *bench, size_t shape, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, experts = shapes[shape].experts, pairs = n * shapes[shape].used;
    const struct vv_route a = {
        .logits = vv_check_normals(memory, n * experts),
        .expert = vv_check_memory(memory, pairs * sizeof(int32_t)),
        .weight = vv_check_floats(memory, pairs),
        .rows = {&rows, 1},
        .experts = experts,
        .used = shapes[shape].used,
    };
    vv_bench_case(bench, &vv_route, &a, rows, shapes[shape].name, (struct vv_bench_work){0});
}

void vv_route_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_route, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

/* Routers of released models. */
#include "op/hash_route/internal.h"
#include "registry/bench.h"

enum { EXPERTS = 256, USED = 6, VOCABULARY = 129280 };

static void bench_shape(struct vv_bench *bench, bool by_table, int32_t rows, const char *shape) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows;
    int32_t *table = NULL;
    if (by_table) {
        table = vv_check_memory(memory, (size_t)VOCABULARY * USED * sizeof *table);
        for (size_t i = 0; i < (size_t)VOCABULARY * USED; i++) {
            table[i] = (int32_t)vv_check_below(memory, EXPERTS);
        }
    }
    const struct vv_hash_route a = {.logits = vv_check_normals(memory, n * EXPERTS),
                                    .bias = by_table ? NULL : vv_check_normals(memory, EXPERTS),
                                    .table = table,
                                    .tokens = VOCABULARY,
                                    .window = vv_check_window(memory, rows, 1, NULL, VOCABULARY),
                                    .score = by_table ? NULL : vv_check_floats(memory, n * EXPERTS),
                                    .expert = vv_check_memory(memory, n * USED * sizeof(int32_t)),
                                    .weight = vv_check_floats(memory, n * USED),
                                    .rows = {&rows, 1},
                                    .experts = EXPERTS,
                                    .used = USED,
                                    .scale = 1.5f};
    vv_bench_case(bench, &vv_hash_route, &a, rows, shape, (struct vv_bench_work){0});
}

void vv_hash_route_bench(struct vv_bench *bench) {
    static const char *const shapes[] = {"DeepSeek V4 Flash router",
                                         "DeepSeek V4 Flash hash router"};
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_hash_route, shapes[s])) {
                bench_shape(bench, s == 1, vv_bench_rows(bench, i), shapes[s]);
            }
        }
    }
}

/* Mixtures of released models. */
#include "op/experts/contract.h"
#include "op/experts/internal.h"
#include "op/quantize_rows/check_planes.h"
#include "op/route/contract.h"
#include "quant/format.h"
#include "registry/bench.h"

#include <string.h>

static const struct {
    const char *name;
    size_t experts, used, width, hidden;
    int in, out;
} shapes[] = {
    {"Qwen3.8-Flash-Next experts Q4_K Q5_1", 512, 10, 2560, 640, VV_TYPE_Q4_K, VV_TYPE_Q5_1},
    {"Qwen3.8-Flash-Next experts IQ3_S IQ4_NL", 512, 10, 2560, 640, VV_TYPE_IQ3_S, VV_TYPE_IQ4_NL},
    {"Qwen3.8-Flash-Next experts Q8_0", 512, 10, 2560, 640, VV_TYPE_Q8_0, VV_TYPE_Q8_0},
};

/*
 * A window's routes, drawn from all experts alike. Experts that no row takes are left out and the
 * others numbered anew, so that a weight holds what a call reads and its copies what another would.
 */
struct routes {
    struct vv_rows rows;
    size_t experts, pairs; /* experts that have rows */
    int32_t *active, *begin, *pair;
};

static void draw(struct vv_check *memory, size_t shape, size_t rows, int32_t *expert,
                 int32_t *number) {
    size_t experts = shapes[shape].experts, used = shapes[shape].used;
    for (size_t row = 0; row < rows; row++) {
        size_t taken = 0;
        for (size_t e = 0; e < experts; e++) { /* `used` different ones, ascending */
            if (vv_check_below(memory, experts - e) < used - taken) {
                expert[row * used + taken++] = (int32_t)e;
                number[e] = 1;
            }
        }
    }
}

static struct routes new_routes(struct vv_check *memory, size_t shape, const int32_t *rows) {
    size_t experts = shapes[shape].experts, used = shapes[shape].used;
    struct routes r = {.rows = {rows, 1}, .pairs = (size_t)*rows * used};
    int32_t *expert = vv_check_memory(memory, r.pairs * sizeof *expert);
    int32_t *number = vv_check_memory(memory, experts * sizeof *number);
    memset(number, 0, experts * sizeof *number);
    draw(memory, shape, (size_t)*rows, expert, number);
    for (size_t e = 0; e < experts; e++) {
        r.experts += (size_t)number[e];
        number[e] = (int32_t)r.experts - 1;
    }
    for (size_t i = 0; i < r.pairs; i++) {
        expert[i] = number[expert[i]];
    }
    r.active = vv_check_memory(memory, (1 + r.experts) * sizeof *r.active);
    r.begin = vv_check_memory(memory, (1 + r.experts) * sizeof *r.begin);
    r.pair = vv_check_memory(memory, r.pairs * sizeof *r.pair);
    const struct vv_route_group group = {expert,   r.rows,  r.experts, used,
                                         r.active, r.begin, r.pair};
    vv_route_group.variants->run(&group, 0, 1);
    return r;
}

static struct vv_planes planes(struct vv_check *memory, size_t rows, size_t width) {
    return vv_check_planes(memory, vv_check_normals(memory, rows * width), rows, width,
                           VV_PLANES_COARSE | VV_PLANES_FINE);
}

static void bench_up(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t width = shapes[s].width, hidden = shapes[s].hidden;
    struct routes r = new_routes(memory, s, &rows);
    const struct vv_expert_up a = {
        .u = planes(memory, (size_t)rows, width),
        .gate = vv_check_weight(memory, shapes[s].in, width, hidden, r.experts),
        .up = vv_check_weight(memory, shapes[s].in, width, hidden, r.experts),
        .hidden = hidden,
        .active = r.active,
        .begin = r.begin,
        .pair = r.pair,
        .used = shapes[s].used,
        .h = vv_check_floats(memory, r.pairs * hidden),
        .rows = r.rows,
    };
    vv_bench_case(bench, &vv_expert_up, &a, rows, shapes[s].name,
                  (struct vv_bench_work){4.0 * (double)(r.pairs * width * hidden), true});
}

static void bench_down(struct vv_bench *bench, size_t s, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t width = shapes[s].width, hidden = shapes[s].hidden;
    struct routes r = new_routes(memory, s, &rows);
    const struct vv_expert_down a = {
        .h = planes(memory, r.pairs, hidden),
        .down = vv_check_weight(memory, shapes[s].out, hidden, width, r.experts),
        .active = r.active,
        .begin = r.begin,
        .pair = r.pair,
        .y = vv_check_floats(memory, r.pairs * width),
        .width = width,
        .rows = r.rows,
        .used = shapes[s].used,
    };
    vv_bench_case(bench, &vv_expert_down, &a, rows, shapes[s].name,
                  (struct vv_bench_work){2.0 * (double)(r.pairs * width * hidden), true});
}

void vv_experts_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_expert_up, shapes[s].name)) {
                bench_up(bench, s, vv_bench_rows(bench, i));
            }
            if (vv_bench_wants(bench, &vv_expert_down, shapes[s].name)) {
                bench_down(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

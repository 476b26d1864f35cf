/* Vocabularies of released models, greedily and with the filters that model cards recommend. */
#include "op/sample/contract.h"
#include "op/sample/internal.h"
#include "registry/bench.h"

static const struct {
    const char *name;
    size_t vocabulary;
    struct vv_draw draw;
} shapes[] = {
    {"Qwen3.8-Flash-Next greedy", 248320, {.wanted = 1}},
    {"Qwen3.8-Flash-Next top_k 20, top_p 0.95",
     248320,
     {.wanted = 1, .temperature = 1.0f, .filtering = 1.0f, .top_k = 20, .top_p = 0.95f}},
    {"Qwen3.8-Flash-Next min_p 0.05",
     248320,
     {.wanted = 1, .temperature = 1.0f, .filtering = 1.0f, .top_p = 1.0f, .min_p = 0.05f}},
    {"Qwen3.8-Flash-Next top_p 0.9",
     248320,
     {.wanted = 1, .temperature = 1.0f, .filtering = 1.0f, .top_p = 0.9f}},
};

static void bench_shape(struct vv_bench *bench, size_t shape, int32_t rows) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, vocabulary = shapes[shape].vocabulary;
    float *logits = vv_check_normals(memory, n * vocabulary);
    struct vv_window *w = vv_check_window(memory, rows, 1, NULL, 10);
    w->draw = vv_check_memory(memory, n * sizeof *w->draw);
    w->draws = shapes[shape].draw.temperature > 0 ? VV_DRAWS_WEIGHED : VV_DRAWS_GREEDY;
    for (size_t r = 0; r < n; r++) {
        w->draw[r] = shapes[shape].draw;
        w->draw[r].position = r;
    }
    for (size_t i = 0; i < n * vocabulary; i++) {
        logits[i] *= 3; /* about as wide as a model's */
    }
    const struct vv_sample a = {
        logits, vv_check_memory(memory, n * sizeof(int32_t)), vocabulary, w, {&w->outputs, 1}};
    vv_bench_case(bench, &vv_sample, &a, rows, shapes[shape].name, (struct vv_bench_work){0});
}

void vv_sample_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            if (vv_bench_wants(bench, &vv_sample, shapes[s].name)) {
                bench_shape(bench, s, vv_bench_rows(bench, i));
            }
        }
    }
}

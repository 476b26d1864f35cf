/* Indexers of released models. */
#include "gguf/types.h"
#include "op/index_score/internal.h"
#include "registry/bench.h"

#include <stdio.h>

static const struct indexer {
    const char *name;
    const struct vv_operation *operation;
    int type; /* of queries and keys */
    bool weighted;
    size_t heads;
    int32_t depth[4]; /* tokens before the window */
} indexers[] = {
    {"Qwen3.8-Flash-Next indexer", &vv_index_score, VV_TYPE_F32, false, 4, {8192, 32768}},
    {"DeepSeek V4 Flash indexer",
     &vv_index_score_integer,
     VV_TYPE_MXFP4,
     true,
     64,
     {4096, 16384, 65536, 131072}},
    {"DeepSeek V4 Flash half-rounded indexer",
     &vv_index_score_half,
     VV_TYPE_F32,
     true,
     64,
     {4096, 16384, 65536, 131072}},
    {"DeepSeek V4 Flash float indexer",
     &vv_index_score,
     VV_TYPE_F32,
     true,
     64,
     {4096, 16384, 65536, 131072}},
};
enum { WIDTH = 128, RATIO = 4, KEEP = 512 };

/* Vectors of normal values, or of random codes under steps that differ little, as those of trained
 * models do. */
static void *vectors(struct vv_check *memory, int type, size_t count) {
    if (type == VV_TYPE_F32) {
        return vv_check_normals(memory, count * WIDTH);
    }
    uint8_t *blocks = vv_check_memory(memory, count * WIDTH / 32 * 17);
    for (size_t i = 0; i < count * WIDTH / 32 * 17; i++) {
        blocks[i] =
            (uint8_t)(i % 17 ? vv_check_below(memory, 256) : 126 + vv_check_below(memory, 2));
    }
    return blocks;
}

static void bench_depth(struct vv_bench *bench, const struct indexer *indexer, int32_t depth,
                        int32_t rows, const char *name) {
    struct vv_check *memory = vv_bench_check(bench);
    size_t n = (size_t)rows, heads = indexer->heads, blocks = ((size_t)depth + n) / RATIO;
    size_t entry = vv_state_entry_bytes(indexer->type, WIDTH);
    const struct vv_index_score a = {
        .q = vectors(memory, indexer->type, n * heads),
        .q_type = indexer->type,
        .pooled = {.base = vectors(memory, indexer->type, blocks),
                   .slot_stride = blocks * entry,
                   .entry_stride = entry,
                   .type = indexer->type,
                   .width = WIDTH,
                   .bytes = blocks * entry},
        .weight = indexer->weighted ? vv_check_normals(memory, n * heads) : NULL,
        .score = vv_check_floats(memory, n * blocks),
        .stride = blocks,
        .heads = heads,
        .width = WIDTH,
        .ratio = RATIO,
        .keep = KEEP,
        .scale = 0.088f,
        .window = vv_check_window(memory, rows, 1, &depth, 10),
        .rows = {&rows, 1},
    };
    vv_bench_case(bench, indexer->operation, &a, rows, name,
                  (struct vv_bench_work){2.0 * (double)(n * blocks * heads * WIDTH),
                                         indexer->operation == &vv_index_score_integer});
}

static void bench_indexer(struct vv_bench *bench, const struct indexer *indexer, int32_t rows) {
    for (size_t d = 0; d < 4 && indexer->depth[d] > 0; d++) {
        char name[64];
        snprintf(name, sizeof name, "%s at %dk", indexer->name, indexer->depth[d] / 1024);
        if (vv_bench_wants(bench, indexer->operation, name)) {
            bench_depth(bench, indexer, indexer->depth[d], rows, name);
        }
    }
}

void vv_index_score_bench(struct vv_bench *bench) {
    for (size_t s = 0; s < sizeof indexers / sizeof *indexers; s++) {
        for (size_t i = 0; vv_bench_rows(bench, i); i++) {
            bench_indexer(bench, &indexers[s], vv_bench_rows(bench, i));
        }
    }
}

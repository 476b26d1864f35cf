#include "op/buffers.h"
#include "op/index_score/internal.h"

static size_t units(const void *args) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows), most = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t blocks = vv_index_blocks(a, r);
        most = blocks > most ? blocks : most;
    }
    return rows * ((most + VV_INDEX_CHUNK - 1) / VV_INDEX_CHUNK);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows);
    if (out) {
        out[0] = vv_reads(a->q, rows * a->heads * vv_state_entry_bytes(a->q_type, a->width));
        out[1] = vv_reads_state(&a->pooled);
        /* Written in part, so what was there counts. */
        out[2] = vv_updates(a->score, rows * a->stride * sizeof(float));
        out[3] = vv_reads(a->weight, rows * a->heads * sizeof(float));
    }
    return a->weight ? 4 : 3;
}

/* Scored keys, queries, weights and scores. */
static size_t bytes(const void *args) {
    const struct vv_index_score *a = args;
    size_t rows = vv_rows(a->rows), blocks = 0;
    size_t key = vv_state_entry_bytes(a->pooled.type, a->width);
    size_t query = vv_state_entry_bytes(a->q_type, a->width) + (a->weight ? sizeof(float) : 0);
    for (size_t r = 0; r < rows; r++) {
        blocks += vv_index_blocks(a, r);
    }
    return blocks * (key + sizeof(float)) + rows * a->heads * query;
}

static const struct vv_variant float_variants[] = {
    {"index_score/reference", VV_CPU_ANY, true, NULL, NULL, vv_index_score_reference},
    {"index_score/portable", VV_CPU_ANY, true, NULL, NULL, vv_index_score_portable},
#if defined(__x86_64__)
    {"index_score/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_index_score_portable_avx2},
    {"index_score/portable_avx512", VV_CPU_AVX512, true, NULL, NULL,
     vv_index_score_portable_avx512},
#endif
    {0},
};

static const struct vv_variant half_variants[] = {
    {"index_score_half/reference", VV_CPU_ANY, true, NULL, NULL, vv_index_score_half_reference},
    {"index_score_half/portable", VV_CPU_ANY, true, NULL, NULL, vv_index_score_half_portable},
#if defined(__x86_64__)
    {"index_score_half/portable_avx2", VV_CPU_AVX2, true, NULL, NULL,
     vv_index_score_half_portable_avx2},
    {"index_score_half/portable_avx512", VV_CPU_AVX512, true, NULL, NULL,
     vv_index_score_half_portable_avx512},
#endif
    {0},
};

static const struct vv_variant integer_variants[] = {
    {"index_score_integer/reference", VV_CPU_ANY, true, NULL, NULL,
     vv_index_score_integer_reference},
    {"index_score_integer/portable", VV_CPU_ANY, true, NULL, NULL, vv_index_score_integer_portable},
#if defined(__x86_64__)
    {"index_score_integer/avx2", VV_CPU_AVX2, true, NULL, NULL, vv_index_score_integer_avx2},
    {"index_score_integer/avxvnni", VV_CPU_AVX2 | VV_CPU_AVX_VNNI, true, NULL, NULL,
     vv_index_score_integer_avxvnni},
    {"index_score_integer/avx512vnni", VV_CPU_AVX512 | VV_CPU_AVX512_VNNI, true, NULL, NULL,
     vv_index_score_integer_avx512vnni},
    {"index_score_integer/amx", VV_CPU_AVX512 | VV_CPU_AVX512_VNNI | VV_CPU_AMX_INT8, true, NULL,
     NULL, vv_index_score_integer_amx},
#elif defined(__aarch64__)
    {"index_score_integer/neon", VV_CPU_NEON, true, NULL, NULL, vv_index_score_integer_neon},
    {"index_score_integer/dotprod", VV_CPU_NEON | VV_CPU_DOTPROD, true, NULL, NULL,
     vv_index_score_integer_dotprod},
    {"index_score_integer/i8mm", VV_CPU_NEON | VV_CPU_DOTPROD | VV_CPU_I8MM, true, NULL, NULL,
     vv_index_score_integer_i8mm},
#endif
    {0},
};

const struct vv_operation vv_index_score = {"index_score",  sizeof(struct vv_index_score),
                                            units,          buffers,
                                            NULL,           float_variants,
                                            .bytes = bytes, .varies = true};
const struct vv_operation vv_index_score_half = {"index_score_half",
                                                 sizeof(struct vv_index_score),
                                                 units,
                                                 buffers,
                                                 NULL,
                                                 half_variants,
                                                 .bytes = bytes,
                                                 .varies = true};
const struct vv_operation vv_index_score_integer = {"index_score_integer",
                                                    sizeof(struct vv_index_score),
                                                    units,
                                                    buffers,
                                                    NULL,
                                                    integer_variants,
                                                    .bytes = bytes,
                                                    .varies = true};

const struct vv_operation *vv_index_score_by(enum vv_index_arithmetic arithmetic) {
    return arithmetic == VV_INDEX_INTEGER ? &vv_index_score_integer
           : arithmetic == VV_INDEX_HALF  ? &vv_index_score_half
                                          : &vv_index_score;
}

static const struct vv_operation *const operations[] = {&vv_index_score, &vv_index_score_half,
                                                        &vv_index_score_integer, NULL};
const struct vv_operation_folder vv_folder_index_score = {
    "index_score", operations, vv_index_score_check, vv_index_score_bench};

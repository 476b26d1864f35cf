#include "op/buffers.h"
#include "op/ngram_embed/contract.h"
#include "op/ngram_embed/internal.h"

static size_t units(const void *args) {
    return vv_rows(((const struct vv_ngram_embed *)args)->rows);
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_ngram_embed *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, heads = (a->order - 1) * a->heads_per, rows = vv_rows(a->rows);
    out = out ? out : counted;
    out[n++] = vv_reads_state(&a->history);
    out[n++] = vv_reads(a->multipliers, a->order * sizeof(uint64_t));
    out[n++] = vv_reads(a->vocab, heads * sizeof(uint64_t));
    out[n++] = vv_reads(a->offset, heads * sizeof(uint64_t));
    out[n++] = vv_writes(a->e, rows * heads * a->table->width * sizeof(float));
    if (a->row_ids) {
        out[n++] = vv_writes(a->row_ids, rows * heads * sizeof(int64_t));
    }
    return n;
}

static size_t weights(const void *args, struct vv_weight **out) {
    if (out) {
        out[0] = ((const struct vv_ngram_embed *)args)->table;
    }
    return 1;
}

/* A row of the table for each head of each token. */
static size_t bytes(const void *args) {
    const struct vv_ngram_embed *a = args;
    size_t heads = (a->order - 1) * a->heads_per;
    return vv_rows(a->rows) * heads * (a->table->row_bytes + a->table->width * sizeof(float));
}

static const struct vv_variant variants[] = {
    {"ngram_embed/reference", VV_CPU_ANY, true, NULL, NULL, vv_ngram_embed_reference},
    {0},
};

const struct vv_operation vv_ngram_embed = {
    "ngram_embed", sizeof(struct vv_ngram_embed), units, buffers, weights, variants,
    .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_ngram_embed, NULL};

const struct vv_operation_folder vv_folder_ngram_embed = {"ngram_embed", operations,
                                                          vv_ngram_embed_check, NULL};

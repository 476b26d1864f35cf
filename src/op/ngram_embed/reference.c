/* Memory decides how long this takes, so there is no second way to compute it. */
#include "op/ngram_embed/contract.h"
#include "op/ngram_embed/internal.h"
#include "quant/format.h"

/* The id `back` positions before the row's, or the separator before the sequence's start. */
static int32_t id_before(const struct vv_ngram_embed *a, size_t row, int32_t back) {
    const struct vv_window *w = a->window;
    if (w->position[row] < back) {
        return a->separator;
    }
    int32_t in_window = vv_window_back(w, (int32_t)row, back);
    const int32_t *id = in_window >= 0
                            ? w->token + in_window
                            : vv_state_at(&a->history, w->slot[row], w->position[row] - back);
    return *id;
}

/* Head `head` of a row whose hash is `hash`. */
static int embed_head(const struct vv_ngram_embed *a, size_t row, size_t head, uint64_t hash) {
    const struct vv_weight *table = a->table;
    const struct vv_format *format = vv_format(table->type);
    size_t at = row * (a->order - 1) * a->heads_per + head;
    uint64_t vocab = a->vocab[head], offset = a->offset[head];
    uint64_t within = vocab > 0 ? hash % vocab : 0;
    if (vocab == 0 || !format || offset >= table->rows || within >= table->rows - offset) {
        return VV_ERROR_INVALID;
    }
    float *e = a->e + at * table->width;
    format->decode(table->data + (within + offset) * table->row_bytes, e, table->width);
    for (size_t i = 0; table->scale && i < table->width; i++) {
        e[i] *= *table->scale;
    }
    if (a->row_ids) {
        a->row_ids[at] = (int64_t)(within + offset);
    }
    return VV_OK;
}

int vv_ngram_embed_reference(const void *args, size_t begin, size_t end) {
    const struct vv_ngram_embed *a = args;
    for (size_t row = begin; row < end; row++) {
        uint64_t hash = (uint64_t)a->window->token[row] * a->multipliers[0];
        bool cut = false;
        for (size_t s = 1; s < a->order; s++) {
            int32_t id = cut ? a->separator : id_before(a, row, (int32_t)s);
            cut = id == a->separator;
            hash ^= (uint64_t)id * a->multipliers[s];
            for (size_t k = 0; k < a->heads_per; k++) {
                int error = embed_head(a, row, (s - 1) * a->heads_per + k, hash);
                if (error != VV_OK) {
                    return error;
                }
            }
        }
    }
    return VV_OK;
}

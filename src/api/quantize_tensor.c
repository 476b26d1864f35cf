/* A tensor's data in another type. Pieces of it are encoded by all threads, and written in order:
 * blocks depend on nothing but their own values, so the bytes don't depend on the threads. */
#include "api/quantize.h"
#include "base/file.h"
#include "quant/format.h"

#include <math.h>
#include <stdlib.h>

enum {
    PIECE = 1 << 16, /* values: whole blocks of every format */
    PIECES = 4,      /* a thread's at a time */
    WIDEST = 4,      /* bytes a value */
};

struct vv_scratch {
    float x[PIECE], y[PIECE];
    unsigned char bytes[WIDEST * PIECE]; /* of the source, if it isn't mapped */
};

struct outcome {
    double left, all; /* sums of squares: what encoding changed, and of the values */
    struct vv_error error;
};

/* Some pieces of a tensor, from element `first` on. */
struct batch {
    struct vv_quantizer *quantizer;
    const struct vv_gguf_tensor *tensor;
    const struct vv_format *from, *to;
    uint64_t first;
    size_t values;
    struct outcome *outcomes; /* [pieces] */
};

/* No more threads than the largest tensor has pieces. */
static unsigned useful_threads(const struct vv_gguf *file, unsigned wanted) {
    uint64_t pieces = 1;
    for (size_t i = 0; i < vv_gguf_tensor_count(file); i++) {
        uint64_t n = vv_gguf_tensor_at(file, i)->elements / PIECE + 1;
        pieces = n > pieces ? n : pieces;
    }
    unsigned threads = wanted ? wanted : vv_cpu_default_threads();
    return threads < pieces ? threads : (unsigned)pieces;
}

int vv_quantizer_open(struct vv_quantizer *q, unsigned wanted, struct vv_error *error) {
    unsigned threads = useful_threads(q->file, wanted);
    size_t bytes = threads * sizeof *q->scratch, out = (size_t)threads * PIECES * PIECE * WIDEST;
    q->placement.threads = threads;
    q->team = vv_team_new(&q->placement, error);
    if (!q->team) {
        return error->code;
    }
    q->scratch = malloc(bytes);
    q->out = malloc(out);
    for (size_t i = 0; i < vv_gguf_tensor_count(q->file); i++) {
        q->total += vv_gguf_tensor_at(q->file, i)->bytes;
    }
    return q->scratch && q->out ? VV_OK
                                : vv_fail_memory(error, bytes + out, "buffers for encoding");
}

void vv_quantizer_close(struct vv_quantizer *q) {
    vv_team_free(q->team);
    free(q->scratch);
    free(q->out);
}

static int advance(struct vv_quantizer *q, uint64_t bytes, struct vv_error *error) {
    q->done += bytes;
    return q->progress && !q->progress(q->context, "quantising", q->done, q->total)
               ? vv_fail(error, VV_ERROR_CANCELLED, "stopped while quantising")
               : VV_OK;
}

/* ---- in a thread ---- */

/* `bytes` of the source from `offset` on, in place or read. NULL with an error. */
static const unsigned char *source(const struct batch *b, uint64_t offset, size_t bytes,
                                   struct vv_scratch *scratch, struct vv_error *error) {
    const unsigned char *mapped = vv_gguf_tensor_data(b->quantizer->file, b->tensor);
    if (mapped) {
        return mapped + offset;
    }
    int code =
        vv_gguf_read_tensor(b->quantizer->file, b->tensor, offset, bytes, scratch->bytes, error);
    return code == VV_OK ? scratch->bytes : NULL;
}

static int refuse_value(const struct batch *b, uint64_t element, float value,
                        struct vv_error *error) {
    const char *path = vv_path_tail(vv_gguf_path(b->quantizer->file, b->tensor->shard));
    unsigned long long at = element;
    if (!isfinite(value)) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s: element %llu of tensor %.200s is %s, which cannot be encoded: look at "
                       "where the file came from",
                       path, at, b->tensor->name, isnan(value) ? "NaN" : "infinite");
    }
    return vv_fail(error, VV_ERROR_INVALID,
                   "%s: element %llu of tensor %.200s is %g, but %s holds no more than %g: give "
                   "the tensor another type by a rule",
                   path, at, b->tensor->name, (double)value, b->to->name, (double)b->to->largest);
}

static void measure(const float *x, const float *y, size_t values, struct outcome *outcome) {
    for (size_t i = 0; i < values; i++) {
        double value = (double)x[i], rest = value - (double)y[i];
        outcome->left += rest * rest;
        outcome->all += value * value;
    }
}

static void encode_piece(const struct batch *b, size_t piece, struct vv_scratch *scratch) {
    struct outcome *outcome = &b->outcomes[piece];
    uint64_t first = b->first + piece * PIECE, offset, bytes;
    size_t values = b->values - piece * PIECE < PIECE ? b->values - piece * PIECE : PIECE;
    unsigned char *to = b->quantizer->out + piece * PIECE * WIDEST;
    *outcome = (struct outcome){0};
    vv_type_bytes(b->from->type, first, &offset);
    vv_type_bytes(b->from->type, values, &bytes);
    const unsigned char *from = source(b, offset, (size_t)bytes, scratch, &outcome->error);
    if (!from) {
        return;
    }
    b->from->decode(from, scratch->x, values);
    size_t bad = vv_first_unfit(b->to, scratch->x, values);
    if (bad < values) {
        refuse_value(b, first + bad, scratch->x[bad], &outcome->error);
        return;
    }
    b->to->encode(scratch->x, to, values);
    b->to->decode(to, scratch->y, values);
    measure(scratch->x, scratch->y, values, outcome);
}

static size_t pieces_of(const struct batch *b) {
    return (b->values + PIECE - 1) / PIECE;
}

static void thread_body(void *context, struct vv_team *team, unsigned thread) {
    const struct batch *b = context;
    for (size_t p = thread; p < pieces_of(b); p += vv_team_threads(team)) {
        encode_piece(b, p, &b->quantizer->scratch[thread]);
    }
}

/* ---- in order ---- */

/* The first failure of the batch, or its data written and its sums added. */
static int write_batch(const struct batch *b, struct varve_quantized *result,
                       struct vv_error *error) {
    int code = VV_OK;
    for (size_t p = 0; p < pieces_of(b) && code == VV_OK; p++) {
        const struct outcome *outcome = &b->outcomes[p];
        size_t rest = b->values - p * PIECE;
        uint64_t bytes;
        if (outcome->error.code != VV_OK) {
            *error = outcome->error;
            return error->code;
        }
        vv_type_bytes(b->to->type, rest < PIECE ? rest : PIECE, &bytes);
        code = vv_gguf_writer_data(b->quantizer->writer, b->quantizer->out + p * PIECE * WIDEST,
                                   (size_t)bytes, error);
        result->left += outcome->left;
        result->all += outcome->all;
    }
    return code;
}

static int encode(struct vv_quantizer *q, const struct vv_gguf_tensor *t, int type,
                  struct varve_quantized *result, struct vv_error *error) {
    size_t pieces = (size_t)vv_team_threads(q->team) * PIECES;
    struct batch b = {.quantizer = q,
                      .tensor = t,
                      .from = vv_format(t->type),
                      .to = vv_format(type),
                      .outcomes = malloc(pieces * sizeof *b.outcomes)};
    int code = b.outcomes ? VV_OK : vv_fail_memory(error, pieces * sizeof *b.outcomes, t->name);
    for (; code == VV_OK && b.first < t->elements; b.first += b.values) {
        uint64_t rest = t->elements - b.first, bytes;
        b.values = rest < pieces * PIECE ? (size_t)rest : pieces * PIECE;
        vv_team_run(q->team, thread_body, &b);
        code = write_batch(&b, result, error);
        vv_type_bytes(t->type, b.values, &bytes);
        code = code == VV_OK ? advance(q, bytes, error) : code;
    }
    free(b.outcomes);
    return code;
}

static int copy(struct vv_quantizer *q, const struct vv_gguf_tensor *t, struct vv_error *error) {
    enum { STEP = PIECE * WIDEST };
    const unsigned char *mapped = vv_gguf_tensor_data(q->file, t);
    int code = VV_OK;
    size_t n;
    for (uint64_t at = 0; at < t->bytes && code == VV_OK; at += n) {
        n = t->bytes - at < STEP ? (size_t)(t->bytes - at) : STEP;
        code = mapped ? VV_OK : vv_gguf_read_tensor(q->file, t, at, n, q->out, error);
        if (code == VV_OK) {
            code = vv_gguf_writer_data(q->writer, mapped ? mapped + at : q->out, n, error);
        }
        code = code == VV_OK ? advance(q, n, error) : code;
    }
    return code;
}

int vv_quantizer_run(struct vv_quantizer *q, const struct vv_gguf_tensor *tensor, int type,
                     struct varve_quantized *result, struct vv_error *error) {
    return type == tensor->type ? copy(q, tensor, error) : encode(q, tensor, type, result, error);
}

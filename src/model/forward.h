/*
 * What a model file writes its forward pass with. A `vv_forward` stands for the window being
 * recorded; the calls below allocate its buffers and append its steps. Names given are printf
 * formats.
 */
#pragma once
#include "memory/state.h"
#include "op/index_score/contract.h"
#include "program/program.h"
#include "quant/planes.h"
#include "quant/weight.h"

enum vv_mode {
    VV_ADVANCE, /* state moves to the end of the window */
    VV_VERIFY,  /* state stays, what a commit needs is kept */
    VV_COMMIT,  /* state moves by rows that were verified */
};

enum { VV_VERIFY_ROWS_MAX = 16 }; /* rows of one sequence in a verify window */

struct vv_state_options {
    int kv_type;        /* VV_TYPE_F32 or VV_TYPE_F16 */
    bool rounded_cache; /* entries are rounded as the weights were trained with (--cache-precision
                         * model); only of a family whose facts say that they were */
    bool mtp;           /* the draft block keeps state too */
};

enum vv_tap_form {
    VV_TAP_PLAIN,    /* [rows][width] as computed */
    VV_TAP_SELECTED, /* lists of `width` blocks of `ratio` tokens, of which the I32 in `other` says
                      * how many count; shown as [rows][context] of 0 and 1, the tail included */
    VV_TAP_DIFFERENCE, /* what was added: `at` less `other` */
};

/* An inner tensor that is kept when a session observes. */
struct vv_tap {
    char name[96];
    enum vv_tap_form form;
    bool outputs; /* a row for each output, not for each row */
    int type;     /* VV_TYPE_F32, VV_TYPE_I32, VV_TYPE_I64 */
    size_t width; /* elements a row */
    void *at;     /* device */
    size_t ratio;
    void *other; /* device */
};

struct vv_forward {
    struct vv_program *program;
    const struct vv_window *window;
    const struct vv_state_view *state; /* as declared, in that order */
    enum vv_mode mode;
    size_t rows, outputs, sequences; /* of the largest window */
    size_t context;                  /* tokens a sequence may have */
    bool float_activations;
    bool panels;                          /* there are kernels that take planes as panels, too */
    bool rounded_cache;                   /* as in struct vv_state_options */
    enum vv_index_arithmetic index_score; /* not VV_INDEX_AUTO */
    struct vv_tap *taps;                  /* observe: grown as needed; else NULL */
    size_t tap_count;
    bool observe;
    bool mtp;                      /* the trunk leaves what the draft block reads */
    bool draft;                    /* the draft block leaves its own streams for the next draft */
    const struct vv_window *trunk; /* draft block: the window of `wide`, which is kept when all rows
                                    * have read what was there before; NULL: nothing to keep */
    float *wide;      /* out of the trunk, into the draft block: streams after the last layer */
    size_t wide_rows; /* rows of that buffer */
    float *logits;    /* out: [outputs][vocabulary] */
};

/* All rows of the window; the rows whose logits are wanted; `times` of either. */
struct vv_rows vv_all_rows(const struct vv_forward *f, size_t times);
struct vv_rows vv_output_rows(const struct vv_forward *f, size_t times);

/* A buffer of `per_row` floats (or 32-bit integers) for each row of the window, or each output. */
float *vv_row_floats(struct vv_forward *f, size_t per_row);
int32_t *vv_row_integers(struct vv_forward *f, size_t per_row);
float *vv_output_floats(struct vv_forward *f, size_t per_row);

/* Appends a step whose place in the model is a printf text. */
void vv_step(struct vv_forward *f, const struct vv_operation *operation, const void *args,
             const char *what, ...) VV_PRINTF(4, 5);

/*
 * Rows that products read. `x` is written by some step; then vv_prepare makes the planes that the
 * given weights need, and products take what it returns. Prepare again after x has changed.
 */
struct vv_input {
    float *x; /* [count][width] */
    struct vv_rows rows;
    size_t capacity;         /* rows at most */
    struct vv_planes planes; /* memory of those made so far */
};
struct vv_input vv_input(struct vv_forward *f, size_t width, struct vv_rows rows, size_t capacity);
struct vv_planes vv_prepare(struct vv_forward *f, struct vv_input *input,
                            struct vv_weight *const *weights, size_t count, const char *what, ...)
    VV_PRINTF(5, 6);

/* y [rows][weight->rows] = weight · x */
void vv_product(struct vv_forward *f, const struct vv_planes *x, struct vv_rows rows,
                struct vv_weight *weight, float *y, const char *what, ...) VV_PRINTF(6, 7);

/* x [rows][streams][width]: the tokens' embeddings, a copy for each stream. */
void vv_embedding(struct vv_forward *f, struct vv_weight *table, float *x, size_t streams);

/* Keeps a value of each row, `stride` elements apart, in a part of the state. */
void vv_keep(struct vv_forward *f, const void *from, size_t stride,
             const struct vv_state_view *part, const char *what, ...) VV_PRINTF(5, 6);

/* Keeps streams that the draft block's later rows start from, `shift` positions on. */
void vv_keep_streams(struct vv_forward *f, const float *x, size_t width,
                     const struct vv_window *window, int32_t shift,
                     const struct vv_state_view *part, const char *what, ...) VV_PRINTF(7, 8);

/* to = the rows of `from` whose logits are wanted. */
void vv_gather_outputs(struct vv_forward *f, const float *from, size_t width, float *to,
                       const char *what, ...) VV_PRINTF(5, 6);

/* Keeps a copy of an inner tensor when the session observes; the returned tap may be refined. NULL
 * otherwise. */
struct vv_tap *vv_observe(struct vv_forward *f, const void *from, int type, size_t width,
                          const char *name, ...) VV_PRINTF(5, 6);
struct vv_tap *vv_observe_outputs(struct vv_forward *f, const void *from, int type, size_t width,
                                  const char *name, ...) VV_PRINTF(5, 6);

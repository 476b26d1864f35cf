/* The parts of varve_quantize: which type each tensor gets, and its data in that type. */
#pragma once
#include "device/cpu/team.h"
#include "gguf/writer.h"
#include "varve.h"

#include <stdbool.h>

struct vv_choice {
    int type;       /* VV_TYPE_…; the tensor's own: its bytes are copied */
    bool fell_back; /* `type` stands for one whose blocks don't fit the tensor's rows */
};

/* One for each tensor of the file, by options->type and options->rules (varve.h says how). */
int vv_quantize_choose(const struct vv_gguf *file, const struct varve_quantize_options *options,
                       struct vv_choice *choices /* [tensors] */, struct vv_error *error);

/* Buffers and threads that encode one tensor after another. */
struct vv_quantizer {
    const struct vv_gguf *file;
    struct vv_gguf_writer *writer;
    struct vv_placement placement; /* a number of threads */
    struct vv_team *team;
    struct vv_scratch *scratch; /* [threads] */
    unsigned char *out;         /* pieces of all threads, one after another */
    varve_progress progress;    /* or NULL */
    void *context;
    uint64_t done, total; /* bytes of the source's tensors */
};

/* `quantizer` has file, writer, progress and context. `threads` 0: physical cores that this process
 * may use. Close in either case. */
int vv_quantizer_open(struct vv_quantizer *quantizer, unsigned threads, struct vv_error *error);
void vv_quantizer_close(struct vv_quantizer *quantizer);

/* Appends the tensor's data to the writer, as `type`. Fills `result`'s sums of squares, which are
 * the same for any number of threads. */
int vv_quantizer_run(struct vv_quantizer *quantizer, const struct vv_gguf_tensor *tensor, int type,
                     struct varve_quantized *result, struct vv_error *error);

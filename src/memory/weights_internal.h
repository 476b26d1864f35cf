/* What the weights' own files share: memory/weights.c, memory/place.c. */
#pragma once
#include "memory/packer.h"
#include "memory/synthetic.h"
#include "memory/weights.h"

/* Device memory that the weights own. */
struct vv_weight_block {
    struct vv_weight_block *next;
    void *at;
};

struct vv_weight_handle {
    struct vv_weight weight; /* first: a handle is found from its weight */
    struct vv_weight_handle *next;
    void *owned;  /* device memory that weight.data points to, or NULL: the mapped file */
    bool in_host; /* it is memory of the host's that the device reads */
};

struct vv_weights {
    const struct vv_gguf *file;
    struct vv_device *device;
    struct vv_weight_handle *handles;
    struct vv_weight_block *blocks;
    struct vv_synthetic *synthetic; /* of a description */
    struct vv_packer *packer;       /* while weights are placed that need one */
    bool *used;                     /* [tensors of the file] */
    const char *recoded; /* what names of matrices to keep as Q8_0 begin with; NULL: none */
    uint64_t bytes, values, table_bytes;
    bool tables_to_host, to_host;  /* tables go there; what is being placed does */
    vv_weights_progress *progress; /* or NULL */
    void *context;                 /* of it */
    uint64_t placed, total;        /* bytes of the file's tensors */
    struct vv_error failure;
};

/* Memory for what is being placed, where it is to go; NULL after a failure. */
void *vv_weights_allocate(struct vv_weights *w, size_t bytes);
/* `in_host`: that was the host's. */
void vv_weights_release(struct vv_weights *w, void *at, bool in_host);

/* Bytes of a tensor in host memory: the mapping, or `*temporary` read from the file, to be freed;
 * NULL after a failure. */
const void *vv_weights_host_bytes(struct vv_weights *w, const struct vv_gguf_tensor *t,
                                  void **temporary);

/* Tells that `bytes` more of the file's are placed; false: that is to end. */
bool vv_weights_go_on(struct vv_weights *w, uint64_t bytes);

/* The type that a matrix is kept in: of one that is made up its own. */
int vv_weights_kept_type(const struct vv_weights *w, const struct vv_gguf_tensor *t);

/* Puts a tensor's data where kernels can read them, in the device's order, and says so in the
 * handle. False after a failure. */
bool vv_weights_place(struct vv_weights *w, struct vv_weight_handle *h,
                      const struct vv_gguf_tensor *t);

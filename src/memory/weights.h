/*
 * All weights of a model on one device: handles by name, shapes checked against what the family
 * says they must be. Asked for what a file must hold in the order of the forward pass; the first
 * failure is kept and returned by vv_weights_end, so that a list of weights reads as a list.
 */
#pragma once
#include "device/device.h"
#include "gguf/gguf.h"
#include "quant/weight.h"

struct vv_weights;

/* `device` NULL: names and shapes are checked, handles have no data. The file must stay open. Of a
 * description (vv_gguf_described) the data are made up: memory/synthetic.h. */
int vv_weights_new(const struct vv_gguf *file, struct vv_device *device, struct vv_weights **out,
                   struct vv_error *error);
void vv_weights_free(struct vv_weights *weights);

/* Called while data are placed, with bytes of all that the file has; false ends that with
 * VV_ERROR_CANCELLED. To be named before weights are asked for. */
typedef bool vv_weights_progress(void *context, const char *what, uint64_t done, uint64_t total);
void vv_weights_watch(struct vv_weights *weights, vv_weights_progress *progress, void *context);

/* Matrices of float types whose names begin with `prefix` (which must outlive `weights`) are kept
 * in the type Q8_0, where their rows have whole blocks: half of the bytes of BF16 to read. To be
 * called before they are asked for. */
void vv_weights_recode(struct vv_weights *weights, const char *prefix);

/* Where tables go of which few rows are read a token: to memory of the host's that the device's
 * kernels read too, if it has such. To be called before they are asked for. */
void vv_weights_tables_to_host(struct vv_weights *weights);

bool vv_weights_has(const struct vv_weights *weights, const char *name, ...) VV_PRINTF(2, 3);

/* The handle of a matrix `name` or `name`.weight, [slices][rows][width] in any format. A separate
 * tensor `name`.scale (NVFP4) belongs to it. NULL after a failure. */
struct vv_weight *vv_weights_matrix(struct vv_weights *weights, size_t width, size_t rows,
                                    size_t slices, const char *name, ...) VV_PRINTF(5, 6);

/* The same of a matrix of which few rows are read a token, one here and one there. */
struct vv_weight *vv_weights_table(struct vv_weights *weights, size_t width, size_t rows,
                                   const char *name, ...) VV_PRINTF(4, 5);

/* The same of a matrix [slices · rows][width] whose blocks of `rows` are taken for slices. */
struct vv_weight *vv_weights_blocks(struct vv_weights *weights, size_t width, size_t rows,
                                    size_t slices, const char *name, ...) VV_PRINTF(5, 6);

/* An I32 tensor [rows][width] of numbers below `below`, on the device; NULL without a device or
 * after a failure. */
const int32_t *vv_weights_integers(struct vv_weights *weights, size_t width, size_t rows,
                                   size_t below, const char *name, ...) VV_PRINTF(5, 6);

/* A small tensor [rows][width] in any format, decoded to floats on the device; NULL without a
 * device or after a failure. */
const float *vv_weights_vector(struct vv_weights *weights, size_t width, size_t rows,
                               const char *name, ...) VV_PRINTF(4, 5);

/* Copies host data to the device, to be freed with the weights: constants that a model derives. */
const void *vv_weights_constant(struct vv_weights *weights, const void *from, size_t bytes);

/* Keeps a failure of the caller's own as the weights' first one. */
void vv_weights_fail(struct vv_weights *weights, int code, const char *format, ...) VV_PRINTF(3, 4);

/* VV_OK if everything asked for was there and nothing was left over: a tensor that nobody asked for
 * would be a part of the model that is silently ignored. Lets go what only placing needs. */
int vv_weights_end(struct vv_weights *weights, struct vv_error *error);

/* Whether the forward pass uses tensor `index` of the file. */
bool vv_weights_uses(const struct vv_weights *weights, size_t index);

/* Brings a weight into another order, once; the file's copy is let go where it was ours. */
int vv_weights_pack(struct vv_weights *weights, struct vv_weight *weight,
                    const struct vv_layout *layout, struct vv_error *error);

/* Bytes of all weights asked for, and values. */
uint64_t vv_weights_bytes(const struct vv_weights *weights);
uint64_t vv_weights_values(const struct vv_weights *weights);
/* Bytes of tables among them; of those that lie in the host's memory beside a device with its own.
 */
uint64_t vv_weights_table_bytes(const struct vv_weights *weights);
uint64_t vv_weights_bytes_in_host(const struct vv_weights *weights);

/*
 * Weights of a model that is only described (vv_gguf_described): random ones of the size that
 * trained ones have, the same on every machine and device. What such a model computes is noise,
 * with finite values.
 */
#pragma once
#include "device/device.h"
#include "gguf/gguf.h"
#include "quant/format.h"
#include "quant/weight.h"

struct vv_synthetic; /* blocks made so far */

/* For weights on a device, which is to outlive it; NULL: of none. NULL: no memory. */
struct vv_synthetic *vv_synthetic_new(struct vv_device *device);
void vv_synthetic_free(struct vv_synthetic *synthetic);

/* The values [elements] of a small tensor: norms near 1, time constants as trained ones, else with
 * the deviation 1 / sqrt(width). */
void vv_synthetic_values(const struct vv_gguf_tensor *tensor, float *to);

/* The elements of a table of integers from 0 to `below` - 1, those of a row distinct if there are
 * so many. */
void vv_synthetic_integers(const struct vv_gguf_tensor *tensor, size_t below, int32_t *to);

/*
 * A matrix of that deviation, in its own format: a megabyte of rows is made for each format and
 * width, and stands over and over, from another row on each time. Floats are all made anew, up to
 * some size: no two experts have the same row in a router.
 */
struct vv_pattern;
struct vv_made_up {
    const struct vv_gguf_tensor *tensor;
    const struct vv_format *format;
    struct vv_pattern *pattern; /* NULL: made anew */
};
/* Valid until the next call. VV_ERROR_UNSUPPORTED: a type that is no weight. */
int vv_synthetic_begin(struct vv_synthetic *synthetic, const struct vv_gguf_tensor *tensor,
                       struct vv_made_up *made_up, struct vv_error *error);
/* Bytes of it from `offset` on, both of whole blocks: the same however it is cut. */
void vv_made_up_bytes(const struct vv_made_up *made_up, uint64_t offset, size_t bytes, void *to);
/* Writes all of one with a pattern to device memory, in the device's order: its pattern is brought
 * there once, and copied within the device. `weight` has the tensor's type and shape. */
int vv_made_up_place(struct vv_synthetic *synthetic, const struct vv_made_up *made_up,
                     const struct vv_weight *weight, void *to, struct vv_error *error);

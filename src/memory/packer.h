/*
 * Brings a file's weights to a device that wants them in an order of its own: the host's threads
 * reorder a piece while the one before it travels.
 */
#pragma once
#include "device/device.h"
#include "quant/weight.h"

struct vv_packer;

/* For a device with a layout. NULL after a failure. */
struct vv_packer *vv_packer_new(struct vv_device *device, struct vv_error *error);
/* What was sent is there. */
void vv_packer_free(struct vv_packer *packer);

/* Sends whole rows, `piece->data` in the file's order, which may change at once. `to` is memory of
 * the device, or (`in_host`) of the host's. It is there after vv_packer_settle. */
int vv_packer_send(struct vv_packer *packer, const struct vv_weight *piece, void *to, bool in_host,
                   struct vv_error *error);
void vv_packer_settle(struct vv_packer *packer);

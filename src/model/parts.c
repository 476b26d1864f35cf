#include "model/parts.h"
#include "gguf/types.h"

#include <stdarg.h>
#include <stdio.h>

size_t vv_declare(struct vv_parts *d, struct vv_state_part part, const char *name, ...) {
    if (d->parts) {
        va_list list;
        va_start(list, name);
        vsnprintf(part.name, sizeof part.name, name, list);
        va_end(list);
        d->parts[d->count] = part;
    }
    return d->count++;
}

struct vv_state_part vv_fixed_part(size_t width) {
    return (struct vv_state_part){
        .kind = VV_STATE_FIXED, .type = VV_TYPE_F32, .width = width, .every = 1};
}

struct vv_state_part vv_ring_part(int type, size_t width, size_t history) {
    return (struct vv_state_part){.kind = VV_STATE_RING,
                                  .type = type,
                                  .width = width,
                                  .every = 1,
                                  .history = (uint32_t)history};
}

struct vv_state_part vv_rows_part(int type, size_t width, uint32_t every) {
    return (struct vv_state_part){
        .kind = VV_STATE_ROWS, .type = type, .width = width, .every = every};
}

struct vv_state_part vv_lagging_part(struct vv_state_part part, bool draft) {
    part.lag = draft;
    return part;
}

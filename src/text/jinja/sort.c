#include "text/jinja/sort.h"

#include <string.h>

/* Merges from[0 .. middle) and from[middle .. count), each sorted, into `to`. */
static int merge(const uint32_t *from, uint32_t *to, size_t middle, size_t count,
                 vv_sort_before *before, void *context) {
    size_t a = 0, b = middle;
    for (size_t i = 0; i < count; i++) {
        bool second = a == middle;
        if (a < middle && b < count) {
            int status = before(context, from[b], from[a], &second);
            if (status != VV_OK) {
                return status;
            }
        }
        to[i] = second ? from[b++] : from[a++];
    }
    return VV_OK;
}

int vv_sort(uint32_t *order, uint32_t *work, size_t count, vv_sort_before *before, void *context) {
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
    }
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t length = count - at < 2 * width ? count - at : 2 * width;
            size_t middle = length < width ? length : width;
            int status = merge(order + at, work + at, middle, length, before, context);
            if (status != VV_OK) {
                return status;
            }
        }
        memcpy(order, work, count * sizeof *order);
    }
    return VV_OK;
}

#include "api/internal.h"
#include "device/cpu/placement.h"

bool varve_threads_are_many(uint32_t threads, struct varve_error *why) {
    return vv_cpu_threads_warn(threads, why->message, sizeof why->message);
}

int varve_places(enum varve_numa numa, uint32_t threads, char text[VARVE_PLACES_TEXT],
                 struct varve_error *error) {
    struct vv_placement placement;
    int code = vv_place_here((enum vv_numa)numa, threads, &placement, vv_internal(error));
    if (code == VV_OK) {
        vv_placement_text(&placement, text, VARVE_PLACES_TEXT);
        vv_placement_free(&placement);
    }
    return code;
}

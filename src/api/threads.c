#include "api/internal.h"
#include "device/device.h"

bool varve_threads_are_many(uint32_t threads, struct varve_error *why) {
    return vv_cpu_threads_warn(threads, why->message, sizeof why->message);
}

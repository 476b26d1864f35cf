/* The CPU as a device: the process's own memory, a team of threads. */
#include "device/device.h"
#include "device/cpu/pages.h"
#include "device/cpu/team.h"
#include "device/features.h"

#include <stdlib.h>
#include <string.h>

struct cpu_device {
    struct vv_device base;
    struct vv_placement placement;
    struct vv_team *team;
};

static void cpu_close(struct vv_device *device) {
    struct cpu_device *cpu = (struct cpu_device *)device;
    vv_team_free(cpu->team);
    vv_placement_free(&cpu->placement);
    free(cpu);
}

static void *cpu_allocate(struct vv_device *device, size_t bytes) {
    return vv_pages_new(bytes, ((struct cpu_device *)device)->placement.nodes);
}

static void cpu_release(struct vv_device *device, void *at) {
    (void)device;
    vv_pages_free(at);
}

static void cpu_copy(struct vv_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memcpy(to, from, bytes);
}

static void cpu_run(struct vv_device *device, vv_team_body body, void *context) {
    vv_team_run(((struct cpu_device *)device)->team, body, context);
}

/* Sequence after sequence, entries close together: what a thread reads in a row lies in a row. */
static void cpu_layout(struct vv_device *device, const struct vv_state_part *part, uint32_t slots,
                       uint32_t tokens, uint32_t window, struct vv_state_view *view) {
    (void)device;
    size_t entries = vv_state_entries(part, tokens, window);
    view->type = part->type;
    view->width = part->width;
    view->ring = part->kind == VV_STATE_RING ? (uint32_t)entries : 0;
    view->entry_stride = vv_state_entry_bytes(part->type, part->width);
    view->slot_stride = (entries * view->entry_stride + 63) / 64 * 64;
    view->bytes = slots * view->slot_stride;
}

static void cpu_copy_pieces(struct vv_device *device, void *to, size_t to_stride, const void *from,
                            size_t from_stride, size_t bytes, size_t count) {
    (void)device;
    if (to_stride == bytes && from_stride == bytes) {
        bytes *= count;
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy((uint8_t *)to + i * to_stride, (const uint8_t *)from + i * from_stride, bytes);
    }
}

int vv_cpu_device(const struct vv_cpu_options *options, struct vv_device **device,
                  struct vv_error *error) {
    static const struct vv_device_calls calls = {cpu_close,  cpu_allocate,   cpu_release,
                                                 cpu_copy,   cpu_copy,       cpu_run,
                                                 cpu_layout, cpu_copy_pieces};
    struct cpu_device *cpu = calloc(1, sizeof *cpu);
    if (!cpu) {
        return vv_fail_memory(error, sizeof *cpu, "a device");
    }
    int code = vv_place_here(options->numa, options->threads, &cpu->placement, error);
    if (code != VV_OK) {
        free(cpu);
        return code;
    }
    cpu->base = (struct vv_device){.calls = &calls,
                                   .name = "cpu",
                                   .features = vv_cpu_features() & options->features,
                                   .threads = cpu->placement.threads,
                                   .memory = vv_memory_available(""),
                                   .shares_host_memory = true};
    cpu->team = vv_team_new(&cpu->placement, error);
    if (!cpu->team) {
        cpu_close(&cpu->base);
        return error->code;
    }
    *device = &cpu->base;
    return VV_OK;
}

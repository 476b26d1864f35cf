/*
 * A device that is strict about what it lends: its memory can be touched by its own kernels and
 * copies alone (it is unmapped from the process at all other times), sequence state lies in another
 * order than on the CPU, and kernels take their weights in an order of their own where they have
 * one. What runs here and gives the CPU's bits will run on a device with real memory of its own.
 */
#include "device/device.h"
#include "device/cpu/team.h"
#include "device/features.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct block {
    struct block *next;
    void *map;
    size_t bytes; /* whole pages */
};

struct mock_device {
    struct vv_device base;
    struct vv_placement placement; /* of threads alone: they run where the system likes */
    struct vv_team *team;
    struct block *blocks;
};

static void protect(struct mock_device *mock, int protection) {
    for (struct block *b = mock->blocks; b; b = b->next) {
        mprotect(b->map, b->bytes, protection);
    }
}

static void unlock(struct vv_device *device) {
    protect((struct mock_device *)device, PROT_READ | PROT_WRITE);
}

static void lock(struct vv_device *device) {
    protect((struct mock_device *)device, PROT_NONE);
}

static void *mock_allocate(struct vv_device *device, size_t bytes) {
    struct mock_device *mock = (struct mock_device *)device;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page) / page * page;
    struct block *b = room < bytes ? NULL : malloc(sizeof *b);
    void *map = b ? mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (map == MAP_FAILED) {
        free(b);
        return NULL;
    }
    *b = (struct block){mock->blocks, map, room};
    mock->blocks = b;
    return map;
}

static void mock_release(struct vv_device *device, void *at) {
    struct mock_device *mock = (struct mock_device *)device;
    for (struct block **b = &mock->blocks; *b; b = &(*b)->next) {
        if ((*b)->map == at) {
            struct block *gone = *b;
            *b = gone->next;
            munmap(gone->map, gone->bytes);
            free(gone);
            return;
        }
    }
}

/* Of the block that holds `at`, if that is device memory: a copy opens nothing else. */
static void protect_one(struct vv_device *device, const void *at, int protection) {
    for (struct block *b = ((struct mock_device *)device)->blocks; b; b = b->next) {
        if ((uintptr_t)at - (uintptr_t)b->map < b->bytes) {
            mprotect(b->map, b->bytes, protection);
            return;
        }
    }
}

static void mock_copy(struct vv_device *device, void *to, const void *from, size_t bytes) {
    protect_one(device, to, PROT_READ | PROT_WRITE);
    protect_one(device, from, PROT_READ | PROT_WRITE);
    memcpy(to, from, bytes);
    protect_one(device, to, PROT_NONE);
    protect_one(device, from, PROT_NONE);
}

static void mock_copy_pieces(struct vv_device *device, void *to, size_t to_stride, const void *from,
                             size_t from_stride, size_t bytes, size_t count) {
    protect_one(device, to, PROT_READ | PROT_WRITE);
    protect_one(device, from, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < count; i++) {
        memcpy((uint8_t *)to + i * to_stride, (const uint8_t *)from + i * from_stride, bytes);
    }
    protect_one(device, to, PROT_NONE);
    protect_one(device, from, PROT_NONE);
}

static void mock_run(struct vv_device *device, vv_team_body body, void *context) {
    unlock(device);
    vv_team_run(((struct mock_device *)device)->team, body, context);
    lock(device);
}

/* Gaps between entries and between sequences, and a ring of another size than the CPU's. */
static void mock_layout(struct vv_device *device, const struct vv_state_part *part, uint32_t slots,
                        uint32_t tokens, uint32_t window, struct vv_state_view *view) {
    (void)device;
    enum { GAP = 64 };
    size_t entries = vv_state_entries(part, tokens, window) + 5;
    view->type = part->type;
    view->width = part->width;
    view->ring = part->kind == VV_STATE_RING ? (uint32_t)entries : 0;
    view->entry_stride = vv_state_entry_bytes(part->type, part->width) + GAP;
    view->slot_stride = entries * view->entry_stride + 3 * GAP;
    view->bytes = slots * view->slot_stride;
}

static void mock_close(struct vv_device *device) {
    struct mock_device *mock = (struct mock_device *)device;
    vv_team_free(mock->team);
    while (mock->blocks) {
        mock_release(device, mock->blocks->map);
    }
    free(mock);
}

int vv_mock_device(const struct vv_cpu_options *options, struct vv_device **device,
                   struct vv_error *error) {
    static const struct vv_device_calls calls = {mock_close,  mock_allocate,   mock_release,
                                                 mock_copy,   mock_copy,       mock_run,
                                                 mock_layout, mock_copy_pieces};
    unsigned threads = options->threads ? options->threads : 2;
    struct mock_device *mock = calloc(1, sizeof *mock);
    if (!mock) {
        return vv_fail_memory(error, sizeof *mock, "a device");
    }
    mock->base = (struct vv_device){.calls = &calls,
                                    .name = "mock",
                                    .features = vv_cpu_features() & options->features,
                                    .threads = threads,
                                    .memory = vv_memory_available(""),
                                    .packs_weights = true};
    mock->placement.threads = threads;
    mock->team = vv_team_new(&mock->placement, error);
    if (!mock->team) {
        free(mock);
        return error->code;
    }
    *device = &mock->base;
    return VV_OK;
}

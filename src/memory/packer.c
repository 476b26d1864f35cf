#include "memory/packer.h"
#include "device/launch.h"

#include <stdlib.h>

/* Where a piece waits for its copy. */
struct room {
    void *at;
    size_t bytes;
};

struct vv_packer {
    struct vv_device *device;
    struct vv_device *host; /* its threads reorder */
    struct room room[2];    /* one is filled while the other is copied */
    unsigned turn;
};

struct vv_packer *vv_packer_new(struct vv_device *device, struct vv_error *error) {
    struct vv_packer *p = calloc(1, sizeof *p);
    if (!p) {
        vv_fail_memory(error, sizeof *p, "the order of weights");
        return NULL;
    }
    p->device = device;
    const struct vv_cpu_options options = {.numa = VV_NUMA_OFF};
    if (vv_cpu_device(&options, &p->host, error) != VV_OK) {
        free(p);
        return NULL;
    }
    return p;
}

static void give_back(struct vv_packer *p, struct room *room) {
    if (room->at && p->device->launcher) {
        p->device->launcher->unhost(p->device, room->at);
    } else {
        free(room->at);
    }
    *room = (struct room){0};
}

void vv_packer_settle(struct vv_packer *packer) {
    vv_device_settle(packer->device);
}

void vv_packer_free(struct vv_packer *packer) {
    if (packer) {
        vv_packer_settle(packer);
        give_back(packer, &packer->room[0]);
        give_back(packer, &packer->room[1]);
        packer->host->calls->close(packer->host);
        free(packer);
    }
}

static int provide(struct vv_packer *p, struct room *room, size_t bytes, struct vv_error *error) {
    if (bytes <= room->bytes) {
        return VV_OK;
    }
    vv_packer_settle(p);
    give_back(p, room);
    const struct vv_launcher *launcher = p->device->launcher;
    room->at = launcher ? launcher->host(p->device, bytes) : malloc(bytes);
    room->bytes = room->at ? bytes : 0;
    return room->at ? VV_OK : vv_fail_memory(error, bytes, "weights on their way");
}

/* ---- reordering ---- */

struct job {
    const struct vv_layout *layout;
    const struct vv_weight *piece;
    uint8_t *to;
    size_t packed_row; /* bytes */
};

static void pack_share(void *context, struct vv_team *team, unsigned thread) {
    const struct job *j = context;
    size_t rows = j->piece->rows, threads = vv_team_threads(team);
    size_t first = rows * thread / threads, end = rows * (thread + 1) / threads;
    struct vv_weight share = *j->piece;
    share.rows = end - first;
    share.data = (const uint8_t *)j->piece->data + first * share.row_bytes;
    j->layout->pack(&share, j->to + first * j->packed_row);
}

int vv_packer_send(struct vv_packer *packer, const struct vv_weight *piece, void *to, bool in_host,
                   struct vv_error *error) {
    struct vv_device *device = packer->device;
    struct room *room = &packer->room[packer->turn ^= 1];
    size_t bytes = device->layout->bytes(piece);
    int code = in_host ? VV_OK : provide(packer, room, bytes, error);
    if (code != VV_OK) {
        return code;
    }
    struct job job = {device->layout, piece, in_host ? to : room->at, bytes / piece->rows};
    packer->host->calls->run(packer->host, pack_share, &job);
    if (!in_host) {
        vv_packer_settle(packer); /* the piece before it */
        device->calls->copy(device, to, bytes, room->at, bytes, bytes, 1);
    }
    return VV_OK;
}

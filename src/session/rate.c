/* How fast the device's threads read memory that no cache holds. */
#include "program/program.h"
#include "session/internal.h"

#include <string.h>
#include <time.h>

enum { ROUNDS = 4 };
static const size_t BYTES = (size_t)512 << 20;

struct reading {
    uint8_t *at;
    _Atomic uint64_t sum; /* so that nothing is optimised away */
    double seconds;
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each thread writes its part once, which makes it present, then reads it. */
static void body(void *context, struct vv_team *team, unsigned thread) {
    struct reading *r = context;
    size_t part = BYTES / vv_team_threads(team) / 64 * 64;
    const uint64_t *word = (const uint64_t *)(void *)(r->at + thread * part);
    memset(r->at + thread * part, 1, part);
    for (int round = 0; round < ROUNDS; round++) {
        vv_team_barrier(team);
        double begin = seconds();
        uint64_t sum[8] = {0};
        for (size_t i = 0; i < part / sizeof *word; i += 8) {
            for (size_t k = 0; k < 8; k++) {
                sum[k] += word[i + k];
            }
        }
        for (size_t k = 0; k < 8; k++) {
            atomic_fetch_add(&r->sum, sum[k]);
        }
        vv_team_barrier(team);
        double took = seconds() - begin;
        if (thread == 0 && (round == 0 || took < r->seconds)) {
            r->seconds = took;
        }
    }
}

double vv_session_read_rate(struct vv_session *s) {
    struct reading r = {.at = s->device->calls->allocate(s->device, BYTES)};
    if (!r.at) {
        return 0;
    }
    s->device->calls->run(s->device, body, &r);
    s->device->calls->release(s->device, r.at);
    return (double)BYTES / r.seconds;
}

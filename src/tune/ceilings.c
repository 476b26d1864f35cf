#include "tune/ceilings.h"
#include "base/clock.h"
#include "device/cpu/pages.h"
#include "device/cpu/team.h"
#include "device/launch.h"
#include "quant/format.h"
#include "registry/operation.h"
#include "tune/cache.h"
#include "tune/ceilings_loops.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A figure is the best of many short runs: on a machine that others use too, a long one is never
 * left alone. So memory is gone through in parts, each read once before the first is read again.
 */
enum { ROUNDS = 2, PARTS = 24, LINE = 512, COMPUTE_EVERY = 4 };
static const size_t least_bytes = (size_t)256 << 20, most_bytes = (size_t)1 << 30;
static const size_t turns = 800000;

struct probe {
    const struct vv_loops *loops;
    uint8_t *memory; /* [threads][share] */
    size_t share;    /* PARTS of a thread */
    size_t part;     /* whose turn it is */
    _Atomic uint64_t ignored;
};

static const struct vv_loops *best_loops(uint32_t features) {
    static const struct vv_loops *const all[] = {
#if defined(__x86_64__)
        &vv_amx_loops,
        &vv_vnni_loops,
        &vv_avx512_loops,
        &vv_avx2_loops,
#endif
        &vv_portable_loops
    };
    size_t i = 0;
    while (all[i]->needs & ~features) {
        i++;
    }
    return all[i];
}

/* Four times the last cache, so that little of a pass is left of the one before. */
static size_t working_set(void) {
    size_t bytes = 4 * vv_cache_bytes();
    return bytes < least_bytes ? least_bytes : bytes < most_bytes ? bytes : most_bytes;
}

/* ---- what each thread does ---- */

/* Large pages where the system gives them: it is the memory that is to be measured. */
static void ask_for_large_pages(struct probe *p, size_t bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)p->memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)p->memory + bytes) / page * page;
    madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

static uint8_t *share_of(const struct probe *p, unsigned thread) {
    return p->memory + (size_t)thread * p->share;
}

/* Each thread touches its own share first, which puts it near the thread; no page is like another,
 * so that none is shared. */
static void fill(void *context, struct vv_team *team, unsigned thread) {
    const struct probe *p = context;
    uint64_t *at = (uint64_t *)(void *)share_of(p, thread), x = thread + 1;
    (void)team;
    for (size_t i = 0; i < p->share / sizeof *at; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        at[i] = x;
    }
}

static uint8_t *part_of(const struct probe *p, unsigned thread, size_t part) {
    return share_of(p, thread) + part % PARTS * (p->share / PARTS);
}

static void read_part(void *context, struct vv_team *team, unsigned thread) {
    struct probe *p = context;
    (void)team;
    p->ignored += p->loops->read(part_of(p, thread, p->part), p->share / PARTS);
}

/* Half of a part, from the one half of memory to the other. */
static void copy_part(void *context, struct vv_team *team, unsigned thread) {
    const struct probe *p = context;
    (void)team;
    memcpy(part_of(p, thread, p->part + PARTS / 2), part_of(p, thread, p->part),
           p->share / PARTS / 2);
}

static void multiply_int8(void *context, struct vv_team *team, unsigned thread) {
    struct probe *p = context;
    (void)team, (void)thread;
    p->ignored += p->loops->int8(turns);
}

static void multiply_f32(void *context, struct vv_team *team, unsigned thread) {
    struct probe *p = context;
    (void)team, (void)thread;
    p->ignored += p->loops->f32(turns);
}

/* ---- rounds ---- */

static double seconds_of(struct vv_team *team, vv_team_body body, struct probe *p) {
    double began = vv_seconds();
    vv_team_run(team, body, p);
    return vv_seconds() - began;
}

static void measure(struct vv_team *team, struct probe *p, struct vv_ceilings *c) {
    static const vv_team_body bodies[] = {read_part, copy_part, multiply_int8, multiply_f32};
    enum { BODIES = sizeof bodies / sizeof *bodies };
    double threads = vv_team_threads(team), bytes = (double)(p->share / PARTS) * threads;
    double work[BODIES] = {bytes, bytes, p->loops->int8_turn * (double)turns * threads,
                           p->loops->f32_turn * (double)turns * threads};
    double best[BODIES] = {0};
    vv_team_run(team, fill, p);
    for (p->part = 0; p->part < (size_t)ROUNDS * PARTS; p->part++) {
        size_t bodies_now = p->part % COMPUTE_EVERY == 0 ? BODIES : BODIES - 2;
        for (size_t i = 0; i < bodies_now; i++) {
            double rate = work[i] / seconds_of(team, bodies[i], p);
            best[i] = rate > best[i] ? rate : best[i];
        }
    }
    *c = (struct vv_ceilings){best[0], best[1], best[2], best[3], vv_team_threads(team)};
}

static int measure_placed(const struct vv_placement *placement, uint32_t features,
                          struct vv_ceilings *ceilings, struct vv_error *error) {
    unsigned threads = placement->threads;
    struct probe p = {.loops = best_loops(features & vv_cpu_features())};
    p.share = (working_set() / threads / PARTS / LINE + 1) * LINE * PARTS;
    p.memory = vv_pages_new(p.share * threads, placement->nodes);
    if (!p.memory) {
        return vv_fail_memory(error, p.share * threads, "the measurement of memory speed");
    }
    ask_for_large_pages(&p, p.share * threads);
    struct vv_team *team = vv_team_new(placement, error);
    if (team) {
        measure(team, &p, ceilings);
    }
    vv_team_free(team);
    vv_pages_free(p.memory);
    return team ? VV_OK : error->code;
}

int vv_measure_device(struct vv_device *device, struct vv_ceilings *ceilings,
                      struct vv_error *error) {
    struct vv_device_rates r = {0};
    int code = device->launcher->rates(device, &r, error);
    *ceilings = (struct vv_ceilings){r.read, r.copy, r.int8, r.f32, 1};
    return code;
}

/* ---- products ---- */

const char *const vv_roof_names[VV_ROOFS] = {
    [VV_ROOF_BLOCK] = "a scale for each 32 values",
    [VV_ROOF_BLOCK_OFFSET] = "a scale and an offset for each 32",
    [VV_ROOF_BLOCK_16] = "a scale for each 16",
    [VV_ROOF_SUPER] = "a sub-scale for each 32",
    [VV_ROOF_SUPER_OFFSET] = "a sub-scale and an offset for each 32",
    [VV_ROOF_SUPER_16] = "a sub-scale for each 16",
    [VV_ROOF_FOLDED] = "a sub-scale that codes have room for",
};

int vv_roof_of(int type) {
    const struct vv_format *f = vv_format(type);
    if (!f || f->arithmetic == VV_ARITHMETIC_FLOAT || f->arithmetic == VV_ARITHMETIC_NONE) {
        return -1;
    }
    if (f->arithmetic == VV_ARITHMETIC_BLOCK) {
        return f->step == 16   ? VV_ROOF_BLOCK_16
               : f->has_offset ? VV_ROOF_BLOCK_OFFSET
                               : VV_ROOF_BLOCK;
    }
    switch (type) {
    case VV_TYPE_Q1_0:
    case VV_TYPE_TQ1_0:
    case VV_TYPE_TQ2_0:
    case VV_TYPE_Q2_K:
    case VV_TYPE_Q3_K:
        return VV_ROOF_FOLDED;
    case VV_TYPE_Q6_K:
    case VV_TYPE_IQ2_XS:
    case VV_TYPE_IQ2_S:
    case VV_TYPE_IQ1_M:
        return VV_ROOF_SUPER_16;
    default:
        return f->has_offset ? VV_ROOF_SUPER_OFFSET : VV_ROOF_SUPER;
    }
}

int vv_measure_roofs(struct vv_device *device, struct vv_device_roof roofs[VV_ROOFS],
                     struct vv_error *error) {
    memset(roofs, 0, VV_ROOFS * sizeof *roofs);
    return device->launcher ? device->launcher->roofs(device, roofs, error)
                            : vv_fail(error, VV_ERROR_UNSUPPORTED,
                                      "roofs of products are measured on GPUs alone");
}

int vv_measure_ceilings(const struct vv_cpu_options *options, struct vv_ceilings *ceilings,
                        struct vv_error *error) {
    struct vv_placement placement;
    int code = vv_place_here(options->numa, options->threads, &placement, error);
    if (code == VV_OK) {
        code = measure_placed(&placement, options->features, ceilings, error);
        vv_placement_free(&placement);
    }
    return code;
}

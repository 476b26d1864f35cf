#include "device/cpu/placement.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool several(uint64_t nodes) {
    return (nodes & (nodes - 1)) != 0;
}

/* Threads are placed by themselves only where a system that treats all cores alike can be wrong. */
static enum vv_numa resolve(enum vv_numa numa, const struct vv_topology *t) {
    bool alike = t->core[0].speed == t->core[t->cores - 1].speed;
    return numa != VV_NUMA_AUTO ? numa : several(t->nodes) || !alike ? VV_NUMA_SPREAD : VV_NUMA_OFF;
}

/* ---- which node ---- */

static unsigned cores_of(const struct vv_topology *t, unsigned node) {
    unsigned count = 0;
    for (unsigned i = 0; i < t->cores; i++) {
        count += t->core[i].node == node;
    }
    return count;
}

/* The node whose cores are the fastest in all, the lowest among equals. */
static unsigned best_node(const struct vv_topology *t) {
    uint64_t speed[VV_NODES_MAX] = {0};
    unsigned best = 0;
    for (unsigned i = 0; i < t->cores; i++) {
        speed[t->core[i].node] += t->core[i].speed;
    }
    for (unsigned node = 1; node < VV_NODES_MAX; node++) {
        best = speed[node] > speed[best] ? node : best;
    }
    return best;
}

/* ---- zones ---- */

static struct vv_zone *zone_of(struct vv_placement *p, const struct vv_core *core) {
    for (unsigned z = 0; z < p->zone_count; z++) {
        if (p->zones[z].node == core->node && p->zones[z].speed == core->speed) {
            return &p->zones[z];
        }
    }
    struct vv_zone *more = realloc(p->zones, (p->zone_count + 1) * sizeof *more);
    cpu_set_t *cpus = CPU_ALLOC(VV_CPUS_MAX);
    p->zones = more ? more : p->zones;
    if (!more || !cpus) {
        CPU_FREE(cpus);
        return NULL;
    }
    CPU_ZERO_S(CPU_ALLOC_SIZE(VV_CPUS_MAX), cpus);
    p->zones[p->zone_count] = (struct vv_zone){cpus, core->node, core->speed, 0};
    return &p->zones[p->zone_count++];
}

static unsigned room_in(const struct vv_zone *zone) {
    return (unsigned)CPU_COUNT_S(CPU_ALLOC_SIZE(VV_CPUS_MAX), zone->cpus) - zone->threads;
}

static unsigned threads_on(const struct vv_placement *p, unsigned node) {
    unsigned threads = 0;
    for (unsigned z = 0; z < p->zone_count; z++) {
        threads += p->zones[z].node == node ? p->zones[z].threads : 0;
    }
    return threads;
}

/* Where the next thread goes: the fastest zone with a core left, on the node with the fewest. */
static unsigned next_zone(const struct vv_placement *p) {
    unsigned best = UINT_MAX;
    for (unsigned z = 0; z < p->zone_count; z++) {
        const struct vv_zone *zone = &p->zones[z],
                             *other = best == UINT_MAX ? NULL : &p->zones[best];
        bool better =
            !other || zone->speed > other->speed ||
            (zone->speed == other->speed && threads_on(p, zone->node) < threads_on(p, other->node));
        best = room_in(zone) > 0 && better ? z : best;
    }
    return best;
}

/* Seats all threads on cores of the nodes in `nodes`, of which there are enough. */
static bool seat(const struct vv_topology *t, uint64_t nodes, struct vv_placement *p) {
    p->zone_of = calloc(p->threads, sizeof *p->zone_of);
    for (unsigned i = 0; p->zone_of && i < t->cores; i++) {
        if (nodes >> t->core[i].node & 1) {
            struct vv_zone *zone = zone_of(p, &t->core[i]);
            if (!zone) {
                return false;
            }
            CPU_SET_S(t->core[i].cpu, CPU_ALLOC_SIZE(VV_CPUS_MAX), zone->cpus);
        }
    }
    for (unsigned i = 0; p->zone_of && i < p->threads; i++) {
        p->zone_of[i] = next_zone(p);
        p->zones[p->zone_of[i]].threads++;
    }
    return p->zone_of != NULL;
}

static uint64_t nodes_used(const struct vv_placement *p) {
    uint64_t nodes = 0;
    for (unsigned z = 0; z < p->zone_count; z++) {
        nodes |= p->zones[z].threads ? UINT64_C(1) << p->zones[z].node : 0;
    }
    return nodes;
}

/* ---- all ---- */

int vv_place(const struct vv_topology *topology, enum vv_numa numa, unsigned threads,
             struct vv_placement *placement, struct vv_error *error) {
    unsigned usual = vv_topology_threads(topology), cores = topology->cores, node = 0;
    uint64_t nodes = topology->nodes;
    numa = resolve(numa, topology);
    if (numa == VV_NUMA_NODE) {
        node = best_node(topology);
        cores = cores_of(topology, node);
        usual = usual < cores ? usual : cores;
        nodes = UINT64_C(1) << node;
    }
    *placement = (struct vv_placement){.threads = threads ? threads : usual};
    if (numa == VV_NUMA_NODE && threads > cores) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%u threads are asked for on one NUMA node; node %u has %u cores: ask for "
                       "fewer, or spread them over all nodes",
                       threads, node, cores);
    }
    if (numa == VV_NUMA_OFF || placement->threads > cores) {
        return VV_OK;
    }
    if (!seat(topology, nodes, placement)) {
        vv_placement_free(placement);
        return vv_fail_memory(error, threads * sizeof *placement->zone_of, "a plan of threads");
    }
    placement->nodes = several(topology->nodes) ? nodes_used(placement) : 0;
    return VV_OK;
}

int vv_place_here(enum vv_numa numa, unsigned threads, struct vv_placement *placement,
                  struct vv_error *error) {
    struct vv_topology topology;
    if (!vv_topology_here(&topology)) {
        return vv_fail_memory(error, VV_CPUS_MAX, "the list of this machine's cores");
    }
    int code = vv_place(&topology, numa, threads, placement, error);
    vv_topology_free(&topology);
    return code;
}

void vv_placement_free(struct vv_placement *placement) {
    for (unsigned z = 0; z < placement->zone_count; z++) {
        CPU_FREE(placement->zones[z].cpus);
    }
    free(placement->zones);
    free(placement->zone_of);
    *placement = (struct vv_placement){0};
}

/* Appends as much of it as there is room for. */
static void append(char *text, size_t size, const char *format, ...) VV_PRINTF(3, 4);
static void append(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, size - used, format, list);
    va_end(list);
}

void vv_placement_text(const struct vv_placement *placement, char *text, size_t size) {
    const char *between = ": ";
    snprintf(text, size, "%u thread%s", placement->threads, placement->threads == 1 ? "" : "s");
    if (placement->zone_count == 0) {
        append(text, size, " where the system puts them");
    }
    for (unsigned z = 0; z < placement->zone_count; z++) {
        const struct vv_zone *zone = &placement->zones[z];
        if (zone->threads > 0) {
            append(text, size, "%s%u on node %u", between, zone->threads, zone->node);
            between = ", ";
            if (zone->speed < VV_FULL_SPEED) {
                append(text, size, " at %.2f of full speed", (double)zone->speed / VV_FULL_SPEED);
            }
        }
    }
    if (placement->nodes) {
        append(text, size, "; memory %s",
               several(placement->nodes) ? "in turn on all of these" : "on that node");
    }
}

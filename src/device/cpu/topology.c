#include "device/cpu/topology.h"
#include "device/device.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_HERE = 4096 };

/* One number of a small file of CPU `cpu`; `missing` if it can't be read. */
static long cpu_number(const char *root, unsigned cpu, const char *name, long missing) {
    char path[PATH_MAX_HERE];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/%s", root, cpu, name);
    FILE *file = fopen(path, "re");
    long value = missing;
    if (file) {
        if (fscanf(file, "%ld", &value) != 1) {
            value = missing;
        }
        fclose(file);
    }
    return value;
}

/* Adds the CPUs of a list such as "0-3,8" to `set`. */
static void read_list(const char *root, const char *name, cpu_set_t *set) {
    char path[PATH_MAX_HERE];
    snprintf(path, sizeof path, "%s%s", root, name);
    FILE *file = fopen(path, "re");
    if (!file) {
        return;
    }
    unsigned first, last;
    while (fscanf(file, "%u", &first) == 1) {
        last = first;
        int next = fgetc(file);
        if (next == '-' && fscanf(file, "%u", &last) == 1) {
            next = fgetc(file);
        }
        for (unsigned cpu = first; cpu <= last && cpu < VV_CPUS_MAX; cpu++) {
            CPU_SET_S(cpu, CPU_ALLOC_SIZE(VV_CPUS_MAX), set);
        }
        if (next != ',') {
            break;
        }
    }
    fclose(file);
}

/* Which CPUs are efficiency cores, and on which node each one is. */
struct places {
    cpu_set_t *efficient;
    uint8_t node[VV_CPUS_MAX];
};

static void read_places(const char *root, cpu_set_t *scratch, struct places *to) {
    size_t bytes = CPU_ALLOC_SIZE(VV_CPUS_MAX);
    CPU_ZERO_S(bytes, to->efficient);
    read_list(root, "/sys/devices/cpu_atom/cpus", to->efficient); /* Intel's hybrid ones */
    memset(to->node, 0, sizeof to->node);
    for (unsigned node = 0; node < VV_NODES_MAX; node++) {
        char name[60];
        snprintf(name, sizeof name, "/sys/devices/system/node/node%u/cpulist", node);
        CPU_ZERO_S(bytes, scratch);
        read_list(root, name, scratch);
        for (unsigned cpu = 0; cpu < VV_CPUS_MAX; cpu++) {
            to->node[cpu] = CPU_ISSET_S(cpu, bytes, scratch) ? (uint8_t)node : to->node[cpu];
        }
    }
}

/* The system's own figure; else half for an efficiency core, whose vector units are half as wide.
 */
static unsigned speed_of(const char *root, unsigned cpu, const struct places *places) {
    bool half = CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(VV_CPUS_MAX), places->efficient);
    long speed = cpu_number(root, cpu, "cpu_capacity", half ? VV_FULL_SPEED / 2 : VV_FULL_SPEED);
    return speed < 1 ? 1 : speed > VV_FULL_SPEED ? VV_FULL_SPEED : (unsigned)speed;
}

static int by_speed(const void *left, const void *right) {
    const struct vv_core *a = left, *b = right;
    return a->speed != b->speed ? (a->speed < b->speed ? 1 : -1) : a->cpu < b->cpu ? -1 : 1;
}

/* Cores are told apart by (package, core). */
static void read_cores(const char *root, const cpu_set_t *allowed, const struct places *places,
                       long (*seen)[2], struct vv_topology *to) {
    for (unsigned cpu = 0; cpu < VV_CPUS_MAX; cpu++) {
        if (!CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(VV_CPUS_MAX), allowed)) {
            continue;
        }
        to->cpus++;
        long core = cpu_number(root, cpu, "topology/core_id", (long)cpu);
        long package = cpu_number(root, cpu, "topology/physical_package_id", 0);
        unsigned i = 0;
        while (i < to->cores && (seen[i][0] != package || seen[i][1] != core)) {
            i++;
        }
        if (i == to->cores) {
            seen[i][0] = package;
            seen[i][1] = core;
            to->core[i] = (struct vv_core){cpu, places->node[cpu], speed_of(root, cpu, places)};
            to->nodes |= UINT64_C(1) << places->node[cpu];
            to->cores++;
        }
    }
    qsort(to->core, to->cores, sizeof *to->core, by_speed);
}

bool vv_topology_read(const char *root, const cpu_set_t *allowed, struct vv_topology *topology) {
    struct places *places = malloc(sizeof *places);
    cpu_set_t *efficient = CPU_ALLOC(VV_CPUS_MAX), *scratch = CPU_ALLOC(VV_CPUS_MAX);
    long(*seen)[2] = malloc(VV_CPUS_MAX * sizeof *seen);
    *topology = (struct vv_topology){.core = malloc(VV_CPUS_MAX * sizeof *topology->core),
                                     .quota = vv_cpu_quota(root)};
    bool room = places && efficient && scratch && seen && topology->core;
    if (room) {
        places->efficient = efficient;
        read_places(root, scratch, places);
        read_cores(root, allowed, places, seen, topology);
        if (topology->cores == 0) { /* a set without a CPU: the one we are on */
            *topology->core = (struct vv_core){.speed = VV_FULL_SPEED};
            topology->cores = topology->cpus = 1;
            topology->nodes = 1;
        }
    } else {
        vv_topology_free(topology);
    }
    free(places);
    free(seen);
    CPU_FREE(efficient);
    CPU_FREE(scratch);
    return room;
}

void vv_topology_free(struct vv_topology *topology) {
    free(topology->core);
    *topology = (struct vv_topology){0};
}

unsigned vv_topology_threads(const struct vv_topology *topology) {
    return topology->cores < topology->quota ? topology->cores : topology->quota;
}

bool vv_topology_warns(const struct vv_topology *topology, unsigned threads, char *text,
                       size_t size) {
    unsigned good = vv_topology_threads(topology);
    if (threads > topology->quota) {
        snprintf(
            text, size,
            "%u threads where a container's limit gives the time of %u CPUs: they stop and wait "
            "for each other, at a fraction of the speed of -t %u",
            threads, topology->quota, good);
    } else if (threads > topology->cpus) {
        snprintf(text, size,
                 "%u threads on %u CPUs that this process may use: they wait for each other, at a "
                 "fraction of the speed of -t %u",
                 threads, topology->cpus, good);
    } else if (threads > topology->cores) {
        snprintf(text, size,
                 "%u threads on %u physical cores: two on one core share its units, and -t %u is "
                 "seldom slower",
                 threads, topology->cores, good);
    }
    return threads > topology->quota || threads > topology->cores;
}

bool vv_topology_here(struct vv_topology *topology) {
    size_t bytes = CPU_ALLOC_SIZE(VV_CPUS_MAX);
    cpu_set_t *allowed = CPU_ALLOC(VV_CPUS_MAX);
    bool known = false;
    if (allowed) {
        CPU_ZERO_S(bytes, allowed);
        if (sched_getaffinity(0, bytes, allowed) != 0) {
            CPU_SET_S(0, bytes, allowed);
        }
        known = vv_topology_read("", allowed, topology);
    }
    CPU_FREE(allowed);
    return known;
}

unsigned vv_cpu_default_threads(void) {
    struct vv_topology topology;
    unsigned threads = 1;
    if (vv_topology_here(&topology)) {
        threads = vv_topology_threads(&topology);
        vv_topology_free(&topology);
    }
    return threads;
}

bool vv_cpu_threads_warn(unsigned threads, char *text, size_t size) {
    struct vv_topology topology;
    bool warns = false;
    if (vv_topology_here(&topology)) {
        warns = vv_topology_warns(&topology, threads, text, size);
        vv_topology_free(&topology);
    }
    return warns;
}

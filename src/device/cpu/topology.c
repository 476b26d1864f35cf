/*
 * How many threads to use: one a physical core (SMT siblings share the units that a kernel
 * saturates), of those this process may run on, and no more than a container's quota.
 */
#include "device/device.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = 4096 };

/* One number of a small system file; `missing` if it can't be read. */
static long read_number(const char *path, long missing) {
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

/* Cores, counted by distinct (package, core) of the allowed CPUs. */
static unsigned physical_cores(void) {
    static const char topology[] = "/sys/devices/system/cpu/cpu%u/topology/%s";
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *allowed = CPU_ALLOC(CPUS_MAX);
    long *seen = malloc(CPUS_MAX * sizeof *seen);
    unsigned cores = 0;
    if (allowed && seen && sched_getaffinity(0, bytes, allowed) == 0) {
        for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
            if (!CPU_ISSET_S(cpu, bytes, allowed)) {
                continue;
            }
            char path[100];
            snprintf(path, sizeof path, topology, cpu, "core_id");
            long core = read_number(path, (long)cpu);
            snprintf(path, sizeof path, topology, cpu, "physical_package_id");
            core += read_number(path, 0) * 0x10000;
            unsigned i = 0;
            while (i < cores && seen[i] != core) {
                i++;
            }
            seen[i] = core;
            cores += i == cores;
        }
    }
    CPU_FREE(allowed);
    free(seen);
    if (cores == 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        cores = n > 0 ? (unsigned)n : 1;
    }
    return cores;
}

/* CPUs that a limit of `quota` microseconds every `period` allows, rounded up. */
static unsigned quota_cpus(long quota, long period) {
    return quota > 0 && period > 0 ? (unsigned)((quota + period - 1) / period) : CPUS_MAX;
}

/* The tightest quota of this process's control group (v2) and of the groups above it. */
static unsigned cgroup2_cpus(void) {
    char group[512] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file) {
        while (fgets(group, sizeof group, file) && strncmp(group, "0::/", 4) != 0) {
            group[0] = 0;
        }
        fclose(file);
    }
    if (strncmp(group, "0::/", 4) != 0) {
        return CPUS_MAX;
    }
    char *path = group + 3;
    path[strcspn(path, "\n")] = 0;
    unsigned least = CPUS_MAX;
    for (;;) {
        char name[600];
        long quota = 0, period = 0;
        snprintf(name, sizeof name, "/sys/fs/cgroup%s/cpu.max", path);
        FILE *limit = fopen(name, "re");
        if (limit) {
            if (fscanf(limit, "%ld %ld", &quota, &period) == 2) { /* "max" reads as no number */
                unsigned n = quota_cpus(quota, period);
                least = n < least ? n : least;
            }
            fclose(limit);
        }
        char *slash = strrchr(path, '/');
        if (!slash) {
            return least;
        }
        *slash = 0;
    }
}

static unsigned cgroup1_cpus(void) {
    return quota_cpus(read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1),
                      read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", -1));
}

unsigned vv_cpu_default_threads(void) {
    unsigned cores = physical_cores(), v1 = cgroup1_cpus(), v2 = cgroup2_cpus();
    cores = v1 < cores ? v1 : cores;
    return v2 < cores ? v2 : cores;
}

/* What a container may take: limits of control groups on CPU time and memory (Linux, cgroups(7)),
 * and the memory that the system has left (proc(5)). */
#include "device/cpu/groups.h"
#include "device/cpu/topology.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_HERE = 4096 };

/* ---- CPU time ---- */

/* CPUs that a limit of `quota` microseconds every `period` allows, rounded up. */
static unsigned quota_cpus(long long quota, long long period) {
    return quota > 0 && period > 0 ? (unsigned)((quota + period - 1) / period) : UINT_MAX;
}

/* Both numbers of version 2's file, which has the word max where there is no limit. */
static unsigned limit_of_version_2(const char *folder) {
    char name[NAME_MAX_HERE];
    long long quota = 0, period = 0;
    snprintf(name, sizeof name, "%s/cpu.max", folder);
    FILE *file = fopen(name, "re");
    if (file) {
        int n = fscanf(file, "%lld %lld", &quota, &period);
        fclose(file);
        quota = n == 2 ? quota : 0;
    }
    return quota_cpus(quota, period);
}

static void take_cpus(void *context, const char *folder) {
    unsigned *least = context, two = limit_of_version_2(folder);
    unsigned one = quota_cpus(vv_group_number(folder, "cpu.cfs_quota_us", 0),
                              vv_group_number(folder, "cpu.cfs_period_us", 0));
    unsigned cpus = one < two ? one : two;
    *least = cpus < *least ? cpus : *least;
}

unsigned vv_cpu_quota(const char *root) {
    unsigned least = UINT_MAX;
    vv_control_groups(root, "cpu", take_cpus, &least);
    return least;
}

/* ---- memory ---- */

/* The sum of the lines `NAME N` of a file with one of two names. */
static uint64_t sum_of_lines(const char *path, const char *one, const char *other) {
    char line[200], name[100];
    unsigned long long sum = 0, value;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%99s %llu", name, &value) == 2 &&
            (strcmp(name, one) == 0 || strcmp(name, other) == 0)) {
            sum += value;
        }
    }
    if (file) {
        fclose(file);
    }
    return sum;
}

/* What a group has left: its limit less what it holds, of which files' pages don't count. */
static void take_memory(void *context, const char *folder) {
    char name[NAME_MAX_HERE];
    uint64_t *least = context;
    long long most = vv_group_number(folder, "memory.max", -1);
    long long held = vv_group_number(folder, "memory.current", 0);
    if (most < 0) {
        most = vv_group_number(folder, "memory.limit_in_bytes", -1);
        held = vv_group_number(folder, "memory.usage_in_bytes", 0);
    }
    if (most < 0) {
        return;
    }
    snprintf(name, sizeof name, "%s/memory.stat", folder);
    uint64_t files = sum_of_lines(name, "active_file", "inactive_file");
    uint64_t own = (uint64_t)held > files ? (uint64_t)held - files : 0;
    uint64_t left = (uint64_t)most > own ? (uint64_t)most - own : 0;
    *least = left < *least ? left : *least;
}

uint64_t vv_memory_available(const char *root) {
    char name[NAME_MAX_HERE];
    uint64_t least = UINT64_MAX;
    snprintf(name, sizeof name, "%s/proc/meminfo", root);
    uint64_t system = sum_of_lines(name, "MemAvailable:", "") * 1024;
    vv_control_groups(root, "memory", take_memory, &least);
    least = system > 0 && system < least ? system : least;
    return least < UINT64_MAX ? least : 0;
}

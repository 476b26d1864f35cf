/* How much CPU time a container may take: limits of control groups (Linux, cgroups(7)). */
#include "device/cpu/topology.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { GROUP_MAX = 1024, NAME_MAX_HERE = 4096 };

/* CPUs that a limit of `quota` microseconds every `period` allows, rounded up. */
static unsigned quota_cpus(long quota, long period) {
    return quota > 0 && period > 0 ? (unsigned)((quota + period - 1) / period) : UINT_MAX;
}

/* Numbers at the start of a file; fewer are read where it has "max". */
static int read_numbers(const char *name, long *first, long *second) {
    FILE *file = fopen(name, "re");
    int n = file ? fscanf(file, "%ld %ld", first, second) : 0;
    if (file) {
        fclose(file);
    }
    return n;
}

/* The limit of one group, whose files lie in root + mount + group. */
static unsigned limit_of(const char *root, const char *mount, const char *group) {
    char name[NAME_MAX_HERE];
    long quota = 0, period = 0, none;
    snprintf(name, sizeof name, "%s%s%s/cpu.max", root, mount, group);
    if (read_numbers(name, &quota, &period) == 2) {
        return quota_cpus(quota, period);
    }
    snprintf(name, sizeof name, "%s%s%s/cpu.cfs_quota_us", root, mount, group);
    if (read_numbers(name, &quota, &none) < 1) {
        return UINT_MAX;
    }
    snprintf(name, sizeof name, "%s%s%s/cpu.cfs_period_us", root, mount, group);
    return read_numbers(name, &period, &none) < 1 ? UINT_MAX : quota_cpus(quota, period);
}

/* Of the group and all above it. A container may see its own group as the mount's top, while the
 * path is the host's: files that aren't there limit nothing. */
static unsigned limits_up(const char *root, const char *mount, const char *group) {
    char path[GROUP_MAX];
    unsigned least = UINT_MAX;
    snprintf(path, sizeof path, "%s", group);
    for (;;) {
        unsigned n = limit_of(root, mount, path);
        least = n < least ? n : least;
        char *slash = strrchr(path, '/');
        if (!slash) {
            return least;
        }
        *slash = 0;
    }
}

/* Whether `controllers`, a list such as "cpu,cpuacct", has that of CPU time. */
static bool has_cpu(const char *controllers) {
    for (const char *at = controllers; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == 3 && memcmp(at, "cpu", 3) == 0) {
            return true;
        }
        at += n;
    }
    return false;
}

unsigned vv_cpu_quota(const char *root) {
    static const char *const mounts[2][3] = {
        {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", NULL},          /* version 2 */
        {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", NULL}}; /* version 1 */
    char name[NAME_MAX_HERE], line[GROUP_MAX];
    unsigned least = UINT_MAX;
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file)) { /* NUMBER:CONTROLLERS:PATH */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'),
             *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *group++ = 0;
        bool first = controllers[1] != 0;
        if (first && !has_cpu(controllers + 1)) {
            continue;
        }
        for (const char *const *mount = mounts[first]; *mount; mount++) {
            unsigned n = limits_up(root, *mount, strcmp(group, "/") == 0 ? "" : group);
            least = n < least ? n : least;
        }
    }
    if (file) {
        fclose(file);
    }
    return least;
}

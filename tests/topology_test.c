/* What is made of the files by which Linux describes a machine: other machines in a folder. */
#include "device/cpu/topology.h"
#include "device/device.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SET_BYTES = VV_CPUS_MAX / 8 };

struct machine {
    char root[40];
    cpu_set_t *allowed;
};

/* A file of the machine, and the folders above it. */
static void put(const struct machine *m, const char *content, const char *format, ...) {
    char name[300], path[400];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    snprintf(path, sizeof path, "%s%s", m->root, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void put_cpu(const struct machine *m, unsigned cpu, unsigned package, unsigned core) {
    char text[20];
    snprintf(text, sizeof text, "%u\n", core);
    put(m, text, "/sys/devices/system/cpu/cpu%u/topology/core_id", cpu);
    snprintf(text, sizeof text, "%u\n", package);
    put(m, text, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
    CPU_SET_S(cpu, SET_BYTES, m->allowed);
}

static int start(void **state) {
    struct machine *m = calloc(1, sizeof *m);
    strcpy(m->root, "/tmp/varve-topology-XXXXXX");
    m->allowed = CPU_ALLOC(VV_CPUS_MAX);
    CPU_ZERO_S(SET_BYTES, m->allowed);
    *state = m;
    return mkdtemp(m->root) ? 0 : -1;
}

static int take_away(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

static int end(void **state) {
    struct machine *m = *state;
    nftw(m->root, take_away, 8, FTW_DEPTH | FTW_PHYS);
    CPU_FREE(m->allowed);
    free(m);
    return 0;
}

static struct vv_topology read_machine(const struct machine *m) {
    struct vv_topology t;
    assert_true(vv_topology_read(m->root, m->allowed, &t));
    return t;
}

static unsigned threads_of(const struct machine *m) {
    struct vv_topology t = read_machine(m);
    unsigned threads = vv_topology_threads(&t);
    vv_topology_free(&t);
    return threads;
}

/* Two packages of 70 cores, core numbers the same in both; two nodes. */
static void c107_c111_more_than_64_cpus_and_two_nodes(void **state) {
    struct machine *m = *state;
    for (unsigned cpu = 0; cpu < 140; cpu++) {
        put_cpu(m, cpu, cpu / 70, cpu % 70);
    }
    put(m, "0-69\n", "/sys/devices/system/node/node0/cpulist");
    put(m, "70-100,101-139\n", "/sys/devices/system/node/node1/cpulist");
    struct vv_topology t = read_machine(m);
    assert_int_equal(t.cpus, 140);
    assert_int_equal(t.cores, 140);
    assert_int_equal(t.nodes, 3);
    assert_int_equal(t.core[69].node, 0);
    assert_int_equal(t.core[70].node, 1);
    assert_int_equal(t.core[139].node, 1);
    assert_int_equal(vv_topology_threads(&t), 140);
    vv_topology_free(&t);

    for (unsigned cpu = 0; cpu < 70; cpu++) { /* bound to the second node */
        CPU_CLR_S(cpu, SET_BYTES, m->allowed);
    }
    t = read_machine(m);
    assert_int_equal(t.cores, 70);
    assert_int_equal(t.nodes, 2);
    vv_topology_free(&t);
}

/* Four cores of two threads: one thread a core unless more are asked for, and then a sentence. */
static void c112_siblings_are_left_idle(void **state) {
    struct machine *m = *state;
    char text[300];
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        put_cpu(m, cpu, 0, cpu % 4);
    }
    struct vv_topology t = read_machine(m);
    assert_int_equal(t.cpus, 8);
    assert_int_equal(t.cores, 4);
    assert_int_equal(vv_topology_threads(&t), 4);
    assert_false(vv_topology_warns(&t, 4, text, sizeof text));
    assert_true(vv_topology_warns(&t, 5, text, sizeof text));
    assert_non_null(strstr(text, "5 threads on 4 physical cores"));
    assert_true(vv_topology_warns(&t, 8, text, sizeof text));
    assert_true(vv_topology_warns(&t, 9, text, sizeof text));
    assert_non_null(strstr(text, "9 threads on 8 CPUs"));
    assert_non_null(strstr(text, "-t 4"));
    vv_topology_free(&t);

    /* Both siblings of one core, one of another. */
    CPU_ZERO_S(SET_BYTES, m->allowed);
    CPU_SET_S(1, SET_BYTES, m->allowed);
    CPU_SET_S(5, SET_BYTES, m->allowed);
    CPU_SET_S(6, SET_BYTES, m->allowed);
    t = read_machine(m);
    assert_int_equal(t.cpus, 3);
    assert_int_equal(t.cores, 2);
    assert_int_equal(t.core[1].cpu, 6);
    vv_topology_free(&t);
}

static void put_64_cores(const struct machine *m) {
    for (unsigned cpu = 0; cpu < 64; cpu++) {
        put_cpu(m, cpu, 0, cpu);
    }
}

static void c110_a_quota_of_version_2(void **state) {
    struct machine *m = *state;
    char text[300];
    put_64_cores(m);
    put(m, "0::/host/pod/box\n", "/proc/self/cgroup");
    put(m, "max 100000\n", "/sys/fs/cgroup/host/pod/box/cpu.max");
    assert_int_equal(threads_of(m), 64);
    put(m, "250000 100000\n", "/sys/fs/cgroup/host/pod/cpu.max"); /* a parent's counts */
    assert_int_equal(threads_of(m), 3);
    put(m, "200000 100000\n", "/sys/fs/cgroup/host/pod/box/cpu.max");
    struct vv_topology t = read_machine(m);
    assert_int_equal(vv_topology_threads(&t), 2);
    assert_false(vv_topology_warns(&t, 2, text, sizeof text));
    assert_true(vv_topology_warns(&t, 3, text, sizeof text));
    assert_non_null(strstr(text, "the time of 2 CPUs"));
    vv_topology_free(&t);
    put(m, "50000 100000\n",
        "/sys/fs/cgroup/cpu.max"); /* half a CPU, as a container sees its own */
    assert_int_equal(threads_of(m), 1);
}

static void c110_a_quota_of_version_1(void **state) {
    struct machine *m = *state;
    put_64_cores(m);
    put(m, "9:cpuset:/box\n4:cpu,cpuacct:/docker/box\n0::/\n", "/proc/self/cgroup");
    put(m, "-1\n", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us");
    put(m, "100000\n", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us");
    assert_int_equal(threads_of(m), 64);
    put(m, "400000\n", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"); /* the container's own */
    assert_int_equal(threads_of(m), 4);
    put(m, "150000\n", "/sys/fs/cgroup/cpu,cpuacct/docker/box/cpu.cfs_quota_us");
    put(m, "50000\n", "/sys/fs/cgroup/cpu,cpuacct/docker/box/cpu.cfs_period_us");
    assert_int_equal(threads_of(m), 3);
    put(m, "100000\n", "/sys/fs/cgroup/cpuset/cpu.cfs_quota_us"); /* no such controller there */
    put(m, "100000\n", "/sys/fs/cgroup/cpuset/cpu.cfs_period_us");
    assert_int_equal(threads_of(m), 3);
}

/* Fast cores with two threads each, then slow ones without, as Intel numbers them. */
static void put_hybrid(const struct machine *m, unsigned fast, unsigned slow) {
    char list[40];
    for (unsigned cpu = 0; cpu < 2 * fast; cpu++) {
        put_cpu(m, cpu, 0, cpu / 2);
    }
    for (unsigned i = 0; i < slow; i++) {
        put_cpu(m, 2 * fast + i, 0, fast + i);
    }
    snprintf(list, sizeof list, "%u-%u\n", 2 * fast, 2 * fast + slow - 1);
    put(m, list, "/sys/devices/cpu_atom/cpus");
}

/* With equal shares a slow core holds up all others: 8 fast ones beat 8 and 4 at half the speed. */
static void c108_few_slow_cores_are_left_out(void **state) {
    struct machine *m = *state;
    put_hybrid(m, 8, 4);
    struct vv_topology t = read_machine(m);
    assert_int_equal(t.cores, 12);
    assert_int_equal(t.core[7].speed, VV_FULL_SPEED);
    assert_int_equal(t.core[8].speed, VV_FULL_SPEED / 2);
    assert_int_equal(vv_topology_threads(&t), 8);
    vv_topology_free(&t);
}

static void c108_many_slow_cores_are_used(void **state) {
    struct machine *m = *state;
    put_hybrid(m, 8, 16); /* 24 halves are more than 8 */
    assert_int_equal(threads_of(m), 24);
    put(m, "0::/\n", "/proc/self/cgroup");
    put(m, "1000000 100000\n", "/sys/fs/cgroup/cpu.max"); /* 10: then 8 fast ones */
    assert_int_equal(threads_of(m), 8);
}

/* Arm's small cores come first and have figures. */
static void speeds_that_the_system_knows(void **state) {
    struct machine *m = *state;
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        put_cpu(m, cpu, 0, cpu);
        put(m,
            cpu < 4   ? "400\n"
            : cpu < 7 ? "900\n"
                      : "1024\n",
            "/sys/devices/system/cpu/cpu%u/cpu_capacity", cpu);
    }
    struct vv_topology t = read_machine(m);
    assert_int_equal(t.core[0].cpu, 7);
    assert_int_equal(t.core[1].cpu, 4);
    assert_int_equal(t.core[7].speed, 400);
    assert_int_equal(vv_topology_threads(&t), 4); /* 4 · 900 > 8 · 400 > 1024 */
    vv_topology_free(&t);
}

static void a_system_that_tells_nothing(void **state) {
    struct machine *m = *state;
    CPU_SET_S(0, SET_BYTES, m->allowed);
    CPU_SET_S(3, SET_BYTES, m->allowed);
    assert_int_equal(threads_of(m), 2);
    CPU_ZERO_S(SET_BYTES, m->allowed);
    assert_int_equal(threads_of(m), 1);
    put(m, "no list\n", "/sys/devices/system/node/node0/cpulist");
    put(m, "nonsense\n:\n0::\n", "/proc/self/cgroup");
    put(m, "0 0\n", "/sys/fs/cgroup/cpu.max");
    CPU_SET_S(0, SET_BYTES, m->allowed);
    assert_int_equal(threads_of(m), 1);
}

static void this_machine(void **state) {
    struct vv_topology t;
    char text[300];
    (void)state;
    assert_true(vv_topology_here(&t));
    assert_true(t.cores >= 1 && t.cpus >= t.cores && t.nodes != 0);
    assert_int_equal(vv_topology_threads(&t), vv_cpu_default_threads());
    assert_false(vv_cpu_threads_warn(vv_cpu_default_threads(), text, sizeof text));
    assert_true(vv_cpu_threads_warn(VV_CPUS_MAX + 1, text, sizeof text));
    vv_topology_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(c107_c111_more_than_64_cpus_and_two_nodes, start, end),
        cmocka_unit_test_setup_teardown(c112_siblings_are_left_idle, start, end),
        cmocka_unit_test_setup_teardown(c110_a_quota_of_version_2, start, end),
        cmocka_unit_test_setup_teardown(c110_a_quota_of_version_1, start, end),
        cmocka_unit_test_setup_teardown(c108_few_slow_cores_are_left_out, start, end),
        cmocka_unit_test_setup_teardown(c108_many_slow_cores_are_used, start, end),
        cmocka_unit_test_setup_teardown(speeds_that_the_system_knows, start, end),
        cmocka_unit_test_setup_teardown(a_system_that_tells_nothing, start, end),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is made of the files by which Linux describes a machine: other machines in a folder. */
#include "device/cpu/placement.h"
#include "tune/tune.h"

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

static void memory_that_is_left(void **state) {
    struct machine *m = *state;
    assert_int_equal(vv_memory_available(m->root), 0); /* not known */
    put(m, "MemTotal: 900 kB\nMemAvailable:    800 kB\n", "/proc/meminfo");
    assert_int_equal(vv_memory_available(m->root), 800 * 1024);
    put(m, "0::/pod/box\n", "/proc/self/cgroup");
    put(m, "max\n", "/sys/fs/cgroup/pod/box/memory.max");
    assert_int_equal(vv_memory_available(m->root), 800 * 1024);
    put(m, "500000\n", "/sys/fs/cgroup/pod/memory.max"); /* a parent's counts */
    put(m, "400000\n", "/sys/fs/cgroup/pod/memory.current");
    assert_int_equal(vv_memory_available(m->root), 100000);
    put(m, "anon 150000\nactive_file 50000\ninactive_file 200000\n",
        "/sys/fs/cgroup/pod/memory.stat"); /* pages of files can be dropped */
    assert_int_equal(vv_memory_available(m->root), 350000);
    put(m, "7:memory:/box\n0::/\n", "/proc/self/cgroup");
    put(m, "300000\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes"); /* version 1 */
    put(m, "310000\n", "/sys/fs/cgroup/memory/memory.usage_in_bytes");
    assert_int_equal(vv_memory_available(m->root), 0);
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

/* Slow cores do their part: shares go by speed. The quota takes the fastest. */
static void c108_slow_cores_are_used_by_their_speed(void **state) {
    struct machine *m = *state;
    put_hybrid(m, 8, 4);
    struct vv_topology t = read_machine(m);
    assert_int_equal(t.cores, 12);
    assert_int_equal(t.core[7].speed, VV_FULL_SPEED);
    assert_int_equal(t.core[8].speed, VV_FULL_SPEED / 2);
    assert_int_equal(vv_topology_threads(&t), 12);
    vv_topology_free(&t);
    put(m, "0::/\n", "/proc/self/cgroup");
    put(m, "1000000 100000\n", "/sys/fs/cgroup/cpu.max"); /* 10 of the 12 */
    assert_int_equal(threads_of(m), 10);
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
    assert_int_equal(vv_topology_threads(&t), 8);
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

/* ---- places ---- */

static struct vv_placement place(const struct machine *m, enum vv_numa numa, unsigned threads) {
    struct vv_topology t = read_machine(m);
    struct vv_placement p;
    struct vv_error error;
    assert_int_equal(vv_place(&t, numa, threads, &p, &error), VV_OK);
    vv_topology_free(&t);
    return p;
}

/* The line for the user, and then the CPUs of each zone in ascending order. */
static void assert_place(const struct machine *m, enum vv_numa numa, unsigned threads,
                         const char *line, const char *zones) {
    char text[300], cpus[1000] = "";
    struct vv_placement p = place(m, numa, threads);
    vv_placement_text(&p, text, sizeof text);
    assert_string_equal(text, line);
    for (unsigned z = 0; z < p.zone_count; z++) {
        for (unsigned cpu = 0; cpu < VV_CPUS_MAX; cpu++) {
            if (CPU_ISSET_S(cpu, SET_BYTES, p.zones[z].cpus)) {
                snprintf(cpus + strlen(cpus), sizeof cpus - strlen(cpus), "%u ", cpu);
            }
        }
        snprintf(cpus + strlen(cpus), sizeof cpus - strlen(cpus), "| ");
    }
    assert_string_equal(cpus, zones);
    vv_placement_free(&p);
}

/* Two packages of three cores of two threads; each package is a node; siblings are 6 apart. */
static void put_two_nodes(const struct machine *m) {
    for (unsigned cpu = 0; cpu < 12; cpu++) {
        put_cpu(m, cpu, cpu % 6 / 3, cpu % 3);
    }
    put(m, "0-2,6-8\n", "/sys/devices/system/node/node0/cpulist");
    put(m, "3-5,9-11\n", "/sys/devices/system/node/node1/cpulist");
}

static void c111_threads_and_memory_on_two_nodes(void **state) {
    struct machine *m = *state;
    put_two_nodes(m);
    assert_place(m, VV_NUMA_AUTO, 0,
                 "6 threads: 3 on node 0, 3 on node 1; memory in turn on all of these",
                 "0 1 2 | 3 4 5 | ");
    assert_place(m, VV_NUMA_SPREAD, 3,
                 "3 threads: 2 on node 0, 1 on node 1; memory in turn on all of these",
                 "0 1 2 | 3 4 5 | ");
    assert_place(m, VV_NUMA_NODE, 0, "3 threads: 3 on node 0; memory on that node", "0 1 2 | ");
    assert_place(m, VV_NUMA_OFF, 0, "6 threads where the system puts them", "");
    assert_place(m, VV_NUMA_AUTO, 7, "7 threads where the system puts them", "");
    struct vv_placement p = place(m, VV_NUMA_AUTO, 0);
    static const unsigned turns[] = {0, 1, 0, 1, 0, 1};
    assert_memory_equal(p.zone_of, turns, sizeof turns);
    assert_int_equal(p.nodes, 3);
    vv_placement_free(&p);
}

/* Bound to one core of the first node and all of the second. */
static void c111_the_node_with_more_of_ours_is_taken(void **state) {
    struct machine *m = *state;
    struct vv_placement p;
    struct vv_error error;
    put_two_nodes(m);
    static const unsigned others[] = {0, 2, 6, 7, 8};
    for (size_t i = 0; i < 5; i++) {
        CPU_CLR_S(others[i], SET_BYTES, m->allowed);
    }
    assert_place(m, VV_NUMA_NODE, 0, "3 threads: 3 on node 1; memory on that node", "3 4 5 | ");
    struct vv_topology t = read_machine(m);
    assert_int_equal(vv_place(&t, VV_NUMA_NODE, 4, &p, &error), VV_ERROR_INVALID);
    assert_non_null(strstr(error.message, "node 1 has 3 cores"));
    vv_topology_free(&t);
}

static void one_node_of_equal_cores_is_left_to_the_system(void **state) {
    struct machine *m = *state;
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        put_cpu(m, cpu, 0, cpu % 4);
    }
    assert_place(m, VV_NUMA_AUTO, 0, "4 threads where the system puts them", "");
    assert_place(m, VV_NUMA_SPREAD, 0, "4 threads: 4 on node 0", "0 1 2 3 | ");
    assert_place(m, VV_NUMA_NODE, 1, "1 thread: 1 on node 0", "0 1 2 3 | ");
}

/* The fast ones first, and the siblings of none. */
static void c108_threads_on_fast_and_slow_cores(void **state) {
    struct machine *m = *state;
    put_hybrid(m, 2, 3);
    assert_place(m, VV_NUMA_AUTO, 0, "5 threads: 2 on node 0, 3 on node 0 at 0.50 of full speed",
                 "0 2 | 4 5 6 | ");
    assert_place(m, VV_NUMA_AUTO, 2, "2 threads: 2 on node 0", "0 2 | 4 5 6 | ");
}

static void assert_teams(const struct machine *m, const char *expected) {
    struct vv_tune_team teams[VV_TUNE_TEAMS_MOST];
    struct vv_topology t = read_machine(m);
    size_t count = vv_tune_teams(&t, teams);
    char text[200] = "";
    for (size_t i = 0; i < count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u/%d ", teams[i].threads,
                 (int)teams[i].numa);
    }
    assert_string_equal(text, expected);
    vv_topology_free(&t);
}

/* What tune compares with the default: threads, and enum vv_numa. */
static void c108_what_is_tried(void **state) {
    struct machine *m = *state;
    put_two_nodes(m);
    assert_teams(m, "12/0 3/0 0/3 0/1 ");
    put(m, "0::/\n", "/proc/self/cgroup");
    put(m, "400000 100000\n", "/sys/fs/cgroup/cpu.max"); /* all CPUs are more than it allows */
    assert_teams(m, "2/0 0/3 0/1 ");
}

static void c108_what_is_tried_with_slow_cores(void **state) {
    struct machine *m = *state;
    put_hybrid(m, 8, 4);
    assert_teams(m, "20/0 6/0 8/0 0/1 ");
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
        cmocka_unit_test_setup_teardown(memory_that_is_left, start, end),
        cmocka_unit_test_setup_teardown(c108_slow_cores_are_used_by_their_speed, start, end),
        cmocka_unit_test_setup_teardown(c111_threads_and_memory_on_two_nodes, start, end),
        cmocka_unit_test_setup_teardown(c111_the_node_with_more_of_ours_is_taken, start, end),
        cmocka_unit_test_setup_teardown(one_node_of_equal_cores_is_left_to_the_system, start, end),
        cmocka_unit_test_setup_teardown(c108_threads_on_fast_and_slow_cores, start, end),
        cmocka_unit_test_setup_teardown(c108_what_is_tried, start, end),
        cmocka_unit_test_setup_teardown(c108_what_is_tried_with_slow_cores, start, end),
        cmocka_unit_test_setup_teardown(speeds_that_the_system_knows, start, end),
        cmocka_unit_test_setup_teardown(a_system_that_tells_nothing, start, end),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "device/cpu/team.h"
#include "device/cpu/pages.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/*
 * Waiting is for a word to leave a value: spin for about as long as a step takes, then sleep in the
 * kernel. Spinning is what makes a barrier cost less than a microsecond; sleeping is what keeps a
 * waiting team from eating the machine. With fewer CPUs than threads whoever spins keeps the one
 * that is waited for from running, so a thread sleeps nearly at once. The time is measured, since a
 * pause takes 10 cycles on one CPU and 140 on the next.
 */
enum { SPIN_NANOSECONDS = 50000, CROWDED_NANOSECONDS = 500, PAUSES = 8 };

/* Kernels keep up to 700 KB on the stack; a process started with a small one, or another libc,
 * would give a thread less. */
enum { STACK_BYTES = 8 << 20 };

struct member {
    struct vv_team *team;
    unsigned thread;
    pthread_t id;
};

struct vv_team {
    const struct vv_placement *placement;
    uint32_t *speed_before; /* [threads + 1]: of all threads before each */
    unsigned threads;
    int64_t spin; /* nanoseconds */
    vv_team_body body;
    void *context;
    bool ending;
    struct member *members;                /* of threads 1 … */
    _Alignas(64) _Atomic uint32_t run;     /* counts runs; members wait for it to move */
    _Alignas(64) _Atomic uint32_t arrived; /* at the barrier */
    _Alignas(64) _Atomic uint32_t passed;  /* barriers so far */
    _Alignas(64) _Atomic uint32_t sleepers;
};

static void relax(void) {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* True once the word has changed. */
static bool spin(_Atomic uint32_t *word, uint32_t value, int64_t most) {
    int64_t start = 0;
    for (;;) {
        for (int i = 0; i < PAUSES; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value) {
                return true;
            }
            relax();
        }
        int64_t now = nanoseconds();
        start = start ? start : now;
        if (now - start > most) {
            return false;
        }
    }
}

static void wait_change(struct vv_team *team, _Atomic uint32_t *word, uint32_t value) {
    if (spin(word, value, team->spin)) {
        return;
    }
    /* Sequentially consistent on both sides: either the sleeper sees the new value, or whoever
     * changes it sees the sleeper. */
    atomic_fetch_add(&team->sleepers, 1);
    while (atomic_load(word) == value) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    }
    atomic_fetch_sub(&team->sleepers, 1);
}

static void change(struct vv_team *team, _Atomic uint32_t *word) {
    atomic_fetch_add(word, 1);
    if (atomic_load(&team->sleepers) > 0) {
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
}

void vv_team_meet(struct vv_team *team, void (*last)(void *context), void *context) {
    uint32_t passed = atomic_load_explicit(&team->passed, memory_order_acquire);
    if (team->threads > 1 &&
        atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 < team->threads) {
        wait_change(team, &team->passed, passed);
        return;
    }
    if (last) {
        last(context);
    }
    if (team->threads > 1) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        change(team, &team->passed);
    }
}

void vv_team_barrier(struct vv_team *team) {
    vv_team_meet(team, NULL, NULL);
}

unsigned vv_team_threads(const struct vv_team *team) {
    return team->threads;
}

/* Rounding to nearest even, no flush to zero, no traps (we divide by zero where it doesn't matter),
 * whatever the thread that made us had set. Returns what was set. */
static uint64_t set_float_mode(void) {
#if defined(__x86_64__)
    unsigned mode = _mm_getcsr();
    _mm_setcsr((mode & ~(0x8040u | 0x6000u)) | 0x1f80u);
    return mode;
#elif defined(__aarch64__)
    uint64_t mode, ours;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    ours = mode & ~(UINT64_C(1) << 24 | UINT64_C(1) << 19 | UINT64_C(3) << 22 | UINT64_C(1) << 1 |
                    UINT64_C(0x9f00));
    __asm__ volatile("msr fpcr, %0" ::"r"(ours));
    return mode;
#else
    return 0;
#endif
}

static void put_float_mode_back(uint64_t mode) {
#if defined(__x86_64__)
    _mm_setcsr((unsigned)mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
#else
    (void)mode;
#endif
}

/* ---- places ---- */

enum { SET_BYTES = VV_CPUS_MAX / 8 };

/* The CPUs that a thread may run on; NULL: where the system likes. */
static const cpu_set_t *cpus_of(const struct vv_team *team, unsigned thread) {
    const struct vv_placement *p = team->placement;
    return p->zone_count ? p->zones[p->zone_of[thread]].cpus : NULL;
}

/* What a caller had before it became thread 0. */
struct before {
    uint64_t float_mode;
    bool moved, policy;
    _Alignas(cpu_set_t) unsigned char cpus[SET_BYTES];
};

static void take_place(const struct vv_team *team, struct before *before) {
    const cpu_set_t *cpus = cpus_of(team, 0);
    cpu_set_t *old = (cpu_set_t *)(void *)before->cpus;
    before->float_mode = set_float_mode();
    before->moved = cpus && sched_getaffinity(0, SET_BYTES, old) == 0 &&
                    sched_setaffinity(0, SET_BYTES, cpus) == 0;
    before->policy = vv_pages_prefer(team->placement->nodes);
}

/* A library leaves no traces. */
static void leave_place(const struct before *before) {
    if (before->policy) {
        vv_pages_prefer_none();
    }
    if (before->moved) {
        sched_setaffinity(0, SET_BYTES, (const cpu_set_t *)(const void *)before->cpus);
    }
    put_float_mode_back(before->float_mode);
}

static uint32_t speed_of(const struct vv_placement *p, unsigned thread) {
    return p->zone_count ? p->zones[p->zone_of[thread]].speed : 1;
}

struct vv_share vv_team_share(const struct vv_team *team, unsigned thread, size_t turn) {
    const uint32_t *before = team->speed_before;
    unsigned n = team->threads, first = (n - (unsigned)(turn % n)) % n;
    uint32_t all = before[n], wrapped = thread < first ? all : 0;
    return (struct vv_share){before[thread] + wrapped - before[first],
                             before[thread + 1] - before[thread], all};
}

/* ---- threads ---- */

static void *member_main(void *argument) {
    struct member *m = argument;
    struct vv_team *team = m->team;
    uint32_t seen = 0;
    set_float_mode();
    vv_pages_prefer(team->placement->nodes);
    for (;;) {
        wait_change(team, &team->run, seen);
        seen++;
        if (team->ending) {
            return NULL;
        }
        team->body(team->context, team, m->thread);
        vv_team_barrier(team);
    }
}

void vv_team_run(struct vv_team *team, vv_team_body body, void *context) {
    struct before before;
    take_place(team, &before);
    team->body = body;
    team->context = context;
    if (team->threads > 1) {
        change(team, &team->run);
    }
    body(context, team, 0);
    vv_team_barrier(team);
    leave_place(&before);
}

/* More threads than CPUs that they may run on. */
static bool crowded(unsigned threads) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
           threads > (unsigned)CPU_COUNT(&allowed);
}

/* Returns an errno, or 0. */
static int start(struct member *m) {
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code != 0) {
        return code;
    }
    code = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (code == 0) {
        code = pthread_create(&m->id, &attributes, member_main, m);
    }
    const cpu_set_t *cpus = cpus_of(m->team, m->thread);
    if (code == 0 && cpus) {
        pthread_setaffinity_np(m->id, SET_BYTES, cpus);
    }
    pthread_attr_destroy(&attributes);
    return code;
}

/* A team of its caller alone. */
static struct vv_team *create(const struct vv_placement *placement, struct vv_error *error) {
    unsigned threads = placement->threads;
    struct vv_team *team = aligned_alloc(64, (sizeof *team + 63) / 64 * 64);
    struct member *members = calloc(threads, sizeof *members);
    uint32_t *speed_before = calloc((size_t)threads + 1, sizeof *speed_before);
    if (!team || !members || !speed_before) {
        free(team);
        free(members);
        free(speed_before);
        vv_fail_memory(error, sizeof *team, "a team of threads");
        return NULL;
    }
    memset(team, 0, sizeof *team);
    team->placement = placement;
    team->members = members;
    team->speed_before = speed_before;
    team->threads = 1;
    team->spin = crowded(threads) ? CROWDED_NANOSECONDS : SPIN_NANOSECONDS;
    for (unsigned t = 0; t < threads; t++) {
        speed_before[t + 1] = speed_before[t] + speed_of(placement, t);
    }
    return team;
}

struct vv_team *vv_team_new(const struct vv_placement *placement, struct vv_error *error) {
    struct vv_team *team = create(placement, error);
    if (!team) {
        return NULL;
    }
    unsigned threads = placement->threads;
    struct member *members = team->members;
    for (unsigned t = 1; t < threads; t++) {
        members[t] = (struct member){team, t, 0};
        int code = start(&members[t]);
        if (code != 0) {
            vv_team_free(team);
            vv_fail(error, VV_ERROR_MEMORY, "thread %u of %u can't be started (%s): ask for fewer",
                    t + 1, threads, strerror(code));
            return NULL;
        }
        team->threads = t + 1;
    }
    return team;
}

void vv_team_free(struct vv_team *team) {
    if (!team) {
        return;
    }
    team->ending = true;
    change(team, &team->run);
    for (unsigned t = 1; t < team->threads; t++) {
        pthread_join(team->members[t].id, NULL);
    }
    free(team->members);
    free(team->speed_before);
    free(team);
}

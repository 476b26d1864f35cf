#include "base/file_guard.h"

#include "base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The handler may run at any moment in any thread, so the list it reads is never locked and never
 * shrinks: a record that is no longer used waits for the next mapping.
 */
struct vv_file_guard {
    atomic_bool used;
    atomic_bool lost;
    atomic_uintptr_t begin; /* 0: no mapping */
    atomic_uintptr_t end;
    struct vv_file_guard *next; /* fixed once it is in the list */
};

static _Atomic(struct vv_file_guard *) list;
static atomic_bool installed;
static struct sigaction previous;
static uintptr_t page_bytes;

/* A free record, new or used before; NULL: no memory. */
static struct vv_file_guard *claim(void) {
    for (struct vv_file_guard *g = atomic_load(&list); g; g = g->next) {
        bool used = false;
        if (atomic_compare_exchange_strong(&g->used, &used, true)) {
            return g;
        }
    }
    struct vv_file_guard *g = calloc(1, sizeof *g);
    if (!g) {
        return NULL;
    }
    atomic_store(&g->used, true);
    g->next = atomic_load(&list);
    while (!atomic_compare_exchange_weak(&list, &g->next, g)) {
    }
    return g;
}

struct vv_file_guard *vv_file_guard_begin(const void *bytes, size_t size) {
    struct vv_file_guard *g = claim();
    if (g) {
        atomic_store(&g->lost, false);
        atomic_store(&g->end, (uintptr_t)bytes + size);
        atomic_store(&g->begin, (uintptr_t)bytes);
    }
    return g;
}

void vv_file_guard_end(struct vv_file_guard *guard) {
    atomic_store(&guard->begin, 0);
    atomic_store(&guard->used, false);
}

bool vv_file_guard_lost(const struct vv_file_guard *guard) {
    return atomic_load(&guard->lost);
}

/* Puts zeros in the place of the page at `address` and of all that follow in its mapping: they are
 * lost too, and a fault for each of them would take long. */
static bool replace(uintptr_t address) {
    for (struct vv_file_guard *g = atomic_load(&list); g; g = g->next) {
        uintptr_t begin = atomic_load(&g->begin), end = atomic_load(&g->end);
        if (begin == 0 || address < begin || address >= end || atomic_load(&g->begin) != begin) {
            continue;
        }
        uintptr_t page = address & ~(page_bytes - 1);
        atomic_store(&g->lost, true);
        return mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                    -1, 0) != MAP_FAILED;
    }
    return false;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    int kept = errno;
    bool sent = info->si_code <= 0; /* by another process, no access of ours */
    if (sent || !replace((uintptr_t)info->si_addr)) {
        sigaction(number, &previous, NULL); /* then the access is repeated and reaches it */
        if (sent) {
            raise(number);
        }
    }
    errno = kept;
}

int vv_file_guard_mappings(struct vv_error *error) {
    if (atomic_exchange(&installed, true)) {
        return VV_OK;
    }
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, &action, &previous) != 0) {
        atomic_store(&installed, false);
        return vv_fail_system(error, errno, "SIGBUS", "handled");
    }
    return VV_OK;
}

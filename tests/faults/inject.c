#include "faults/inject.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

static atomic_size_t calls, target;
static atomic_int failed, counting;
static atomic_long held;

void inject_begin(size_t fail_at) {
    atomic_store(&calls, 0);
    atomic_store(&target, fail_at);
    atomic_store(&failed, 0);
    atomic_store(&counting, 1);
}

size_t inject_end(void) {
    atomic_store(&counting, 0);
    return atomic_load(&calls);
}

int inject_failed(void) {
    return atomic_load(&failed);
}

long inject_held(void) {
    return atomic_load(&held);
}

/* True: this call is to fail. */
static int fails(int code) {
    if (!atomic_load(&counting) || atomic_fetch_add(&calls, 1) + 1 != atomic_load(&target)) {
        return 0;
    }
    atomic_store(&failed, 1);
    errno = code;
    return 1;
}

/* ---- memory ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t most);
void __wrap_free(void *p);

static void *taken(void *p) {
    atomic_fetch_add(&held, p != NULL);
    return p;
}

void *__wrap_malloc(size_t size) {
    return fails(ENOMEM) ? NULL : taken(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size) {
    return fails(ENOMEM) ? NULL : taken(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size) {
    if (fails(ENOMEM)) {
        return NULL;
    }
    void *q = __real_realloc(p, size);
    atomic_fetch_add(&held, !p && q);
    return q;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails(ENOMEM) ? NULL : taken(__real_aligned_alloc(alignment, size));
}

char *__wrap_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *copy = __wrap_malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

char *__wrap_strndup(const char *s, size_t most) {
    size_t n = strnlen(s, most);
    char *copy = __wrap_malloc(n + 1);
    if (copy) {
        memcpy(copy, s, n);
        copy[n] = 0;
    }
    return copy;
}

void __wrap_free(void *p) {
    atomic_fetch_sub(&held, p != NULL);
    __real_free(p);
}

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t size);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (fails(ENOMEM)) {
        return MAP_FAILED;
    }
    void *map = __real_mmap(at, size, protection, flags, fd, offset);
    atomic_fetch_add(&held, map != MAP_FAILED);
    return map;
}

int __wrap_munmap(void *at, size_t size) {
    atomic_fetch_sub(&held, 1);
    return __real_munmap(at, size);
}

/* ---- files and threads ---- */

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
FILE *__real_fopen(const char *path, const char *mode);
int __real_fclose(FILE *file);
int __real_fstat(int fd, struct stat *out);
ssize_t __real_pread(int fd, void *to, size_t n, off_t at);
ssize_t __real_write(int fd, const void *from, size_t n);
int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*f)(void *), void *x);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fclose(FILE *file);
int __wrap_fstat(int fd, struct stat *out);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_write(int fd, const void *from, size_t n);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*f)(void *), void *x);

int __wrap_open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    unsigned mode = va_arg(list, unsigned);
    va_end(list);
    if (fails(EMFILE)) {
        return -1;
    }
    int fd = __real_open(path, flags, mode);
    atomic_fetch_add(&held, fd >= 0);
    return fd;
}

int __wrap_close(int fd) {
    atomic_fetch_sub(&held, 1);
    return __real_close(fd);
}

FILE *__wrap_fopen(const char *path, const char *mode) {
    FILE *file = fails(EMFILE) ? NULL : __real_fopen(path, mode);
    atomic_fetch_add(&held, file != NULL);
    return file;
}

/* Of a stream that was made of an open file, that one is closed with it. */
int __wrap_fclose(FILE *file) {
    atomic_fetch_sub(&held, 1);
    return __real_fclose(file);
}

int __wrap_fstat(int fd, struct stat *out) {
    return fails(EIO) ? -1 : __real_fstat(fd, out);
}

ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at) {
    return fails(EIO) ? -1 : __real_pread(fd, to, n, at);
}

ssize_t __wrap_write(int fd, const void *from, size_t n) {
    return fails(ENOSPC) ? -1 : __real_write(fd, from, n);
}

int __wrap_fsync(int fd) {
    return fails(EIO) ? -1 : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to) {
    return fails(EACCES) ? -1 : __real_rename(from, to);
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *a, void *(*f)(void *), void *x) {
    return fails(EAGAIN) ? EAGAIN : __real_pthread_create(id, a, f, x);
}

/*
 * How anything here fails: a status code for the program, a sentence for the person.
 *
 * A function that can fail returns VV_OK (0) or a negative code, and takes a `struct vv_error *` as
 * its last parameter (never NULL), which it fills with one sentence: what went wrong, where, and
 * what to do. Kernels return a code alone; whoever replays them knows the layer and writes the
 * sentence.
 */
#pragma once
#include <stdarg.h>

enum {
    VV_OK = 0,
    VV_ERROR_NOT_FINITE = -1,  /* a value that is NaN, infinite or beyond the contract's range */
    VV_ERROR_INVALID = -2,     /* the caller's or the file's data break a rule */
    VV_ERROR_IO = -3,          /* the system refused to read or write */
    VV_ERROR_MEMORY = -4,      /* no memory left */
    VV_ERROR_UNSUPPORTED = -5, /* understood, and not available here */
    VV_ERROR_CANCELLED = -6,   /* the caller asked to stop */
    VV_ERROR_DEVICE = -7,      /* a GPU was lost, or refused to run what it was given */
};

struct vv_error {
    int code;
    char message[1000]; /* one sentence, no newline; text from files is made printable */
};

#if defined(__GNUC__)
#define VV_PRINTF(at, first) __attribute__((__format__(__printf__, at, first)))
#else
#define VV_PRINTF(at, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* Fills `error` and returns `code`. Control characters and ill-formed UTF-8 are shown as '?'. */
int vv_fail(struct vv_error *error, int code, const char *format, ...) VV_PRINTF(3, 4);
int vv_fail_va(struct vv_error *error, int code, const char *format, va_list list);

/* The sentence for "no memory for WHAT": names the size. Returns VV_ERROR_MEMORY. */
int vv_fail_memory(struct vv_error *error, unsigned long long bytes, const char *what);
#ifdef __cplusplus
}
#endif

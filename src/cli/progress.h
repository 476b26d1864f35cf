/* One line on standard error that tells how far long work is. Only where a person sees it: nothing
 * is written unless standard error is a terminal. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A varve_progress: `what` "loading" and the like are in bytes, "reading prompt" in tokens,
 * "measuring" in steps. Returns
 * false, which ends the work, after Ctrl-C. */
bool progress_bytes(void *context, const char *what, uint64_t done, uint64_t total);
bool progress_tokens(void *context, const char *what, uint64_t done, uint64_t total);
bool progress_steps(void *context, const char *what, uint64_t done, uint64_t total);

/* Takes the line away. */
void progress_clear(void);

/* Seconds of a clock that only goes forward. */
double seconds_now(void);

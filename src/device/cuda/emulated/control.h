/*
 * What tests ask of the emulated device, in the module that holds it. The same by environment
 * variables, read when the device is first used: VARVE_EMULATED_SEED, VARVE_EMULATED_FAIL,
 * VARVE_EMULATED_EAGER=1, VARVE_EMULATED_MEMORY (bytes).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* what a module gives to those that load it */

/* Draws all later orders from `seed`. */
void vv_emulated_seed(uint64_t seed);
/* The `countdown`-th call from here on that takes memory or makes an object of the driver fails for
 * lack of memory: 1 is the next; 0 none. Returns what was left of the last countdown. */
uint64_t vv_emulated_fail(uint64_t countdown);
/* The `countdown`-th launch of a kernel from here on is refused; as above. */
uint64_t vv_emulated_refuse(uint64_t countdown);
/* Whether work in a stream is done as it comes. Otherwise it is put off until someone waits for it,
 * so that nobody can do without waiting. */
void vv_emulated_eager(int eager);
/* The device's memory from here on. */
void vv_emulated_memory(size_t bytes);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

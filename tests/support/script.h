/*
 * Random scripts over several sequences: read on, verify, commit k, fork, take back, keep, resume,
 * restart from files, on another device each time.
 * After every step the state of the slots touched is, byte for byte, what plain decoding on the CPU
 * has at that place of that text, and so are all logits. The texts begin alike, so that one goes on
 * from another's state; checkpoints lie at tokens that were accepted (C078 of docs/cases.md).
 */
#pragma once
#include "support/opened.h"

/* `steps` steps of a script that `seed` decides, with a session of these options, which begins on
 * their device; `other`: the one after a restart. Prints how many steps of each kind there were (of
 * 1,000 and more each at least 5 %), and how many windows met the ends of blocks, and separators.
 */
void script_run(const char *model, struct varve_session_options options, enum varve_device other,
                size_t steps, uint64_t seed);

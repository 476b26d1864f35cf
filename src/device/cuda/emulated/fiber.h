/*
 * Stacks to run threads of a block on, one at a time, and the switch from one to another.
 * They are kept for later blocks. Behind each lies a guard page.
 */
#pragma once
#include <cstddef>

namespace vv_emulated {

struct fiber {
    void *at;     /* where it stopped: its stack pointer */
    char *bottom; /* lowest address of the stack; NULL: the stack that the process gave */
    size_t bytes;
    void *fake;  /* AddressSanitizer's */
    fiber *next; /* in the list of those to be had */
};

/* A stack on which `entry` will run when it is switched to; it must never return.
 * NULL: no memory. */
fiber *fiber_take(void (*entry)());
/* Gives it back; a fiber may give back the one that it runs on, and then switch away for good. */
void fiber_give(fiber *of);
/* Goes on where `to` stopped. `from` is the one that runs now; `last`: it won't be gone back to. */
void fiber_switch(fiber *from, fiber *to, bool last);
/* The first thing that an entry does. */
void fiber_entered();

} // namespace vv_emulated

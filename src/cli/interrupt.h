/* Ctrl-C. At first it ends the program at once; while work runs that can end well, the first one
 * asks for that, and the second one ends the program. */
#pragma once
#include <stdbool.h>

/* Takes SIGINT, SIGTERM and SIGHUP; ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a file
 * that may not grow are failed writes. */
void interrupt_install(void);

/* From here on the first signal only makes `interrupted` true. */
void interrupt_gently(void);
bool interrupted(void);

/* Waits for something to read, for a person: true once there is, false once a signal has come. Both
 * at once, so that there is no moment in which a signal, in whatever thread, would be missed. */
bool interrupt_wait(int descriptor);

/* The signal that came, or 0; from here on it is as if it had not. */
int interrupt_take(void);

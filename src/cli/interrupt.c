#include "interrupt.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t gentle, asked;
static int bell[2] = {-1, -1}; /* a pipe that the handler writes a byte to */

static void on_signal(int number) {
    if (asked || !gentle) {
        _exit(EXIT_INTERRUPTED);
    }
    asked = number;
    int was = errno;
    ssize_t written = write(bell[1], "", 1);
    (void)written;
    errno = was;
}

static void take_signals(int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void interrupt_install(void) {
    if (pipe2(bell, O_CLOEXEC | O_NONBLOCK) != 0) {
        bell[0] = bell[1] = -1;
    }
    take_signals(SA_RESTART);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void interrupt_waiting(bool waiting) {
    take_signals(waiting ? 0 : SA_RESTART);
}

int interrupt_take(void) {
    int number = asked;
    char byte;
    asked = 0;
    while (read(bell[0], &byte, 1) > 0) {
    }
    return number;
}

void interrupt_gently(void) {
    gentle = 1;
}

bool interrupted(void) {
    return asked != 0;
}

int interrupt_descriptor(void) {
    return bell[0];
}

#include "interrupt.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

static void take_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void interrupt_install(void) {
    if (pipe2(bell, O_CLOEXEC | O_NONBLOCK) != 0) {
        bell[0] = bell[1] = -1;
    }
    take_signals();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
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

bool interrupt_wait(int descriptor) {
    struct pollfd fds[] = {{.fd = descriptor, .events = POLLIN}, {.fd = bell[0], .events = POLLIN}};
    while (!asked) {
        int ready = poll(fds, 2, -1);
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ready > 0 && !fds[1].revents) {
            return true;
        }
        if (ready > 0 && !asked) {
            interrupt_take(); /* the bell rang for a signal that was taken meanwhile */
        }
    }
    return false;
}

#include "interrupt.h"
#include "options.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t gentle, asked;

static void on_signal(int number) {
    if (asked || !gentle) {
        _exit(EXIT_INTERRUPTED);
    }
    asked = number;
}

static void take_signals(int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

void interrupt_install(void) {
    take_signals(SA_RESTART);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void interrupt_waiting(bool waiting) {
    take_signals(waiting ? 0 : SA_RESTART);
}

int interrupt_take(void) {
    int number = asked;
    asked = 0;
    return number;
}

void interrupt_gently(void) {
    gentle = 1;
}

bool interrupted(void) {
    return asked != 0;
}

#include "interrupt.h"
#include "options.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t gentle, asked;

static void on_signal(int number) {
    (void)number;
    if (asked || !gentle) {
        _exit(EXIT_INTERRUPTED);
    }
    asked = 1;
}

void interrupt_install(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void interrupt_gently(void) {
    gentle = 1;
}

bool interrupted(void) {
    return asked != 0;
}

#include "report.h"
#include "options.h"
#include "progress.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>

static char sentence[2000];

static void report_list(const char *format, va_list list) {
    vsnprintf(sentence, sizeof sentence, format, list);
    utf8_printable(sentence);
    progress_clear();
    fprintf(stderr, "varve: %s\n", sentence);
}

const char *report_last(void) {
    return sentence;
}

void report(const char *format, ...) {
    va_list list;
    va_start(list, format);
    report_list(format, list);
    va_end(list);
}

int fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    report_list(format, list);
    va_end(list);
    return EXIT_FAILED;
}

int fail_use(const char *format, ...) {
    va_list list;
    va_start(list, format);
    report_list(format, list);
    va_end(list);
    return EXIT_WRONG_USE;
}

#include "output.h"
#include "options.h"
#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int first_error; /* errno of the first write that failed, or 0 */

static void note(bool failed) {
    if (failed && first_error == 0) {
        first_error = errno ? errno : EIO;
    }
}

void output_write(const char *text, size_t length) {
    if (first_error == 0) {
        note(fwrite(text, 1, length, stdout) != length);
    }
}

void output_format(const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (first_error == 0) {
        note(vprintf(format, list) < 0);
    }
    va_end(list);
}

bool output_flush(void) {
    if (first_error == 0) {
        note(fflush(stdout) != 0);
    }
    return first_error == 0;
}

int output_finish(int code) {
    if (output_flush() || first_error == EPIPE) {
        return code;
    }
    return fail("standard output cannot be written: %s", strerror(first_error));
}

const char *bytes_text(uint64_t bytes, char text[32]) {
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
    for (size_t i = 0; i < 3; i++) {
        if ((double)bytes >= units[i].unit) {
            snprintf(text, 32, "%.1f %s", (double)bytes / units[i].unit, units[i].name);
            return text;
        }
    }
    snprintf(text, 32, "%u bytes", (unsigned)bytes);
    return text;
}

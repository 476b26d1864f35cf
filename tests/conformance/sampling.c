/* The golden cases of the fixtures folder: conformance_sampling FIXTURES */
#include "support/sampling_cases.h"
#include <stdio.h>

static void report(const char *name, const char *what) {
    printf("case \"%s\" %s\n", name ? name : "?", what);
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    snprintf(path, sizeof path, "%s/sampling/cases.json", argv[1]);
    size_t failed, passed = sampling_cases_run(path, report, &failed);
    printf("sampling: %zu passed, %zu failed\n", passed, failed);
    return failed > 0;
}

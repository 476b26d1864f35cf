/*
 * The arithmetic contract's goldens for quantised and float products and elementwise functions:
 * conformance_arithmetic FIXTURES
 */
#include "support/arithmetic_golden.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    char folder[4096];
    struct golden g = {0};
    snprintf(folder, sizeof folder, "%s/arithmetic", argv[1]);
    arithmetic_golden_run(&g, folder);
    printf("arithmetic: %zu passed, %zu failed\n", g.passed, g.failed);
    return g.failed > 0;
}

/*
 * The arithmetic contract's goldens for attention and the gated delta rule:
 * conformance_arithmetic_attention FIXTURES
 */
#include "support/attention_golden.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    char folder[4096];
    struct golden g = {0};
    snprintf(folder, sizeof folder, "%s/arithmetic", argv[1]);
    attention_golden_run(&g, folder);
    printf("arithmetic_attention: %zu passed, %zu failed\n", g.passed, g.failed);
    return g.failed > 0;
}

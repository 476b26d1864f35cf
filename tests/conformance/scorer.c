/* The index scorer's goldens: conformance_scorer FIXTURES */
#include "support/scorer_golden.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    char path[4096];
    struct golden g = {0};
    snprintf(path, sizeof path, "%s/deepseek4/scorer.golden.gguf", argv[1]);
    scorer_golden_run(&g, path);
    printf("scorer: %zu passed, %zu failed\n", g.passed, g.failed);
    return g.failed > 0;
}

/* Every row of the decoding goldens: conformance_quant FIXTURES */
#include "support/quant_golden.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    char folder[4096];
    struct golden g = {0};
    snprintf(folder, sizeof folder, "%s/quant", argv[1]);
    quant_golden_run(&g, folder);
    printf("quant: %zu passed, %zu failed\n", g.passed, g.failed);
    return g.failed > 0;
}

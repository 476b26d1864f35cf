/*
 * Runs the checks of all operations, or of the folders named as arguments, printing what fails; the
 * development loop's `varve check`. CTest runs the quick subset.
 */
#include "tune/check.h"

#include <stdio.h>
#include <string.h>

static void failure(void *context, const char *line) {
    (void)context;
    printf("%s\n", line);
}

static void folder_done(void *context, const char *folder, size_t passed, size_t failed) {
    (void)context;
    printf("%-16s %zu passed, %zu failed\n", folder, passed, failed);
}

int main(int argc, char **argv) {
    size_t passed = 0, failed = 0;
    for (int i = 1; i < (argc > 1 ? argc : 2); i++) {
        struct vv_error error;
        size_t p, f;
        struct vv_check_options options = {.folder = argc > 1 ? argv[i] : NULL,
                                           .seed = 20261129,
                                           .quick = argc == 1,
                                           .folder_done = folder_done,
                                           .failure = failure};
        if (vv_check_run(&options, &p, &f, &error) != VV_OK) {
            printf("%s\n", error.message);
            return 1;
        }
        passed += p;
        failed += f;
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed != 0;
}

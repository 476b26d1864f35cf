/* The seeds of a fuzzer through its target, which the includer has and which aborts where it finds
 * one wrong. */
#pragma once
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All of fuzz/corpus/NAME: there are `least` or more. */
static inline void seeds_hold(const char *name, int least) {
    int seeds = 0;
    char path[1000];
    snprintf(path, sizeof path, "%s/fuzz/corpus/%s", VARVE_SOURCE_DIR, name);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        uint8_t bytes[4096];
        snprintf(path, sizeof path, "%s/fuzz/corpus/%s/%s", VARVE_SOURCE_DIR, name, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file) {
            size_t size = fread(bytes, 1, sizeof bytes, file);
            fclose(file);
            assert_int_equal(LLVMFuzzerTestOneInput(bytes, size), 0);
            seeds++;
        }
    }
    closedir(folder);
    assert_true(seeds >= least);
}

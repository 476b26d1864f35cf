/* The seeds of fuzz/session_fuzz.c, made by tools/session_seeds.py: all are read to their end, but
 * for those named bad_. */
#include "../fuzz/session_fuzz.c"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void seeds_are_read_or_refused(void **state) {
    (void)state;
    int seeds = 0;
    DIR *folder = opendir(VARVE_SOURCE_DIR "/fuzz/corpus/session");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        uint8_t bytes[4096];
        char path[1000];
        snprintf(path, sizeof path, "%s/fuzz/corpus/session/%s", VARVE_SOURCE_DIR, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file) {
            size_t size = fread(bytes, 1, sizeof bytes, file);
            fclose(file);
            bool bad = strncmp(entry->d_name, "bad_", 4) == 0;
            if ((read_input(bytes, size) != VV_OK) != bad) {
                fail_msg("%s is %s", entry->d_name, bad ? "read" : "refused");
            }
            seeds++;
        }
    }
    closedir(folder);
    assert_int_equal(seeds, 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_are_read_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The seeds of fuzz/answer_fuzz.c, through the target itself: it aborts where it finds one
 * wrong. */
#include "../fuzz/answer_fuzz.c"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void all_seeds_hold(void **state) {
    (void)state;
    int seeds = 0;
    DIR *folder = opendir(VARVE_SOURCE_DIR "/fuzz/corpus/answer");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1000];
        uint8_t bytes[4096];
        snprintf(path, sizeof path, VARVE_SOURCE_DIR "/fuzz/corpus/answer/%s", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file) {
            size_t size = fread(bytes, 1, sizeof bytes, file);
            fclose(file);
            assert_int_equal(LLVMFuzzerTestOneInput(bytes, size), 0);
            seeds++;
        }
    }
    closedir(folder);
    assert_true(seeds >= 19);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_seeds_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

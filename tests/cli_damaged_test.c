/* The command while its model's file is cut short: case C016 of docs/cases.md. */
#include "support/command.h"
#include "support/edited.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* No signal ends it: it says what happened. What it wrote until then stays written. */
static void c016_the_file_is_cut_while_it_writes(void **state) {
    (void)state;
    struct temporary folder = temporary_make();
    char path[600], errors[600], text[1 << 12], said[1000] = "";
    snprintf(path, sizeof path, "%s", temporary_file(&folder, "model.gguf"));
    snprintf(errors, sizeof errors, "%s", temporary_file(&folder, "errors"));
    struct edited *e = edited_open("qwen4exp/micro.f32.gguf");
    edited_write(e, path);
    edited_close(e);
    /* Tokens 288 and 290 would end the answer. The pipe holds some fifty events. */
    struct command_process p = command_start(
        errors, ARGUMENTS("run", "-m", path, "--temperature", "0", "--logit-bias", "288=-inf",
                          "--logit-bias", "290=-inf", "--raw", "--json", "-n", "4000", "Hello"));
    size_t seen = 0;
    while (seen < 1000) {
        ssize_t n = read(p.out, text, sizeof text - 1);
        assert_true(n > 0);
        seen += (size_t)n;
    }
    assert_int_equal(truncate(path, 4096), 0);
    while (read(p.out, text, sizeof text) > 0) {
    }
    close(p.out);
    assert_int_equal(command_wait(&p), 1);
    FILE *file = fopen(errors, "rb");
    assert_non_null(file);
    assert_true(fread(said, 1, sizeof said - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(said, "model.gguf has changed while it was in use"));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one sentence */
    temporary_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(c016_the_file_is_cut_while_it_writes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

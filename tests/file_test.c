/* Files of base/file.h. */
#include "base/file.h"
#include "support/temporary.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct vv_error error;

static void message_has(const char *word) {
    if (!strstr(error.message, word)) {
        fail_msg("'%s' is not in: %s", word, error.message);
    }
}

static void write_file(const char *path, const char *text) {
    struct vv_output *o;
    assert_int_equal(vv_output_open(path, &o, &error), VV_OK);
    assert_int_equal(vv_output_write(o, text, strlen(text), &error), VV_OK);
    assert_int_equal(vv_output_size(o), strlen(text));
    assert_int_equal(vv_output_finish(o, &error), VV_OK);
}

static void check_file(const char *path, const char *text) {
    struct vv_file file;
    char read[100];
    size_t got;
    assert_int_equal(vv_file_open(path, &file, &error), VV_OK);
    assert_int_equal(file.size, strlen(text));
    assert_int_equal(vv_file_read(&file, 0, sizeof read, read, &got, &error), VV_OK);
    assert_int_equal(got, strlen(text));
    assert_memory_equal(read, text, got);
    assert_int_equal(vv_file_read(&file, 1, 2, read, &got, &error), VV_OK);
    assert_int_equal(got, 2);
    assert_memory_equal(read, text + 1, 2);
    assert_int_equal(vv_file_read(&file, 1000, 2, read, &got, &error), VV_OK);
    assert_int_equal(got, 0);
    assert_int_equal(vv_file_map(&file, &error), VV_OK);
    assert_memory_equal(file.bytes, text, strlen(text));
    assert_int_equal(vv_file_check_unchanged(&file, &error), VV_OK);
    vv_file_close(&file);
    vv_file_close(&file); /* a second time is let be */
}

static void a_file_is_written_and_read(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "a");
    mode_t mask = umask(027);
    write_file(path, "hello");
    check_file(path, "hello");
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640); /* as the user's umask says */
    umask(mask);
    write_file(path, "another text");
    check_file(path, "another text");
    temporary_remove(&t);
}

static void an_empty_file_has_no_mapping(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    struct vv_file file;
    write_file(temporary_file(&t, "empty"), "");
    assert_int_equal(vv_file_open(temporary_file(&t, "empty"), &file, &error), VV_OK);
    assert_int_equal(vv_file_map(&file, &error), VV_ERROR_INVALID);
    message_has("is empty");
    vv_file_close(&file);
    temporary_remove(&t);
}

static void an_abandoned_file_leaves_the_old_one(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "a");
    struct vv_output *o;
    write_file(path, "old");
    assert_int_equal(vv_output_open(path, &o, &error), VV_OK);
    assert_int_equal(vv_output_write(o, "new", 3, &error), VV_OK);
    check_file(path, "old");
    vv_output_abandon(o);
    vv_output_abandon(NULL);
    check_file(path, "old");
    assert_int_equal(access(temporary_file(&t, "a.partial"), F_OK), -1);
    temporary_remove(&t);
}

static void two_writers_of_one_file_are_kept_apart(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "a");
    struct vv_output *first, *second;
    assert_int_equal(vv_output_open(path, &first, &error), VV_OK);
    assert_int_equal(vv_output_write(first, "one", 3, &error), VV_OK);
    assert_int_equal(vv_output_open(path, &second, &error), VV_ERROR_IO);
    assert_null(second);
    message_has("a.partial is being written by another process");
    assert_int_equal(vv_output_finish(first, &error), VV_OK);
    check_file(path, "one");
    write_file(path, "two");
    check_file(path, "two");
    temporary_remove(&t);
}

static void what_can_be_no_output_is_refused_at_once(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    struct vv_output *o;
    assert_int_equal(vv_output_open(t.path, &o, &error), VV_ERROR_INVALID);
    message_has("no regular file");
    assert_int_equal(vv_output_open("/dev/null", &o, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_output_open(temporary_file(&t, "none/a"), &o, &error), VV_ERROR_IO);
    message_has("cannot be created: No such file");
    /* A link in the place of the partial file is not followed. */
    write_file(temporary_file(&t, "precious"), "precious");
    assert_int_equal(symlink(temporary_file(&t, "precious"), temporary_file(&t, "a.partial")), 0);
    assert_int_equal(vv_output_open(temporary_file(&t, "a"), &o, &error), VV_ERROR_IO);
    check_file(temporary_file(&t, "precious"), "precious");
    temporary_remove(&t);
}

/* The limit of a process stands for a full disk: the write fails in its middle. */
static int write_beyond_the_limit(const char *path) {
    static const char block[10000];
    struct vv_output *o;
    int code = vv_output_open(path, &o, &error);
    for (int i = 0; i < 100 && code == VV_OK; i++) {
        code = vv_output_write(o, block, sizeof block, &error);
    }
    if (code == VV_OK) {
        return 1;
    }
    vv_output_abandon(o);
    return code == VV_ERROR_IO && strstr(error.message, "cannot be written") &&
                   strstr(error.message, "ulimit -f")
               ? 0
               : 2;
}

/* Few bytes, which reach the disk only when it is finished. */
static int finish_beyond_the_limit(const char *path) {
    struct vv_output *o;
    const struct rlimit none = {0, 0};
    int code = vv_output_open(path, &o, &error);
    if (code != VV_OK || vv_output_write(o, "new", 3, &error) != VV_OK ||
        setrlimit(RLIMIT_FSIZE, &none) != 0) {
        return 1;
    }
    return vv_output_finish(o, &error) == VV_ERROR_IO ? 0 : 2;
}

static void a_failed_write_leaves_the_old_file(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "a");
    write_file(path, "old");
    for (int kind = 0; kind < 2; kind++) {
        pid_t child = fork();
        if (child == 0) {
            const struct rlimit limit = {50000, 50000};
            signal(SIGXFSZ, SIG_IGN);
            setrlimit(RLIMIT_FSIZE, &limit);
            _exit(kind ? finish_beyond_the_limit(path) : write_beyond_the_limit(path));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        check_file(path, "old");
        assert_int_equal(access(temporary_file(&t, "a.partial"), F_OK), -1);
    }
    temporary_remove(&t);
}

static void system_errors_are_sentences(void **state) {
    (void)state;
    assert_int_equal(vv_fail_system(&error, ENOSPC, "x/y.gguf", "written"), VV_ERROR_IO);
    assert_string_equal(error.message, "x/y.gguf cannot be written: No space left on device "
                                       "(free some space, then try again)");
    vv_fail_system(&error, EMFILE, "x", "opened");
    message_has("ulimit -n");
    vv_fail_system(&error, EACCES, "x", "opened");
    assert_string_equal(error.message, "x cannot be opened: Permission denied");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_written_and_read),
        cmocka_unit_test(an_empty_file_has_no_mapping),
        cmocka_unit_test(an_abandoned_file_leaves_the_old_one),
        cmocka_unit_test(two_writers_of_one_file_are_kept_apart),
        cmocka_unit_test(what_can_be_no_output_is_refused_at_once),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
        cmocka_unit_test(system_errors_are_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

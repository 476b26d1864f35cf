/* Files that are cut, change or are no files: cases C008, C015, C016, C018, C019 of docs/cases.md.
 */
#include "base/file.h"
#include "support/gguf_bytes.h"
#include "support/temporary.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct vv_error error;
static const struct vv_gguf_options by_mapping = {.read = false}, by_reading = {.read = true};

static void message_has(const char *word) {
    if (!strstr(error.message, word)) {
        fail_msg("'%s' is not in: %s", word, error.message);
    }
}

/* A file whose one tensor, "weights", has `bytes` bytes that count up. */
static const char *save_weights(const struct temporary *t, size_t bytes) {
    const char *path = temporary_file(t, "model.gguf");
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 1, 0);
    gguf_put_tensor_1d(&b, "weights", bytes, VV_TYPE_I8, 0);
    gguf_put_padding(&b, 32);
    unsigned char *data = malloc(bytes);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)(i + i / 256);
    }
    gguf_put(&b, data, bytes);
    free(data);
    gguf_save(&b, path);
    gguf_bytes_free(&b);
    return path;
}

static off_t size_of(const char *path) {
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    return s.st_size;
}

static struct vv_gguf *open_good(const char *path, const struct vv_gguf_options *options) {
    struct vv_gguf *g;
    if (vv_gguf_open(path, options, &g, &error) != VV_OK) {
        fail_msg("refused: %s", error.message);
    }
    return g;
}

static void c015_cut_files_are_refused_at_open(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = save_weights(&t, 100000);
    off_t whole = size_of(path), cuts[] = {whole - 1, whole - 4096, whole / 2};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct vv_gguf *g;
        assert_int_equal(truncate(path, cuts[i]), 0);
        assert_int_equal(vv_gguf_open(path, &by_mapping, &g, &error), VV_ERROR_INVALID);
        message_has("model.gguf");
        message_has("'weights'");
        message_has("cut short");
        assert_int_equal(vv_gguf_open(path, &by_reading, &g, &error), VV_ERROR_INVALID);
        message_has("cut short");
    }
    temporary_remove(&t);
}

/* In a process of its own, since it takes the handler of SIGBUS. */
static int use_a_file_while_it_shrinks(const char *path) {
    long page = sysconf(_SC_PAGESIZE);
    off_t whole = size_of(path);
    struct vv_gguf *g = open_good(path, &by_mapping);
    const struct vv_gguf_tensor *t = vv_gguf_tensor_at(g, 0);
    const volatile unsigned char *data = vv_gguf_tensor_data(g, t);
    int good = vv_file_guard_mappings(&error) == VV_OK && data[300] == (unsigned char)(300 + 1);
    good = good && vv_gguf_check_unchanged(g, &error) == VV_OK;
    good = good && truncate(path, page) == 0;
    good = good && data[300] == (unsigned char)(300 + 1); /* what is still there */
    for (uint64_t i = t->bytes - 1; i >= (uint64_t)page; i -= 1000) {
        good = good && data[i] == 0;
    }
    good = good && vv_gguf_check_unchanged(g, &error) == VV_ERROR_IO &&
           strstr(error.message, "model.gguf") != NULL && strstr(error.message, "changed");
    /* Its old size does not bring the data back. */
    good = good && truncate(path, whole) == 0 && data[t->bytes - 1] == 0 &&
           vv_gguf_check_unchanged(g, &error) == VV_ERROR_IO &&
           strstr(error.message, "could not be read") != NULL;
    vv_gguf_close(g);
    return good;
}

static void c016_a_file_cut_while_mapped_is_an_error_not_a_signal(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = save_weights(&t, 100000);
    pid_t child = fork();
    if (child == 0) {
        _exit(use_a_file_while_it_shrinks(path) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    temporary_remove(&t);
}

static void c016_a_guarded_process_still_dies_of_other_bus_errors(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL);
        vv_file_guard_mappings(&error);
        raise(SIGBUS);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

static void c016_a_file_written_to_while_in_use_is_noticed(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = save_weights(&t, 1000);
    struct timespec earlier[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, earlier, 0), 0);
    struct vv_gguf *g = open_good(path, &by_mapping);
    assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_OK);
    int descriptor = open(path, O_WRONLY);
    assert_int_equal(pwrite(descriptor, "x", 1, 500), 1);
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_ERROR_IO);
    message_has("model.gguf was written to");
    earlier[1].tv_nsec = 1; /* within the same second */
    assert_int_equal(utimensat(AT_FDCWD, path, earlier, 0), 0);
    assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_ERROR_IO);
    earlier[1].tv_nsec = 0;
    assert_int_equal(utimensat(AT_FDCWD, path, earlier, 0), 0);
    assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_OK);
    vv_gguf_close(g);

    /* A new file in its place is no harm: the old one is still the one that is open. */
    g = open_good(path, &by_mapping);
    assert_int_equal(unlink(path), 0);
    save_weights(&t, 2000);
    assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_OK);
    vv_gguf_close(g);
    temporary_remove(&t);
}

static void c018_a_short_read_says_all(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = save_weights(&t, 100000);
    struct vv_gguf *g = open_good(path, &by_reading);
    const struct vv_gguf_tensor *tensor = vv_gguf_tensor_at(g, 0);
    char data[2000], offset[32];
    assert_int_equal(tensor->offset, 64);
    assert_int_equal(truncate(path, 50000), 0);
    assert_int_equal(vv_gguf_read_tensor(g, tensor, 48000, 1904, data, &error), VV_OK);
    assert_int_equal(vv_gguf_read_tensor(g, tensor, 49000, 1904, data, &error), VV_ERROR_IO);
    message_has("model.gguf");
    message_has("'weights'");
    snprintf(offset, sizeof offset, "offset %d ", 64 + 49000);
    message_has(offset);
    message_has("936 bytes of the 1904 wanted");
    assert_int_equal(vv_gguf_read_tensor(g, tensor, 99000, 1000, data, &error), VV_ERROR_IO);
    message_has("0 bytes of the 1000 wanted");
    assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_ERROR_IO);
    message_has("had 100064 bytes and now has 50000");
    vv_gguf_close(g);
    temporary_remove(&t);
}

static void c019_tensors_beyond_2_and_4_gib(void **state) {
    (void)state;
    static const uint64_t offsets[] = {0, (UINT64_C(1) << 31) + 64, (UINT64_C(1) << 32) + 96,
                                       (UINT64_C(5) << 32)};
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "sparse.gguf");
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 4, 0);
    for (int i = 0; i < 4; i++) {
        const char name[] = {(char)('a' + i), 0};
        gguf_put_tensor_1d(&b, name, 8, VV_TYPE_F32, offsets[i]);
    }
    gguf_put_padding(&b, 32);
    gguf_save(&b, path);
    int descriptor = open(path, O_WRONLY);
    for (int i = 0; i < 4; i++) {
        char data[32];
        memset(data, 'a' + i, sizeof data);
        assert_int_equal(pwrite(descriptor, data, 32, (off_t)(b.size + offsets[i])), 32);
    }
    assert_int_equal(close(descriptor), 0);
    struct vv_gguf *mapped = open_good(path, &by_mapping), *read = open_good(path, &by_reading);
    for (size_t i = 0; i < 4; i++) {
        const struct vv_gguf_tensor *tensor = vv_gguf_tensor_at(read, i);
        unsigned char data[32];
        assert_int_equal(tensor->offset, b.size + offsets[i]);
        assert_int_equal(vv_gguf_read_tensor(read, tensor, 0, 32, data, &error), VV_OK);
        assert_int_equal(data[0], 'a' + (int)i);
        assert_memory_equal(data, vv_gguf_tensor_data(mapped, vv_gguf_tensor_at(mapped, i)), 32);
        assert_null(vv_gguf_tensor_data(read, tensor));
    }
    vv_gguf_close(mapped);
    vv_gguf_close(read);
    gguf_bytes_free(&b);
    temporary_remove(&t);
}

/* A large file that claims a long string is not loaded for it. */
static void c008_a_header_has_its_limit(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "sparse.gguf");
    struct gguf_bytes b = {0};
    struct vv_gguf *g;
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key(&b, "text", VV_GGUF_STRING);
    gguf_put_u64(&b, UINT64_C(1) << 32);
    gguf_save(&b, path);
    assert_int_equal(truncate(path, (off_t)1 << 33), 0);
    assert_int_equal(vv_gguf_open(path, NULL, &g, &error), VV_ERROR_INVALID);
    message_has("'text'");
    message_has("longer than 268435456 bytes");
    gguf_bytes_free(&b);
    temporary_remove(&t);
}

static void what_is_no_regular_file_is_named(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    struct vv_gguf *g;
    assert_int_equal(vv_gguf_open(t.path, NULL, &g, &error), VV_ERROR_INVALID);
    message_has("is a directory");
    assert_int_equal(mkfifo(temporary_file(&t, "pipe"), 0600), 0);
    assert_int_equal(vv_gguf_open(temporary_file(&t, "pipe"), NULL, &g, &error), VV_ERROR_INVALID);
    message_has("is a pipe");
    assert_int_equal(vv_gguf_open("/dev/null", NULL, &g, &error), VV_ERROR_INVALID);
    message_has("is a device");
    assert_int_equal(vv_gguf_open(temporary_file(&t, "gone"), NULL, &g, &error), VV_ERROR_IO);
    message_has("gone cannot be opened: No such file");
    gguf_save(&(struct gguf_bytes){0}, temporary_file(&t, "empty"));
    assert_int_equal(vv_gguf_open(temporary_file(&t, "empty"), NULL, &g, &error), VV_ERROR_INVALID);
    message_has("is empty");
    temporary_remove(&t);
}

/* A path that would fill the message leaves room for the rest. */
static void long_paths_are_shortened(void **state) {
    (void)state;
    char path[3000];
    struct vv_gguf *g;
    memset(path, 'd', sizeof path);
    for (size_t i = 100; i < sizeof path; i += 100) {
        path[i] = '/';
    }
    memcpy(path + sizeof path - 12, "/model.gguf", 12);
    assert_int_equal(vv_gguf_open(path, NULL, &g, &error), VV_ERROR_IO);
    message_has("model.gguf cannot be opened: ");
    assert_true(strlen(error.message) < 400);
}

static void many_opens_and_closes_keep_nothing(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = save_weights(&t, 1000);
    struct vv_gguf *opened[10];
    int before = open(path, O_RDONLY);
    close(before);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 10; i++) {
            opened[i] = open_good(path, i % 2 ? &by_mapping : &by_reading);
        }
        for (int i = 0; i < 10; i++) {
            vv_gguf_close(opened[i]);
        }
    }
    int after = open(path, O_RDONLY);
    assert_int_equal(after, before);
    close(after);
    temporary_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c015_cut_files_are_refused_at_open),
        cmocka_unit_test(c016_a_file_cut_while_mapped_is_an_error_not_a_signal),
        cmocka_unit_test(c016_a_guarded_process_still_dies_of_other_bus_errors),
        cmocka_unit_test(c016_a_file_written_to_while_in_use_is_noticed),
        cmocka_unit_test(c018_a_short_read_says_all),
        cmocka_unit_test(c019_tensors_beyond_2_and_4_gib),
        cmocka_unit_test(c008_a_header_has_its_limit),
        cmocka_unit_test(what_is_no_regular_file_is_named),
        cmocka_unit_test(long_paths_are_shortened),
        cmocka_unit_test(many_opens_and_closes_keep_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

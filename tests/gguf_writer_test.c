/* Written files: that they are read back as written, and case C017 of docs/cases.md. */
#include "gguf/writer.h"
#include "support/gguf_bytes.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct vv_error error;

static void message_has(const char *word) {
    if (!strstr(error.message, word)) {
        fail_msg("'%s' is not in: %s", word, error.message);
    }
}

static void good(int code) {
    if (code != VV_OK) {
        fail_msg("%s", error.message);
    }
}

static struct vv_gguf_writer *open_writer(const char *path) {
    struct vv_gguf_writer *w;
    good(vv_gguf_writer_open(path, &w, &error));
    return w;
}

static void put_metadata(struct vv_gguf_writer *w) {
    const struct vv_string strings[] = {{"one", 3}, {"", 0}, {"t\0o", 3}};
    const int16_t list[] = {1, -2, 3};
    good(vv_gguf_writer_u32(w, "u32", 7, &error));
    good(vv_gguf_writer_u64(w, "u64", UINT64_MAX, &error));
    good(vv_gguf_writer_f32(w, "f32", 0.5f, &error));
    good(vv_gguf_writer_bool(w, "bool", true, &error));
    good(vv_gguf_writer_string(w, "text", strings[2], &error));
    good(vv_gguf_writer_strings(w, "strings", strings, 3, &error));
    good(vv_gguf_writer_array(w, "list", VV_GGUF_I16, list, 3, &error));
    good(vv_gguf_writer_array(w, "none", VV_GGUF_F32, NULL, 0, &error));
}

static void check_metadata(const struct vv_gguf *g) {
    uint32_t u32;
    uint64_t u64;
    float f32;
    bool flag;
    struct vv_string text;
    int32_t list[3];
    const struct vv_gguf_entry *strings;
    good(vv_gguf_get_u32(g, "u32", &u32, &error));
    assert_int_equal(u32, 7);
    good(vv_gguf_get_u64(g, "u64", &u64, &error));
    assert_true(u64 == UINT64_MAX);
    good(vv_gguf_get_f32(g, "f32", &f32, &error));
    assert_true(f32 == 0.5f);
    good(vv_gguf_get_bool(g, "bool", &flag, &error));
    assert_true(flag);
    good(vv_gguf_get_string(g, "text", &text, &error));
    assert_int_equal(text.length, 3);
    assert_memory_equal(text.at, "t\0o", 3);
    good(vv_gguf_get_array(g, "strings", &strings, &error));
    assert_int_equal(strings->count, 3);
    good(vv_gguf_entry_string(g, strings, 2, &text, &error));
    assert_memory_equal(text.at, "t\0o", 3);
    good(vv_gguf_array_i32(g, "list", 3, list, &error));
    assert_int_equal(list[1], -2);
    good(vv_gguf_array_f32(g, "none", 0, NULL, &error));
}

/* Two tensors, 33 bytes and 8 × 2 floats, whose bytes count up; data in pieces of `piece`. */
static void put_tensors(struct vv_gguf_writer *w, size_t piece) {
    unsigned char data[33 + 64];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)i;
    }
    good(vv_gguf_writer_tensor(w, "bytes", VV_TYPE_I8, 1, (uint64_t[]){33}, &error));
    good(vv_gguf_writer_tensor(w, "floats", VV_TYPE_F32, 2, (uint64_t[]){8, 2}, &error));
    for (size_t at = 0; at < sizeof data; at += piece) {
        size_t n = sizeof data - at < piece ? sizeof data - at : piece;
        good(vv_gguf_writer_data(w, data + at, n, &error));
    }
}

static void check_tensors(const struct vv_gguf *g, uint64_t alignment) {
    assert_int_equal(vv_gguf_tensor_count(g), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(g, i);
        const unsigned char *data = vv_gguf_tensor_data(g, t);
        assert_string_equal(t->name, i ? "floats" : "bytes");
        assert_int_equal(t->type, i ? VV_TYPE_F32 : VV_TYPE_I8);
        assert_int_equal(t->dimensions, i ? 2 : 1);
        assert_int_equal(t->bytes, i ? 64 : 33);
        assert_int_equal(t->offset % alignment, 0);
        for (size_t k = 0; k < t->bytes; k++) {
            assert_int_equal(data[k], k + (i ? 33 : 0));
        }
    }
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "out.gguf");
    const size_t pieces[] = {1, 7, 33, 1000};
    for (size_t i = 0; i < 4; i++) {
        struct vv_gguf *g;
        uint64_t alignment = i == 3 ? 128 : 32;
        struct vv_gguf_writer *w = open_writer(path);
        put_metadata(w);
        if (alignment != 32) {
            good(vv_gguf_writer_u32(w, "general.alignment", (uint32_t)alignment, &error));
        }
        put_tensors(w, pieces[i]);
        good(vv_gguf_writer_finish(w, &error));
        good(vv_gguf_open(path, NULL, &g, &error));
        assert_int_equal(vv_gguf_version(g), 3);
        assert_int_equal(vv_gguf_alignment(g), alignment);
        check_metadata(g);
        check_tensors(g, alignment);

        /* Its metadata copied into another file are the same. */
        struct vv_gguf *again;
        const char *copy = temporary_file(&t, "copy.gguf");
        w = open_writer(copy);
        for (size_t k = 0; k < vv_gguf_entry_count(g); k++) {
            good(vv_gguf_writer_entry(w, vv_gguf_entry_at(g, k), &error));
        }
        good(vv_gguf_writer_finish(w, &error));
        good(vv_gguf_open(copy, NULL, &again, &error));
        check_metadata(again);
        assert_int_equal(vv_gguf_tensor_count(again), 0);
        vv_gguf_close(again);
        vv_gguf_close(g);
    }
    temporary_remove(&t);
}

/* The bytes themselves, put together independently. */
static void the_bytes_are_as_the_format_says(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "out.gguf");
    struct gguf_bytes b = gguf_small_file();
    unsigned char written[1000];
    struct vv_gguf_writer *w = open_writer(path);
    good(vv_gguf_writer_string(w, "general.architecture", (struct vv_string){"test", 4}, &error));
    good(vv_gguf_writer_u32(w, "test.block_count", 7, &error));
    good(vv_gguf_writer_tensor(w, "first", VV_TYPE_F32, 1, (uint64_t[]){8}, &error));
    good(vv_gguf_writer_tensor(w, "second", VV_TYPE_F32, 1, (uint64_t[]){4}, &error));
    good(vv_gguf_writer_data(w, b.at + b.size - 48, 48, &error));
    good(vv_gguf_writer_finish(w, &error));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    gguf_put_padding(&b, 32);
    assert_int_equal(fread(written, 1, sizeof written, file), b.size);
    assert_memory_equal(written, b.at, b.size);
    fclose(file);
    gguf_bytes_free(&b);
    temporary_remove(&t);
}

static void q2_0_of_128_goes_out_as_it_came_in(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "out.gguf");
    static const unsigned char data[8 * 34] = {1, 2, 3};
    struct vv_gguf *g;
    struct vv_gguf_writer *w = open_writer(path);
    for (int i = 0; i < 2; i++) {
        good(vv_gguf_writer_tensor(w, i ? "b" : "a", VV_TYPE_Q2_0_128, 2, (uint64_t[]){256, 4},
                                   &error));
    }
    good(vv_gguf_writer_tensor(w, "c", VV_TYPE_Q2_0_128, 2, (uint64_t[]){4096, 4}, &error));
    static const unsigned char more[4 * 32 * 34];
    good(vv_gguf_writer_data(w, data, sizeof data, &error));
    good(vv_gguf_writer_data(w, data, sizeof data, &error));
    good(vv_gguf_writer_data(w, more, sizeof more, &error));
    good(vv_gguf_writer_finish(w, &error));
    good(vv_gguf_open(path, NULL, &g, &error));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(vv_gguf_tensor_at(g, i)->type, VV_TYPE_Q2_0_128);
    }
    vv_gguf_close(g);
    temporary_remove(&t);
}

static void what_no_file_may_hold_is_refused(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "out.gguf");
    struct vv_gguf_writer *w = open_writer(path);
    good(vv_gguf_writer_u32(w, "same", 1, &error));
    good(vv_gguf_writer_u32(w, "same", 2, &error));
    assert_int_equal(vv_gguf_writer_finish(w, &error), VV_ERROR_INVALID);
    message_has("out.gguf has the key 'same' twice");

    w = open_writer(path);
    good(vv_gguf_writer_u32(w, "general.alignment", 33, &error));
    assert_int_equal(vv_gguf_writer_finish(w, &error), VV_ERROR_INVALID);
    message_has("power of two");

    w = open_writer(path);
    good(vv_gguf_writer_tensor(w, "same", VV_TYPE_F32, 0, NULL, &error));
    good(vv_gguf_writer_tensor(w, "same", VV_TYPE_F32, 0, NULL, &error));
    assert_int_equal(vv_gguf_writer_data(w, "1234", 4, &error), VV_ERROR_INVALID);
    message_has("'same' is declared twice");
    vv_gguf_writer_abandon(w);

    w = open_writer(path);
    assert_int_equal(vv_gguf_writer_tensor(w, "t", VV_TYPE_Q4_K, 2, (uint64_t[]){128, 2}, &error),
                     VV_ERROR_INVALID);
    message_has("whole blocks");
    assert_int_equal(vv_gguf_writer_tensor(w, "t", 5, 1, (uint64_t[]){128}, &error),
                     VV_ERROR_INVALID);
    assert_int_equal(vv_gguf_writer_tensor(w, "t", VV_TYPE_F32, 1, (uint64_t[]){0}, &error),
                     VV_ERROR_INVALID);
    assert_int_equal(vv_gguf_writer_array(w, "a", VV_GGUF_STRING, NULL, 0, &error),
                     VV_ERROR_INVALID);
    vv_gguf_writer_abandon(w);

    w = open_writer(path);
    put_tensors(w, 1000);
    assert_int_equal(vv_gguf_writer_data(w, "x", 1, &error), VV_ERROR_INVALID);
    message_has("1 bytes more came");
    assert_int_equal(vv_gguf_writer_u32(w, "late", 1, &error), VV_ERROR_INVALID);
    message_has("'late' comes after");
    vv_gguf_writer_abandon(w);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(temporary_file(&t, "out.gguf.partial"), F_OK), -1);
    temporary_remove(&t);
}

/* Nine tenths of a file, then `end` (NULL: killed). */
static void write_most(const char *path, void (*end)(struct vv_gguf_writer *)) {
    static const unsigned char data[90000];
    struct vv_gguf_writer *w = open_writer(path);
    good(vv_gguf_writer_tensor(w, "weights", VV_TYPE_I8, 1, (uint64_t[]){100000}, &error));
    good(vv_gguf_writer_data(w, data, sizeof data, &error));
    if (!end) {
        kill(getpid(), SIGKILL);
    }
    end(w);
}

static void finish_early(struct vv_gguf_writer *w) {
    assert_int_equal(vv_gguf_writer_finish(w, &error), VV_ERROR_INVALID);
    message_has("10000 bytes of tensor 'weights'");
}

static void c017_unfinished_files_never_have_the_name(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "out.gguf"),
               *partial = temporary_file(&t, "out.gguf.partial");
    struct gguf_bytes old = gguf_small_file();
    struct vv_gguf *g;
    for (int exists = 0; exists < 2; exists++) {
        if (exists) {
            gguf_save(&old, path);
        }
        write_most(path, vv_gguf_writer_abandon);
        assert_int_equal(access(partial, F_OK), -1);
        write_most(path, finish_early);
        assert_int_equal(access(partial, F_OK), -1);

        pid_t child = fork();
        if (child == 0) {
            write_most(path, NULL);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(access(partial, F_OK), 0); /* what a killed process cannot take away */
        assert_int_equal(vv_gguf_open(path, NULL, &g, &error), exists ? VV_OK : VV_ERROR_IO);
        vv_gguf_close(g);

        struct vv_gguf_writer *w = open_writer(path); /* the second try takes it over */
        put_tensors(w, 1000);
        good(vv_gguf_writer_finish(w, &error));
        assert_int_equal(access(partial, F_OK), -1);
        good(vv_gguf_open(path, NULL, &g, &error));
        check_tensors(g, 32);
        vv_gguf_close(g);
    }
    gguf_bytes_free(&old);
    temporary_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(the_bytes_are_as_the_format_says),
        cmocka_unit_test(q2_0_of_128_goes_out_as_it_came_in),
        cmocka_unit_test(what_no_file_may_hold_is_refused),
        cmocka_unit_test(c017_unfinished_files_never_have_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

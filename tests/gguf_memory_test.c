/* Every allocation fails once: the call then says "no memory" and keeps nothing. The allocator is
 * taken over where that is possible (glibc, no sanitizer). */
#include "gguf/writer.h"
#include "support/gguf_bytes.h"
#include "support/sanitized.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__GLIBC__) && !SANITIZED

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static bool counting;
static long fail_at, calls, alive; /* while counting */

static bool fails(void) {
    return counting && ++calls == fail_at;
}

static void *counted(void *p) {
    alive += counting && p;
    return p;
}

void *malloc(size_t size) {
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size) {
    if (!old) {
        return malloc(size);
    }
    return fails() ? NULL : __libc_realloc(old, size);
}

void free(void *p) {
    alive -= counting && p;
    __libc_free(p);
}

/* Runs `work` with its first, second, … allocation failing until none does; `kept` blocks at most
 * stay each time. */
static void fail_each(int (*work)(const char *path, struct vv_error *error), const char *path,
                      long kept) {
    for (fail_at = 1;; fail_at++) {
        struct vv_error error = {0};
        calls = alive = 0;
        counting = true;
        int code = work(path, &error);
        counting = false;
        assert_in_range(alive, 0, kept);
        if (calls < fail_at) {
            assert_int_equal(code, VV_OK);
            assert_true(fail_at > 5);
            return;
        }
        if (code != VV_OK) { /* the C library may do without some memory */
            assert_non_null(
                strstr(error.message, code == VV_ERROR_MEMORY ? "no memory" : "cannot"));
        }
    }
}

static int open_and_close(const char *path, struct vv_error *error) {
    struct vv_gguf *g;
    int code = vv_gguf_open(path, NULL, &g, error);
    assert_true((g == NULL) == (code != VV_OK));
    vv_gguf_close(g);
    return code;
}

static int write_and_finish(const char *path, struct vv_error *error) {
    const struct vv_string strings[] = {{"one", 3}, {"two", 3}};
    struct vv_gguf_writer *w;
    int code = vv_gguf_writer_open(path, &w, error);
    if (code != VV_OK) {
        return code;
    }
    if ((code = vv_gguf_writer_u32(w, "a", 1, error)) != VV_OK ||
        (code = vv_gguf_writer_strings(w, "b", strings, 2, error)) != VV_OK ||
        (code = vv_gguf_writer_tensor(w, "t", VV_TYPE_F32, 0, NULL, error)) != VV_OK ||
        (code = vv_gguf_writer_data(w, "1234", 4, error)) != VV_OK) {
        vv_gguf_writer_abandon(w);
        return code;
    }
    return vv_gguf_writer_finish(w, error);
}

static void opening_without_memory(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    struct gguf_bytes b = {0};
    const char *path = temporary_file(&t, "m-00001-of-00002.gguf");
    for (uint32_t number = 0; number < 2; number++) {
        gguf_bytes_free(&b);
        gguf_put_header(&b, 3, 1, 3);
        gguf_put_key_u32(&b, "split.count", 2);
        gguf_put_key_u32(&b, "split.no", number);
        gguf_put_key_array(&b, "words", VV_GGUF_STRING, 1);
        gguf_put_string(&b, "word");
        gguf_put_tensor_1d(&b, number ? "a" : "b", 1, VV_TYPE_F32, 0);
        gguf_put_padding(&b, 32);
        gguf_put_data(&b, 4);
        gguf_save(&b, number ? temporary_file(&t, "m-00002-of-00002.gguf") : path);
    }
    fail_each(open_and_close, path, 2); /* the guards of two mappings stay for the next ones */
    fail_each(open_and_close, path, 0);
    gguf_bytes_free(&b);
    temporary_remove(&t);
}

static void writing_without_memory(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    const char *path = temporary_file(&t, "out.gguf");
    fail_each(write_and_finish, path, 0);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(temporary_file(&t, "out.gguf.partial"), F_OK), -1);
    temporary_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_without_memory),
        cmocka_unit_test(writing_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
    return 0;
}

#endif

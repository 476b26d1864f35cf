/* Models in several files: cases C012 to C014 of docs/cases.md. */
#include "support/gguf_bytes.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct vv_error error;

static void message_has(const char *word) {
    if (!strstr(error.message, word)) {
        fail_msg("'%s' is not in: %s", word, error.message);
    }
}

static void put_key_u16(struct gguf_bytes *b, const char *key, uint16_t value) {
    gguf_put_key(b, key, VV_GGUF_U16);
    gguf_put(b, &value, sizeof value);
}

/* File `number` (from 0) of `count`, with `tensors` tensors of 8 floats, named from `name` on. */
static struct gguf_bytes shard(uint16_t number, uint16_t count, int tensors, char name,
                               uint32_t all_tensors) {
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, (uint64_t)tensors, number == 0 ? 4 : 3);
    if (number == 0) {
        gguf_put_key_string(&b, "general.name", "split");
    }
    put_key_u16(&b, "split.no", number);
    put_key_u16(&b, "split.count", count);
    gguf_put_key_u32(&b, "split.tensors.count", all_tensors);
    for (int i = 0; i < tensors; i++) {
        char text[] = {(char)(name + i), 0};
        gguf_put_tensor_1d(&b, text, 8, VV_TYPE_F32, (uint64_t)i * 32);
    }
    gguf_put_padding(&b, 32);
    for (int i = 0; i < tensors; i++) {
        for (int j = 0; j < 32; j++) {
            char byte = (char)(name + i);
            gguf_put(&b, &byte, 1);
        }
    }
    return b;
}

static const char *name_of(const struct temporary *t, int number, int count) {
    char name[64];
    snprintf(name, sizeof name, "m-%05d-of-%05d.gguf", number, count);
    return temporary_file(t, name);
}

static void save(struct gguf_bytes b, const char *path) {
    gguf_save(&b, path);
    gguf_bytes_free(&b);
}

/* A set of three: two tensors, none, one. */
static struct temporary make_set(void) {
    struct temporary t = temporary_make();
    save(shard(0, 3, 2, 'a', 3), name_of(&t, 1, 3));
    save(shard(1, 3, 0, 'c', 3), name_of(&t, 2, 3));
    save(shard(2, 3, 1, 'c', 3), name_of(&t, 3, 3));
    return t;
}

static void check_set(const char *path, bool read) {
    const struct vv_gguf_options options = {.read = read};
    struct vv_gguf *g;
    struct vv_string name;
    if (vv_gguf_open(path, &options, &g, &error) != VV_OK) {
        fail_msg("refused: %s", error.message);
    }
    assert_int_equal(vv_gguf_shard_count(g), 3);
    assert_int_equal(vv_gguf_tensor_count(g), 3);
    assert_int_equal(vv_gguf_get_string(g, "general.name", &name, &error), VV_OK);
    for (size_t i = 0; i < 3; i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(g, i);
        const char text[] = {(char)('a' + i), 0};
        char data[32], wanted[32];
        memset(wanted, text[0], sizeof wanted);
        assert_string_equal(t->name, text);
        assert_ptr_equal(vv_gguf_find_tensor(g, text), t);
        assert_int_equal(t->shard, i < 2 ? 0 : 2);
        assert_int_equal(vv_gguf_read_tensor(g, t, 0, sizeof data, data, &error), VV_OK);
        assert_memory_equal(data, wanted, sizeof data);
        if (read) {
            assert_null(vv_gguf_tensor_data(g, t));
        } else {
            assert_memory_equal(vv_gguf_tensor_data(g, t), wanted, sizeof wanted);
        }
    }
    assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_OK);
    vv_gguf_close(g);
}

static void refused(const char *path) {
    struct vv_gguf *g;
    assert_int_equal(vv_gguf_open(path, NULL, &g, &error), VV_ERROR_INVALID);
    assert_null(g);
}

static void c012_any_shard_opens_the_set(void **state) {
    (void)state;
    struct temporary t = make_set();
    for (int number = 1; number <= 3; number++) {
        check_set(name_of(&t, number, 3), false);
        check_set(name_of(&t, number, 3), true);
    }
    /* Under a name that does not tell, it says what is wrong. */
    assert_int_equal(rename(name_of(&t, 2, 3), temporary_file(&t, "other.gguf")), 0);
    refused(temporary_file(&t, "other.gguf"));
    message_has("other.gguf is one of 3 files");
    message_has("NAME-00001-of-00003.gguf");
    temporary_remove(&t);
}

static void c013_missing_shards_are_listed(void **state) {
    (void)state;
    struct temporary t = make_set(), here = temporary_make();
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    /* The missing files lie in the current directory, where nobody asked to look. */
    save(shard(1, 3, 0, 'c', 3), name_of(&here, 2, 3));
    save(shard(2, 3, 1, 'c', 3), name_of(&here, 3, 3));
    assert_int_equal(unlink(name_of(&t, 2, 3)), 0);
    assert_int_equal(chdir(here.path), 0);
    refused(name_of(&t, 3, 3));
    message_has("1 is missing");
    message_has("m-00002-of-00003.gguf");
    assert_int_equal(unlink(name_of(&t, 3, 3)), 0);
    refused(name_of(&t, 1, 3));
    message_has("2 are missing");
    message_has("m-00002-of-00003.gguf, m-00003-of-00003.gguf");
    /* By a bare name the folder is the current one. */
    save(shard(0, 3, 2, 'a', 3), name_of(&here, 1, 3));
    check_set("m-00002-of-00003.gguf", false);
    assert_int_equal(chdir(before), 0);
    temporary_remove(&here);
    temporary_remove(&t);
}

static void many_missing_shards_fit_into_one_sentence(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    save(shard(0, 999, 1, 'a', 1), name_of(&t, 1, 999));
    refused(name_of(&t, 1, 999));
    message_has("998 are missing");
    message_has("m-00002-of-00999.gguf, m-00003");
    message_has("more");
    temporary_remove(&t);
}

static void c014_order_is_by_the_numbers_inside(void **state) {
    (void)state;
    struct temporary t = make_set();
    /* The names of the second and third are exchanged. */
    assert_int_equal(rename(name_of(&t, 2, 3), temporary_file(&t, "x")), 0);
    assert_int_equal(rename(name_of(&t, 3, 3), name_of(&t, 2, 3)), 0);
    assert_int_equal(rename(temporary_file(&t, "x"), name_of(&t, 3, 3)), 0);
    check_set(name_of(&t, 1, 3), false);
    check_set(name_of(&t, 3, 3), false);
    temporary_remove(&t);
}

static void c014_a_wrong_count_is_refused(void **state) {
    (void)state;
    struct temporary t = make_set();
    save(shard(2, 4, 1, 'c', 3), name_of(&t, 3, 3)); /* of a set of four */
    refused(name_of(&t, 1, 3));
    message_has("m-00003-of-00003.gguf says that it is file 3 of 4");
    message_has("a set of 3");
    save(shard(1, 3, 1, 'c', 3), name_of(&t, 3, 3)); /* the second one again */
    refused(name_of(&t, 1, 3));
    message_has("m-00002-of-00003.gguf");
    message_has("m-00003-of-00003.gguf both say that they are file 2 of 3");
    save(shard(3, 3, 1, 'c', 3), name_of(&t, 3, 3)); /* number 3 of 0 to 2 */
    refused(name_of(&t, 1, 3));
    message_has("file 4 of 3");
    struct gguf_bytes whole = gguf_small_file();
    save(whole, name_of(&t, 3, 3)); /* no part of a set */
    refused(name_of(&t, 1, 3));
    message_has("do not belong together");
    save(shard(2, 3, 2, 'c', 3), name_of(&t, 3, 3)); /* one tensor more */
    refused(name_of(&t, 1, 3));
    message_has("4 tensors");
    message_has("'split.tensors.count' says 3");
    save(shard(2, 3, 1, 'a', 3), name_of(&t, 3, 3)); /* a name that the first has */
    refused(name_of(&t, 1, 3));
    message_has("'a' is there twice, the other time in");
    save(shard(0, 4, 1, 'a', 3), name_of(&t, 1, 3)); /* the name says 3 */
    refused(name_of(&t, 1, 3));
    message_has("file 1 of 3 by its name");
    temporary_remove(&t);
}

static void a_damaged_shard_is_named(void **state) {
    (void)state;
    struct temporary t = make_set();
    assert_int_equal(truncate(name_of(&t, 3, 3), 20), 0);
    refused(name_of(&t, 1, 3));
    message_has("m-00003-of-00003.gguf");
    assert_int_equal(truncate(name_of(&t, 3, 3), 0), 0);
    refused(name_of(&t, 1, 3));
    message_has("m-00003-of-00003.gguf is empty");
    temporary_remove(&t);
}

static void a_set_of_one_is_a_single_file(void **state) {
    (void)state;
    struct temporary t = temporary_make();
    struct vv_gguf *g;
    save(shard(0, 1, 1, 'a', 1), temporary_file(&t, "model.gguf"));
    assert_int_equal(vv_gguf_open(temporary_file(&t, "model.gguf"), NULL, &g, &error), VV_OK);
    assert_int_equal(vv_gguf_shard_count(g), 1);
    vv_gguf_close(g);
    temporary_remove(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c012_any_shard_opens_the_set),
        cmocka_unit_test(c013_missing_shards_are_listed),
        cmocka_unit_test(many_missing_shards_fit_into_one_sentence),
        cmocka_unit_test(c014_order_is_by_the_numbers_inside),
        cmocka_unit_test(c014_a_wrong_count_is_refused),
        cmocka_unit_test(a_damaged_shard_is_named),
        cmocka_unit_test(a_set_of_one_is_a_single_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

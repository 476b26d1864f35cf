/* Ids to whole characters, as a stream. */
#include "support/small_vocabulary.h"
#include "text/detokenize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct vv_error error;
static struct small_vocabulary small;
static struct vv_tokenizer *tokenizer;

static int open_tokenizer(void **state) {
    (void)state;
    small_vocabulary_make(&small, "qwen35");
    return vv_tokenizer_new(&small.vocabulary, &tokenizer, &error);
}

static int close_tokenizer(void **state) {
    (void)state;
    vv_tokenizer_free(tokenizer);
    return 0;
}

/* What comes after each id and, last, at the end. */
static void assert_chunks(bool drop_control, const int32_t *ids, size_t count,
                          const char *const *chunks) {
    struct vv_detokenizer detokenizer = {.tokenizer = tokenizer, .drop_control = drop_control};
    for (size_t i = 0; i <= count; i++) {
        struct vv_bytes out = {0};
        assert_int_equal(i < count ? vv_detokenize(&detokenizer, ids[i], &out, &error)
                                   : vv_detokenize_end(&detokenizer, &out, &error),
                         VV_OK);
        assert_int_equal(vv_bytes_append(&out, "", 1, &error), VV_OK);
        assert_string_equal(out.at, chunks[i]);
        vv_bytes_free(&out);
    }
}

static void c032_characters_are_held_until_they_are_whole(void **state) {
    (void)state;
    const int32_t ids[] = {'a', 0xe2, 0x82, 0xac, small_id(&small, "Ã©"), 0xf0, 0x9f, 0x98, 0x80};
    const char *const chunks[] = {"a", "", "", "\u20ac", "\u00e9", "", "", "", "\U0001f600", ""};
    assert_chunks(false, ids, 9, chunks);
}

static void c032_an_unfinished_character_at_the_end_is_one_replacement(void **state) {
    (void)state;
    const int32_t ids[] = {'a', 0xf0, 0x9f, 0x98};
    const char *const chunks[] = {"a", "", "", "", "\ufffd"};
    assert_chunks(false, ids, 4, chunks);
}

static void c033_what_can_not_become_a_character_is_replaced_at_once(void **state) {
    (void)state;
    const int32_t ids[] = {0xff, 0xe2, 0x82, 'b', 0xed, 0xa0, 0xf4, 0x90, 0xc0};
    const char *const chunks[] = {"\ufffd",       "",       "", "\ufffdb", "", "\ufffd\ufffd", "",
                                  "\ufffd\ufffd", "\ufffd", ""};
    assert_chunks(false, ids, 9, chunks);
}

static void control_tokens_are_text_or_dropped(void **state) {
    (void)state;
    const int32_t ids[] = {SMALL_IM_START, small_id(&small, "user"), SMALL_PAD, SMALL_THINK,
                           SMALL_IM_END};
    const char *const all[] = {"<|im_start|>", "user", "", "<think>", "<|im_end|>", ""};
    const char *const plain[] = {"", "user", "", "<think>", "", ""};
    assert_chunks(false, ids, 5, all);
    assert_chunks(true, ids, 5, plain);
}

static void ids_outside_the_vocabulary_are_refused(void **state) {
    (void)state;
    struct vv_detokenizer detokenizer = {.tokenizer = tokenizer};
    struct vv_bytes out = {0};
    assert_int_equal(vv_detokenize(&detokenizer, -1, &out, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_detokenize(&detokenizer, SMALL_COUNT, &out, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_detokenize(&detokenizer, SMALL_COUNT - 1, &out, &error), VV_OK);
    vv_bytes_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c032_characters_are_held_until_they_are_whole),
        cmocka_unit_test(c032_an_unfinished_character_at_the_end_is_one_replacement),
        cmocka_unit_test(c033_what_can_not_become_a_character_is_replaced_at_once),
        cmocka_unit_test(control_tokens_are_text_or_dropped),
        cmocka_unit_test(ids_outside_the_vocabulary_are_refused),
    };
    return cmocka_run_group_tests(tests, open_tokenizer, close_tokenizer);
}

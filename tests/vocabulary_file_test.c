/* Vocabularies in model files: what must be there, and what is refused. */
#include "support/gguf_bytes.h"
#include "support/small_vocabulary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct vv_error error;
static struct small_vocabulary small;

/* What a test changes in an otherwise good file. */
struct changes {
    const char *model, *pre, *without;
    size_t types, scores; /* lengths; 0: the key is left out */
    int64_t eos;          /* -1: left out */
};

static const struct changes good = {"gpt2", "qwen35", "", SMALL_COUNT, 0, SMALL_IM_END};

static bool has(const struct changes *c, const char *key) {
    return strcmp(c->without, key) != 0;
}

static struct gguf_bytes write_file(const struct changes *c) {
    struct gguf_bytes file = {0};
    uint64_t keys = (uint64_t)has(c, "model") + has(c, "pre") + 1 + has(c, "merges") +
                    (c->types > 0) + (c->scores > 0) + (c->eos >= 0);
    small_vocabulary_make(&small, "");
    gguf_put_header(&file, 3, 0, keys);
    if (has(c, "model")) {
        gguf_put_key_string(&file, "tokenizer.ggml.model", c->model);
    }
    if (has(c, "pre")) {
        gguf_put_key_string(&file, "tokenizer.ggml.pre", c->pre);
    }
    gguf_put_key_array(&file, "tokenizer.ggml.tokens", VV_GGUF_STRING, SMALL_COUNT);
    for (size_t i = 0; i < SMALL_COUNT; i++) {
        gguf_put_string(&file, small.text[i]);
    }
    if (has(c, "merges")) {
        gguf_put_key_array(&file, "tokenizer.ggml.merges", VV_GGUF_STRING, SMALL_MERGES);
        for (size_t i = 0; i < SMALL_MERGES; i++) {
            gguf_put_string(&file, small_merges[i]);
        }
    }
    if (c->types > 0) {
        gguf_put_key_array(&file, "tokenizer.ggml.token_type", VV_GGUF_I32, c->types);
        for (size_t i = 0; i < c->types; i++) {
            gguf_put_u32(&file, i < SMALL_COUNT ? (uint32_t)small.types[i] : VV_TOKEN_NORMAL);
        }
    }
    if (c->scores > 0) {
        gguf_put_key_array(&file, "tokenizer.ggml.scores", VV_GGUF_F32, c->scores);
        for (size_t i = 0; i < c->scores; i++) {
            gguf_put_u32(&file, 0);
        }
    }
    if (c->eos >= 0) {
        gguf_put_key_u32(&file, "tokenizer.ggml.eos_token_id", (uint32_t)c->eos);
    }
    return file;
}

static int open_file(const struct changes *changes, struct vv_tokenizer **tokenizer) {
    struct gguf_bytes file = write_file(changes);
    struct vv_gguf *gguf;
    assert_int_equal(vv_gguf_open_memory(file.at, file.size, "test.gguf", &gguf, &error), VV_OK);
    int status = vv_tokenizer_open(gguf, tokenizer, &error);
    vv_gguf_close(gguf);
    gguf_bytes_free(&file);
    return status;
}

static void assert_refused(struct changes changes, int code, const char *word,
                           const char *other_word) {
    struct vv_tokenizer *tokenizer;
    assert_int_equal(open_file(&changes, &tokenizer), code);
    assert_null(tokenizer);
    assert_non_null(strstr(error.message, word));
    assert_non_null(strstr(error.message, other_word));
}

static void a_good_file_gives_a_tokenizer_that_outlives_it(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer;
    struct vv_ids ids = {0};
    struct vv_span span = {{"the<|im_end|>", 13}, VV_SPECIAL_ALL};
    assert_int_equal(open_file(&good, &tokenizer), VV_OK);
    assert_int_equal(vv_tokenizer_count(tokenizer), SMALL_COUNT);
    assert_int_equal(vv_tokenizer_eos(tokenizer), SMALL_IM_END);
    assert_int_equal(vv_tokenizer_bos(tokenizer), -1); /* C006: the file names none */
    assert_int_equal(vv_tokenize(tokenizer, &span, 1, &ids, &error), VV_OK);
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.at[0], small_id(&small, "the"));
    assert_int_equal(ids.at[1], SMALL_IM_END);
    vv_ids_free(&ids);
    vv_tokenizer_free(tokenizer);
}

static void c007_lengths_that_differ_are_refused_with_both(void **state) {
    (void)state;
    char tokens[20];
    snprintf(tokens, sizeof tokens, "%d", (int)SMALL_COUNT);
    struct changes c = good;
    c.types = 5;
    assert_refused(c, VV_ERROR_INVALID, "token_type has 5 ", tokens);
    c.types = SMALL_COUNT + 1000;
    assert_refused(c, VV_ERROR_INVALID, "token_type has 1", tokens);
    c = good;
    c.scores = 7;
    assert_refused(c, VV_ERROR_INVALID, "scores has 7 ", tokens);
}

static void unknown_names_are_refused_and_the_known_listed(void **state) {
    (void)state;
    struct changes c = good;
    c.model = "llama";
    assert_refused(c, VV_ERROR_UNSUPPORTED, "\"llama\"", "gpt2");
    c = good;
    c.pre = "qwen";
    assert_refused(c, VV_ERROR_UNSUPPORTED, "test.gguf: tokenizer.ggml.pre is \"qwen\"",
                   "qwen35, joyai-llm");
}

static void missing_keys_are_named(void **state) {
    (void)state;
    static const char *const keys[] = {"model", "pre", "merges"};
    for (size_t i = 0; i < 3; i++) {
        struct changes c = good;
        c.without = keys[i];
        assert_refused(c, VV_ERROR_INVALID, "tokenizer.ggml.", keys[i]);
    }
}

static void ids_beyond_the_vocabulary_are_refused(void **state) {
    (void)state;
    struct changes c = good;
    c.eos = SMALL_COUNT;
    assert_refused(c, VV_ERROR_INVALID, "eos_token_id", "");
    c.eos = 0xffffffff;
    assert_refused(c, VV_ERROR_INVALID, "eos_token_id", "4294967295");
}

static void without_types_all_tokens_are_plain(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer;
    struct changes c = good;
    c.types = 0;
    assert_int_equal(open_file(&c, &tokenizer), VV_OK);
    assert_int_equal(vv_tokenizer_special(tokenizer, "<|im_end|>"), -1);
    vv_tokenizer_free(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_gives_a_tokenizer_that_outlives_it),
        cmocka_unit_test(c007_lengths_that_differ_are_refused_with_both),
        cmocka_unit_test(unknown_names_are_refused_and_the_known_listed),
        cmocka_unit_test(missing_keys_are_named),
        cmocka_unit_test(ids_beyond_the_vocabulary_are_refused),
        cmocka_unit_test(without_types_all_tokens_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Text to ids with vocabularies small enough to check by hand. */
#include "gguf/gguf.h"
#include "support/small_vocabulary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#include <jansson.h>

static struct vv_error error;
static struct small_vocabulary small;

static struct vv_tokenizer *open_small(const char *pre) {
    struct vv_tokenizer *tokenizer;
    small_vocabulary_make(&small, pre);
    assert_int_equal(vv_tokenizer_new(&small.vocabulary, &tokenizer, &error), VV_OK);
    return tokenizer;
}

static struct vv_ids tokenize(const struct vv_tokenizer *tokenizer, const char *text, size_t length,
                              enum vv_special special) {
    struct vv_ids ids = {0};
    struct vv_span span = {{text, length}, special};
    assert_int_equal(vv_tokenize(tokenizer, &span, 1, &ids, &error), VV_OK);
    return ids;
}

static void assert_same_ids(const struct vv_ids *got, const int32_t *wanted, size_t count) {
    assert_int_equal(got->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(got->at[i], wanted[i]);
    }
}

/* Whether the text has exactly these ids. */
#define ASSERT_IDS(tokenizer, text, special, ...)                                                  \
    do {                                                                                           \
        const int32_t wanted_ids[] = {__VA_ARGS__};                                                \
        struct vv_ids got_ids = tokenize(tokenizer, text, sizeof(text) - 1, special);              \
        assert_same_ids(&got_ids, wanted_ids, sizeof wanted_ids / sizeof *wanted_ids);             \
        vv_ids_free(&got_ids);                                                                     \
    } while (0)

#define ID(text) small_id(&small, text)

static void c006_the_lowest_id_of_equal_tokens_is_used(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer;
    small_vocabulary_make(&small, "qwen35");
    small.tokens[SMALL_PAD] = small.tokens['x'];
    small.types[SMALL_PAD] = VV_TOKEN_NORMAL;
    assert_int_equal(vv_tokenizer_new(&small.vocabulary, &tokenizer, &error), VV_OK);
    ASSERT_IDS(tokenizer, "x", VV_SPECIAL_NONE, 'x');
    ASSERT_IDS(tokenizer, "<|im_start|>", VV_SPECIAL_ALL, SMALL_IM_START);
    vv_tokenizer_free(tokenizer);
}

static void c006_a_vocabulary_without_bos_loads(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer;
    small_vocabulary_make(&small, "qwen35");
    small.vocabulary.add_bos = true;
    assert_int_equal(vv_tokenizer_new(&small.vocabulary, &tokenizer, &error), VV_OK);
    assert_int_equal(vv_tokenizer_bos(tokenizer), -1);
    vv_tokenizer_free(tokenizer);
    small.vocabulary.bos = SMALL_IM_START;
    assert_int_equal(vv_tokenizer_new(&small.vocabulary, &tokenizer, &error), VV_OK);
    assert_int_equal(vv_tokenizer_bos(tokenizer), SMALL_IM_START);
    vv_tokenizer_free(tokenizer);
}

/* What must be refused, and a word of the sentence. */
static void assert_refused(int code, const char *word) {
    struct vv_tokenizer *tokenizer;
    assert_int_equal(vv_tokenizer_new(&small.vocabulary, &tokenizer, &error), code);
    assert_null(tokenizer);
    assert_non_null(strstr(error.message, word));
}

static void contradictions_are_refused_by_name(void **state) {
    (void)state;
    small_vocabulary_make(&small, "gpt-9");
    assert_refused(VV_ERROR_UNSUPPORTED, "\"gpt-9\"");
    assert_non_null(strstr(error.message, "qwen35, joyai-llm, deepseek-v3"));

    small_vocabulary_make(&small, "qwen35");
    small.vocabulary.eos = SMALL_COUNT;
    assert_refused(VV_ERROR_INVALID, "tokenizer.ggml.eos_token_id");

    small_vocabulary_make(&small, "qwen35");
    small.types[7] = 9;
    assert_refused(VV_ERROR_INVALID, "token 7 has type 9");

    small_vocabulary_make(&small, "qwen35");
    small.tokens['q'] = small.tokens['r'];
    assert_refused(VV_ERROR_INVALID, "byte 0x71");

    small_vocabulary_make(&small, "qwen35");
    small.merges[3] = (struct vv_text){"th", 2};
    assert_refused(VV_ERROR_INVALID, "merge 3 (\"th\")");

    small_vocabulary_make(&small, "qwen35");
    small.merges[3] = (struct vv_text){"t zzz", 5};
    assert_refused(VV_ERROR_INVALID, "joins what is no normal token");

    small_vocabulary_make(&small, "qwen35");
    small.merges[3] = (struct vv_text){"q q", 3};
    assert_refused(VV_ERROR_INVALID, "makes what is no normal token");

    small.vocabulary.token_count = 0;
    assert_refused(VV_ERROR_INVALID, "0 tokens");
}

/* C029 from below: a merge that would lead to a control token is refused with the file. */
static void c029_no_merge_leads_to_a_control_token(void **state) {
    (void)state;
    small_vocabulary_make(&small, "qwen35");
    small.types[ID("<|")] = VV_TOKEN_CONTROL;
    assert_refused(VV_ERROR_INVALID, "makes what is no normal token");
}

static void c026_ill_formed_text_is_repaired(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("joyai-llm");
    ASSERT_IDS(tokenizer, "\xff", VV_SPECIAL_ALL, 0xef, 0xbf, 0xbd);
    ASSERT_IDS(tokenizer, "x\xf0\x9f\x98", VV_SPECIAL_ALL, 'x', 0xef, 0xbf, 0xbd);
    ASSERT_IDS(tokenizer, "\xc3<think>", VV_SPECIAL_ALL, 0xef, 0xbf, 0xbd, SMALL_THINK);
    ASSERT_IDS(tokenizer, "a\0b", VV_SPECIAL_ALL, 'a', 0, 'b');
    vv_tokenizer_free(tokenizer);
}

static void c027_text_after_a_special_token_is_read_afresh(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("qwen35");
    ASSERT_IDS(tokenizer, "<|im_start|> the", VV_SPECIAL_ALL, SMALL_IM_START, ID("Ġthe"));
    ASSERT_IDS(tokenizer, "<|im_start|>\nthe", VV_SPECIAL_ALL, SMALL_IM_START, '\n', ID("the"));
    ASSERT_IDS(tokenizer, "<|im_start|>  the", VV_SPECIAL_ALL, SMALL_IM_START, ' ', ID("Ġthe"));
    ASSERT_IDS(tokenizer, "  <|im_start|>", VV_SPECIAL_ALL, ID("ĠĠ"), SMALL_IM_START);
    ASSERT_IDS(tokenizer, "  <", VV_SPECIAL_ALL, ' ', ' ', '<');
    vv_tokenizer_free(tokenizer);
}

static void c029_each_way_to_treat_special_tokens(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("qwen35");
    static const char text[] = "<|im_end|><think>";
    ASSERT_IDS(tokenizer, "<|im_end|><think>", VV_SPECIAL_ALL, SMALL_IM_END, SMALL_THINK);
    ASSERT_IDS(tokenizer, "<|im_end|><think>", VV_SPECIAL_USER, ID("<|"), ID("im"), '_', 'e', 'n',
               'd', ID("|>"), SMALL_THINK);
    struct vv_ids ids = tokenize(tokenizer, text, sizeof text - 1, VV_SPECIAL_NONE);
    for (size_t i = 0; i < ids.count; i++) {
        assert_int_equal(vv_token_type(tokenizer, ids.at[i]), VV_TOKEN_NORMAL);
    }
    vv_ids_free(&ids);
    /* The leftmost first, the longest at a place. */
    ASSERT_IDS(tokenizer, "<|im_start", VV_SPECIAL_ALL, SMALL_IM, '_', ID("st"), 'a', 'r', 't');
    ASSERT_IDS(tokenizer, "<<|im", VV_SPECIAL_ALL, '<', SMALL_IM);
    ASSERT_IDS(tokenizer, "[PAD1]", VV_SPECIAL_ALL, '[', 'P', 'A', 'D', '1', ']');
    assert_int_equal(vv_tokenizer_special(tokenizer, "<|im_start|>"), SMALL_IM_START);
    assert_int_equal(vv_tokenizer_special(tokenizer, "<|im_sta"), -1);
    assert_int_equal(vv_tokenizer_special(tokenizer, "the"), -1);
    vv_tokenizer_free(tokenizer);
}

/* A person's text inside a rendering: pieces and merges run across its borders, special tokens do
 * not come out of it, and none is pieced together across them. */
static void c029_spans_are_one_text_but_for_special_tokens(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("qwen35");
    static const char *const parts[] = {"<|im_start|>us", "er\n<|im_end|> t", "he<|im_end|>"};
    struct vv_span spans[3];
    struct vv_ids ids = {0};
    for (int i = 0; i < 3; i++) {
        spans[i] = (struct vv_span){{parts[i], strlen(parts[i])},
                                    i == 1 ? VV_SPECIAL_NONE : VV_SPECIAL_ALL};
    }
    const int32_t wanted[] = {
        SMALL_IM_START, ID("user"), '\n',        ID("<|"), ID("im"), '_', 'e', 'n', 'd',
        ID("|>"),       ID("Ġthe"), SMALL_IM_END};
    assert_int_equal(vv_tokenize(tokenizer, spans, 3, &ids, &error), VV_OK);
    assert_same_ids(&ids, wanted, sizeof wanted / sizeof *wanted);
    vv_ids_free(&ids);

    struct vv_span halves[] = {{{"<th", 3}, VV_SPECIAL_ALL}, {{"ink>", 4}, VV_SPECIAL_ALL}};
    assert_int_equal(vv_tokenize(tokenizer, halves, 2, &ids, &error), VV_OK);
    for (size_t i = 0; i < ids.count; i++) {
        assert_int_equal(vv_token_type(tokenizer, ids.at[i]), VV_TOKEN_NORMAL);
    }
    vv_ids_free(&ids);
    vv_tokenizer_free(tokenizer);
}

static void c031_composed_and_decomposed_words(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("qwen35");
    ASSERT_IDS(tokenizer, "\u00e9", VV_SPECIAL_NONE, ID("Ã©"));
    ASSERT_IDS(tokenizer, "e\u0301", VV_SPECIAL_NONE, ID("Ã©"));
    vv_tokenizer_free(tokenizer);
    tokenizer = open_small("joyai-llm"); /* without normalisation */
    ASSERT_IDS(tokenizer, "\u00e9", VV_SPECIAL_NONE, ID("Ã©"));
    ASSERT_IDS(tokenizer, "e\u0301", VV_SPECIAL_NONE, ID("eÌģ"));
    vv_tokenizer_free(tokenizer);
}

/* Merges by rank and leftmost first, the slow way: look through the whole piece again each time. */
static size_t merge_slowly(int32_t *ids, size_t count) {
    for (int rank = 0; rank < SMALL_MERGES; rank++) {
        const char *merge = small_merges[rank], *space = strchr(merge, ' ');
        for (size_t i = 0; i + 1 < count; i++) {
            const char *left = small.text[ids[i]], *right = small.text[ids[i + 1]];
            if (strlen(left) == (size_t)(space - merge) &&
                strncmp(left, merge, strlen(left)) == 0 && strcmp(right, space + 1) == 0) {
                ids[i] = 256 + rank;
                memmove(ids + i + 1, ids + i + 2, (count - i - 2) * sizeof *ids);
                count--;
                rank = -1; /* from the first rank again */
                break;
            }
        }
    }
    return count;
}

static void merges_equal_the_slow_way(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("qwen35");
    static const char letters[] = "aaabcthheingru";
    uint64_t seed = 17;
    for (int round = 0; round < 3000; round++) {
        char text[40];
        int32_t ids[40];
        size_t length = 0;
        do {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[length] = letters[(seed >> 33) % (sizeof letters - 1)];
            ids[length] = text[length];
            length++;
        } while (length < 40 && (seed >> 50) % 30 != 0);
        size_t count = merge_slowly(ids, length);
        struct vv_ids got = tokenize(tokenizer, text, length, VV_SPECIAL_NONE);
        assert_same_ids(&got, ids, count);
        vv_ids_free(&got);
    }
    vv_tokenizer_free(tokenizer);
}

static void a_merge_that_comes_twice_has_its_first_rank(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer;
    small_vocabulary_make(&small, "qwen35");
    small.merges[SMALL_MERGES - 1] = small.merges[0]; /* a a */
    assert_int_equal(vv_tokenizer_new(&small.vocabulary, &tokenizer, &error), VV_OK);
    ASSERT_IDS(tokenizer, "aab", VV_SPECIAL_NONE, ID("aa"), 'b'); /* before "a b" */
    vv_tokenizer_free(tokenizer);
}

/* Long runs in every script of trouble: all must be far from quadratic. */
static void c030_a_megabyte_of_anything_takes_no_time(void **state) {
    (void)state;
    static const char *const units[] = {"a",   "\n",     " ",       "=",
                                        "abc", "\u200b", "e\u0301", "<|im_star"};
    static char text[1000020];
    for (int s = 0; s < 2; s++) {
        struct vv_tokenizer *tokenizer = open_small(vv_splitters[s].name);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            size_t unit = strlen(units[i]), length = 0, wanted = i < 2 ? 1000000 : 200000;
            for (; length < wanted; length += unit) {
                memcpy(text + length, units[i], unit);
            }
            clock_t begin = clock();
            struct vv_ids ids = tokenize(tokenizer, text, length, VV_SPECIAL_ALL);
            assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 5); /* under sanitizers too */
            assert_true(ids.count > 0);
            vv_ids_free(&ids);
        }
        vv_tokenizer_free(tokenizer);
    }
}

static void c030_a_text_of_gigabytes_is_refused_unread(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("qwen35");
    struct vv_ids ids = {0};
    struct vv_span spans[] = {{{"<think>", 7}, VV_SPECIAL_ALL},
                              {{"", SIZE_MAX / 2}, VV_SPECIAL_NONE}};
    assert_int_equal(vv_ids_append(&ids, 5, &error), VV_OK);
    assert_int_equal(vv_tokenize(tokenizer, spans, 2, &ids, &error), VV_ERROR_INVALID);
    assert_int_equal(ids.count, 1);
    vv_ids_free(&ids);
    vv_tokenizer_free(tokenizer);
}

static void nothing_has_no_ids(void **state) {
    (void)state;
    struct vv_tokenizer *tokenizer = open_small("qwen35");
    struct vv_ids ids = {0};
    struct vv_span empty = {{NULL, 0}, VV_SPECIAL_ALL};
    assert_int_equal(vv_tokenize(tokenizer, NULL, 0, &ids, &error), VV_OK);
    assert_int_equal(vv_tokenize(tokenizer, &empty, 1, &ids, &error), VV_OK);
    assert_int_equal(ids.count, 0);
    vv_tokenizer_free(tokenizer);
}

/* The vocabulary of a fixture model and what an independent tokenizer made of 38 texts. */
static void the_fixture_cases_are_met(void **state) {
    (void)state;
    struct vv_gguf *gguf;
    struct vv_tokenizer *tokenizer;
    json_error_t trouble;
    json_t *cases =
        json_load_file("tests/data/text/heads.tokenizer.json", JSON_ALLOW_NUL, &trouble);
    json_t *one, *id;
    size_t i, k;
    assert_int_equal(vv_gguf_open("tests/data/text/heads.vocab.gguf", NULL, &gguf, &error), VV_OK);
    assert_int_equal(vv_tokenizer_open(gguf, &tokenizer, &error), VV_OK);
    vv_gguf_close(gguf);
    assert_int_equal(json_array_size(cases), 38);
    json_array_foreach(cases, i, one) {
        int32_t wanted[100];
        json_t *text = json_object_get(one, "text"), *ids = json_object_get(one, "ids");
        assert_true(json_array_size(ids) <= 100);
        json_array_foreach(ids, k, id) {
            wanted[k] = (int32_t)json_integer_value(id);
        }
        struct vv_ids got =
            tokenize(tokenizer, json_string_value(text), json_string_length(text), VV_SPECIAL_ALL);
        assert_same_ids(&got, wanted, json_array_size(ids));
        vv_ids_free(&got);
    }
    json_decref(cases);
    vv_tokenizer_free(tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c006_the_lowest_id_of_equal_tokens_is_used),
        cmocka_unit_test(c006_a_vocabulary_without_bos_loads),
        cmocka_unit_test(contradictions_are_refused_by_name),
        cmocka_unit_test(c029_no_merge_leads_to_a_control_token),
        cmocka_unit_test(c026_ill_formed_text_is_repaired),
        cmocka_unit_test(c027_text_after_a_special_token_is_read_afresh),
        cmocka_unit_test(c029_each_way_to_treat_special_tokens),
        cmocka_unit_test(c029_spans_are_one_text_but_for_special_tokens),
        cmocka_unit_test(c031_composed_and_decomposed_words),
        cmocka_unit_test(merges_equal_the_slow_way),
        cmocka_unit_test(a_merge_that_comes_twice_has_its_first_rank),
        cmocka_unit_test(c030_a_megabyte_of_anything_takes_no_time),
        cmocka_unit_test(c030_a_text_of_gigabytes_is_refused_unread),
        cmocka_unit_test(nothing_has_no_ids),
        cmocka_unit_test(the_fixture_cases_are_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

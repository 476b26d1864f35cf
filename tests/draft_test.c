/*
 * Texts written with drafts are those of one token after another, byte for byte, and leave the same
 * state: greedy and sampled, with penalties, by every drafter, at every depth, with any number of
 * threads. Cases C074 and C079 to C083 of docs/cases.md. What is compared with comes from
 * varve_session_evaluate alone.
 */
#include "support/opened.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT_MOST = 64, WRITTEN_MOST = 200, CONTEXT = 320 };

static const char tiny[] = VARVE_SOURCE_DIR "/models/varve-tiny.gguf";

/* How wrongly to draw, to see that it would be seen. */
enum misreading {
    NONE,
    OLD_HISTORY,  /* penalties see the text before the window alone */
    OLD_POSITION, /* all rows of a window draw the first one's random number */
};

struct bench {
    struct opened o;
    struct varve_session *plain, *drafted;
    struct varve_sampling sampling;
    struct varve_ids prompt;
    size_t wanted;
    struct varve_ids want; /* prompt and answer of plain decoding */
    void *state;           /* afterwards */
    size_t bytes;
};

static int32_t draw(struct varve_sampler *sampler, const float *logits, const struct varve_ids *ids,
                    size_t seen, size_t position) {
    struct varve_error error = {0};
    int32_t token = -1;
    if (varve_sampler_draw(sampler, logits, ids->at, seen, position, &token, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    return token;
}

static void append(struct varve_ids *ids, int32_t id) {
    struct varve_error error;
    assert_int_equal(varve_ids_append(ids, id, &error), VARVE_OK);
}

static struct varve_sampler *sampler_of(const struct bench *b) {
    struct varve_error error;
    struct varve_sampler *sampler = NULL;
    if (varve_sampler_new(b->o.info.vocabulary, &b->sampling, &sampler, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    return sampler;
}

/* Reads tokens with the logits of the last one. */
static void read_tokens(struct varve_session *session, const int32_t *tokens, size_t count) {
    struct varve_error error = {0};
    struct varve_row rows[PROMPT_MOST + WRITTEN_MOST];
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct varve_row){0, tokens[i], i + 1 == count};
    }
    if (varve_session_evaluate(session, rows, count, VARVE_ADVANCE, NULL, NULL, &error) !=
        VARVE_OK) {
        fail_msg("%s", error.message);
    }
}

/* What one token after another gives. */
static void write_plainly(struct bench *b) {
    struct varve_sampler *sampler = sampler_of(b);
    varve_session_clear(b->plain, 0);
    read_tokens(b->plain, b->prompt.at, b->prompt.count);
    b->want.count = 0;
    for (size_t i = 0; i < b->prompt.count; i++) {
        append(&b->want, b->prompt.at[i]);
    }
    for (size_t i = 0; i < b->wanted; i++) {
        if (i > 0) {
            read_tokens(b->plain, b->want.at + b->want.count - 1, 1);
        }
        size_t n = b->want.count;
        append(&b->want, draw(sampler, varve_session_logits(b->plain, 0), &b->want, n, n));
    }
    free(b->state);
    b->state = state_of(b->plain, 0, &b->bytes);
    varve_sampler_free(sampler);
}

struct written {
    bool equal; /* the tokens */
    struct varve_decoder_report report;
};

/* The same with drafts. */
static struct written write_drafted(struct bench *b, const struct varve_decoder_options *options,
                                    enum misreading wrong) {
    struct varve_error error = {0};
    struct varve_decoder *decoder = NULL;
    struct varve_ids ids = {0};
    struct written written = {true, {{{0}}, 0, 0, 0, 0, 0, 0}};
    struct varve_sampler *sampler = sampler_of(b);
    if (varve_decoder_open(b->drafted, options, &decoder, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    varve_session_clear(b->drafted, 0);
    read_tokens(b->drafted, b->prompt.at, b->prompt.count);
    assert_int_equal(varve_decoder_begin(decoder, b->prompt.at, b->prompt.count, &error), 0);
    for (size_t i = 0; i < b->prompt.count; i++) {
        append(&ids, b->prompt.at[i]);
    }
    size_t begun = ids.count; /* the window */
    uint64_t windows = 0;
    for (size_t i = 0; i < b->wanted; i++) {
        if (i > 0 && varve_decoder_take(decoder, ids.at[ids.count - 1], b->wanted - i, &error)) {
            fail_msg("%s", error.message);
        }
        varve_decoder_report(decoder, &written.report);
        begun = written.report.windows != windows ? ids.count : begun;
        windows = written.report.windows;
        append(&ids, draw(sampler, varve_decoder_logits(decoder), &ids,
                          wrong == OLD_HISTORY ? begun : ids.count,
                          wrong == OLD_POSITION ? begun : ids.count));
    }
    assert_int_equal(varve_decoder_settle(decoder, &error), 0);
    varve_decoder_report(decoder, &written.report);
    written.equal =
        ids.count == b->want.count && memcmp(ids.at, b->want.at, ids.count * sizeof *ids.at) == 0;
    if (written.equal) {
        size_t bytes;
        void *state = state_of(b->drafted, 0, &bytes);
        assert_int_equal(varve_session_length(b->drafted, 0), ids.count - 1);
        assert_int_equal(bytes, b->bytes);
        assert_memory_equal(state, b->state, bytes);
        free(state);
    }
    varve_decoder_close(decoder);
    varve_sampler_free(sampler);
    varve_ids_free(&ids);
    return written;
}

static void open_bench(struct bench *b, const char *path, uint32_t threads) {
    *b = (struct bench){.o = open_path(path, false)};
    struct varve_session_options options = {
        .context = CONTEXT, .threads = 1, .mtp = b->o.info.mtp_layers > 0};
    b->plain = open_session(&b->o, &options);
    options.threads = threads;
    b->drafted = open_session(&b->o, &options);
    varve_sampling_defaults(&b->sampling);
}

static void close_bench(struct bench *b) {
    varve_session_close(b->plain);
    varve_session_close(b->drafted);
    varve_ids_free(&b->prompt);
    varve_ids_free(&b->want);
    free(b->state);
    close_model(&b->o);
}

/* ---- prompts and settings ---- */

/* The i-th of fifty beginnings that the bundled model was made for; some of them repeat. */
static void set_prompt(struct bench *b, unsigned i) {
    static const char *const whos[] = {"a fox who lost something", "two friends by the river",
                                       "an old clock", "a girl and her kite", "a shy bear"};
    static const char *const hows[] = {
        "Tell me a story about %s.",
        "Write a short tale: %s, on a rainy day.",
        "Once there was %s. Once there was %s. Once there",
        "What is 3 + 4? Then a story of %s.",
        "{\"title\": \"%s\", \"title\": \"%s\", \"",
        "Sort 5, 2, 9. Sort 5, 2, 9. And %s?",
        "Say it again: %s, %s, %s",
        "%s",
        "The end of the story about %s was that",
        "List: one, two, three, %s, one, two,",
    };
    char text[400];
    struct varve_error error;
    const char *who = whos[i % 5];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, hows[i / 5 % 10], who, who, who);
#pragma GCC diagnostic pop
    const struct varve_span span = {text, strlen(text), VARVE_SPECIAL_NONE};
    b->prompt.count = 0;
    assert_int_equal(
        varve_tokenize(varve_model_tokenizer(b->o.model), &span, 1, &b->prompt, &error), 0);
    assert_in_range(b->prompt.count, 1, PROMPT_MOST);
}

static void set_random_prompt(struct bench *b, uint32_t seed, size_t count) {
    int32_t tokens[PROMPT_MOST];
    random_tokens(&b->o, seed, tokens, count);
    b->prompt.count = 0;
    for (size_t i = 0; i < count; i++) {
        append(&b->prompt, tokens[i]);
    }
}

static void set_sampling(struct bench *b, unsigned kind, uint64_t seed) {
    struct varve_sampling *s = &b->sampling;
    varve_sampling_defaults(s);
    s->seed = seed;
    if (kind % 2) {
        s->temperature = 0.9f;
        s->top_p = 0.95f;
        s->top_k = 40;
    }
    if (kind >= 2) {
        s->repetition_penalty = 1.3f;
        s->presence_penalty = 0.4f;
        s->frequency_penalty = 0.2f;
        s->penalty_last_n = kind == 3 ? 20 : -1;
    }
}

static const struct varve_decoder_options ways[] = {
    {.draft = VARVE_DRAFT_MTP, .most = 1, .fixed = true},
    {.draft = VARVE_DRAFT_MTP, .most = 2, .fixed = true},
    {.draft = VARVE_DRAFT_MTP, .most = 3, .fixed = true},
    {.draft = VARVE_DRAFT_MTP, .most = 8, .fixed = true},
    {.draft = VARVE_DRAFT_SUFFIX, .most = 4, .fixed = true},
    {.draft = VARVE_DRAFT_SUFFIX, .most = 15, .fixed = true},
    {.draft = VARVE_DRAFT_BOTH, .most = 5, .fixed = true},
    {.draft = VARVE_DRAFT_MTP, .most = 4},
    {.draft = VARVE_DRAFT_SUFFIX, .most = 15},
    {.draft = VARVE_DRAFT_BOTH},
    {.draft = VARVE_DRAFT_OFF},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void add_counts(const struct varve_decoder_report *r, uint64_t *offered,
                       uint64_t *accepted) {
    for (size_t c = 0; c < r->count_count; c++) {
        for (size_t i = 0; i < VARVE_DRAFTS_MAX; i++) {
            *offered += r->counts[c].offered[i];
            *accepted += r->counts[c].accepted[i];
        }
    }
}

/* ---- tests ---- */

/* Every way with every prompt takes minutes: it is done on request, else each way has its tenth of
 * them, greedily and sampled in turn. */
static unsigned every = 10;

static void fifty_prompts(uint32_t threads) {
    struct bench b;
    uint64_t offered[2] = {0}, accepted[2] = {0};
    open_bench(&b, tiny, threads);
    b.wanted = 20;
    for (unsigned i = 0; i < 50; i++) {
        set_prompt(&b, i);
        for (unsigned sampled = 0; sampled < 2; sampled++) {
            if (every > 1 && sampled != i / 10 % 2) {
                continue;
            }
            set_sampling(&b, sampled, i);
            write_plainly(&b);
            for (unsigned way = i % every; way < WAYS; way += every) {
                struct written w = write_drafted(&b, &ways[way], NONE);
                if (!w.equal) {
                    fail_msg("prompt %u, sampled %u, way %u: other tokens", i, sampled, way);
                }
                add_counts(&w.report, &offered[sampled], &accepted[sampled]);
            }
        }
    }
    for (int sampled = 0; sampled < 2; sampled++) { /* drafts were right, and were wrong */
        assert_true(accepted[sampled] > offered[sampled] / 5);
        assert_true(accepted[sampled] < offered[sampled]);
    }
    close_bench(&b);
}

static void c081_c082_fifty_prompts(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= (every > 1 ? 1 : 3); threads++) {
        fifty_prompts(threads);
    }
}

static void c074_every_way_with_penalties(void **state) {
    (void)state;
    struct bench b;
    open_bench(&b, tiny, 1);
    b.wanted = 40;
    for (unsigned i = 0; i < 2; i++) {
        set_prompt(&b, i * 7);
        set_sampling(&b, 2 + i % 2, i);
        write_plainly(&b);
        for (unsigned way = 0; way < WAYS; way++) {
            assert_true(write_drafted(&b, &ways[way], NONE).equal);
        }
    }
    close_bench(&b);
}

/* A rule that draws from the wrong history or with the wrong random number gives other texts. */
static void misreadings_are_seen(void **state) {
    (void)state;
    struct bench b;
    unsigned seen[3] = {0};
    open_bench(&b, tiny, 1);
    b.wanted = 40;
    for (unsigned i = 0; i < 3; i++) {
        set_prompt(&b, i);
        set_sampling(&b, 3, i);
        write_plainly(&b);
        seen[OLD_HISTORY] += !write_drafted(&b, &ways[1], OLD_HISTORY).equal;
        seen[OLD_POSITION] += !write_drafted(&b, &ways[1], OLD_POSITION).equal;
    }
    assert_true(seen[OLD_HISTORY] > 0 && seen[OLD_POSITION] > 0);
    close_bench(&b);
}

/* Four texts of a model, by every `step`-th way. */
static void every_way(const char *path, uint32_t seed, uint32_t threads, unsigned step) {
    struct bench b;
    open_bench(&b, path, threads);
    b.wanted = 50;
    for (unsigned i = 0; i < 4; i++) {
        set_random_prompt(&b, seed + i, 3 + 11 * i);
        set_sampling(&b, i, i);
        write_plainly(&b);
        for (unsigned way = i % step; way < WAYS; way += step) {
            bool block = ways[way].draft == VARVE_DRAFT_MTP || ways[way].draft == VARVE_DRAFT_BOTH;
            assert_true((block && b.o.info.mtp_layers == 0) ||
                        write_drafted(&b, &ways[way], NONE).equal);
        }
    }
    close_bench(&b);
}

/* Models whose draft block knows nothing: nearly all is refused, and the text repeats at times. */
static void small_models(void **state) {
    (void)state;
    static const char *const models[] = {"qwen4exp/micro.f32.gguf", "qwen4exp/odd.f32.gguf",
                                         "qwen4exp/hq.ud.gguf", "deepseek4/tiny.gguf"};
    for (unsigned m = 0; m < sizeof models / sizeof *models; m++) {
        char path[400];
        snprintf(path, sizeof path, "%s/tests/data/%s", VARVE_SOURCE_DIR, models[m]);
        every_way(path, 7 * m, 1 + m % 2, every > 1 ? 2 : 1);
    }
}

/* Those that are given. */
static void named_models(void **state) {
    for (char **path = *state; *path; path++) {
        every_way(*path, 1, 2, 1);
        print_message("%s: every way to draft writes the same texts\n", *path);
    }
}

/* The context's last tokens are written as plain decoding writes them. */
static void up_to_the_end_of_the_context(void **state) {
    (void)state;
    struct bench b;
    open_bench(&b, VARVE_SOURCE_DIR "/tests/data/qwen4exp/odd.f32.gguf", 1);
    varve_session_close(b.plain);
    varve_session_close(b.drafted);
    const struct varve_session_options options = {.context = 40, .threads = 1, .mtp = true};
    b.plain = open_session(&b.o, &options);
    b.drafted = open_session(&b.o, &options);
    set_random_prompt(&b, 5, 8);
    b.wanted = 33; /* 40 held, and one that is not */
    write_plainly(&b);
    for (unsigned way = 0; way < WAYS; way++) {
        assert_true(write_drafted(&b, &ways[way], NONE).equal);
    }
    close_bench(&b);
}

/* Tokens that are read leave to the draft block what they would if it were evaluated whole, as it
 * is where a session observes. */
static void catching_up_leaves_what_drafts_read(void **state) {
    (void)state;
    enum { TEXT = 60, STEPS = 5 };
    struct opened o = open_model("qwen4exp/odd.f32.gguf");
    int32_t tokens[TEXT], drafts[2][STEPS];
    float *logits[2];
    void *kept[2];
    size_t bytes[2];
    random_tokens(&o, 4, tokens, TEXT);
    for (int whole = 0; whole < 2; whole++) {
        struct varve_error error = {0};
        const struct varve_session_options options = {
            .context = CONTEXT, .threads = 1, .mtp = true, .observe = whole};
        struct varve_session *s = open_session(&o, &options);
        logits[whole] = malloc(STEPS * o.info.vocabulary * sizeof(float));
        advance(s, &o, 0, tokens, TEXT, NULL);
        kept[whole] = state_of(s, 0, &bytes[whole]);
        assert_int_equal(varve_session_draft(s, 0, 7, STEPS, drafts[whole], logits[whole], &error),
                         0);
        varve_session_close(s);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(kept[0], kept[1], bytes[0]);
    assert_memory_equal(drafts[0], drafts[1], sizeof drafts[0]);
    assert_memory_equal(logits[0], logits[1], STEPS * o.info.vocabulary * sizeof(float));
    for (int whole = 0; whole < 2; whole++) {
        free(kept[whole]);
        free(logits[whole]);
    }
    close_model(&o);
}

/* ---- stopping and going on ---- */

/* A text in pieces: a decoder settles anywhere, others use the slot, it begins again. */
static void c079_c080_interrupted_anywhere(void **state) {
    (void)state;
    struct bench b;
    struct varve_error error = {0};
    struct varve_decoder *decoder = NULL;
    const struct varve_decoder_options options = {.draft = VARVE_DRAFT_BOTH, .fixed = true};
    struct varve_ids ids = {0};
    open_bench(&b, tiny, 1);
    set_prompt(&b, 10);
    set_sampling(&b, 1, 3);
    b.wanted = 90;
    write_plainly(&b);
    struct varve_sampler *sampler = sampler_of(&b);
    assert_int_equal(varve_decoder_open(b.drafted, &options, &decoder, &error), 0);
    read_tokens(b.drafted, b.prompt.at, b.prompt.count);
    for (size_t i = 0; i < b.prompt.count; i++) {
        append(&ids, b.prompt.at[i]);
    }
    for (size_t piece = 1; ids.count < b.want.count; piece = piece % 7 + 1) {
        assert_int_equal(varve_decoder_begin(decoder, ids.at, ids.count, &error), 0);
        for (size_t i = 0; i < piece && ids.count < b.want.count; i++) {
            append(&ids, draw(sampler, varve_decoder_logits(decoder), &ids, ids.count, ids.count));
            if (ids.count < b.want.count) {
                assert_int_equal(
                    varve_decoder_take(decoder, ids.at[ids.count - 1], 1 + piece, &error), 0);
            }
        }
        const float *logits = varve_decoder_logits(decoder);
        assert_int_equal(varve_decoder_settle(decoder, &error), 0);
        assert_int_equal(varve_decoder_settle(decoder, &error), 0); /* again: nothing happens */
        assert_ptr_equal(varve_decoder_logits(decoder), logits);
        if (ids.count < b.want.count) { /* somebody else goes on by one token */
            append(&ids, draw(sampler, logits, &ids, ids.count, ids.count));
            if (ids.count < b.want.count) {
                read_tokens(b.drafted, ids.at + ids.count - 1, 1);
            }
        }
    }
    assert_memory_equal(ids.at, b.want.at, ids.count * sizeof *ids.at);
    size_t bytes;
    void *after = state_of(b.drafted, 0, &bytes);
    assert_int_equal(bytes, b.bytes);
    assert_memory_equal(after, b.state, bytes);
    free(after);
    varve_ids_free(&ids);
    varve_decoder_close(decoder);
    varve_sampler_free(sampler);
    close_bench(&b);
}

/* Checkpoints lie where tokens were accepted, never within drafts: a sequence that is taken back
 * has the state of a plain one of that length, the draft block's too, which drafts as it would
 * there. */
static void c077_c078_taken_back_to_a_checkpoint(void **state) {
    (void)state;
    enum { EVERY = 5, STEPS = 4 };
    struct bench b;
    struct varve_error error = {0};
    open_bench(&b, tiny, 1);
    const struct varve_session_options options = {.context = CONTEXT,
                                                  .threads = 1,
                                                  .mtp = true,
                                                  .checkpoint_every = EVERY,
                                                  .keep_bytes = 1u << 30};
    varve_session_close(b.drafted);
    b.drafted = open_session(&b.o, &options);
    set_prompt(&b, 3);
    b.wanted = 50;
    write_plainly(&b);
    for (unsigned way = 0; way < 4; way++) {
        assert_true(write_drafted(&b, &ways[way], NONE).equal);
        size_t rewound = 0;
        for (size_t length = b.want.count - 1; length > b.prompt.count; length -= 9) {
            int32_t drafts[2][STEPS];
            size_t bytes[2];
            assert_int_equal(varve_session_truncate(b.drafted, 0, length, &error), 0);
            size_t held = varve_session_length(b.drafted, 0);
            assert_true(held > 0 && held <= length && length - held < EVERY + 2 * STEPS + 1);
            varve_session_clear(b.plain, 0);
            read_tokens(b.plain, b.want.at, held);
            void *taken = state_of(b.drafted, 0, &bytes[0]),
                 *fresh = state_of(b.plain, 0, &bytes[1]);
            assert_int_equal(bytes[0], bytes[1]);
            assert_memory_equal(taken, fresh, bytes[0]);
            free(taken);
            free(fresh);
            for (int i = 0; i < 2; i++) {
                assert_int_equal(varve_session_draft(i ? b.plain : b.drafted, 0, b.want.at[held],
                                                     STEPS, drafts[i], NULL, &error),
                                 0);
            }
            assert_memory_equal(drafts[0], drafts[1], sizeof drafts[0]);
            rewound++;
        }
        assert_true(rewound >= 4);
    }
    close_bench(&b);
}

/* A bias of minus infinity bans a token that is drafted, plus infinity forces one that is not. */
static void c083_biases(void **state) {
    (void)state;
    struct bench b;
    open_bench(&b, tiny, 1);
    set_prompt(&b, 0);
    b.wanted = 30;
    write_plainly(&b);
    struct varve_logit_bias bias = {b.want.at[b.want.count - 20], -INFINITY};
    b.sampling.bias = &bias;
    b.sampling.bias_count = 1;
    for (int forced = 0; forced < 2; forced++) {
        bias.bias = forced ? INFINITY : -INFINITY;
        write_plainly(&b);
        for (size_t i = b.prompt.count; i < b.want.count; i++) {
            assert_true((b.want.at[i] == bias.token) == forced);
        }
        for (unsigned way = 0; way < WAYS; way += 3) {
            assert_true(write_drafted(&b, &ways[way], NONE).equal);
        }
    }
    close_bench(&b);
}

static void refusals(void **state) {
    (void)state;
    struct bench b;
    struct varve_error error = {0};
    struct varve_decoder *decoder = NULL;
    open_bench(&b, VARVE_SOURCE_DIR "/tests/data/qwen4exp/odd.f32.gguf", 1);
    const struct varve_session_options narrow = {.context = 40, .window = 4, .threads = 1};
    struct varve_session *s = open_session(&b.o, &narrow);
    struct varve_decoder_options o = {.draft = VARVE_DRAFT_SUFFIX, .most = 4};
    assert_int_equal(varve_decoder_open(s, &o, &decoder, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("4 drafts", "1 to 3", "4 rows"));
    o.most = 3;
    o.draft = VARVE_DRAFT_MTP;
    assert_int_equal(varve_decoder_open(s, &o, &decoder, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("without a draft block"));
    o.draft = VARVE_DRAFT_SUFFIX;
    o.slot = 1;
    assert_int_equal(varve_decoder_open(s, &o, &decoder, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("slot 1"));
    o.slot = 0;
    assert_null(decoder);
    assert_int_equal(varve_decoder_open(s, &o, &decoder, &error), 0);
    assert_int_equal(varve_decoder_begin(decoder, (int32_t[]){1, 2}, 2, &error),
                     VARVE_ERROR_INVALID);
    message_has(&error, WORDS("0 tokens, not 2"));
    assert_int_equal(varve_decoder_begin(decoder, NULL, 0, &error), 0);
    assert_int_equal(varve_decoder_take(decoder, -1, 4, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("token", "-1"));
    varve_decoder_close(decoder);
    varve_session_close(s);
    close_bench(&b);
}

/* `test_draft all` leaves nothing out; `test_draft FILE...` compares other models. */
int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "all") != 0) {
        const struct CMUnitTest named[] = {
            cmocka_unit_test_prestate(named_models, arguments + 1),
        };
        return cmocka_run_group_tests(named, NULL, NULL);
    }
    every = count > 1 ? 1 : every;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c081_c082_fifty_prompts),
        cmocka_unit_test(c074_every_way_with_penalties),
        cmocka_unit_test(misreadings_are_seen),
        cmocka_unit_test(small_models),
        cmocka_unit_test(up_to_the_end_of_the_context),
        cmocka_unit_test(catching_up_leaves_what_drafts_read),
        cmocka_unit_test(c079_c080_interrupted_anywhere),
        cmocka_unit_test(c077_c078_taken_back_to_a_checkpoint),
        cmocka_unit_test(c083_biases),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

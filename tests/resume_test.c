/*
 * What is read again, and what isn't: cases C059, C060, C068, C070 and C071 of docs/cases.md, and
 * chats that take turns.
 */
#include "support/opened.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 400, SPACING = 32, WINDOW = 32 };
static const char micro[] = "qwen4exp/micro.f32.gguf";
static const struct varve_session_options usual = {
    .context = CONTEXT, .window = WINDOW, .logits = 1, .threads = 1, .checkpoint_every = SPACING};
static struct varve_error error;

static void done(int code) {
    if (code != VARVE_OK) {
        fail_msg("%s", error.message);
    }
}

static size_t resume(struct varve_session *s, const int32_t *tokens, size_t count) {
    struct varve_resumed r;
    done(varve_session_resume(s, 0, tokens, count, &r, &error));
    assert_int_equal(varve_session_length(s, 0), r.held);
    return r.held;
}

/* Reads what the slot lacks of a text, and compares the last logits with a cold reading's. Returns
 * how many tokens that were. */
static size_t read_rest(struct varve_session *s, const struct opened *o, const int32_t *tokens,
                        size_t count) {
    size_t held = resume(s, tokens, count), v = o->info.vocabulary;
    advance(s, o, 0, tokens + held, count - held - 1, NULL);
    float *got = malloc(v * sizeof *got);
    advance(s, o, 0, tokens + count - 1, 1, got);
    struct varve_session_options cold = usual;
    cold.logits = CONTEXT;
    cold.window = CONTEXT;
    cold.keep_bytes = 1;
    float *want = logits_of(o, &cold, tokens, count);
    assert_memory_equal(got, want + (count - 1) * v, v * sizeof *got);
    free(got);
    free(want);
    return count - held;
}

/* As a prompt is read: the checkpoint before its last token is there if it comes again. */
static void c060_the_same_prompt_again(void **state) {
    (void)state;
    enum { PROMPT = 77 };
    struct opened o = open_model(micro);
    struct varve_session *s = open_session(&o, &usual);
    int32_t tokens[PROMPT];
    random_tokens(&o, 1, tokens, PROMPT);
    advance(s, &o, 0, tokens, PROMPT - 1, NULL);
    done(varve_session_checkpoint(s, 0, &error));
    advance(s, &o, 0, tokens + PROMPT - 1, 1, NULL);
    advance(s, &o, 0, tokens, 20, NULL); /* an answer */
    assert_int_equal(read_rest(s, &o, tokens, PROMPT), 1);
    varve_session_close(s);
    close_model(&o);
}

/* Chats take turns on one slot; each turn appends to its own. Nothing is read twice but what lies
 * between two checkpoints; here not even that, as a turn ends where the next one begins. */
static void c070_chats_take_turns(void **state) {
    (void)state;
    enum { CHATS = 8, TURNS = 3, TURN = 90 };
    struct opened o = open_model(micro);
    struct varve_session *s = open_session(&o, &usual);
    int32_t tokens[CHATS][TURNS * TURN];
    size_t read = 0;
    for (uint32_t c = 0; c < CHATS; c++) {
        random_tokens(&o, c + 50, tokens[c], TURNS * TURN);
        memcpy(tokens[c], tokens[0], 40 * sizeof tokens[c][0]); /* the same system message */
    }
    for (size_t turn = 1; turn <= TURNS; turn++) {
        for (size_t c = 0; c < CHATS; c++) {
            size_t more = read_rest(s, &o, tokens[c], turn * TURN);
            assert_true(more <= TURN);
            read += more;
        }
    }
    /* the system message was read once, but for its rest beyond a checkpoint */
    assert_true(read <= CHATS * TURNS * TURN - (CHATS - 1) * SPACING);
    varve_session_close(s);
    close_model(&o);
}

/* The end of each turn changes before the next one, as where thoughts are left out. */
static void an_edited_end_costs_one_spacing(void **state) {
    (void)state;
    enum { TURNS = 5, TURN = 60, THOUGHTS = 25 };
    struct opened o = open_model(micro);
    struct varve_session *s = open_session(&o, &usual);
    int32_t tokens[TURNS * TURN + THOUGHTS];
    random_tokens(&o, 3, tokens, TURNS * TURN + THOUGHTS);
    for (size_t turn = 1; turn <= TURNS; turn++) {
        size_t more = read_rest(s, &o, tokens, turn * TURN);
        assert_true(more <= TURN + SPACING);
        advance(s, &o, 0, tokens + 7, THOUGHTS, NULL);
    }
    varve_session_close(s);
    close_model(&o);
}

/* The last checkpoint before the change is where it goes on; the place of the change is told. */
static void c071_a_change_near_the_top(void **state) {
    (void)state;
    enum { TEXT = 200, CHANGE = 70 };
    struct opened o = open_model(micro);
    struct varve_session *s = open_session(&o, &usual);
    struct varve_resumed r;
    int32_t tokens[TEXT];
    random_tokens(&o, 3, tokens, TEXT);
    advance(s, &o, 0, tokens, TEXT, NULL);
    tokens[CHANGE] ^= 1;
    done(varve_session_resume(s, 0, tokens, TEXT, &r, &error));
    assert_int_equal(r.held, CHANGE / SPACING * SPACING);
    assert_int_equal(r.shared, CHANGE);
    assert_int_equal(read_rest(s, &o, tokens, TEXT), TEXT - r.held);
    varve_session_close(s);
    close_model(&o);
}

/* Going back and forth between two endings of a long text. */
static void branches_are_both_kept(void **state) {
    (void)state;
    enum { TEXT = 200, LEAVES = 70 };
    struct opened o = open_model(micro);
    struct varve_session *s = open_session(&o, &usual);
    int32_t a[TEXT], b[TEXT];
    random_tokens(&o, 3, a, TEXT);
    random_tokens(&o, 4, b, TEXT);
    memcpy(b, a, LEAVES * sizeof *a);
    read_rest(s, &o, a, TEXT);
    assert_true(read_rest(s, &o, b, TEXT) <= TEXT - LEAVES + SPACING);
    for (int round = 0; round < 3; round++) {
        assert_true(read_rest(s, &o, a, TEXT) <= SPACING);
        assert_true(read_rest(s, &o, b, TEXT) <= SPACING);
    }
    varve_session_close(s);
    close_model(&o);
}

/* Room for two texts: the third one's coming costs the first, never itself. */
static void c059_the_oldest_goes_first(void **state) {
    (void)state;
    enum { TEXT = 120, TEXTS = 4 };
    struct opened o = open_model(micro);
    struct varve_session_options options = usual;
    struct varve_session *s = open_session(&o, &options);
    int32_t tokens[TEXTS][TEXT];
    struct varve_kept kept;
    for (uint32_t i = 0; i < TEXTS; i++) {
        random_tokens(&o, i + 90, tokens[i], TEXT);
    }
    advance(s, &o, 0, tokens[0], TEXT, NULL);
    done(varve_session_keep(s, 0, &error));
    varve_session_kept(s, &kept);
    options.keep_bytes = 2 * kept.bytes + kept.checkpoint_bytes;
    varve_session_close(s);
    s = open_session(&o, &options);
    for (size_t i = 0; i < TEXTS; i++) {
        varve_session_clear(s, 0);
        advance(s, &o, 0, tokens[i], TEXT, NULL);
        done(varve_session_keep(s, 0, &error));
        varve_session_clear(s, 0);
        varve_session_kept(s, &kept);
        assert_true(kept.sequences <= 2 && kept.bytes <= kept.budget);
        assert_true(resume(s, tokens[i], TEXT) >= TEXT - SPACING);
    }
    varve_session_clear(s, 0);
    assert_int_equal(resume(s, tokens[0], TEXT), 0);
    varve_session_close(s);
    close_model(&o);
}

static void c068_no_room_for_a_copy(void **state) {
    (void)state;
    enum { TEXT = 120 };
    struct opened o = open_model(micro);
    struct varve_session_options options = usual;
    options.keep_bytes = 100;
    struct varve_session *s = open_session(&o, &options);
    int32_t tokens[TEXT];
    random_tokens(&o, 1, tokens, TEXT);
    advance(s, &o, 0, tokens, TEXT / 2, NULL);
    assert_int_equal(varve_session_keep(s, 0, &error), VARVE_ERROR_MEMORY);
    assert_int_equal(varve_session_checkpoint(s, 0, &error), VARVE_ERROR_MEMORY);
    assert_int_equal(read_rest(s, &o, tokens, TEXT), TEXT - TEXT / 2);
    done(varve_session_truncate(s, 0, TEXT / 2, &error));
    assert_int_equal(varve_session_length(s, 0), 0); /* there is no checkpoint to go back to */
    varve_session_close(s);
    close_model(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c060_the_same_prompt_again),
        cmocka_unit_test(c070_chats_take_turns),
        cmocka_unit_test(an_edited_end_costs_one_spacing),
        cmocka_unit_test(c071_a_change_near_the_top),
        cmocka_unit_test(branches_are_both_kept),
        cmocka_unit_test(c059_the_oldest_goes_first),
        cmocka_unit_test(c068_no_room_for_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "support/script.h"
#include "support/temporary.h"
#include "support/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 3, WINDOW = 48, MOST = 16, VERIFIED = 8, SPACING = 40 };
enum { MANY = 1000 }; /* steps of which each kind has its part */
enum kind { ADVANCE, VERIFY, COMMIT, FORK, TRUNCATE, KEEP, RESUME, RESTART, KINDS };
static const char *const kind_names[KINDS] = {"advance",  "verify", "commit", "fork",
                                              "truncate", "keep",   "resume", "restart"};

/* A slot stands after `length` tokens of a text; it waits for a commit of `pending` rows, of which
 * `right` are the text's. */
struct place {
    size_t text, length;
    uint32_t pending, right;
};

struct script {
    struct texts texts;
    struct varve_session_options options;
    enum varve_device devices[2]; /* a restart goes from one to the other */
    struct varve_session *session;
    struct place place[SLOTS];
    struct temporary folder;
    uint64_t random;
    size_t count[KINDS];
    size_t resumed, reused;               /* times that there was anything; tokens */
    size_t across_chunks, with_separator; /* verify windows */
    /* The window that is evaluated: its rows, and where in which text each one is (or nowhere). */
    struct varve_row rows[SLOTS * MOST];
    size_t row_count, row_at[SLOTS * MOST], row_text[SLOTS * MOST];
};

static uint32_t draw(struct script *s, size_t below) {
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((s->random >> 33) % below);
}

static void done(int code, const struct varve_error *error) {
    if (code != VARVE_OK) {
        fail_msg("%s", error->message);
    }
}

static void same_state(struct script *s, uint32_t slot) {
    const struct place *p = &s->place[slot];
    assert_int_equal(varve_session_length(s->session, slot), p->length);
    assert_memory_equal(varve_session_tokens(s->session, slot), s->texts.tokens[p->text],
                        p->length * sizeof(int32_t));
    if (texts_state(s->session, slot) != s->texts.state[p->text][p->length]) {
        fail_msg("slot %u: after %zu tokens of text %zu the state is another", slot, p->length,
                 p->text);
    }
}

static int same_logits(void *context, size_t row, const float *logits, struct varve_error *error) {
    struct script *s = context;
    size_t v = s->texts.vocabulary, text = s->row_text[row];
    (void)error;
    if (text < TEXTS) {
        assert_memory_equal(logits, s->texts.logits[text] + s->row_at[row] * v, v * sizeof(float));
    }
    return VARVE_OK;
}

static bool any_pending(const struct script *s) {
    bool any = false;
    for (size_t i = 0; i < SLOTS; i++) {
        any |= s->place[i].pending > 0;
    }
    return any;
}

/* ---- steps: each returns false where it can't be made now ---- */

/* The text goes on as another one that has begun alike, now and then. */
static void wander(struct script *s, struct place *p) {
    size_t other = draw(s, TEXTS);
    if (texts_common(&s->texts, p->text, other) >= p->length) {
        p->text = other;
    }
}

static void add_row(struct script *s, uint32_t slot, uint32_t i) {
    const struct place *p = &s->place[slot];
    size_t at = p->length + i, r = s->row_count++;
    bool right = i < p->right;
    int32_t token = right ? s->texts.tokens[p->text][at] : (int32_t)draw(s, s->texts.vocabulary);
    s->rows[r] = (struct varve_row){slot, token, true};
    s->row_text[r] = right ? p->text : TEXTS;
    s->row_at[r] = at;
}

/* Some rows of each of some slots, in mixed order. */
static void make_rows(struct script *s, bool verify) {
    uint32_t left[SLOTS], total = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct place *p = &s->place[i];
        size_t room = TEXT_TOKENS - p->length;
        wander(s, p);
        left[i] = draw(s, 3) == 0 ? 0 : 1 + draw(s, verify ? VERIFIED : MOST);
        left[i] = left[i] > room ? (uint32_t)room : left[i];
        p->pending = left[i];
        p->right = verify ? draw(s, left[i] + 1) : left[i];
        total += left[i];
    }
    for (s->row_count = 0; s->row_count < total;) {
        uint32_t slot = draw(s, SLOTS);
        if (left[slot] > 0) {
            add_row(s, slot, s->place[slot].pending - left[slot]--);
        }
    }
}

static bool has_separator(const struct script *s, const struct place *p) {
    bool has = false;
    for (uint32_t i = 0; i < p->right; i++) {
        has |= s->texts.tokens[p->text][p->length + i] == s->texts.separator;
    }
    return has;
}

static bool evaluate(struct script *s, bool verify) {
    struct varve_error error = {0};
    if (any_pending(s)) {
        return false;
    }
    make_rows(s, verify);
    if (s->row_count > 0) {
        done(varve_session_evaluate(s->session, s->rows, s->row_count,
                                    verify ? VARVE_VERIFY : VARVE_ADVANCE, same_logits, s, &error),
             &error);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct place *p = &s->place[i];
        if (!verify) {
            p->length += p->pending;
            p->pending = 0;
        }
        if (p->pending > 0) {
            size_t last = p->length + p->pending - 1;
            s->across_chunks += p->length / 64 != last / 64;
            s->with_separator += has_separator(s, p);
        }
        same_state(s, i);
    }
    return s->row_count > 0;
}

static bool commit(struct script *s) {
    struct varve_error error = {0};
    uint32_t slot = draw(s, SLOTS);
    struct place *p = &s->place[slot];
    if (p->pending == 0) {
        return false;
    }
    uint32_t k = draw(s, 2) ? p->right : draw(s, p->right + 1);
    done(varve_session_commit(s->session, slot, k, &error), &error);
    p->length += k;
    p->pending = 0;
    same_state(s, slot);
    return true;
}

static bool fork_slot(struct script *s) {
    struct varve_error error = {0};
    uint32_t from = draw(s, SLOTS), to = (from + 1 + draw(s, SLOTS - 1)) % SLOTS;
    if (s->place[from].length == 0) {
        return false;
    }
    done(varve_session_fork(s->session, from, to, &error), &error);
    s->place[to] = s->place[from];
    s->place[to].pending = 0;
    same_state(s, to);
    same_state(s, from);
    return true;
}

/* The checkpoint it goes back to lies at most one spacing and a window before. */
static bool truncate_slot(struct script *s) {
    struct varve_error error = {0};
    uint32_t slot = draw(s, SLOTS);
    struct place *p = &s->place[slot];
    if (p->length == 0) {
        return false;
    }
    size_t length = draw(s, 8) ? p->length - draw(s, p->length / 8 + 1) : draw(s, p->length + 1);
    done(varve_session_truncate(s->session, slot, length, &error), &error);
    p->length = varve_session_length(s->session, slot);
    p->pending = 0;
    assert_true(p->length <= length && length - p->length < SPACING + MOST);
    same_state(s, slot);
    return true;
}

static bool keep(struct script *s) {
    struct varve_error error = {0};
    uint32_t slot = draw(s, SLOTS);
    if (s->place[slot].length == 0) {
        return false;
    }
    int code = varve_session_keep(s->session, slot, &error);
    if (code != VARVE_ERROR_MEMORY) {
        done(code, &error);
    }
    same_state(s, slot);
    return true;
}

static bool resume(struct script *s) {
    struct varve_error error = {0};
    struct varve_resumed r;
    uint32_t slot = draw(s, SLOTS);
    struct place *p = &s->place[slot];
    size_t text = draw(s, TEXTS), count = 1 + draw(s, TEXT_TOKENS);
    size_t common = texts_common(&s->texts, text, p->text);
    size_t own = common < p->length ? common : p->length;
    done(varve_session_resume(s->session, slot, s->texts.tokens[text], count, &r, &error), &error);
    assert_true(r.held < count && r.shared >= r.held && r.shared <= count);
    assert_true(r.held + SPACING + MOST > (own < count ? own : count - 1));
    *p = (struct place){.text = text, .length = r.held};
    s->resumed += r.held > 0;
    s->reused += r.held;
    same_state(s, slot);
    return true;
}

static void other_device(struct script *s) {
    s->options.device = s->devices[s->options.device == s->devices[0]];
}

/* All slots into files; a new session on the other device has them again. */
static bool restart(struct script *s) {
    struct varve_error error = {0};
    char path[300], text[30];
    for (uint32_t i = 0; i < SLOTS; i++) {
        int length = snprintf(text, sizeof text, "slot %u", i);
        snprintf(path, sizeof path, "%s/%u", s->folder.path, i);
        done(varve_session_save(s->session, i, path, text, (size_t)length, &error), &error);
    }
    varve_session_close(s->session);
    other_device(s);
    s->session = open_session(&s->texts.opened, &s->options);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct varve_note note;
        snprintf(text, sizeof text, "slot %u", i);
        snprintf(path, sizeof path, "%s/%u", s->folder.path, i);
        done(varve_session_load(s->session, i, path, &note, &error), &error);
        assert_string_equal(note.text, text);
        assert_int_equal(note.length, strlen(text));
        varve_note_free(&note);
        s->place[i].pending = 0;
        same_state(s, i);
    }
    return true;
}

static bool step(struct script *s, enum kind kind) {
    switch (kind) {
    case ADVANCE:
        return evaluate(s, false);
    case VERIFY:
        return evaluate(s, true);
    case COMMIT:
        return commit(s);
    case FORK:
        return fork_slot(s);
    case TRUNCATE:
        return truncate_slot(s);
    case KEEP:
        return keep(s);
    case RESUME:
        return resume(s);
    default:
        return restart(s);
    }
}

/* ---- scripts ---- */

static void print_counts(const struct script *s, const char *model) {
    size_t steps = 0;
    for (size_t k = 0; k < KINDS; k++) {
        steps += s->count[k];
    }
    printf("%s: %zu steps:", model, steps);
    for (size_t k = 0; k < KINDS; k++) {
        printf(" %s %zu", kind_names[k], s->count[k]);
    }
    printf("\n  verify windows across the border of 64 keys: %zu, with a separator: %zu; "
           "resumed %zu times, %zu tokens in all\n",
           s->across_chunks, s->with_separator, s->resumed, s->reused);
    for (size_t k = 0; k < KINDS && steps >= MANY; k++) {
        assert_true(s->count[k] * 20 >= steps); /* 5 % of each kind */
    }
    assert_true(steps < MANY || (s->across_chunks > 0 && s->with_separator > 0));
    assert_true(steps < MANY || s->resumed * 2 >= s->count[RESUME]);
}

/* Reading on is tried more often than going back, so that all of a text is reached. */
static const enum kind often[] = {ADVANCE, ADVANCE, ADVANCE, ADVANCE,  VERIFY, VERIFY, VERIFY,
                                  VERIFY,  COMMIT,  COMMIT,  COMMIT,   COMMIT, COMMIT, COMMIT,
                                  COMMIT,  COMMIT,  FORK,    TRUNCATE, KEEP,   RESUME, RESTART};

void script_run(const char *model, struct varve_session_options options, enum varve_device other,
                size_t steps, uint64_t seed) {
    struct script s = {.random = seed, .devices = {options.device, other}};
    options.slots = SLOTS;
    options.context = TEXT_TOKENS + 1;
    options.window = WINDOW;
    options.logits = WINDOW;
    options.checkpoint_every = SPACING;
    s.options = options;
    texts_open(&s.texts, model, &options);
    s.folder = temporary_make();
    s.session = open_session(&s.texts.opened, &options);
    for (size_t done_steps = 0; done_steps < steps;) {
        enum kind kind = often[draw(&s, sizeof often / sizeof *often)];
        if (step(&s, kind)) {
            s.count[kind]++;
            done_steps++;
        }
    }
    print_counts(&s, model);
    struct varve_kept kept;
    varve_session_kept(s.session, &kept);
    printf("  kept %zu sequences, %llu bytes of %llu; a checkpoint %zu\n", kept.sequences,
           (unsigned long long)kept.bytes, (unsigned long long)kept.budget, kept.checkpoint_bytes);
    assert_true(kept.bytes <= kept.budget);
    varve_session_close(s.session);
    texts_close(&s.texts);
    temporary_remove(&s.folder);
}

/* Windows: filling them, running them, moving the sequences' lengths. */
#include "session/internal.h"

#include <string.h>

/* Where each slot's newest row of the window is, while the window is filled. */
static void link_rows(struct vv_window *w) {
    for (int32_t r = 0; r < w->rows; r++) {
        w->before[r] = -1;
        for (int32_t b = r - 1; b >= 0 && w->before[r] < 0; b--) {
            if (w->slot[b] == w->slot[r]) {
                w->before[r] = b;
            }
        }
    }
}

/* Rows of each sequence in ascending position: rows of one slot stand in that order already. */
static void list_sequences(struct vv_window *w) {
    int32_t at = 0;
    w->sequences = 0;
    for (int32_t r = 0; r < w->rows; r++) {
        if (w->before[r] >= 0) {
            continue;
        }
        w->sequence_begin[w->sequences++] = at;
        for (int32_t n = r; n < w->rows; n++) {
            if (w->slot[n] == w->slot[r]) {
                w->sequence_row[at++] = n;
            }
        }
    }
    w->sequence_begin[w->sequences] = at;
}

static void complete_window(struct vv_window *w) {
    link_rows(w);
    list_sequences(w);
}

/* ---- checks ---- */

static int check_row(const struct vv_session *s, const struct vv_row *row, size_t index,
                     size_t more, struct vv_error *error) {
    if (row->slot >= s->options.slots) {
        return vv_fail(error, VV_ERROR_INVALID, "row %zu names slot %u; the session has %u", index,
                       row->slot, s->options.slots);
    }
    if (row->token < 0 || (size_t)row->token >= s->facts.vocabulary) {
        return vv_fail(error, VV_ERROR_INVALID, "token %zu is %d; ids of this model are 0 to %zu",
                       index, row->token, s->facts.vocabulary - 1);
    }
    if (s->slots[row->slot].verified > 0) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "slot %u was verified and waits for a commit: call it first", row->slot);
    }
    if (s->slots[row->slot].has.length + more >= s->options.context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "slot %u is full: its context has room for %u tokens; ask for a larger one "
                       "or a shorter text",
                       row->slot, s->options.context);
    }
    return VV_OK;
}

/* ---- filling ---- */

static void add_output(struct vv_window *w, int32_t row, const struct vv_draw *draw) {
    int32_t draws = !draw->wanted               ? VV_DRAWS_NONE
                    : draw->temperature == 0.0f ? VV_DRAWS_GREEDY
                                                : VV_DRAWS_WEIGHED;
    w->draws = draws > w->draws ? draws : w->draws;
    w->draw[w->outputs] = *draw;
    w->output_row[w->outputs++] = row;
}

static int fill(struct vv_session *s, struct vv_window *w, const struct vv_row *rows, size_t count,
                enum vv_mode mode, struct vv_error *error) {
    w->rows = (int32_t)count;
    w->outputs = 0;
    w->draws = VV_DRAWS_NONE;
    for (size_t r = 0; r < count; r++) {
        w->slot[r] = (int32_t)rows[r].slot;
        w->token[r] = rows[r].token;
    }
    link_rows(w);
    for (int32_t r = 0; r < w->rows; r++) {
        /* rows of this slot before this one */
        size_t more = w->before[r] < 0 ? 0
                                       : (size_t)w->position[w->before[r]] + 1 -
                                             s->slots[rows[r].slot].has.length;
        int code = check_row(s, &rows[r], (size_t)r, more, error);
        if (code != VV_OK) {
            return code;
        }
        if (mode == VV_VERIFY && more >= VV_VERIFY_ROWS_MAX) {
            return vv_fail(error, VV_ERROR_INVALID, "a verify window takes %d rows of a sequence",
                           VV_VERIFY_ROWS_MAX);
        }
        w->position[r] = (int32_t)(s->slots[rows[r].slot].has.length + more);
        if (rows[r].output) {
            add_output(w, r, &rows[r].draw);
        }
    }
    list_sequences(w);
    return VV_OK;
}

/* The rows that the draft block can run now: every row but a sequence's first pairs its own token
 * with the streams of the position before. */
static void fill_mtp(const struct vv_window *trunk, struct vv_window *w, bool observe) {
    w->rows = w->outputs = 0;
    for (int32_t r = 0; r < trunk->rows; r++) {
        if (trunk->position[r] == 0) {
            continue;
        }
        w->slot[w->rows] = trunk->slot[r];
        w->token[w->rows] = trunk->token[r];
        w->position[w->rows] = trunk->position[r] - 1;
        w->source[w->rows] = trunk->before[r];
        if (observe) {
            w->output_row[w->outputs++] = w->rows;
        }
        w->rows++;
    }
    complete_window(w);
}

/* ---- running ---- */

/* A file that changed under its weights is told in place of whatever came of that. */
static int run_program(const struct vv_session *s, struct vv_program *program,
                       struct vv_error *error) {
    int code = vv_program_run(program, error);
    struct vv_error changed;
    if (s->mapped && vv_gguf_check_unchanged(s->mapped, &changed) != VV_OK) {
        *error = changed;
        code = changed.code;
    }
    return code;
}

static int run_mtp(struct vv_session *s, const struct vv_window *trunk, struct vv_error *error) {
    struct pass *mtp;
    int code = vv_session_pass(s, PASS_MTP, &mtp, error);
    if (code == VV_OK) {
        struct vv_window *w = vv_program_window(mtp->program);
        fill_mtp(trunk, w, s->options.observe);
        /* without rows it still keeps the trunk's streams */
        code = run_program(s, mtp->program, error);
    }
    return code;
}

static void clear_touched(struct vv_session *s, const struct vv_row *rows, size_t count) {
    for (size_t r = 0; r < count; r++) {
        if (rows[r].slot < s->options.slots) {
            vv_session_clear(s, rows[r].slot);
        }
    }
}

static void move_slots(struct vv_session *s, const struct vv_row *rows, size_t count,
                       enum vv_mode mode) {
    for (size_t r = 0; r < count; r++) {
        struct slot *slot = &s->slots[rows[r].slot];
        if (mode == VV_VERIFY) {
            slot->verified_token[slot->verified++] = rows[r].token;
        } else {
            slot->has.tokens[slot->has.length++] = rows[r].token;
        }
    }
}

int vv_session_run(struct vv_session *s, const struct vv_row *rows, size_t count, enum vv_mode mode,
                   struct vv_error *error) {
    struct pass *pass;
    int code = vv_session_pass(s, mode == VV_VERIFY ? PASS_VERIFY : PASS_TRUNK, &pass, error);
    if (code != VV_OK) {
        return code;
    }
    struct vv_window *w = vv_program_window(pass->program);
    size_t wanted = 0;
    for (size_t r = 0; r < count; r++) {
        wanted += rows[r].output;
    }
    if (count == 0 || count > pass->forward.rows || wanted > pass->forward.outputs) {
        return vv_fail(
            error, VV_ERROR_INVALID,
            "a window of %zu rows, %zu of them with logits, where 1 to %zu and up to %zu "
            "are possible",
            count, wanted, pass->forward.rows, pass->forward.outputs);
    }
    code = fill(s, w, rows, count, mode, error);
    if (code != VV_OK) {
        return code; /* nothing was touched */
    }
    code = run_program(s, pass->program, error);
    if (code == VV_OK && s->options.mtp && !s->unfollowed && mode == VV_ADVANCE) {
        code = run_mtp(s, w, error);
    }
    if (code != VV_OK) {
        clear_touched(s, rows, count);
        return code;
    }
    move_slots(s, rows, count, mode);
    for (size_t r = 0; mode == VV_ADVANCE && r < count; r++) {
        vv_session_mark_due(s, rows[r].slot, 0);
    }
    s->last = s->observed = pass;
    return VV_OK;
}

/* ---- commit ---- */

/* A window of the slot's next `rows` positions with the tokens that were verified. */
static void refill(const struct vv_session *s, struct vv_window *w, uint32_t slot, uint32_t rows) {
    const struct slot *state = &s->slots[slot];
    w->rows = (int32_t)rows;
    w->outputs = 0;
    for (uint32_t r = 0; r < rows; r++) {
        w->slot[r] = (int32_t)slot;
        w->position[r] = (int32_t)(state->has.length + r);
        w->token[r] = state->verified_token[r];
    }
    complete_window(w);
}

/* The draft block catches up on committed rows: their streams are in the ring. */
static int commit_mtp(struct vv_session *s, const struct vv_window *committed,
                      struct vv_error *error) {
    struct pass *mtp;
    int code = vv_session_pass(s, PASS_MTP_COMMIT, &mtp, error);
    if (code == VV_OK) {
        struct vv_window *w = vv_program_window(mtp->program);
        fill_mtp(committed, w, false);
        for (int32_t r = 0; r < w->rows; r++) {
            w->source[r] = -1;
        }
        if (w->rows > 0) {
            code = run_program(s, mtp->program, error);
        }
    }
    return code;
}

int vv_session_commit(struct vv_session *s, uint32_t slot, uint32_t keep, struct vv_error *error) {
    struct pass *pass;
    if (slot >= s->options.slots || keep > s->slots[slot].verified) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "slot %u can't commit %u rows: the last verify window has %zu of it", slot,
                       keep, slot < s->options.slots ? s->slots[slot].verified : 0);
    }
    int code = VV_OK;
    if (keep > 0) {
        code = vv_session_pass(s, PASS_COMMIT, &pass, error);
        if (code == VV_OK) {
            refill(s, vv_program_window(pass->program), slot, keep);
            code = run_program(s, pass->program, error);
        }
        if (code == VV_OK && s->options.mtp) {
            code = commit_mtp(s, vv_program_window(pass->program), error);
        }
    }
    if (code != VV_OK) {
        vv_session_clear(s, slot);
        return code;
    }
    struct slot *state = &s->slots[slot];
    memcpy(state->has.tokens + state->has.length, state->verified_token,
           keep * sizeof *state->verified_token);
    state->has.length += keep;
    state->verified = 0;
    vv_session_mark_due(s, slot, VV_VERIFY_ROWS_MAX);
    return VV_OK;
}

uint64_t vv_session_bytes(const struct vv_session *s) {
    return s->last ? vv_program_bytes(s->last->program) : 0;
}

const float *vv_session_logits(const struct vv_session *s, size_t i) {
    if (!s->last || i >= (size_t)s->last->forward.window->outputs) {
        return NULL;
    }
    struct vv_error ignored;
    if (vv_program_fetch(s->last->program, &ignored) != VV_OK) {
        return NULL;
    }
    const float *all = vv_program_result(s->last->program);
    return all + i * s->facts.vocabulary;
}

/* Whether the last window drew a token from row i as `draw` asks; -1: it left that to the host. */
static bool was_drawn(const struct vv_session *s, size_t i, const struct vv_draw *draw,
                      int32_t *token) {
    const struct vv_window *w = s->last->forward.window;
    const int32_t *drawn = vv_program_drawn(s->last->program);
    bool was = drawn && i < (size_t)w->outputs && draw->wanted &&
               memcmp(draw, &w->draw[i], sizeof *draw) == 0 && drawn[i] >= 0;
    *token = was ? drawn[i] : *token;
    return was;
}

struct vv_draw vv_session_ask(const struct vv_session *s, const struct vv_sampler *sampler,
                              uint64_t position) {
    return vv_sampler_ask(sampler, s->facts.vocabulary, position);
}

int vv_session_sample(struct vv_session *s, size_t i, struct vv_sampler *sampler,
                      const int32_t *history, size_t history_length, uint64_t position,
                      int32_t *token, struct vv_error *error) {
    const struct vv_draw draw = vv_session_ask(s, sampler, position);
    if (!s->last || i >= (size_t)s->last->forward.window->outputs) {
        return vv_fail(error, VV_ERROR_INVALID, "the last window has no logits of a row %zu", i);
    }
    if (was_drawn(s, i, &draw, token)) {
        return VV_OK;
    }
    int code = vv_program_fetch(s->last->program, error);
    return code == VV_OK ? vv_sampler_draw(sampler, vv_session_logits(s, i), history,
                                           history_length, position, token, error)
                         : code;
}

/* ---- drafts ---- */

/* The largest logit's index, the lowest of equals. */
static int32_t greedy(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (logits[i] > logits[best]) {
            best = i;
        }
    }
    return (int32_t)best;
}

/* `*token` in, the likeliest one behind it out. */
static int run_draft(struct vv_session *s, struct pass *pass, uint32_t slot, int32_t position,
                     int32_t *token, struct vv_error *error) {
    struct vv_window *w = vv_program_window(pass->program);
    w->rows = 1;
    w->outputs = 0;
    w->draws = VV_DRAWS_NONE;
    add_output(w, 0, &(struct vv_draw){.wanted = 1});
    w->slot[0] = (int32_t)slot;
    w->position[0] = position;
    w->token[0] = *token;
    w->source[0] = -1;
    complete_window(w);
    int code = run_program(s, pass->program, error);
    const int32_t *drawn = vv_program_drawn(pass->program);
    if (code == VV_OK && drawn && drawn[0] >= 0) {
        *token = drawn[0];
        return VV_OK;
    }
    code = code == VV_OK ? vv_program_fetch(pass->program, error) : code;
    if (code == VV_OK) {
        *token = greedy(vv_program_result(pass->program), s->facts.vocabulary);
    }
    return code;
}

int vv_session_draft(struct vv_session *s, uint32_t slot, int32_t token, uint32_t steps,
                     int32_t *drafts, float *logits, struct vv_error *error) {
    struct pass *pass;
    struct vv_row row = {slot, token, true};
    int code = check_row(s, &row, 0, 0, error);
    if (code != VV_OK) {
        return code;
    }
    size_t length = s->slots[slot].has.length;
    if (!s->options.mtp || length == 0 || steps >= VV_VERIFY_ROWS_MAX ||
        length + steps > s->options.context) {
        return vv_fail(
            error, VV_ERROR_INVALID,
            "%u drafts can't be made: they need a session with a draft block, a slot that "
            "holds tokens and room in the context for less than %d",
            steps, VV_VERIFY_ROWS_MAX);
    }
    code = vv_session_pass(s, PASS_DRAFT, &pass, error);
    for (uint32_t i = 0; code == VV_OK && i < steps; i++) {
        code = run_draft(s, pass, slot, (int32_t)(length - 1 + i), &token, error);
        if (code == VV_OK && logits) {
            code = vv_program_fetch(pass->program, error);
        }
        if (code == VV_OK && logits) {
            memcpy(logits + i * s->facts.vocabulary, vv_program_result(pass->program),
                   s->facts.vocabulary * sizeof *logits);
        }
        drafts[i] = token;
    }
    return code;
}

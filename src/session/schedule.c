#include "session/schedule.h"
#include "base/clock.h"
#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

/* A prompt of so many new tokens or more is read up to its last one first, and a checkpoint made:
 * the same prompt again then costs one token. */
enum { WORTH_A_CHECKPOINT = 64, FIRST_PIECE = 16 };
enum { PATIENCE = 8 }; /* windows after which a prompt that others went before has its turn */

struct sequence {
    uint64_t id;
    struct vv_request request; /* its prompt is in `text` */
    int32_t *text;             /* [count] prompt and answer so far */
    size_t count, room;
    size_t at;     /* tokens of it that the slot holds */
    size_t served; /* rows of it that windows had */
    bool placed, cancelled, alone;
    bool overdue; /* nothing was read of its prompt for long: shorter ones kept coming */
    uint32_t slot;
    struct vv_next next; /* drafts behind the text's last token: its tokens from 1 on */
    size_t first, rows;  /* in the window: its first row's place among them, and how many */
    uint64_t turn;       /* the last window that it was in */
};

struct vv_schedule {
    struct vv_session *session;
    struct vv_schedule_options options;
    struct sequence **sequences;
    size_t count, room;
    struct vv_row *rows; /* [window] */
    size_t row_count;
    enum vv_mode mode;
    uint64_t ids, turns;
    size_t offered, accepted; /* drafts of the last window */
    double share;       /* of its seconds, for each of its sequences; 0: they read a prompt, too */
    double row_seconds; /* of the last windows; 0: there was none */
};

/* ---- life ---- */

int vv_schedule_new(struct vv_session *session, const struct vv_schedule_options *options,
                    struct vv_schedule **schedule, struct vv_error *error) {
    size_t window = vv_session_options_of(session)->window;
    struct vv_schedule *s = calloc(1, sizeof *s);
    struct vv_row *rows = calloc(window, sizeof *rows);
    if (!s || !rows) {
        free(s);
        free(rows);
        return vv_fail_memory(error, window * sizeof *rows, "a schedule");
    }
    *s = (struct vv_schedule){.session = session, .options = *options, .rows = rows};
    *schedule = s;
    return VV_OK;
}

/* Its slot keeps what it holds, for whoever goes on from there. */
static void end(struct vv_schedule *s, struct sequence *q, int code, const struct vv_error *error) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->sequences[i] == q) {
            memmove(s->sequences + i, s->sequences + i + 1,
                    (--s->count - i) * sizeof *s->sequences);
            break;
        }
    }
    if (q->request.ended) {
        q->request.ended(q->request.context, q->text, q->count, code, error);
    }
    free(q->text);
    free(q);
}

void vv_schedule_free(struct vv_schedule *s) {
    const struct vv_error error = {VV_ERROR_CANCELLED, "nothing is answered any more"};
    if (s) {
        while (s->count > 0) {
            end(s, s->sequences[s->count - 1], VV_ERROR_CANCELLED, &error);
        }
        free(s->sequences);
        free(s->rows);
        free(s);
    }
}

static bool append(struct sequence *q, const int32_t *tokens, size_t count) {
    if (count > q->room - q->count) {
        size_t room = 2 * (q->count + count);
        int32_t *text = realloc(q->text, room * sizeof *text);
        if (!text) {
            return false;
        }
        q->text = text;
        q->room = room;
    }
    memcpy(q->text + q->count, tokens, count * sizeof *tokens);
    q->count += count;
    return true;
}

static bool make_room(struct vv_schedule *s) {
    if (s->count < s->room) {
        return true;
    }
    size_t room = 2 * s->room + 8;
    struct sequence **sequences = realloc(s->sequences, room * sizeof *sequences);
    if (sequences) {
        s->sequences = sequences;
        s->room = room;
    }
    return sequences != NULL;
}

static int check(const struct vv_schedule *s, const struct vv_request *request,
                 struct vv_error *error) {
    const struct vv_session_options *o = vv_session_options_of(s->session);
    if (request->count == 0 || request->count > o->context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "a prompt of %zu tokens can't be read: 1 to %u have room in the context",
                       request->count, o->context);
    }
    for (size_t i = 0; i < request->count; i++) { /* in a window it would fail others' rows, too */
        if (request->prompt[i] < 0 || (size_t)request->prompt[i] >= s->session->facts.vocabulary) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "token %zu of a prompt is %d; ids of this model are 0 to %zu", i,
                           request->prompt[i], s->session->facts.vocabulary - 1);
        }
    }
    return VV_OK;
}

int vv_schedule_add(struct vv_schedule *s, const struct vv_request *request, uint64_t *id,
                    struct vv_error *error) {
    int code = check(s, request, error);
    if (code != VV_OK) {
        return code;
    }
    struct sequence *q = make_room(s) ? calloc(1, sizeof *q) : NULL;
    if (!q || !append(q, request->prompt, request->count)) {
        free(q);
        return vv_fail_memory(error, 2 * request->count * sizeof *request->prompt, "a request");
    }
    q->request = *request;
    q->id = *id = ++s->ids;
    s->sequences[s->count++] = q;
    return VV_OK;
}

void vv_schedule_cancel(struct vv_schedule *s, uint64_t id) {
    for (size_t i = 0; i < s->count; i++) {
        s->sequences[i]->cancelled |= s->sequences[i]->id == id;
    }
}

/* ---- slots ---- */

static int fail_cancelled(struct vv_error *error) {
    return vv_fail(error, VV_ERROR_CANCELLED, "the request was cancelled");
}

static void end_cancelled(struct vv_schedule *s) {
    struct vv_error error;
    for (size_t i = s->count; i-- > 0;) {
        if (i < s->count && s->sequences[i]->cancelled) {
            end(s, s->sequences[i], fail_cancelled(&error), &error);
        }
    }
}

/* The next request that gets a slot: sequences lie in the order of their coming. */
static struct sequence *next_waiting(const struct vv_schedule *s) {
    struct sequence *best = NULL;
    for (size_t i = 0; i < s->count; i++) {
        struct sequence *q = s->sequences[i];
        if (!q->placed && (!best || q->request.priority > best->request.priority)) {
            best = q;
        }
    }
    return best;
}

static bool is_free(const struct vv_schedule *s, uint32_t slot) {
    for (size_t i = 0; i < s->count; i++) {
        if (s->sequences[i]->placed && s->sequences[i]->slot == slot) {
            return false;
        }
    }
    return true;
}

/* The free slot that holds most of a text's beginning; of equals the emptiest one. */
static bool find_slot(const struct vv_schedule *s, const struct sequence *q, uint32_t *slot) {
    size_t most = 0, least = 0;
    bool found = false;
    for (uint32_t i = 0; i < vv_session_options_of(s->session)->slots; i++) {
        size_t length = vv_session_length(s->session, i);
        size_t shared =
            vv_common_tokens(vv_session_tokens(s->session, i), length, q->text, q->count);
        if (is_free(s, i) && (!found || shared > most || (shared == most && length < least))) {
            *slot = i;
            most = shared;
            least = length;
            found = true;
        }
    }
    return found;
}

static void place_waiting(struct vv_schedule *s) {
    struct sequence *q;
    uint32_t slot;
    while ((q = next_waiting(s)) && find_slot(s, q, &slot)) {
        struct vv_resumed resumed;
        struct vv_error error;
        int code = vv_session_resume(s->session, slot, q->text, q->count, &resumed, &error);
        if (code != VV_OK) {
            end(s, q, code, &error);
            continue;
        }
        q->placed = true;
        q->slot = slot;
        q->at = resumed.held;
        q->turn = s->turns;
    }
}

/* ---- windows ---- */

static bool reads(const struct sequence *q) {
    return q->count - q->at > 1;
}

static uint64_t place(const struct sequence *q) {
    return !reads(q) ? q->turn : q->overdue ? 0 : q->served;
}

/* Who goes first: whoever needs a window of its own, then with one token before prompts, the higher
 * priority, who has waited longest for a window or, of prompts, has read least. */
static int compare(const void *a, const void *b) {
    const struct sequence *p = *(struct sequence *const *)a, *q = *(struct sequence *const *)b;
    if (p->alone != q->alone) {
        return p->alone ? -1 : 1;
    }
    if (reads(p) != reads(q)) {
        return reads(p) ? 1 : -1;
    }
    if (p->request.priority != q->request.priority) {
        return p->request.priority > q->request.priority ? -1 : 1;
    }
    uint64_t x = place(p), y = place(q);
    return x != y ? (x < y ? -1 : 1) : (p->id < q->id ? -1 : p->id > q->id);
}

/* Sequences with a slot, in the order of their turn. `*count` of them; NULL: no memory. */
static struct sequence **in_turn(const struct vv_schedule *s, size_t *count) {
    struct sequence **list = malloc((s->count + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < s->count; i++) {
        struct sequence *q = s->sequences[i];
        q->rows = 0;
        q->overdue = s->turns - q->turn > PATIENCE;
        if (q->placed) {
            list[(*count)++] = q;
        }
    }
    if (list) {
        qsort(list, *count, sizeof *list, compare);
    }
    return list;
}

/* Where a sequence's next piece ends at the latest: at its text's end, or where a checkpoint is to
 * be made. */
static size_t piece_end(const struct sequence *q) {
    if (q->at < q->request.stable && q->request.stable < q->count) {
        return q->request.stable;
    }
    return q->count - q->at > WORTH_A_CHECKPOINT ? q->count - 1 : q->count;
}

static void add_rows(struct vv_schedule *s, struct sequence *q, size_t rows) {
    q->first = s->row_count;
    q->rows = rows;
    q->turn = s->turns;
    for (size_t i = 0; i < rows; i++) {
        size_t at = q->at + i;
        bool draft = at >= q->count;
        struct vv_row *row = &s->rows[s->row_count++];
        *row = (struct vv_row){q->slot, draft ? q->next.tokens[at - q->count + 1] : q->text[at],
                               s->mode == VV_VERIFY || at + 1 == q->count};
        if (row->output && q->request.sampler) {
            row->draw = vv_session_ask(s->session, q->request.sampler, at + 1);
        }
    }
}

/* Rows that a window may have. */
static size_t rows_allowed(const struct vv_schedule *s) {
    size_t window = vv_session_options_of(s->session)->window;
    if (s->options.latency <= 0) {
        return window;
    }
    if (s->row_seconds <= 0) {
        return window < FIRST_PIECE ? window : FIRST_PIECE;
    }
    double allowed = s->options.latency / s->row_seconds;
    return allowed >= (double)window ? window : allowed < 1 ? 1 : (size_t)allowed;
}

/* Drafts are verified where nobody reads a prompt: such a window moves nothing, so that long pieces
 * have no place in it. Meanwhile their sequences go on without. */
static enum vv_mode mode_of(struct sequence *const *list, size_t count) {
    bool drafts = false;
    for (size_t i = 0; i < count; i++) {
        if (reads(list[i])) {
            return VV_ADVANCE;
        }
        drafts |= list[i]->next.count > 1;
    }
    return drafts ? VV_VERIFY : VV_ADVANCE;
}

/* Rows that a window can verify. */
static size_t verify_room(const struct vv_schedule *s) {
    const struct vv_session_options *o = vv_session_options_of(s->session);
    size_t most = (size_t)o->slots * VV_VERIFY_ROWS_MAX;
    return most < o->window ? most : o->window;
}

/* Whether the next window can verify; `*sequences` that will be in it. */
static bool can_verify(const struct vv_schedule *s, size_t *sequences) {
    *sequences = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct sequence *q = s->sequences[i];
        if (q->placed && (reads(q) || q->alone)) {
            return false;
        }
        *sequences += q->placed;
    }
    return *sequences > 0;
}

static int draft(const struct vv_schedule *s, struct sequence *q, size_t rows,
                 struct vv_error *error) {
    size_t room = vv_session_options_of(s->session)->context - q->count;
    size_t most = rows < VV_VERIFY_ROWS_MAX ? rows - 1 : VV_VERIFY_ROWS_MAX - 1;
    most = most < room ? most : room;
    if (!q->request.draft || q->next.count > 1 || most == 0) {
        return VV_OK;
    }
    q->next.tokens[0] = q->text[q->count - 1];
    q->next.count = 1;
    return q->request.draft(q->request.context, q->slot, q->text, q->count, (uint32_t)most,
                            &q->next, error);
}

/* Where the next window can verify, each sequence's drafts for it: as many as its part of the rows.
 * Who can't draft ends. */
static void draft_all(struct vv_schedule *s) {
    struct vv_error error;
    size_t sequences;
    if (!can_verify(s, &sequences) || verify_room(s) < sequences) {
        return;
    }
    size_t rows = verify_room(s) / sequences;
    for (size_t i = s->count; i-- > 0;) {
        struct sequence *q = s->sequences[i];
        int code = q->placed ? draft(s, q, rows, &error) : VV_OK;
        if (code != VV_OK) {
            end(s, q, code, &error);
        }
    }
}

/* Rows of a sequence in a window that has room for `left` more. */
static size_t rows_of(const struct vv_schedule *s, const struct sequence *q, size_t left) {
    size_t rows = piece_end(q) - q->at;
    if (s->mode == VV_VERIFY && q->next.count > 1) {
        size_t room = vv_session_options_of(s->session)->context - q->count;
        size_t drafts = q->next.count - 1;
        rows += drafts < room ? drafts : room;
    }
    return rows < left ? rows : left;
}

static void fill(struct vv_schedule *s, struct sequence *const *list, size_t count) {
    const struct vv_session_options *o = vv_session_options_of(s->session);
    s->mode = mode_of(list, count);
    s->row_count = 0;
    size_t room = s->mode == VV_VERIFY ? verify_room(s) : o->window;
    size_t allowed = rows_allowed(s), outputs = 0;
    bool any_reads = false;
    for (size_t i = 0; i < count && s->row_count < room; i++) {
        struct sequence *q = list[i];
        size_t left = room - s->row_count;
        if (reads(q)) { /* what others take may be all of the time, but one row goes on */
            size_t piece = allowed > s->row_count ? allowed - s->row_count : !any_reads;
            left = piece < left ? piece : left;
            any_reads = true;
        }
        size_t rows = rows_of(s, q, left);
        bool output = s->mode == VV_ADVANCE && q->at + rows == q->count;
        if (rows > 0 && (!output || outputs < o->outputs)) {
            outputs += output;
            add_rows(s, q, rows);
        }
        if (q->alone) {
            return;
        }
    }
}

/* ---- what a window gave ---- */

/* What the request says follows the text's last token, whose logits are those of `output`. */
static int next_of(struct vv_schedule *s, struct sequence *q, size_t output,
                   struct vv_error *error) {
    const struct vv_request *r = &q->request;
    if (!r->sampler) {
        return r->next(r->context, vv_session_logits(s->session, output), &q->next, error);
    }
    int code = vv_session_sample(s->session, output, r->sampler, q->text, q->count, q->count,
                                 q->next.tokens, error);
    q->next.count = 1;
    return code == VV_OK ? r->next(r->context, NULL, &q->next, error) : code;
}

/* Asks for what follows the text's last token. Ends the sequence if nothing does, or there is no
 * room for it. */
static bool ask(struct vv_schedule *s, struct sequence *q, size_t output) {
    struct vv_error error = {0};
    int code = q->cancelled ? fail_cancelled(&error) : VV_OK;
    q->next.count = 0;
    q->alone = false;
    if (code == VV_OK && q->count < vv_session_options_of(s->session)->context) {
        code = next_of(s, q, output, &error);
    }
    if (code == VV_OK && q->next.count > 0 && !append(q, q->next.tokens, 1)) {
        code = vv_fail_memory(&error, 2 * q->count * sizeof *q->text, "a request's answer");
    }
    if (code != VV_OK || q->next.count == 0) {
        end(s, q, code, &error);
        return false;
    }
    return true;
}

/* `seconds`: of the request alone. */
static void judge(const struct vv_schedule *s, const struct sequence *q, uint32_t rows,
                  uint32_t accepted, double seconds) {
    if (q->request.judged && s->share > 0) {
        q->request.judged(q->request.context, rows, accepted, accepted + 1 < rows,
                          s->share + seconds);
    }
}

/* Of a verified window: the drafts that are what is drawn become part of the text. */
static void take_verified(struct vv_schedule *s, struct sequence *q, size_t output) {
    struct vv_next window = q->next;
    struct vv_error error;
    uint32_t keep = 1;
    size_t rows = q->rows, slot = q->slot;
    bool going = ask(s, q, output);
    while (going && keep < rows && q->next.tokens[0] == window.tokens[keep]) {
        going = ask(s, q, output + keep++);
    }
    double began = vv_seconds();
    int code = vv_session_commit(s->session, (uint32_t)slot, keep, &error);
    s->offered += rows - 1;
    s->accepted += keep - 1;
    if (going) {
        judge(s, q, (uint32_t)rows, keep - 1, vv_seconds() - began);
        q->at += keep;
        if (code != VV_OK) {
            end(s, q, code, &error);
        }
    }
}

static void take(struct vv_schedule *s, struct sequence *q, size_t output) {
    struct vv_error without;
    q->served += q->rows;
    if (s->mode == VV_VERIFY) {
        take_verified(s, q, output);
        return;
    }
    size_t end_of_piece = piece_end(q);
    q->at += q->rows;
    if (q->at == q->count) {
        judge(s, q, 1, 0, 0);
        ask(s, q, output);
    } else if (q->at == end_of_piece) {
        vv_session_checkpoint(s->session, q->slot, &without); /* without, it is read again */
    }
}

/* What was in the window begins anew, one by one. One that was alone in it is the one that fails.
 */
static void take_failure(struct vv_schedule *s, struct sequence *const *list, size_t count,
                         int code, const struct vv_error *error) {
    for (size_t i = 0; i < count; i++) {
        struct sequence *q = list[i];
        if (q->rows > 0) {
            vv_session_clear(s->session, q->slot);
        }
        if (q->rows == s->row_count) {
            end(s, q, code, error);
        } else if (q->rows > 0) {
            q->at = 0;
            q->alone = true;
            q->next.count = 0;
        }
    }
}

static void measure(struct vv_schedule *s, size_t sequences, double seconds) {
    double now = seconds / (double)s->row_count;
    bool mixed = s->mode == VV_ADVANCE && s->row_count > sequences;
    s->row_seconds = s->row_seconds > 0 ? (s->row_seconds + now) / 2 : now;
    s->share = mixed ? 0 : seconds / (double)sequences;
}

static size_t outputs_of(const struct vv_schedule *s, size_t first, size_t rows) {
    size_t count = 0;
    for (size_t r = first; r < first + rows; r++) {
        count += s->rows[r].output;
    }
    return count;
}

static void run(struct vv_schedule *s, struct sequence **list, size_t count,
                struct vv_schedule_step *step) {
    struct vv_error error;
    double began = vv_seconds();
    int code = vv_session_run(s->session, s->rows, s->row_count, s->mode, &error);
    step->rows = s->row_count;
    step->seconds = vv_seconds() - began;
    if (code != VV_OK) {
        take_failure(s, list, count, code, &error);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        step->sequences += list[i]->rows > 0;
    }
    measure(s, step->sequences, step->seconds);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->rows > 0) {
            take(s, list[i], outputs_of(s, 0, list[i]->first));
        }
    }
    step->offered = s->offered;
    step->accepted = s->accepted;
}

int vv_schedule_step(struct vv_schedule *s, struct vv_schedule_step *step, struct vv_error *error) {
    size_t count;
    *step = (struct vv_schedule_step){0};
    s->turns++;
    s->offered = s->accepted = 0;
    end_cancelled(s);
    place_waiting(s);
    draft_all(s);
    struct sequence **list = in_turn(s, &count);
    if (!list) {
        return vv_fail_memory(error, (s->count + 1) * sizeof *list, "a schedule's list");
    }
    fill(s, list, count);
    step->idle = s->row_count == 0;
    if (!step->idle) {
        run(s, list, count, step);
    }
    free(list);
    for (size_t i = 0; i < s->count; i++) {
        step->waiting += !s->sequences[i]->placed;
    }
    return VV_OK;
}

/*
 * A session: a model's weights on a device, and the state of up to some number of sequences (slots)
 * that windows of rows move forward.
 */
#pragma once
#include "model/model.h"
#include "registry/open.h"
#include "sample/sample.h"

struct vv_session;

/* Where tables lie of which few rows are read a token, on a device with memory of its own. */
enum vv_tables {
    VV_TABLES_AUTO,   /* in the host's memory if not all of the session fits the device's */
    VV_TABLES_DEVICE, /* in the device's */
    VV_TABLES_HOST,   /* in the host's, which kernels read */
};

struct vv_session_options {
    uint32_t slots, context, window, outputs; /* all 1 or more */
    enum vv_device_kind device;
    enum vv_tables tables;
    unsigned threads; /* 0: default */
    enum vv_numa numa;
    uint32_t features; /* VV_CPU_… to use at most */
    int kv_type;
    bool rounded_cache;                   /* as in struct vv_state_options */
    enum vv_index_arithmetic index_score; /* not VV_INDEX_AUTO */
    bool float_activations, all_barriers, no_recordings, observe, mtp, mtp_q8_0, profile;
    size_t profile_events;          /* of each thread that a profile keeps */
    uint64_t keep_bytes;            /* host memory for checkpoints and kept sequences; 0: none */
    uint32_t checkpoint_every;      /* tokens; 0: as far apart as keep_bytes asks for */
    const struct vv_tuning *tuning; /* or NULL; lives as long as the session */
    vv_weights_progress *progress;  /* while weights are placed; or NULL */
    void *progress_context;
};

struct vv_row {
    uint32_t slot;
    int32_t token;
    bool output;         /* its logits are wanted */
    struct vv_draw draw; /* or, where `wanted`, a token of them: see vv_session_sample */
};

/* `file` and `geometry` must outlive the session. Every run of a session with a mapped file ends
 * with VV_ERROR_IO, naming the file, once that was cut short or written to. */
int vv_session_new(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *options, struct vv_session **session,
                   struct vv_error *error);
void vv_session_free(struct vv_session *session);

/* As it was opened. */
const struct vv_session_options *vv_session_options_of(const struct vv_session *session);

/* With `follow` false the draft block's state stays where it is while a slot's tokens are read, as
 * in a session without one: to measure what following costs. A slot that was read so has to be
 * cleared before anything is drafted in it. */
void vv_session_follow(struct vv_session *session, bool follow);

/* Bytes of tables that lie in the host's memory, of a device with memory of its own. */
uint64_t vv_session_host_tables(const struct vv_session *session);

size_t vv_session_length(const struct vv_session *session, uint32_t slot);
const int32_t *vv_session_tokens(const struct vv_session *session, uint32_t slot); /* [length] */
void vv_session_clear(struct vv_session *session, uint32_t slot);

/*
 * Puts what `tokens` tokens would leave into a slot, made of random numbers, in place of what it
 * holds: for measuring at a depth without reading a text of that length. All values are finite and
 * of the size that a model's are; logits that come after it mean nothing.
 */
int vv_session_fill(struct vv_session *session, uint32_t slot, uint32_t tokens, uint64_t seed,
                    struct vv_error *error);

/* One window: at most `window` rows, `outputs` of them wanted; verify: at most VV_VERIFY_ROWS_MAX
 * of a sequence. On failure the sequences touched are empty. */
int vv_session_run(struct vv_session *session, const struct vv_row *rows, size_t count,
                   enum vv_mode mode, struct vv_error *error);
/* The first `keep` rows of a verified slot become part of it. */
int vv_session_commit(struct vv_session *session, uint32_t slot, uint32_t keep,
                      struct vv_error *error);
/* How many times so far a program was made, or a run took the longer for being of a new kind
 * (vv_program_prepared). What took a while in which this grew will be faster the next time. */
uint64_t vv_session_prepared(const struct vv_session *session);
/* Bytes that the last window read and wrote, as vv_program_bytes counts them. */
uint64_t vv_session_bytes(const struct vv_session *session);

/* Logits of the i-th wanted row of the last window; NULL beyond, or if a device fails to bring them
 * after a window that was to draw. Host memory, until the next run. */
const float *vv_session_logits(const struct vv_session *session, size_t i);

/* What to put into a row so that its token is drawn where its logits are; nothing is wanted if that
 * can't be. */
struct vv_draw vv_session_ask(const struct vv_session *session, const struct vv_sampler *sampler,
                              uint64_t position);
/* As vv_sampler_draw from the logits of the i-th wanted row of the last window. If the row's `draw`
 * was asked for by the same sampler and position, the token is there already, and its logits never
 * had to be copied. */
int vv_session_sample(struct vv_session *session, size_t i, struct vv_sampler *sampler,
                      const int32_t *history, size_t history_length, uint64_t position,
                      int32_t *token, struct vv_error *error);

/* Greedy drafts after `token`, by the model's MTP block; the sequence does not change. */
int vv_session_draft(struct vv_session *session, uint32_t slot, int32_t token, uint32_t steps,
                     int32_t *drafts, float *logits, struct vv_error *error);

/* An inner tensor of the last window by name, as floats or integers that belong to the session. */
struct vv_observed {
    size_t rows, width;
    const float *f32;
    const int32_t *i32;
};
int vv_session_observed(struct vv_session *session, const char *name, struct vv_observed *observed,
                        struct vv_error *error);

/* The serial form of a slot's state: for each part in declared order its live entries, ascending.
 * Returns its size; writes it if it fits. */
size_t vv_session_state(const struct vv_session *session, uint32_t slot, void *out, size_t room);

/* ---- state that is kept (session/keep.c) ---- */

/* Copies a slot's sequence into another slot, within the device. Both may be the same. */
int vv_session_fork(struct vv_session *session, uint32_t from, uint32_t to, struct vv_error *error);
/* Makes a checkpoint where the slot stands. */
int vv_session_checkpoint(struct vv_session *session, uint32_t slot, struct vv_error *error);
/* Takes a slot back to its last checkpoint at or before `length`; where there is none, to nothing.
 */
int vv_session_truncate(struct vv_session *session, uint32_t slot, size_t length,
                        struct vv_error *error);
/* Copies a slot's sequence into host memory, where vv_session_resume finds it. What doesn't fit
 * isn't kept: VV_ERROR_MEMORY. */
int vv_session_keep(struct vv_session *session, uint32_t slot, struct vv_error *error);

struct vv_resumed {
    size_t held;   /* tokens that the slot holds now */
    size_t shared; /* tokens that the text begins with, in whatever was known and is most alike */
};
/*
 * Makes a slot hold as much as can be had of the beginning of `tokens`, but not all of it, since
 * the last one's logits will be wanted: from itself, another slot or a kept sequence. What it held
 * is kept first, where more than what lies between two checkpoints would be lost.
 */
int vv_session_resume(struct vv_session *session, uint32_t slot, const int32_t *tokens,
                      size_t count, struct vv_resumed *resumed, struct vv_error *error);

/* A text of whoever saved a file; ends with a zero that doesn't count. */
struct vv_note {
    char *text;
    size_t length;
};
/* Writes a slot's sequence, and a note, to a file that appears when it is whole. */
int vv_session_save(struct vv_session *session, uint32_t slot, const char *path, const void *note,
                    size_t note_bytes, struct vv_error *error);
/* Replaces what a slot holds by what a file has; the caller frees note->text. Where the file can't
 * be opened or isn't one for this session, the slot is as it was; where it is damaged, empty. */
int vv_session_load(struct vv_session *session, uint32_t slot, const char *path,
                    struct vv_note *note, struct vv_error *error);

struct vv_session_kept {
    uint64_t bytes, budget;
    size_t sequences, checkpoint_bytes, spacing; /* tokens; 0: no checkpoints by themselves */
};
void vv_session_kept(const struct vv_session *session, struct vv_session_kept *kept);

/* What a session would take. */
struct vv_session_bytes {
    uint64_t weights;     /* as they lie in the file */
    uint64_t tables;      /* of these, what may lie in the host's memory */
    uint64_t per_token;   /* of a sequence: entries that grow */
    uint64_t growing;     /* all slots at full context */
    uint64_t fixed;       /* all slots: recurrent state, rings */
    uint64_t activations; /* of the largest window */
};
int vv_session_measure(const struct vv_gguf *file, const struct vv_family *family,
                       const void *geometry, const struct vv_session_options *options,
                       struct vv_session_bytes *bytes, struct vv_error *error);

/* Programs of the session, for profiles and tests: index 0, 1, … until NULL. */
const struct vv_program *vv_session_program(const struct vv_session *session, size_t index);

/*
 * Drafts for one text: its drafters, how many tokens of whose are worth a window now, and what came
 * of them. Whoever writes the text (decoder.h, or many texts in common windows) evaluates the
 * windows and tells what they took and gave.
 */
#pragma once
#include "draft/depth.h"

enum vv_draft { VV_DRAFT_OFF, VV_DRAFT_MTP, VV_DRAFT_SUFFIX, VV_DRAFT_BOTH };

struct vv_decoder_options {
    uint32_t slot;
    enum vv_draft
        draft;     /* both: the text's, where its end stood before in many tokens, else MTP's */
    uint32_t most; /* drafts of a window at most, up to VV_DRAFTS_MAX */
    bool fixed;    /* as many as possible in every window, not as many as pay */
};

/* What came of the drafts of one kind: [i] is the (i + 1)-th of a window. */
struct vv_draft_count {
    const char *kind;
    uint64_t offered[VV_DRAFTS_MAX], accepted[VV_DRAFTS_MAX];
};

struct vv_drafting {
    struct vv_drafter *drafters[VV_DRAFTERS_MAX];
    uint32_t drafter_count;
    bool fixed;
    struct vv_depth depth;
    struct vv_depth_choice choice; /* of the last window */
    uint32_t kind;                 /* of its drafts */
    int32_t test;   /* a draft of the next token that is only to be compared; -1: none */
    double seconds; /* making drafts */
    const struct vv_session *session;
    uint64_t prepared; /* by the session, before what is timed now: drafts, then their window */
    struct vv_draft_count counts[VV_DRAFTERS_MAX * VV_DRAFT_KINDS_MAX];
};

/* Whether the session can have such drafts. */
int vv_drafting_check(const struct vv_session *session, const struct vv_decoder_options *options,
                      struct vv_error *error);
/* Also after an error it is to be closed. */
int vv_drafting_open(struct vv_drafting *drafting, struct vv_session *session,
                     const struct vv_decoder_options *options, struct vv_error *error);
void vv_drafting_close(struct vv_drafting *drafting);

/* Tokens are now the end of the text. The first of them tells whether a test was right. */
int vv_drafting_append(struct vv_drafting *drafting, const int32_t *tokens, size_t count,
                       struct vv_error *error);
/* The text is empty again. */
void vv_drafting_clear(struct vv_drafting *drafting);

/* The next tokens were not written by the model, so they tell nothing of a test. */
void vv_drafting_drop_test(struct vv_drafting *drafting);

/* As many drafts as are worth a window, up to `most`, of what follows a text whose last token the
 * slot does not hold yet; or a test, which the caller need not know of. */
int vv_drafting_propose(struct vv_drafting *drafting, uint32_t most, int32_t *drafts,
                        uint32_t *count, struct vv_error *error);

/* A window of `rows` rows of this text is over, its drafts behind the first, after so long; its
 * commit included. */
void vv_drafting_window(struct vv_drafting *drafting, uint32_t rows, double seconds);
/* Of its rows - 1 drafts the first `accepted` were right; `refused`: another token came than the
 * next one, if there is a next one; else nobody asked. */
void vv_drafting_judged(struct vv_drafting *drafting, uint32_t rows, uint32_t accepted,
                        bool refused);

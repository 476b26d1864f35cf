/* `varve bench model`: how long a model takes for prompts, for decoding, and for windows of drafts
 * that are verified. */
#pragma once
#include "session/session.h"

enum vv_bench_kind {
    VV_BENCH_PROMPT,   /* n tokens are read into an empty sequence */
    VV_BENCH_GENERATE, /* n tokens one after another, from a depth on */
    VV_BENCH_WINDOW,   /* n rows verified together at a depth, with the logits of all */
    VV_BENCH_BATCH,    /* a token of each of n sequences decoded together, from a depth on */
};

struct vv_bench_result {
    enum vv_bench_kind kind;
    uint32_t n, depth;
    const double *ms; /* [rounds] */
    size_t rounds;
    double bytes; /* of windows and batches: read and written by one, the mean of all; else 0 */
};

enum { VV_BATCH_MAX = 1024 };

struct vv_bench_options {
    /* Lists; a count of 0 leaves those tests out. Depths are of all others. */
    const uint32_t *prompts, *depths, *windows, *batches;
    size_t prompt_count, depth_count, window_count, batch_count;
    uint32_t generate; /* tokens, of a batch by each sequence (0: some); 0 leaves the test out */
    uint32_t rounds;   /* 1 to VV_SAMPLES_MAX */
    bool same_experts; /* generate and windows: one token over and over */
    uint64_t seed;
    /* Returns false to end. `done` of `total` tests. */
    bool (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void (*result)(void *context, const struct vv_bench_result *result); /* at the end, each test */
    /* Shows the session when all is measured; or NULL. */
    void (*measured)(void *context, struct vv_session *session);
    void *context;
};

struct vv_bench_facts {
    double load_ms;     /* opening the session: weights placed, programs recorded */
    double cold_ms;     /* the first window that was read */
    uint32_t cold_rows; /* and its tokens */
};

/*
 * Every round runs every test once, so that a slow spell of the machine meets all alike. Tokens are
 * random and new in each round. Before the first round one window is read and timed apart (its
 * weights may come from the disk), and one of each size is run. Depths hold made-up state
 * (vv_session_fill). A window's time is the mean of four in a row, a batch's that of its steps.
 * `session` says how to open one; slots, context and outputs are set here.
 */
int vv_bench_model(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
                   const struct vv_session_options *session, const struct vv_bench_options *options,
                   struct vv_bench_facts *facts, struct vv_error *error);

/* Sets the sizes of a session as vv_bench_model does. */
int vv_bench_sizes(const struct vv_family *family, const void *geometry,
                   const struct vv_bench_options *options, struct vv_session_options *session,
                   struct vv_error *error);

/* Bytes of weights that decoding one token reads: matrices whole, of experts those that are used,
 * of tables of embeddings next to nothing. 0: the file doesn't say how many experts are used. */
uint64_t vv_bench_token_bytes(const struct vv_gguf *file, const struct vv_family *family,
                              const struct vv_model_facts *facts);

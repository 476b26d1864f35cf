/*
 * `varve bench sweep`: how fast a model reads and writes as its context grows, under one setting or
 * two. One sequence is read from depth to depth; at each, tokens are decoded one after another.
 * With two settings each has a session of its own: they take turns, A B B A, on the same tokens,
 * and the logits of every decoded token, and of the last one read, must have the same bytes.
 */
#pragma once
#include "session/session.h"

struct vv_sweep_times {
    double prompt_ms, generate_ms;
};

struct vv_sweep_result {
    uint32_t depth, read,
        generated; /* tokens: at the depth; read to reach it; decoded from there */
    struct vv_sweep_times sides[2];
    uint32_t compared, different; /* rows of logits, of both settings */
};

struct vv_sweep_options {
    const struct vv_session_options *sides[2]; /* the second one NULL: one setting */
    const uint32_t *depths;                    /* ascending, more than `generate` apart */
    size_t depth_count;
    uint32_t generate; /* tokens; 0: only reading is measured */
    uint64_t seed;     /* of the tokens */
    bool (*progress)(void *context, const char *what, uint64_t done, uint64_t total); /* tokens */
    void (*result)(void *context, const struct vv_sweep_result *result); /* after each depth */
    void *context;
};

/* Of the sessions' options slots, context and outputs are set here. */
int vv_sweep(const struct vv_gguf *file, const struct vv_family *family, const void *geometry,
             const struct vv_sweep_options *options, struct vv_error *error);

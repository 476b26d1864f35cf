/* One call of `varve run`: what its parts share. */
#pragma once
#include "reply.h"

enum finish {
    FINISH_EOS,         /* the model ended its answer */
    FINISH_STOP,        /* a text of --stop came */
    FINISH_LENGTH,      /* as many tokens as -n allows */
    FINISH_CONTEXT,     /* the context is full */
    FINISH_INTERRUPTED, /* Ctrl-C */
    FINISH_UNREAD,      /* nobody reads the output any more */
};

struct run {
    const struct arguments *arguments;
    struct opened opened;
    struct varve_session_options options; /* context and window are never 0 here */
    struct varve_session *session;
    struct varve_decoder *decoder;
    struct varve_sampling sampling; /* its bias is owned */
    struct varve_sampler *sampler;
    struct varve_detokenizer *detokenizer;
    struct varve_stopper *stopper;
    struct reply *reply;  /* takes the answer apart; NULL: it is written as it comes */
    struct varve_ids ids; /* of the prompt, then of the answer */
    /* Tokens of the prompt, how many of them the session held already, and how many were read. */
    size_t prompt_count, held_count, read_count;
    /* The token where the prompt differs from what the session held; as many as it has where it
     * goes on from that. */
    size_t changed_at;
    struct conversation_marks marks; /* in the prompt; none in a raw one */
    size_t dropped;                  /* tokens that left a full context while this answer came */
    size_t limit;                    /* tokens that the answer may have */
    bool json;
    bool quiet; /* no figures behind each answer */
    double prompt_seconds, answer_seconds;
    enum finish finish;
};

/* Sizes, sampling and the session, once the model is open; `opened` has a vocabulary from here on.
 * Exit codes, here and below. */
int run_prepare(struct run *run);
int run_open_session(struct run *run);
/* Whether the prompt that `ids` is can be read; sets `prompt_count`. */
int run_check_prompt(struct run *run);
/* What one answer needs: the sampler and the streams of its text. */
int run_open_streams(struct run *run);
void run_close_streams(struct run *run);
/* All that is open. */
void run_close(struct run *run);

/* Whether the model ends an answer with this token. */
bool run_ends_answer(const struct run *run, int32_t id);
/* Tokens of the answer so far. */
size_t run_written(const struct run *run);

/* Fills `sampling` from the options, then from what the file recommends. Exit code. */
int run_sampling(struct run *run);

/* Reads the prompt into the session, then writes the answer as it comes. Fills the times and
 * `finish`. Exit code. */
int run_generate(struct run *run);

/* Evaluates what the session doesn't hold of `ids`, or up to Ctrl-C, after what can be had of their
 * beginning; `*at`: how many it holds then. */
int run_read(struct run *run, const char *what, size_t *at);
/* Makes room in a full context: tokens leave `ids`, the rest is read anew. `*can`: it was possible.
 */
int run_shift(struct run *run, bool *can);

/* What is told while that happens: JSON lines, or text and a report on standard error. */
int event_start(const struct run *run);
int event_prompt(const struct run *run);
int event_token(struct run *run, int32_t id, const char *text, size_t length);
int event_done(struct run *run, const char *rest, size_t length);
int event_error(const char *message); /* JSON alone */

/* The draft head's logits against golden ones. */
#pragma once
#include "golden_internal.h"
#include "golden_rows.h"

enum { GOLDEN_CHAIN = 3 }; /* drafts of a golden chain */

struct golden_mtp {
    struct golden_table logits, logit_rows; /* teacher-forced, at these rows */
    struct golden_table chain_tokens,
        chain_logits; /* greedy drafts from two tokens before the end */
    struct golden_rows rows;
    size_t unequal; /* drafts that are other tokens */
};

/* Loads what a sequence has; `named` as in struct golden_shape, `logits` the tensor's name. Close
 * in either case. Exit codes. */
int golden_mtp_open(struct golden_mtp *mtp, const struct varve_file *container,
                    const char *sequence, bool named, const char *logits, size_t vocabulary);
void golden_mtp_close(struct golden_mtp *mtp);
bool golden_mtp_has_chain(const struct golden_mtp *mtp);

/* Compares the session's last window, of `rows` rows from position `first` on. */
int golden_mtp_window(struct golden_mtp *mtp, const struct varve_session *session, size_t first,
                      size_t rows, double deviation);

/* Compares the drafts after `token`, which follows what the session holds. */
int golden_mtp_chain(struct golden_mtp *mtp, struct varve_session *session, int32_t token,
                     double deviation);

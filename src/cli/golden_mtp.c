#include "golden_mtp.h"
#include "report.h"

#include <stdlib.h>

int golden_mtp_open(struct golden_mtp *mtp, const struct varve_file *container,
                    const char *sequence, bool named, const char *logits, size_t vocabulary) {
    int code;
    if ((code = golden_floats(container, sequence, logits, &mtp->logits)) ||
        (code = golden_draft_rows(container, sequence, named, &mtp->logit_rows)) ||
        (code = golden_integers(container, sequence, "mtp.chain_tokens", &mtp->chain_tokens)) ||
        (code = golden_floats(container, sequence, "mtp.chain_logits", &mtp->chain_logits))) {
        return code;
    }
    if (mtp->logits.rows != mtp->logit_rows.rows ||
        (mtp->logits.rows != 0 && mtp->logits.width != vocabulary) ||
        (mtp->chain_logits.rows != 0 && mtp->chain_logits.width != vocabulary) ||
        mtp->chain_logits.rows != mtp->chain_tokens.rows ||
        (mtp->chain_tokens.rows != 0 && mtp->chain_tokens.rows != GOLDEN_CHAIN)) {
        return fail("sequence %s: golden drafts and their rows do not fit together", sequence);
    }
    return golden_rows_open(&mtp->rows, mtp->logits.rows + GOLDEN_CHAIN)
               ? EXIT_DONE
               : fail("no memory for %zu drafts", mtp->logits.rows);
}

void golden_mtp_close(struct golden_mtp *mtp) {
    golden_free(&mtp->logits);
    golden_free(&mtp->logit_rows);
    golden_free(&mtp->chain_tokens);
    golden_free(&mtp->chain_logits);
    golden_rows_close(&mtp->rows);
}

bool golden_mtp_has_chain(const struct golden_mtp *mtp) {
    return mtp->chain_tokens.rows > 0;
}

int golden_mtp_window(struct golden_mtp *mtp, const struct varve_session *session, size_t first,
                      size_t rows, double deviation) {
    struct mtp_window window = mtp_window(first, rows);
    struct varve_observed seen;
    struct varve_error error;
    size_t width = mtp->logits.width;
    if (window.rows == 0 || mtp->logits.rows == 0) {
        return EXIT_DONE;
    }
    if (varve_session_observed(session, "mtp.logits", &seen, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    if (seen.rows != window.rows || seen.width != width || !seen.f32) {
        return fail("the draft head's logits are %zu x %zu, the golden ones %zu wide in a window "
                    "of %zu",
                    seen.rows, seen.width, width, window.rows);
    }
    for (size_t r = 0; r < mtp->logits.rows; r++) {
        size_t row = (size_t)mtp->logit_rows.i64[r] - window.first;
        if (row < window.rows) {
            golden_rows_add(&mtp->rows, mtp->logits.f32 + r * width, seen.f32 + row * width, width,
                            deviation, false);
        }
    }
    return EXIT_DONE;
}

int golden_mtp_chain(struct golden_mtp *mtp, struct varve_session *session, int32_t token,
                     double deviation) {
    struct varve_error error;
    int32_t drafts[GOLDEN_CHAIN];
    size_t width = mtp->chain_logits.width;
    if (!golden_mtp_has_chain(mtp)) {
        return EXIT_DONE;
    }
    float *logits = malloc(GOLDEN_CHAIN * width * sizeof *logits);
    if (!logits) {
        return fail("no memory for %d drafts", GOLDEN_CHAIN);
    }
    int code = varve_session_draft(session, 0, token, GOLDEN_CHAIN, drafts, logits, &error);
    for (size_t i = 0; code == VARVE_OK && i < GOLDEN_CHAIN; i++) {
        golden_rows_add(&mtp->rows, mtp->chain_logits.f32 + i * width, logits + i * width, width,
                        deviation, false);
        mtp->unequal += drafts[i] != mtp->chain_tokens.i64[i];
    }
    free(logits);
    return code == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
}

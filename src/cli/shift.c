/* A full context: what came first leaves it. */
#include "progress.h"
#include "report.h"
#include "run.h"

#include <string.h>

/* The older half of what follows the system message. */
static size_t tokens_to_drop(const struct run *run) {
    size_t keep = run->marks.system;
    return keep < run->ids.count / 2 ? (run->ids.count - keep) / 2 : 0;
}

int run_shift(struct run *run, bool *can) {
    struct varve_error error;
    size_t drop = tokens_to_drop(run), keep = run->marks.system, held = run->held_count, at;
    *can = false;
    if (choice_of(run->arguments, OPTION_context_full) != CONTEXT_SHIFT) {
        return EXIT_DONE;
    }
    if (drop == 0) {
        report("the system message takes half of the context or more: nothing else can leave it");
        return EXIT_DONE;
    }
    if (varve_decoder_settle(run->decoder, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    int32_t *ids = run->ids.at;
    memmove(ids + keep, ids + keep + drop, (run->ids.count - keep - drop) * sizeof *ids);
    run->ids.count -= drop;
    run->dropped += drop;
    run->marks.stable = 0;
    int code = run_read(run, "reading what is left", &at);
    size_t read = at - run->held_count;
    run->held_count = held; /* of the prompt, as it was told */
    if (code != EXIT_DONE || at < run->ids.count) {
        run->finish = FINISH_INTERRUPTED;
        return code;
    }
    report("the context of %u tokens was full: %zu tokens behind the first %zu have left it, and "
           "%zu were read again",
           run->options.context, drop, keep, read);
    *can = true;
    return varve_decoder_begin(run->decoder, ids, run->ids.count, &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

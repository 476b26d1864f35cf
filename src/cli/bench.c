/* Measurements: of a model, of drafts, as the context grows, of operations, of kernel systems. */
#include "bench.h"
#include "commands.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

enum { MODEL, DRAFT, SWEEP, GEMM, HYPER_READ, GDN, GEMV_CAT, OPERATIONS, KINDS };

static const struct kind {
    const char *word; /* the first operand; of operations none */
    const char *title, *call;
    int (*run)(const struct arguments *arguments);
} kinds[KINDS] = {
    {"model", "models", "varve bench model", bench_model},
    {"draft", "drafts", "varve bench draft", bench_draft},
    {"sweep", "growing contexts", "varve bench sweep", bench_sweep},
    {"gemm", "products of many rows", "varve bench gemm", bench_gemm},
    {"hyper_read", "reads of streams", "varve bench hyper_read --tiles", bench_hyper_read},
    {"gdn", "the gated delta rule", "varve bench gdn", bench_gdn},
    {"gemv_cat", "products together", "varve bench gemv_cat", bench_gemv_cat},
    {"", "operations", "operations", bench_operations},
};

#define OF(kind) (1u << (kind))
enum { MODELS = OF(MODEL) | OF(DRAFT) | OF(SWEEP) };
enum { TABLES = OF(HYPER_READ) | OF(GDN) | OF(GEMV_CAT) };

/* Options that have no meaning for all kinds. */
static const struct {
    enum option_id id;
    unsigned kinds;
} meanings[] = {
    {OPTION_model, MODELS},
    {OPTION_load, MODELS},
    {OPTION_kv, MODELS},
    {OPTION_cache_precision, MODELS},
    {OPTION_index_score, MODELS},
    {OPTION_tuned, MODELS},
    {OPTION_generate, MODELS},
    {OPTION_window, OF(MODEL) | OF(SWEEP)},
    {OPTION_prompt, OF(MODEL)},
    {OPTION_batch, OF(MODEL)},
    {OPTION_same_experts, OF(MODEL)},
    {OPTION_depth, OF(MODEL) | OF(DRAFT)},
    {OPTION_rows, OF(MODEL) | OF(GEMM) | TABLES | OF(OPERATIONS)},
    {OPTION_rounds, OF(MODEL) | OF(DRAFT) | OF(GEMM) | TABLES | OF(OPERATIONS)},
    {OPTION_accept, OF(DRAFT)},
    {OPTION_draft_max, OF(DRAFT)},
    {OPTION_draft_model, OF(DRAFT)},
    {OPTION_draft_precision, OF(DRAFT)},
    {OPTION_from, OF(SWEEP)},
    {OPTION_to, OF(SWEEP)},
    {OPTION_step, OF(SWEEP)},
    {OPTION_a, OF(SWEEP)},
    {OPTION_b, OF(SWEEP)},
    {OPTION_out, OF(SWEEP)},
    {OPTION_json, MODELS | TABLES | OF(OPERATIONS)},
    {OPTION_csv, OF(DRAFT) | OF(SWEEP) | OF(OPERATIONS)},
    {OPTION_svg, OF(DRAFT) | OF(SWEEP) | OF(OPERATIONS)},
    {OPTION_profile, OF(MODEL)},
    {OPTION_profile_json, OF(MODEL)},
    {OPTION_profile_trace, OF(MODEL)},
    {OPTION_geometry, OF(MODEL) | OF(DRAFT) | OF(OPERATIONS)},
    {OPTION_synthetic, OF(MODEL) | OF(DRAFT) | OF(OPERATIONS)},
    {OPTION_types, OF(MODEL) | OF(DRAFT) | OF(OPERATIONS)},
    {OPTION_layers, OF(MODEL) | OF(DRAFT) | OF(OPERATIONS)},
    {OPTION_room, OF(MODEL) | OF(DRAFT) | OF(OPERATIONS)},
    {OPTION_shape, OF(GEMM) | TABLES | OF(OPERATIONS)},
    {OPTION_variant, OF(OPERATIONS)},
    {OPTION_tiles, OF(GEMM) | OF(HYPER_READ)},
    {OPTION_modes, OF(GDN)},
    {OPTION_against, OF(GEMM)},
    {OPTION_chunk_sum, OF(GEMM)},
};

/* Refuses the option if it was given, with whom it belongs to. */
static int refuse(const struct arguments *arguments, size_t kind, enum option_id id,
                  unsigned belongs) {
    char why[400];
    size_t at = (size_t)snprintf(
        why, sizeof why, "has no meaning for measurements of %s: it belongs to", kinds[kind].title);
    for (size_t k = 0; k < KINDS; k++) {
        if (belongs & OF(k)) {
            bool first = (belongs & (OF(k) - 1)) == 0;
            at += (size_t)snprintf(why + at, sizeof why - at, "%s%s", first ? " " : ", ",
                                   kinds[k].call);
        }
    }
    return refuse_given(arguments, (const enum option_id[]){id, OPTION_COUNT}, why);
}

/* By the first operand. Two are names of operations, too, and tables with the option alone that
 * asks for all that they have. */
static size_t kind_of(const struct arguments *arguments, const char *first) {
    size_t kind = 0;
    if (strcmp(first, "gdn_step") == 0 && given(arguments, OPTION_modes)) {
        return GDN;
    }
    while (kind < OPERATIONS && strcmp(kinds[kind].word, first) != 0) {
        kind++;
    }
    return kind == HYPER_READ && !given(arguments, OPTION_tiles) ? OPERATIONS : kind;
}

int command_bench(const struct arguments *arguments) {
    const char *first = arguments->operand_count ? arguments->operands[0] : "";
    size_t kind = kind_of(arguments, first);
    if (kind != OPERATIONS && arguments->operand_count > 1) {
        return fail_use("varve bench %s measures %s, not \"%s\" too", first,
                        MODELS & OF(kind) ? "a model" : kinds[kind].title, arguments->operands[1]);
    }
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        bool meant = meanings[i].id == OPTION_model && bench_is_synthetic(arguments);
        if (!meant && (meanings[i].kinds & OF(kind)) == 0) {
            int code = refuse(arguments, kind, meanings[i].id, meanings[i].kinds);
            if (code != EXIT_DONE) {
                return code;
            }
        }
    }
    int code = bench_check_synthetic(arguments);
    return code == EXIT_DONE ? kinds[kind].run(arguments) : code;
}

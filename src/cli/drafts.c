#include "drafts.h"
#include "report.h"

#include <stdio.h>

enum varve_draft draft_choice(const struct arguments *arguments) {
    return (enum varve_draft)choice_of(arguments, OPTION_draft);
}

struct varve_decoder_options draft_options(const struct arguments *arguments) {
    return (struct varve_decoder_options){.draft = draft_choice(arguments),
                                          .most = (uint32_t)integer_of(arguments, OPTION_draft_max),
                                          .fixed = given(arguments, OPTION_draft_fixed)};
}

/* ---- sums ---- */

struct sums {
    uint64_t offered, accepted;
};

static struct sums sums_of(const struct varve_draft_count *c) {
    struct sums s = {0, 0};
    for (size_t i = 0; i < VARVE_DRAFTS_MAX; i++) {
        s.offered += c->offered[i];
        s.accepted += c->accepted[i];
    }
    return s;
}

static struct sums sums_of_all(const struct varve_decoder_report *r) {
    struct sums s = {0, 0};
    for (size_t c = 0; c < r->count_count; c++) {
        struct sums one = sums_of(&r->counts[c]);
        s.offered += one.offered;
        s.accepted += one.accepted;
    }
    return s;
}

/* Of the time that one token after another would take, by a plain window's; 0: none was measured.
 */
static double gain(const struct varve_decoder_report *r) {
    return r->seconds > 0 ? (double)r->tokens * r->plain_seconds / r->seconds : 0;
}

static double tokens_a_window(const struct varve_decoder_report *r) {
    return r->windows ? (double)r->tokens / (double)r->windows : 0;
}

/* ---- for people ---- */

void draft_report(const struct varve_decoder *decoder) {
    struct varve_decoder_report r;
    varve_decoder_report(decoder, &r);
    struct sums all = sums_of_all(&r);
    if (all.offered == 0) {
        return;
    }
    char kinds[300] = "", times[60] = "";
    size_t used = 0;
    for (size_t c = 0; c < r.count_count && used < sizeof kinds; c++) {
        struct sums s = sums_of(&r.counts[c]);
        int n = s.offered ? snprintf(kinds + used, sizeof kinds - used, "; %s %llu of %llu",
                                     r.counts[c].kind, (unsigned long long)s.accepted,
                                     (unsigned long long)s.offered)
                          : 0;
        used += n > 0 ? (size_t)n : 0;
    }
    if (r.plain_seconds > 0) {
        snprintf(times, sizeof times, "; %.2f times as fast as without", gain(&r));
    }
    report("drafts: %llu of %llu were right%s; %.2f tokens a window%s",
           (unsigned long long)all.accepted, (unsigned long long)all.offered, kinds,
           tokens_a_window(&r), times);
}

void draft_table(const struct varve_decoder *decoder) {
    struct varve_decoder_report r;
    varve_decoder_report(decoder, &r);
    if (sums_of_all(&r).offered == 0) {
        return;
    }
    fprintf(stderr, "\n%llu tokens in %llu windows, %.3f ms; of these %.3f ms for drafting",
            (unsigned long long)r.tokens, (unsigned long long)r.windows, r.seconds * 1e3,
            r.draft_seconds * 1e3);
    if (r.plain_seconds > 0) {
        fprintf(stderr, "; a plain window takes %.3f ms, so drafts gain %.2f",
                r.plain_seconds * 1e3, gain(&r));
    }
    fprintf(stderr, "\n%-12s %5s %9s %9s\n", "drafts", "place", "offered", "right");
    for (size_t c = 0; c < r.count_count; c++) {
        for (size_t i = 0; i < VARVE_DRAFTS_MAX && r.counts[c].offered[i]; i++) {
            uint64_t offered = r.counts[c].offered[i], accepted = r.counts[c].accepted[i];
            fprintf(stderr, "%-12s %5zu %9llu %9llu %5.1f %%\n", r.counts[c].kind, i + 1,
                    (unsigned long long)offered, (unsigned long long)accepted,
                    100 * (double)accepted / (double)offered);
        }
    }
}

/* ---- for programs ---- */

static json_t *json_counts(const uint64_t *counts, const uint64_t *offered) {
    json_t *list = json_array();
    for (size_t i = 0; i < VARVE_DRAFTS_MAX && offered[i]; i++) {
        json_array_append_new(list, json_integer((json_int_t)counts[i]));
    }
    return list;
}

json_t *draft_json(const struct varve_decoder *decoder) {
    struct varve_decoder_report r;
    varve_decoder_report(decoder, &r);
    if (r.count_count == 0) {
        return json_null();
    }
    struct sums all = sums_of_all(&r);
    json_t *kinds = json_object();
    for (size_t c = 0; c < r.count_count; c++) {
        const struct varve_draft_count *k = &r.counts[c];
        json_object_set_new(kinds, k->kind,
                            json_pack("{s:o, s:o}", "offered", json_counts(k->offered, k->offered),
                                      "accepted", json_counts(k->accepted, k->offered)));
    }
    return json_pack("{s:I, s:I, s:o, s:I, s:I, s:f, s:f, s:f}", "offered", (json_int_t)all.offered,
                     "accepted", (json_int_t)all.accepted, "kinds", kinds, "tokens",
                     (json_int_t)r.tokens, "windows", (json_int_t)r.windows, "seconds", r.seconds,
                     "draft_seconds", r.draft_seconds, "gain", gain(&r));
}

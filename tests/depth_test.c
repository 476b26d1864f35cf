/*
 * How many drafts are chosen, on machines and texts that are made up: windows of known times,
 * drafts that are right with known chances. What a fixed depth gives there is computed, not
 * simulated. Case C084 of docs/cases.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "draft/depth.h"

#include <math.h>
#include <string.h>

/* A machine: a window of r rows takes 1 + slope (r - 1)^power, of several `step` more, a draft
 * `draft`. */
struct machine {
    double slope, power, draft, noise, step;
};

/* A text: the i-th draft is right with chance right * fall^i. */
struct text {
    double right, fall;
};

static double window_time(const struct machine *m, uint32_t rows) {
    return 1 + m->slope * pow(rows - 1, m->power) + (rows > 1 ? m->step : 0);
}

static double chance(const struct text *t, uint32_t i) {
    return t->right * pow(t->fall, i);
}

/* Tokens per unit of time with k drafts in every window. */
static double fixed_rate(const struct machine *m, const struct text *t, uint32_t k) {
    double tokens = 1, all = 1;
    for (uint32_t i = 0; i < k; i++) {
        all *= chance(t, i);
        tokens += all;
    }
    return tokens / (window_time(m, k + 1) + k * m->draft);
}

static double best_fixed(const struct machine *m, const struct text *t, uint32_t most) {
    double best = 0;
    for (uint32_t k = 0; k <= most; k++) {
        double rate = fixed_rate(m, t, k);
        best = rate > best ? rate : best;
    }
    return best;
}

struct world {
    struct vv_depth depth;
    uint64_t seed, drawn;
    double time;
    uint64_t tokens, windows, plain;
};

static double uniform(struct world *w) {
    return (double)(vv_random_at(w->seed, w->drawn++) >> 11) * 0x1p-53;
}

/* Noise as machines have it: never faster, sometimes a little slower, seldom much. */
static double noisy(struct world *w, const struct machine *m, double seconds) {
    double spike = uniform(w) < 0.01 * (m->noise > 0) ? 3 : 0;
    return seconds * (1 + m->noise * uniform(w) + spike * m->noise);
}

static void one_window(struct world *w, const struct machine *m, const struct text *t,
                       uint32_t most) {
    const struct vv_depth_offers offers = {.offer = {{most, 0}}, .ready = {true}, .count = 1};
    struct vv_depth_choice c = vv_depth_choose(&w->depth, &offers);
    assert_true(c.drafter == 0 && c.count <= most);
    double draft = c.count ? noisy(w, m, c.count * m->draft) : 0;
    double window = noisy(w, m, window_time(m, c.count + 1));
    uint32_t accepted = 0;
    while (accepted < c.count && uniform(w) < chance(t, accepted)) {
        accepted++;
    }
    if (c.count) {
        vv_depth_drafted(&w->depth, 0, c.count, draft);
    }
    vv_depth_window(&w->depth, c.count + 1, window);
    if (c.count) {
        vv_depth_judged(&w->depth, 0, 0, accepted, accepted < c.count);
    }
    w->time += draft + window;
    w->tokens += accepted + 1;
    w->windows++;
    w->plain += c.count == 0;
}

/* Of the best fixed depth's rate from 0 to 4, over `tokens` tokens behind `known` ones of the same
 * kind, the mean of some seeds. */
static double share(const struct machine *m, const struct text *t, uint64_t known,
                    uint64_t tokens) {
    double time = 0;
    enum { SEEDS = 20 };
    uint64_t written = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world w = {.seed = seed};
        while (w.tokens < known) {
            one_window(&w, m, t, 8);
        }
        time -= w.time;
        written -= w.tokens;
        for (uint64_t before = w.tokens; w.tokens < before + tokens;) {
            one_window(&w, m, t, 8);
        }
        time += w.time;
        written += w.tokens;
    }
    double slower = 1 + 0.5 * m->noise + 0.03 * m->noise; /* what the noise costs everybody */
    return (double)written / time * slower / best_fixed(m, t, 4);
}

static const struct machine machines[] = {
    {0.02, 1, 0.02, 0}, {0.1, 1, 0.05, 0},    {0.3, 1, 0.05, 0},   {0.3, 1, 0.3, 0},
    {0.6, 0.8, 0.1, 0}, {1, 1, 0.1, 0},       {0.05, 2, 0.05, 0},  {0.1, 1, 0.05, 0.1},
    {0.3, 1, 0.1, 0.1}, {0.6, 0.8, 0.1, 0.3}, {0.3, 1, 0.05, 0.5}, {0.17, 1, 0.065, 0.05, 0.45},
};
static const double rights[] = {0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1};
enum { MACHINES = sizeof machines / sizeof *machines, RIGHTS = sizeof rights / sizeof *rights };

/* Of short texts and of long ones; a beginning has to find out, the next text of a chat has not. */
static void c084_never_much_slower_than_the_best(void **state) {
    (void)state;
    double sum[3] = {0};
    for (size_t m = 0; m < MACHINES; m++) {
        for (size_t r = 0; r < RIGHTS; r++) {
            const struct text t = {rights[r], 0.95};
            double brief = share(&machines[m], &t, 0, 500),
                   whole = share(&machines[m], &t, 0, 4000);
            double next = share(&machines[m], &t, 500, 500);
            if (brief < 0.955 || whole < 0.98 || next < 0.975) {
                fail_msg("machine %zu, chance %g: %.3f, %.3f and %.3f of the best", m, rights[r],
                         brief, whole, next);
            }
            sum[0] += brief;
            sum[1] += whole;
            sum[2] += next;
        }
    }
    assert_true(sum[0] > 0.985 * MACHINES * RIGHTS && sum[1] > 0.997 * MACHINES * RIGHTS &&
                sum[2] > 0.997 * MACHINES * RIGHTS);
}

/* Where no draft is ever right, few are made, and all that they cost is a hundredth or two. */
static void down_to_none(void **state) {
    (void)state;
    for (size_t m = 1; m < MACHINES; m++) {
        struct world w = {.seed = m};
        const struct text nonsense = {0, 1};
        while (w.tokens < 2000) {
            one_window(&w, &machines[m], &nonsense, 8);
        }
        assert_true(w.windows - w.plain < 200);
        assert_true(w.time < 1.02 * (double)w.tokens * (1 + 0.53 * machines[m].noise));
    }
}

/* A text that can be drafted from some place on, and then no more. */
static void follows_the_text(void **state) {
    (void)state;
    const struct machine m = {0.2, 1, 0.05, 0.05};
    const struct text easy = {0.95, 1}, hard = {0.02, 1};
    struct world w = {.seed = 7};
    for (int part = 0; part < 6; part++) {
        const struct text *t = part % 2 ? &easy : &hard;
        double began = w.time;
        uint64_t before = w.tokens;
        while (w.tokens - before < 1000) {
            one_window(&w, &m, t, 8);
        }
        double rate = (double)(w.tokens - before) / (w.time - began);
        assert_true(rate > 0.92 * best_fixed(&m, t, 8) / (1 + 0.53 * m.noise));
    }
}

/* Offers that come at times, and are nearly always right, go before those that always come. */
static void sure_offers_go_first(void **state) {
    (void)state;
    struct vv_depth d = {0};
    struct vv_depth_offers o = {.offer = {{8, 0}, {15, 1}}, .ready = {true, false}, .count = 2};
    for (int i = 0; i < 200; i++) {
        o.offer[1].most = i % 3 == 0 ? 15 : 0;
        struct vv_depth_choice c = vv_depth_choose(&d, &o);
        if (c.count) {
            vv_depth_drafted(&d, c.drafter, c.count, c.drafter ? 0 : 0.1 * c.count);
            bool wrong = c.drafter == 0 && i % 2; /* every other first draft of the block */
            vv_depth_judged(&d, c.drafter, c.drafter ? 1 : 0, wrong ? 0 : c.count, wrong);
        }
        vv_depth_window(&d, c.count + 1, 1 + 0.1 * c.count);
    }
    o.offer[1].most = 15;
    struct vv_depth_choice sure = vv_depth_choose(&d, &o);
    assert_int_equal(sure.drafter, 1);
    assert_int_equal(sure.count, 15);
    o.offer[1].most = 0;
    struct vv_depth_choice usual = vv_depth_choose(&d, &o);
    assert_true(usual.drafter == 0 && usual.count >= 1);
}

/* Times of sizes that were not measured lie between and beyond those that were. */
static void times_are_interpolated(void **state) {
    (void)state;
    struct vv_depth d = {0};
    assert_true(vv_depth_seconds(&d, 3) == 0);
    vv_depth_window(&d, 1, 1);
    assert_true(fabs(vv_depth_seconds(&d, 3) - 1.2) < 1e-12); /* a guess */
    vv_depth_window(&d, 5, 3);
    vv_depth_window(&d, 5, 9); /* one spell */
    vv_depth_window(&d, 5, 3);
    assert_true(fabs(vv_depth_seconds(&d, 3) - 2) < 1e-12);
    assert_true(fabs(vv_depth_seconds(&d, 9) - 5) < 1e-12);
    assert_true(vv_depth_seconds(&d, 5) == 3);

    d = (struct vv_depth){0}; /* a step to several rows */
    vv_depth_window(&d, 1, 1);
    vv_depth_window(&d, 2, 1.6);
    assert_true(fabs(vv_depth_seconds(&d, 4) - 1.9) < 1e-12);
    vv_depth_window(&d, 4, 2);
    assert_true(fabs(vv_depth_seconds(&d, 3) - 1.8) < 1e-12);
    assert_true(fabs(vv_depth_seconds(&d, 9) - 3) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c084_never_much_slower_than_the_best),
        cmocka_unit_test(down_to_none),
        cmocka_unit_test(follows_the_text),
        cmocka_unit_test(sure_offers_go_first),
        cmocka_unit_test(times_are_interpolated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * From logits to a token: bias, penalties, filters, one random draw. Every step is defined to the
 * bit, and by integers where sums occur, so any machine, and any order of work, gives the same
 * token.
 *
 * 1. Scores. z = the logit. For each entry of `bias`, in order, z = z + value. For each distinct
 *    token of the history's last `penalty_last_n`, c times in it:
 *        z = z > 0 ? z / repetition_penalty : z * repetition_penalty
 *        z = z - ((float)c * frequency_penalty + presence_penalty)
 *    in float, each operation rounded once. Infinities are ordinary numbers, but minus infinity,
 *    from the model or from a bias, is a ban that nothing lifts. NaN is an error.
 * 2. Rank: score descending, then token ascending (docs/arithmetic.md, section 8). Temperature 0 is
 *    greedy: the first token of the rank is taken, whatever the filters say.
 * 3. top_k keeps the first k ranks (0: all that are not banned).
 * 4. Weights. w = floor(2^40 exp((z - max z) / temperature)), an integer; 2^40 where z is the
 *    largest itself. exp is base/math.h's; difference and quotient are floats. Taking the
 * difference first lets no temperature overflow. What is cut off is below 2^-40 of the likeliest
 * token.
 * 5. top_p (1: off) keeps the shortest run of ranks, at least one, whose weights reach
 *    top_p * (sum of weights), that product in double. min_p keeps w >= floor(2^40 min_p).
 * 6. The draw: r = the first two words of Philox 4x32-10 with counter (position, 0) and key seed,
 *    low halves first, as one 64-bit number; x = floor(r * (sum of weights) / 2^64); the token is
 *    the first in rank whose running sum of weights exceeds x.
 *
 * Order. `temperature_first`, the default: the filters of step 5 see the tempered distribution, as
 * in Hugging Face's library and in vLLM, whose settings model cards recommend. `temperature_last`:
 * step 5 uses weights of temperature 1 and the survivors are weighed anew for the draw, as in
 * llama.cpp. Penalties and top_k come first in both.
 *
 * Why integer weights: a float sum over a vocabulary would fix one order of summation. Integers
 * have the same sum in any, so the ranks below a cut never need sorting, and a GPU may sum as it
 * likes.
 */
#pragma once
#include "base/error.h"
#include "registry/window.h"
#include <stddef.h>
#include <stdint.h>

enum vv_sampling_order { VV_TEMPERATURE_FIRST, VV_TEMPERATURE_LAST };

struct vv_logit_bias {
    int32_t token;
    float value; /* minus infinity bans the token, plus infinity forces it; NaN is refused */
};

struct vv_sampling {
    float temperature;                /* 0 (greedy) or more */
    int32_t top_k;                    /* 0: off */
    float top_p;                      /* 0..1; 1: off */
    float min_p;                      /* 0..1; 0: off */
    float repetition_penalty;         /* above 0; 1: off */
    float presence_penalty;           /* -10000..10000; 0: off */
    float frequency_penalty;          /* -10000..10000; 0: off */
    int32_t penalty_last_n;           /* tokens of history that count; -1: all, 0: none */
    const struct vv_logit_bias *bias; /* [bias_count] */
    size_t bias_count;
    uint64_t seed;
    enum vv_sampling_order order;
};

/* A token that filters kept. */
struct vv_candidate {
    int32_t token;
    float probability; /* (float)weight / (float)(sum of kept weights); 0 below about 2^-40 */
};

/* The state of sampling for one vocabulary and one set of options. Not for two threads at once. */
struct vv_sampler;

/* Plain sampling: temperature 1, everything else off, seed 0, temperature_first. */
struct vv_sampling vv_sampling_default(void);

/* VV_OK, or VV_ERROR_INVALID with the first option out of its range, its value and the range. */
int vv_sampling_validate(const struct vv_sampling *settings, struct vv_error *error);

/*
 * Makes a sampler for `vocabulary` tokens (1 .. 2^24 - 1) and valid `settings`, which it copies,
 * bias included. Takes 4 bytes a token, 4 more with penalties, 16 more unless top_k is small. Fails
 * with VV_ERROR_INVALID (settings, vocabulary, a bias for a token outside it) or VV_ERROR_MEMORY;
 * *sampler is then NULL. Free it with vv_sampler_free.
 */
int vv_sampler_new(int32_t vocabulary, const struct vv_sampling *settings,
                   struct vv_sampler **sampler, struct vv_error *error);

/* Frees what vv_sampler_new made; NULL is fine. */
void vv_sampler_free(struct vv_sampler *sampler);

/*
 * Draws the token at `position` of a sequence from `logits` [vocabulary], which stay untouched, and
 * `history` [history_length], the tokens before it, oldest first (NULL if there are none). The
 * result depends on the arguments and the settings alone, never on earlier calls: a draft's row and
 * the plain step at the same position give the same token. Sequences that should differ need
 * different seeds. No allocation. Fails with VV_ERROR_NOT_FINITE if a logit is NaN,
 * VV_ERROR_INVALID if every token is banned or a counted history token lies outside the vocabulary;
 * *token is then untouched.
 */
int vv_sampler_draw(struct vv_sampler *sampler, const float *logits, const int32_t *history,
                    size_t history_length, uint64_t position, int32_t *token,
                    struct vv_error *error);

/* How a device is to draw, in its place, the token at `position` from logits of `vocabulary`
 * tokens; `wanted` is 0 if it can't: biases and penalties are the host's. */
struct vv_draw vv_sampler_ask(const struct vv_sampler *sampler, size_t vocabulary,
                              uint64_t position);

/*
 * What vv_sampler_draw would draw from: the kept tokens in rank order, as many as fit into
 * `candidates` [room], and in *kept how many there are in all. With temperature 0 there is one, of
 * probability 1. Errors as above; *kept is then 0.
 */
int vv_sampler_candidates(struct vv_sampler *sampler, const float *logits, const int32_t *history,
                          size_t history_length, uint64_t position, struct vv_candidate *candidates,
                          size_t room, size_t *kept, struct vv_error *error);

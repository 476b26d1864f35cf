/*
 * gdn_step: the gated delta rule of a Gated DeltaNet layer, with the short convolution before it
 * and the output norm and gate after it (spec of qwen4exp, 4.6, steps 2 to 6), token by token.
 *
 * A row of qkv is the heads of q, then of k, then of v. Value head j uses key head j mod key_heads.
 * For each row of a sequence, in ascending position p:
 *
 *   c[ch] = silu(sum over taps m of conv[ch][m] · qkv at position p - (kernel - 1) + m)
 *   k̂ = l2(c_k)    q̂ = l2(c_q) · (1 / sqrt(key_dim))    l2(x) = x · (1 / sqrt(x·x + eps))
 *   β = sigmoid(beta)    g = a · softplus(alpha + dt_bias)    (a is negative already)
 *   S = S · exp(g);   r = Sᵀ k̂;   δ = β (c_v - r);   S = S + k̂ δᵀ;   y = Sᵀ q̂
 *   out = rms_norm(y, norm) ⊙ sigmoid(z)
 *
 * Order (docs/arithmetic.md, sections 4, 6, 7). Convolution: fma(weight, input, sum) from +0,
 * oldest tap first; an input before the sequence's start is +0. Inputs of the window's rows are
 * taken from qkv, those before them from conv_ring. x·x: float dot; root = sqrt(x·x + eps), inverse
 * = 1 / root, x · inverse; q̂ then · (float)(1 / sqrt((double)key_dim)). Per value column v, sums
 * over k in the order of the float dot (lanes k mod 16): S[k][v] = S[k][v] · exp(g), rounded;   r =
 * dot(S[·][v], k̂);   δ = β · (c_v[v] - r); S[k][v] = fma(k̂[k], δ, S[k][v]);       y[v] =
 * dot(S[·][v], q̂). Output: squares = dot(y, y), inverse = 1 / sqrt(squares / (float)value_dim +
 * eps), out[v] = ((y[v] · inverse) · norm[v]) · sigmoid(z[v]).
 *
 * A row at position 0 starts from S = 0 whatever the slot holds. Modes:
 *   advance   S moves through the window's rows;
 *   verify    the same outputs, S stays as it is (`work` is scratch: its contents don't count);
 *   commit    S moves through the window's rows, which were verified and whose inputs are in the
 *             rings; no outputs. qkv, z, alpha, beta, y and norm are not looked at.
 * Verify, then commit of the first k rows, equals advance of k rows, bit for bit. Writing the rings
 * is a step of its own, after this one.
 *
 * Sums of squares of q, k or y that are not finite are VV_ERROR_NOT_FINITE; a key_dim over
 * VV_GDN_KEY_DIM_MAX or a kernel over VV_GDN_KERNEL_MAX is VV_ERROR_UNSUPPORTED. value_heads is a
 * multiple of key_heads.
 * A unit is one value head of one sequence: sequence · value_heads + n, where the value heads of
 * key head 0 are counted first, then those of key head 1, so that who runs several prepares q̂ and
 * k̂ once.
 */
#pragma once
#include "memory/state.h"
#include "registry/operation.h"
#include "registry/window.h"

enum { VV_GDN_KEY_DIM_MAX = 256, VV_GDN_KERNEL_MAX = 64 };

enum vv_gdn_mode { VV_GDN_ADVANCE, VV_GDN_VERIFY, VV_GDN_COMMIT };

struct vv_gdn_step {
    const float *qkv;               /* [rows][channels] before the convolution */
    const float *z;                 /* [rows][value_heads · value_dim] */
    const float *alpha;             /* [rows][value_heads] raw projections */
    const float *beta;              /* [rows][value_heads] */
    const float *conv;              /* [channels][kernel] */
    const float *a;                 /* [value_heads] */
    const float *dt_bias;           /* [value_heads] */
    const float *norm;              /* [value_dim] */
    struct vv_state_view state;     /* F32, one entry: [value_heads][key_dim][value_dim] */
    struct vv_state_view conv_ring; /* F32 ring: rows of qkv */
    struct vv_state_view gate_ring; /* F32 ring: [2][value_heads], alpha then beta */
    float *work; /* verify: [sequences][value_heads][key_dim][value_dim], else NULL */
    float *y;    /* [rows][value_heads · value_dim] */
    const struct vv_window *window;
    size_t key_heads, value_heads;
    size_t key_dim, value_dim; /* of one head */
    size_t kernel;             /* taps, 1 or more */
    float eps;                 /* of l2 and of the norm, inside the roots */
    enum vv_gdn_mode mode;
};

/* 2 · key_heads · key_dim + value_heads · value_dim. */
static inline size_t vv_gdn_channels(const struct vv_gdn_step *a) {
    return 2 * a->key_heads * a->key_dim + a->value_heads * a->value_dim;
}

extern const struct vv_operation vv_gdn_step;

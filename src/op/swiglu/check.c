/* Gates from denormal to beyond the ends of exp, and products that overflow. */
#include "base/math.h"
#include "op/check_oracle.h"
#include "op/swiglu/internal.h"

void vv_swiglu_check(struct vv_check *check);

static float *gates(struct vv_check *check, size_t n) {
    static const float ends[] = {0.0f,    -0.0f,   87.3f,    -87.4f,  88.8f, -88.8f,
                                 103.97f, -103.9f, -104.01f, -200.0f, 3e38f, -3e38f};
    float *x = vv_check_adversarial(check, n);
    for (size_t i = 0; i < n; i++) {
        switch (vv_check_below(check, 4)) {
        case 0:
            x[i] = ends[vv_check_below(check, sizeof ends / sizeof *ends)];
            break;
        case 1:
            x[i] = vv_check_uniform(check, -110.0f, 110.0f);
            break;
        default:
            break;
        }
    }
    return x;
}

/* `where`: whether h is a buffer of its own (0), gate (1) or up (2). */
static void check_case(struct vv_check *check, int32_t rows, size_t width, size_t where) {
    size_t n = (size_t)rows * width;
    float *gate = gates(check, n), *up = vv_check_adversarial(check, n);
    float *h = where == 0 ? vv_check_floats(check, n) : where == 1 ? gate : up;
    struct vv_swiglu a = {gate, up, h, {&rows, 1}, width, rows % 2 ? 0.0f : 1.5f};
    vv_check_variants(check, &vv_swiglu, &a, "%d x %zu, limit %g, output %s", (int)rows, width,
                      (double)a.limit,
                      where == 0   ? "apart"
                      : where == 1 ? "over gate"
                                   : "over up");
    vv_check_reset(check);
}

static void check_misreadings(struct vv_check *check) {
    enum { N = 640 };
    const int32_t rows = 1;
    float *gate = vv_check_normals(check, N), *up = vv_check_normals(check, N);
    float *h = vv_check_floats(check, N), *wrong = vv_check_floats(check, N);
    struct vv_swiglu a = {gate, up, h, {&rows, 1}, N, 0.0f};
    vv_check_true(check, vv_swiglu.variants->run(&a, 0, N / VV_SWIGLU_UNIT) == VV_OK, "fails");
    bool near = true;
    for (size_t i = 0; i < N; i++) {
        double g = gate[i], exact = g / (1.0 + exp(-g)) * up[i];
        near = near && fabs(h[i] - exact) <= 1e-6 * fabs(exact);
        wrong[i] = vv_sigmoid(gate[i]) * up[i];
    }
    vv_check_true(check, near, "far from double precision");
    vv_check_misreading(check, "sigmoid for silu", h, wrong, N, 1e-3);
    for (size_t i = 0; i < N; i++) {
        wrong[i] = vv_silu(up[i]) * gate[i];
    }
    vv_check_misreading(check, "silu of up", h, wrong, N, 1e-3);
    for (size_t i = 0; i < N; i++) {
        wrong[i] = vv_silu(gate[i] * up[i]);
    }
    vv_check_misreading(check, "silu of the product", h, wrong, N, 1e-3);
    for (size_t i = 0; i < N; i++) {
        wrong[i] = 0.5f * gate[i] * (1.0f + erff(gate[i] * 0x1.6a09e6p-1f)) * up[i];
    }
    vv_check_misreading(check, "gelu for silu", h, wrong, N, 1e-3);
    for (size_t i = 0; i < N; i++) {
        wrong[i] = gate[i] * (vv_sigmoid(gate[i]) * up[i]);
    }
    vv_check_misreading(check, "gate * (sigmoid * up)", h, wrong, N, 0.0);
    for (size_t i = 0; i < N; i++) {
        wrong[i] = gate[i] / (1.0f + vv_exp(-gate[i])) * up[i];
    }
    vv_check_misreading(check, "gate / (1 + exp(-gate))", h, wrong, N, 0.0);
    vv_check_reset(check);
}

/* Which values are cut, and where: with a limit of 0.8 a fifth of normal ones lie beyond each end.
 */
static void check_limit(struct vv_check *check) {
    enum { N = 640, UNCUT, BOTH_ENDS, GATE_ALONE, UP_ABOVE, AFTERWARDS, READINGS };
    static const char *const names[] = {"no limit", "the gate's lower end cut", "up not cut",
                                        "up cut from above alone", "the product cut"};
    const int32_t rows = 1;
    const double most = (double)0.8f;
    float *gate = vv_check_normals(check, N), *up = vv_check_normals(check, N);
    float *h = vv_check_floats(check, N);
    double *truth = vv_check_doubles(check, N);
    struct vv_swiglu a = {gate, up, h, {&rows, 1}, N, 0.8f};
    vv_check_variants(check, &vv_swiglu, &a, "limit 0.8");
    for (int how = N; how < READINGS; how++) {
        for (size_t i = 0; i < N; i++) {
            double g = (double)gate[i], u = (double)up[i];
            bool cut = how != UNCUT && how != AFTERWARDS;
            g = cut ? fmin(g, most) : g;
            g = how == BOTH_ENDS ? fmax(g, -most) : g;
            u = cut && how != GATE_ALONE ? fmin(u, most) : u;
            u = cut && how != GATE_ALONE && how != UP_ABOVE ? fmax(u, -most) : u;
            truth[i] = vv_check_silu(g) * u;
            truth[i] = how == AFTERWARDS ? fmax(fmin(truth[i], most), -most) : truth[i];
        }
        if (how == N) {
            vv_check_near(check, "with a limit", h, truth, N, 1e-6);
        } else {
            vv_check_misreading(check, names[how - UNCUT], h, vv_check_narrow(check, truth, N), N,
                                1e-3);
        }
    }
    gate[N - 1] = NAN;
    up[N - 2] = NAN;
    vv_check_variants(check, &vv_swiglu, &a, "NaN with a limit");
    vv_check_true(check, isnan(h[N - 1]) && isnan(h[N - 2]), "a limit hides NaN");
    vv_check_reset(check);
}

void vv_swiglu_check(struct vv_check *check) {
    static const size_t widths[] = {1, 7, 8, 16, 33, 127, 128, 129, 160, 255, 640};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        for (int32_t rows = 1; rows <= 8; rows++) {
            check_case(check, rows, widths[i], (size_t)rows % 3);
        }
    }
    check_case(check, 37, 320, 0);
    check_misreadings(check);
    check_limit(check);
}

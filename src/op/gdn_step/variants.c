#include "op/buffers.h"
#include "op/gdn_step/internal.h"

static size_t units(const void *args) {
    const struct vv_gdn_step *a = args;
    return (size_t)a->window->sequences * a->value_heads;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_gdn_step *a = args;
    struct vv_buffer counted[VV_BUFFERS_MAX];
    size_t n = 0, rows = (size_t)a->window->rows * sizeof(float);
    size_t heads = a->value_heads * sizeof(float), values = a->value_heads * a->value_dim;
    out = out ? out : counted;
    out[n++] = vv_reads(a->conv, vv_gdn_channels(a) * a->kernel * sizeof(float));
    out[n++] = vv_reads(a->a, heads);
    out[n++] = vv_reads(a->dt_bias, heads);
    out[n++] = vv_reads_state(&a->conv_ring);
    out[n++] = a->mode == VV_GDN_VERIFY ? vv_reads_state(&a->state) : vv_updates_state(&a->state);
    if (a->mode == VV_GDN_COMMIT) {
        out[n++] = vv_reads_state(&a->gate_ring);
        return n;
    }
    out[n++] = vv_reads(a->qkv, rows * vv_gdn_channels(a));
    out[n++] = vv_reads(a->z, rows * values);
    out[n++] = vv_reads(a->alpha, rows * a->value_heads);
    out[n++] = vv_reads(a->beta, rows * a->value_heads);
    out[n++] = vv_reads(a->norm, a->value_dim * sizeof(float));
    out[n++] = vv_writes(a->y, rows * values);
    if (a->mode == VV_GDN_VERIFY) {
        size_t matrices = (size_t)a->window->sequences * values * a->key_dim;
        out[n++] = vv_writes(a->work, matrices * sizeof(float));
    }
    return n;
}

/* The matrices of the window's sequences, not of all slots; and every row's vectors. */
static size_t bytes(const void *args) {
    const struct vv_gdn_step *a = args;
    size_t rows = (size_t)a->window->rows, sequences = (size_t)a->window->sequences;
    size_t matrices = sequences * a->value_heads * a->key_dim * a->value_dim;
    size_t row = vv_gdn_channels(a) + 2 * a->value_heads * (a->value_dim + 1);
    return (matrices * (a->mode == VV_GDN_VERIFY ? 1 : 2) + rows * row +
            vv_gdn_channels(a) * (a->kernel + sequences * (a->kernel - 1))) *
           sizeof(float);
}

static const struct vv_variant variants[] = {
    {"gdn_step/reference", VV_CPU_ANY, true, NULL, NULL, vv_gdn_step_reference},
    {"gdn_step/portable", VV_CPU_ANY, true, NULL, NULL, vv_gdn_step_portable},
#if defined(__x86_64__)
    {"gdn_step/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_gdn_step_portable_avx2},
    {"gdn_step/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_gdn_step_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_gdn_step = {
    "gdn_step", sizeof(struct vv_gdn_step), units, buffers, NULL, variants, .bytes = bytes};

static const struct vv_operation *const operations[] = {&vv_gdn_step, NULL};

const struct vv_operation_folder vv_folder_gdn_step = {"gdn_step", operations, vv_gdn_step_check,
                                                       vv_gdn_step_bench};

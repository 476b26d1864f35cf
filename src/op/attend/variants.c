#include "gguf/types.h"
#include "op/attend/internal.h"
#include "op/buffers.h"

int vv_attend_keys(const struct vv_attend *a, size_t row, size_t kv_head,
                   struct vv_attend_run *run) {
    int32_t slot = a->window->slot[row];
    size_t length = (size_t)a->window->position[row] + 1, head = kv_head * a->width;
    *run = (struct vv_attend_run){
        .k = (uint8_t *)vv_state_at(&a->k, slot, 0) + head * (a->k.type == VV_TYPE_F16 ? 2 : 4),
        .v = (uint8_t *)vv_state_at(&a->v, slot, 0) + head * (a->v.type == VV_TYPE_F16 ? 2 : 4),
        .k_stride = a->k.entry_stride,
        .v_stride = a->v.entry_stride,
        .k_type = a->k.type,
        .v_type = a->v.type,
        .count = length,
        .ratio = 1,
    };
    if (a->list) {
        size_t seen = length / a->ratio, listed = (size_t)a->listed[row];
        run->block = a->list + row * a->keep;
        run->blocks = listed;
        run->ratio = a->ratio;
        run->next = seen * a->ratio;
        run->count = listed * a->ratio + (length - run->next);
        for (size_t i = 0; i < listed; i++) {
            if (listed > a->keep || (uint32_t)run->block[i] >= seen) {
                return VV_ERROR_INVALID;
            }
        }
    }
    return run->count > 0 ? VV_OK : VV_ERROR_INVALID;
}

static size_t units(const void *args) {
    const struct vv_attend *a = args;
    return vv_rows(a->rows) * a->heads;
}

static size_t buffers(const void *args, struct vv_buffer *out) {
    const struct vv_attend *a = args;
    size_t rows = vv_rows(a->rows), n = rows * a->heads * a->width * sizeof(float);
    size_t gate = vv_extent(rows, a->gate_row, (a->heads - 1) * a->gate_head + a->width);
    if (out) {
        out[0] = vv_reads(a->q, n);
        out[1] = vv_reads(a->gate, gate * sizeof(float));
        out[2] = vv_reads_state(&a->k);
        out[3] = vv_reads_state(&a->v);
        out[4] = vv_writes(a->y, n);
    }
    if (out && a->list) {
        out[5] = vv_reads(a->list, rows * a->keep * sizeof(int32_t));
        out[6] = vv_reads(a->listed, rows * sizeof(int32_t));
    }
    return a->list ? 7 : 5;
}

/* Keys and values that rows see, once for all heads that share them. */
static size_t bytes(const void *args) {
    const struct vv_attend *a = args;
    size_t rows = vv_rows(a->rows), keys = 0;
    size_t entry = a->kv_heads * a->width * (a->k.type == VV_TYPE_F16 ? 2 : 4);
    entry += a->kv_heads * a->width * (a->v.type == VV_TYPE_F16 ? 2 : 4);
    for (size_t r = 0; r < rows; r++) {
        size_t length = (size_t)a->window->position[r] + 1,
               blocks = a->list ? length / a->ratio : 0;
        size_t listed = blocks < a->keep ? blocks : a->keep;
        keys += length - (blocks - listed) * a->ratio;
    }
    return keys * entry + rows * a->heads * a->width * 3 * sizeof(float);
}

static const struct vv_variant variants[] = {
    {"attend/reference", VV_CPU_ANY, true, NULL, NULL, vv_attend_reference},
    {"attend/portable", VV_CPU_ANY, true, NULL, NULL, vv_attend_portable},
#if defined(__x86_64__)
    {"attend/portable_avx2", VV_CPU_AVX2, true, NULL, NULL, vv_attend_portable_avx2},
    {"attend/portable_avx512", VV_CPU_AVX512, true, NULL, NULL, vv_attend_portable_avx512},
#endif
    {0},
};

const struct vv_operation vv_attend = {
    "attend", sizeof(struct vv_attend), units,         buffers, NULL,
    variants, .bytes = bytes,           .varies = true};

static const struct vv_operation *const operations[] = {&vv_attend, NULL};
const struct vv_operation_folder vv_folder_attend = {"attend", operations, vv_attend_check,
                                                     vv_attend_bench};

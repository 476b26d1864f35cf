/* Values of a group of 32 of a row, of any format. */
#pragma once
#include "op/cuda/group.cuh"

/* What 32 threads do together: thread `lane` gets value `lane` of group `k` of a row that lies
 * split. Float formats: value 32 k + lane. */
static __device__ inline float vv_decode_lane(int type, const uint8_t *row, unsigned width,
                                              unsigned k, unsigned lane) {
    unsigned i = 32 * k + lane;
    switch (type) {
    case VV_TYPE_F32:
        return reinterpret_cast<const float *>(row)[i];
    case VV_TYPE_F16:
        return __half2float(__ushort_as_half(reinterpret_cast<const uint16_t *>(row)[i]));
    case VV_TYPE_BF16:
        return vv_from_bf16(reinterpret_cast<const uint16_t *>(row)[i]);
#define VV_DECODE(name, from, bytes)                                                               \
    case VV_TYPE_##name: {                                                                         \
        vv_group g;                                                                                \
        vv_unpack_group<VV_TYPE_##name>(row, width, k, g);                                         \
        float value = 0.0f;                                                                        \
        VV_UNROLL                                                                                  \
        for (int j = 0; j < 32; j++) {                                                             \
            float v = vv_group_value<VV_TYPE_##name>(g, j);                                        \
            value = (unsigned)j == lane ? v : value;                                               \
        }                                                                                          \
        return value;                                                                              \
    }
        VV_SPLIT_FORMATS(VV_DECODE)
#undef VV_DECODE
    default:
        return 0.0f;
    }
}

/* A weight whose rows are looked up, each as it is. */
struct vv_table {
    const uint8_t *data;
    size_t row_bytes, rows;
    unsigned width;
    int type;
    const float *scale;
};

static inline vv_table vv_table_of(const vv_weight *w) {
    return {w->data, vv_split_row_bytes(w->row_bytes), w->rows, (unsigned)w->width, w->type,
            w->scale};
}

/* Value i of a row; neighbours in a warp take neighbours. */
static __device__ inline float vv_table_value(const vv_table &t, size_t row, unsigned i) {
    float v = vv_decode_lane(t.type, t.data + row * t.row_bytes, t.width, i / 32, i % 32);
    return t.scale ? v * *t.scale : v;
}

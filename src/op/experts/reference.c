#include "base/math.h"
#include "op/experts/contract.h"
#include "op/experts/internal.h"
#include "op/plain_product.h"

int vv_expert_up_reference(const void *args, size_t begin, size_t end) {
    const struct vv_expert_up *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        size_t e = (size_t)a->active[1 + unit / a->hidden], output = unit % a->hidden;
        for (int32_t i = a->begin[e]; i < a->begin[e + 1]; i++) {
            size_t pair = (size_t)a->pair[i], row = pair / a->used;
            float gate, up;
            int error = vv_plain_product(a->gate, e, output, &a->u, row, &gate);
            if (error == VV_OK) {
                error = vv_plain_product(a->up, e, a->up_row + output, &a->u, row, &up);
            }
            if (error != VV_OK) {
                return error;
            }
            if (a->limit > 0.0f) {
                gate = gate > a->limit ? a->limit : gate;
                up = up > a->limit ? a->limit : up < -a->limit ? -a->limit : up;
            }
            float h = vv_silu(gate) * up;
            a->h[pair * a->hidden + output] = a->weight ? h * a->weight[pair] : h;
        }
    }
    return VV_OK;
}

int vv_expert_down_reference(const void *args, size_t begin, size_t end) {
    const struct vv_expert_down *a = args;
    for (size_t unit = begin; unit < end; unit++) {
        size_t e = (size_t)a->active[1 + unit / a->width], output = unit % a->width;
        for (int32_t i = a->begin[e]; i < a->begin[e + 1]; i++) {
            size_t pair = (size_t)a->pair[i];
            float *y = a->y + pair * a->width + output;
            int error = vv_plain_product(a->down, e, output, &a->h, pair, y);
            if (error != VV_OK) {
                return error;
            }
        }
    }
    return VV_OK;
}

int vv_expert_sum_reference(const void *args, size_t begin, size_t end) {
    const struct vv_expert_sum *a = args;
    for (size_t row = begin; row < end; row++) {
        for (size_t i = 0; i < a->width; i++) {
            float sum = 0.0f;
            for (size_t j = 0; j < a->used; j++) {
                size_t pair = row * a->used + j;
                sum = fmaf(a->weight ? a->weight[pair] : 1.0f, a->y[pair * a->width + i], sum);
            }
            float gate = a->shared_gate ? vv_sigmoid(a->shared_gate[row]) : 1.0f;
            a->o[row * a->width + i] = fmaf(gate, a->shared[row * a->width + i], sum);
        }
    }
    return VV_OK;
}

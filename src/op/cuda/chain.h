/*
 * Short steps of windows of few rows, launched as chains (registry/operation.h): a block of threads
 * does all steps of a chain for one part, which is a row or one of its heads, and what one step
 * leaves the next one finds in the processor's first cache. Chains run side by side. What a step
 * does is in its folder's cuda_part.cuh.
 */
#pragma once
#include "op/cuda/kernel.cuh"

enum vv_chain_kind {
    VV_CHAIN_NORM,     /* rms_norm */
    VV_CHAIN_ROPE,     /* rope_pairs */
    VV_CHAIN_FP8,      /* round_fp8 */
    VV_CHAIN_FP4,      /* round_fp4 */
    VV_CHAIN_HALF,     /* round_half */
    VV_CHAIN_PLANES,   /* quantize_rows */
    VV_CHAIN_COMPRESS, /* compress */
    VV_CHAIN_STORE,    /* cache_write */
    VV_CHAIN_SINKHORN, /* sinkhorn */
    VV_CHAIN_READ,     /* stream_read */
    VV_CHAIN_WRITE,    /* stream_write */
    VV_CHAIN_ROUTE,    /* hash_route */
    VV_CHAIN_GROUP,    /* route_group, of one row */
    VV_CHAIN_SWIGLU,   /* swiglu */
    VV_CHAIN_SUM,      /* expert_sum */
    VV_CHAIN_ATTEND,   /* attend_window: the merge of its chunks, which another kernel makes */
    VV_CHAIN_KINDS
};

/* What variants of these operations have as `chaining`. */
extern const vv_chaining vv_cuda_chaining[VV_CHAIN_KINDS];

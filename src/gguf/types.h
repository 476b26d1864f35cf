/*
 * Storage types of tensors: id in the file, name, values and bytes a block. How a block's bytes
 * become values is src/quant's affair.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, id, values a block, bytes a block). Ids are those of GGUF files, with one exception:
 * Q2_0_128 never stands in a file. A fork writes its blocks of 128 values under the id of Q2_0
 * (64 values), and the reader tells them apart by the room that the tensors take. */
#define VV_TYPES(X)                                                                                \
    X(F32, 0, 1, 4)                                                                                \
    X(F16, 1, 1, 2)                                                                                \
    X(Q4_0, 2, 32, 18)                                                                             \
    X(Q4_1, 3, 32, 20)                                                                             \
    X(Q5_0, 6, 32, 22)                                                                             \
    X(Q5_1, 7, 32, 24)                                                                             \
    X(Q8_0, 8, 32, 34)                                                                             \
    X(Q8_1, 9, 32, 36)                                                                             \
    X(Q2_K, 10, 256, 84)                                                                           \
    X(Q3_K, 11, 256, 110)                                                                          \
    X(Q4_K, 12, 256, 144)                                                                          \
    X(Q5_K, 13, 256, 176)                                                                          \
    X(Q6_K, 14, 256, 210)                                                                          \
    X(Q8_K, 15, 256, 292)                                                                          \
    X(IQ2_XXS, 16, 256, 66)                                                                        \
    X(IQ2_XS, 17, 256, 74)                                                                         \
    X(IQ3_XXS, 18, 256, 98)                                                                        \
    X(IQ1_S, 19, 256, 50)                                                                          \
    X(IQ4_NL, 20, 32, 18)                                                                          \
    X(IQ3_S, 21, 256, 110)                                                                         \
    X(IQ2_S, 22, 256, 82)                                                                          \
    X(IQ4_XS, 23, 256, 136)                                                                        \
    X(I8, 24, 1, 1)                                                                                \
    X(I16, 25, 1, 2)                                                                               \
    X(I32, 26, 1, 4)                                                                               \
    X(I64, 27, 1, 8)                                                                               \
    X(F64, 28, 1, 8)                                                                               \
    X(IQ1_M, 29, 256, 56)                                                                          \
    X(BF16, 30, 1, 2)                                                                              \
    X(TQ1_0, 34, 256, 54)                                                                          \
    X(TQ2_0, 35, 256, 66)                                                                          \
    X(MXFP4, 39, 32, 17)                                                                           \
    X(NVFP4, 40, 64, 36)                                                                           \
    X(Q1_0, 41, 128, 18)                                                                           \
    X(Q2_0, 42, 64, 18)                                                                            \
    X(Q2_0_128, 1042, 128, 34)

enum vv_type {
#define VV_TYPE_ID(name, id, values, bytes) VV_TYPE_##name = id,
    VV_TYPES(VV_TYPE_ID)
#undef VV_TYPE_ID
};

struct vv_type_info {
    int type; /* enum vv_type */
    const char *name;
    uint32_t block_values; /* values a block */
    uint32_t block_bytes;  /* bytes a block */
};

/* What is known of a type; NULL if nothing is. */
const struct vv_type_info *vv_type_info(int type);

/* The type's name for messages: "Q4_K", or "unknown". Never NULL. */
const char *vv_type_name(int type);

/* The type of that name, in upper or lower case, or -1. */
int vv_type_by_name(const char *name);

/* All types in the order of their ids: index 0, 1, … until NULL. */
const struct vv_type_info *vv_type_at(size_t index);

/* Bytes of `values` consecutive values: false if the type is unknown, the values are not whole
 * blocks, or the product does not fit. */
bool vv_type_bytes(int type, uint64_t values, uint64_t *bytes);

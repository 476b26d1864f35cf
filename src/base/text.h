/* A stretch of bytes that someone else owns; it may hold zeros and is not terminated. */
#pragma once
#include <stddef.h>

struct vv_text {
    const char *at;
    size_t length;
};

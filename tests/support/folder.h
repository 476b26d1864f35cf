/* A folder that all tests of a program share, for cmocka's group set-up and tear-down. */
#pragma once
#include "support/temporary.h"

static struct temporary folder;

static inline int make_folder(void **state) {
    (void)state;
    folder = temporary_make();
    return 0;
}

static inline int remove_folder(void **state) {
    (void)state;
    temporary_remove(&folder);
    return 0;
}

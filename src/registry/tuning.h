/*
 * A tuning: which variant runs an operation on a shape, for each class of rows, as a measurement on
 * this machine found it. It changes speed alone, since all variants it may name are exact; and of
 * those only the ones that read weights in the order that they lie in anyway.
 */
#pragma once
#include "registry/operation.h"

/* Windows of 1, 2, up to 4, up to 8, up to 32, and more rows. */
enum { VV_ROW_CLASSES = 6, VV_SHAPE_TEXT = 120 };
size_t vv_row_class(size_t rows);
/* The number of rows that stands for a class: 1, 2, 4, 8, 32, 256. */
uint32_t vv_row_class_rows(size_t row_class);

/* What tells the shapes of an operation apart: types and sizes of its weights ("Q8_0 2560x10240"),
 * joined by " + "; nothing for an operation without weights. */
void vv_shape_text(const struct vv_operation *operation, const void *args, char out[VV_SHAPE_TEXT]);

struct vv_tuning_choice {
    const char *operation, *shape, *variant;
    uint32_t rows; /* one that stands for its class */
};
struct vv_tuning {
    const struct vv_tuning_choice *choices;
    size_t count;
};

/* Whether `variant` could stand in for `rule`, which was chosen for these args. */
bool vv_interchangeable(const struct vv_variant *variant, const struct vv_variant *rule,
                        const void *args, uint32_t features);

/* The tuned variant for a class of rows, or `rule` where the tuning (or NULL) names none that could
 * stand in for it. */
const struct vv_variant *vv_tuned_variant(const struct vv_tuning *tuning,
                                          const struct vv_operation *operation, const void *args,
                                          const struct vv_variant *rule, uint32_t features,
                                          size_t row_class);

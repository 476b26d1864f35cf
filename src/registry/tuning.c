#include "registry/tuning.h"
#include "gguf/types.h"

#include <stdio.h>
#include <string.h>

static const uint32_t class_most[VV_ROW_CLASSES] = {1, 2, 4, 8, 32, UINT32_MAX};
static const uint32_t class_rows[VV_ROW_CLASSES] = {1, 2, 4, 8, 32, 256};

size_t vv_row_class(size_t rows) {
    size_t i = 0;
    while (rows > class_most[i]) {
        i++;
    }
    return i;
}

uint32_t vv_row_class_rows(size_t row_class) {
    return class_rows[row_class];
}

void vv_shape_text(const struct vv_operation *operation, const void *args,
                   char out[VV_SHAPE_TEXT]) {
    struct vv_weight *weights[VV_WEIGHTS_MAX];
    size_t n = operation->weights ? operation->weights(args, weights) : 0, used = 0;
    out[0] = 0;
    for (size_t i = 0; i < n && used < VV_SHAPE_TEXT; i++) {
        const struct vv_weight *w = weights[i];
        int more = snprintf(out + used, VV_SHAPE_TEXT - used, "%s%s %zux%zu", i ? " + " : "",
                            vv_type_info(w->type)->name, w->width, w->rows);
        if (w->slices > 1 && more > 0 && used + (size_t)more < VV_SHAPE_TEXT) {
            used += (size_t)more;
            more = snprintf(out + used, VV_SHAPE_TEXT - used, "x%zu", w->slices);
        }
        used += more > 0 ? (size_t)more : 0;
    }
}

bool vv_interchangeable(const struct vv_variant *variant, const struct vv_variant *rule,
                        const void *args, uint32_t features) {
    return variant->exact && variant->layout == rule->layout &&
           vv_variant_runs(variant, features) && (!variant->fits || variant->fits(args));
}

static const struct vv_variant *find(const struct vv_operation *operation, const char *name) {
    const struct vv_variant *v;
    for (size_t i = 0; (v = vv_variant_at(operation, i)) != NULL; i++) {
        if (strcmp(v->name, name) == 0) {
            return v;
        }
    }
    return NULL;
}

const struct vv_variant *vv_tuned_variant(const struct vv_tuning *tuning,
                                          const struct vv_operation *operation, const void *args,
                                          const struct vv_variant *rule, uint32_t features,
                                          size_t row_class) {
    char shape[VV_SHAPE_TEXT];
    vv_shape_text(operation, args, shape);
    for (size_t i = 0; tuning && i < tuning->count; i++) {
        const struct vv_tuning_choice *c = &tuning->choices[i];
        if (strcmp(c->operation, operation->name) == 0 && strcmp(c->shape, shape) == 0 &&
            vv_row_class(c->rows) == row_class) {
            const struct vv_variant *v = find(operation, c->variant);
            return v && vv_interchangeable(v, rule, args, features) ? v : rule;
        }
    }
    return rule;
}

#include "model/model.h"

#include <stdio.h>
#include <string.h>

extern const struct vv_family vv_family_qwen4exp, vv_family_deepseek4;

static const struct vv_family *const families[] = {&vv_family_qwen4exp, &vv_family_deepseek4};

enum { FAMILIES = sizeof families / sizeof *families };

const struct vv_family *vv_family_of(const struct vv_gguf *file, struct vv_error *error) {
    struct vv_string name;
    if (vv_gguf_get_string(file, "general.architecture", &name, error) != VV_OK) {
        return NULL;
    }
    char known[200] = "";
    for (size_t i = 0; i < FAMILIES; i++) {
        const char *a = families[i]->architecture;
        if (strlen(a) == name.length && memcmp(a, name.at, name.length) == 0) {
            return families[i];
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", a);
    }
    vv_fail(error, VV_ERROR_UNSUPPORTED,
            "%s: its architecture \"%.*s\" is not one that varve can run (%s)",
            vv_gguf_path(file, 0), (int)(name.length < 80 ? name.length : 80), name.at, known);
    return NULL;
}

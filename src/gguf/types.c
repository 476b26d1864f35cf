#include "gguf/types.h"

#include <strings.h>

static const struct vv_type_info types[] = {
#define VV_TYPE_RECORD(name, id, values, bytes) {id, #name, values, bytes},
    VV_TYPES(VV_TYPE_RECORD)
#undef VV_TYPE_RECORD
};

enum { TYPES = sizeof types / sizeof *types };

const struct vv_type_info *vv_type_at(size_t index) {
    return index < TYPES ? &types[index] : NULL;
}

const struct vv_type_info *vv_type_info(int type) {
    for (size_t i = 0; i < TYPES; i++) {
        if (types[i].type == type) {
            return &types[i];
        }
    }
    return NULL;
}

const char *vv_type_name(int type) {
    const struct vv_type_info *info = vv_type_info(type);
    return info ? info->name : "unknown";
}

int vv_type_by_name(const char *name) {
    for (size_t i = 0; i < TYPES; i++) {
        if (strcasecmp(types[i].name, name) == 0) {
            return types[i].type;
        }
    }
    return -1;
}

bool vv_type_bytes(int type, uint64_t values, uint64_t *bytes) {
    const struct vv_type_info *info = vv_type_info(type);
    if (!info || values % info->block_values != 0) {
        return false;
    }
    uint64_t blocks = values / info->block_values;
    if (blocks > UINT64_MAX / info->block_bytes) {
        return false;
    }
    *bytes = blocks * info->block_bytes;
    return true;
}

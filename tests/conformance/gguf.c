/*
 * conformance_gguf FOLDER: opens every *.gguf below the folder, by mapping and by plain reads, and
 * compares the two on all data. Files that tell what a type is made of (keys varve.quant.*) are
 * compared with what we know of it.
 */
#include "gguf/gguf.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;
static struct vv_error error;

static bool same_data(const struct vv_gguf *mapped, const struct vv_gguf *read) {
    bool same = vv_gguf_tensor_count(mapped) == vv_gguf_tensor_count(read);
    for (size_t i = 0; i < vv_gguf_tensor_count(mapped) && same; i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(mapped, i);
        const struct vv_gguf_tensor *u = vv_gguf_find_tensor(read, t->name);
        void *data = malloc((size_t)t->bytes);
        same = data && u && u->bytes == t->bytes && u->type == t->type &&
               vv_gguf_read_tensor(read, u, 0, (size_t)u->bytes, data, &error) == VV_OK &&
               memcmp(data, vv_gguf_tensor_data(mapped, t), (size_t)t->bytes) == 0;
        free(data);
    }
    return same;
}

static bool strings_are_readable(const struct vv_gguf *g) {
    for (size_t i = 0; i < vv_gguf_entry_count(g); i++) {
        const struct vv_gguf_entry *e = vv_gguf_entry_at(g, i);
        for (uint64_t k = 0; e->element_type == VV_GGUF_STRING && k < e->count; k++) {
            struct vv_string s;
            if (vv_gguf_entry_string(g, e, k, &s, &error) != VV_OK) {
                return false;
            }
        }
    }
    return true;
}

static bool type_is_known(const struct vv_gguf *g) {
    struct vv_string name;
    uint32_t id, values, bytes;
    if (!vv_gguf_has(g, "varve.quant.type_id")) {
        return true;
    }
    if (vv_gguf_get_u32(g, "varve.quant.type_id", &id, &error) != VV_OK ||
        vv_gguf_get_u32(g, "varve.quant.block_values", &values, &error) != VV_OK ||
        vv_gguf_get_u32(g, "varve.quant.block_bytes", &bytes, &error) != VV_OK ||
        vv_gguf_get_string(g, "varve.quant.type", &name, &error) != VV_OK) {
        return false;
    }
    const struct vv_type_info *info = vv_type_info((int)id);
    snprintf(error.message, sizeof error.message, "type %u is not as the file says", id);
    return info && info->block_values == values && info->block_bytes == bytes &&
           strlen(info->name) == name.length && memcmp(info->name, name.at, name.length) == 0;
}

static bool check(const char *path) {
    const struct vv_gguf_options options = {.read = true};
    struct vv_gguf *mapped = NULL, *read = NULL;
    bool good = vv_gguf_open(path, NULL, &mapped, &error) == VV_OK &&
                vv_gguf_open(path, &options, &read, &error) == VV_OK && same_data(mapped, read) &&
                strings_are_readable(read) && type_is_known(read);
    vv_gguf_close(mapped);
    vv_gguf_close(read);
    return good;
}

static int visit(const char *path, const struct stat *s, int kind, struct FTW *at) {
    (void)s, (void)at;
    size_t length = strlen(path);
    if (kind == FTW_F && length > 5 && strcmp(path + length - 5, ".gguf") == 0) {
        snprintf(error.message, sizeof error.message, "mapped and read data differ");
        bool good = check(path);
        passed += good;
        failed += !good;
        if (!good) {
            printf("%s: %s\n", path, error.message);
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2 || nftw(argv[1], visit, 16, FTW_PHYS) != 0) {
        fprintf(stderr, "conformance_gguf FOLDER\n");
        return 2;
    }
    printf("gguf: %d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}

#include "gguf/internal.h"

#include <string.h>

/* What else lies under the name of a model, by its first bytes. */
static const struct {
    const char *bytes;
    size_t size;
    const char *what;
} others[] = {
    {"FUGG", 4, "a big-endian GGUF file: convert it to little-endian"},
    {"lmgg", 4, "a GGML file from before GGUF: convert the original weights again"},
    {"fmgg", 4, "a GGML file from before GGUF: convert the original weights again"},
    {"tjgg", 4, "a GGML file from before GGUF: convert the original weights again"},
    {"algg", 4, "a GGML file from before GGUF: convert the original weights again"},
    {"nsgg", 4, "a GGML session file, not a model"},
    {"PK\003\004", 4, "a zip archive (PyTorch weights?): convert it to GGUF first"},
    {"\x28\xb5\x2f\xfd", 4, "compressed with zstd: decompress it first"},
    {"\x1f\x8b", 2, "compressed with gzip: decompress it first"},
    {"version https://git-lfs", 23, "a Git LFS pointer: fetch the file that it stands for"},
    {"<!DOCTYPE", 9, "a web page: the download went wrong"},
    {"<html", 5, "a web page: the download went wrong"},
};

static bool is_text(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        bool blank = bytes[i] == '\t' || bytes[i] == '\n' || bytes[i] == '\r';
        if (!blank && (bytes[i] < 0x20 || bytes[i] > 0x7e)) {
            return false;
        }
    }
    return true;
}

/* Says what a file without the magic bytes seems to be. */
static int refuse(const char *label, const unsigned char *bytes, size_t size,
                  struct vv_error *error) {
    const char *what = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others && !what; i++) {
        if (size >= others[i].size && memcmp(bytes, others[i].bytes, others[i].size) == 0) {
            what = others[i].what;
        }
    }
    if (!what && size > 8 && bytes[8] == '{' && bytes[7] == 0) {
        what = "a safetensors file: convert it to GGUF first";
    }
    if (!what && is_text(bytes, size)) {
        what = "a text file: a GGUF model is wanted";
    }
    if (what) {
        return vv_fail(error, VV_ERROR_INVALID, "%s is %s", label, what);
    }
    return vv_fail(error, VV_ERROR_INVALID,
                   "%s is no GGUF file: it begins with the bytes %02x %02x %02x %02x", label,
                   bytes[0], bytes[1], bytes[2], bytes[3]);
}

int vv_gguf_check_magic(const char *label, const unsigned char *bytes, size_t size,
                        struct vv_error *error) {
    if (size == 0) {
        return vv_fail(error, VV_ERROR_INVALID, "%s is empty: download or convert it again", label);
    }
    if (size < 8) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "%s has only %zu bytes: download or convert it again", label, size);
    }
    if (memcmp(bytes, "GGUF", 4) != 0) {
        return refuse(label, bytes, size < 64 ? size : 64, error);
    }
    uint32_t version;
    memcpy(&version, bytes + 4, sizeof version);
    if (version == 2 || version == 3) {
        return VV_OK;
    }
    if (version == 1) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s has GGUF version 1; versions 2 and 3 are read: convert it again", label);
    }
    if ((version & 0xffff) == 0 && version != 0) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "%s is a big-endian GGUF file: convert it to little-endian", label);
    }
    return vv_fail(error, VV_ERROR_UNSUPPORTED,
                   "%s has GGUF version %u; versions 2 and 3 are read: get a newer varve, or "
                   "convert the file again",
                   label, version);
}

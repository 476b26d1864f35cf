#include "text/detokenize.h"

int vv_detokenize(struct vv_detokenizer *detokenizer, int32_t id, struct vv_bytes *out,
                  struct vv_error *error) {
    size_t count = vv_tokenizer_count(detokenizer->tokenizer);
    if (id < 0 || (size_t)id >= count) {
        return vv_fail(error, VV_ERROR_INVALID, "token id %d is outside the vocabulary of %zu",
                       (int)id, count);
    }
    if (detokenizer->drop_control &&
        vv_token_type(detokenizer->tokenizer, id) == VV_TOKEN_CONTROL) {
        return VV_OK;
    }
    struct vv_text bytes = vv_token_bytes(detokenizer->tokenizer, id);
    return vv_utf8_feed(&detokenizer->stream, bytes.at, bytes.length, out, error);
}

int vv_detokenize_end(struct vv_detokenizer *detokenizer, struct vv_bytes *out,
                      struct vv_error *error) {
    return vv_utf8_end(&detokenizer->stream, out, error);
}

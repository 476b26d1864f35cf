/* Tokens: text to ids, ids to text. */
#include "api/internal.h"
#include "text/detokenize.h"

#include <stdlib.h>

int varve_tokenizer_open(const struct varve_file *file, struct varve_tokenizer **tokenizer,
                         struct varve_error *error) {
    struct vv_tokenizer *made;
    int code = vv_tokenizer_open(file->gguf, &made, vv_internal(error));
    if (code == VARVE_OK) {
        *tokenizer = (struct varve_tokenizer *)made;
    }
    return code;
}

void varve_tokenizer_close(struct varve_tokenizer *tokenizer) {
    vv_tokenizer_free((struct vv_tokenizer *)tokenizer);
}

size_t varve_tokenizer_size(const struct varve_tokenizer *tokenizer) {
    return vv_tokenizer_count(vv_tokenizer_of(tokenizer));
}

/* ---- lists of ids ---- */

int varve_ids_append(struct varve_ids *ids, int32_t id, struct varve_error *error) {
    struct vv_ids list = vv_ids_of(ids);
    int code = vv_ids_append(&list, id, vv_internal(error));
    vv_ids_return(ids, &list);
    return code;
}

void varve_ids_free(struct varve_ids *ids) {
    struct vv_ids list = vv_ids_of(ids);
    vv_ids_free(&list);
    *ids = (struct varve_ids){0};
}

/* ---- text to ids ---- */

static enum vv_special special_of(enum varve_special special) {
    return special == VARVE_SPECIAL_ALL    ? VV_SPECIAL_ALL
           : special == VARVE_SPECIAL_USER ? VV_SPECIAL_USER
                                           : VV_SPECIAL_NONE;
}

int varve_tokenize(const struct varve_tokenizer *tokenizer, const struct varve_span *spans,
                   size_t span_count, struct varve_ids *ids, struct varve_error *error) {
    struct vv_span *parts = calloc(span_count + 1, sizeof *parts);
    if (!parts) {
        return vv_fail_memory(vv_internal(error), span_count * sizeof *parts, "spans of text");
    }
    for (size_t i = 0; i < span_count; i++) {
        parts[i] = (struct vv_span){{spans[i].text, spans[i].length}, special_of(spans[i].special)};
    }
    struct vv_ids list = vv_ids_of(ids);
    int code =
        vv_tokenize(vv_tokenizer_of(tokenizer), parts, span_count, &list, vv_internal(error));
    vv_ids_return(ids, &list);
    free(parts);
    return code;
}

/* ---- ids to text ---- */

struct varve_detokenizer {
    struct vv_detokenizer stream;
    struct vv_bytes out;
};

int varve_detokenizer_new(const struct varve_tokenizer *tokenizer, bool control_tokens,
                          struct varve_detokenizer **stream, struct varve_error *error) {
    struct varve_detokenizer *d = calloc(1, sizeof *d);
    if (!d) {
        return vv_fail_memory(vv_internal(error), sizeof *d, "a stream of text");
    }
    d->stream = (struct vv_detokenizer){.tokenizer = vv_tokenizer_of(tokenizer),
                                        .drop_control = !control_tokens};
    *stream = d;
    return VARVE_OK;
}

void varve_detokenizer_free(struct varve_detokenizer *stream) {
    if (stream) {
        vv_bytes_free(&stream->out);
        free(stream);
    }
}

int varve_detokenizer_push(struct varve_detokenizer *stream, int32_t id, const char **text,
                           size_t *length, struct varve_error *error) {
    stream->out.length = 0;
    int code = vv_detokenize(&stream->stream, id, &stream->out, vv_internal(error));
    if (code == VV_OK) {
        *text = stream->out.length ? stream->out.at : "";
        *length = stream->out.length;
    }
    return code;
}

int varve_detokenizer_end(struct varve_detokenizer *stream, const char **text, size_t *length,
                          struct varve_error *error) {
    stream->out.length = 0;
    int code = vv_detokenize_end(&stream->stream, &stream->out, vv_internal(error));
    if (code == VV_OK) {
        *text = stream->out.length ? stream->out.at : "";
        *length = stream->out.length;
    }
    return code;
}

#include "text/tokenizer_parts.h"

#include "text/unicode.h"
#include "text/utf8.h"

#include <string.h>

/* Memory of one call of vv_tokenize. */
struct work {
    struct vv_bytes text;   /* all spans so far, repaired */
    size_t begin;           /* of what is not yet encoded */
    struct vv_bytes normal; /* a stretch in normalisation form C */
    struct vv_bpe_work bpe;
};

/* Encodes a stretch of text between special tokens. */
static int encode(const struct vv_tokenizer *t, struct work *work, struct vv_text stretch,
                  struct vv_ids *out, struct vv_error *error) {
    int status = VV_OK;
    if (t->splitter->nfc) {
        work->normal.length = 0;
        status = vv_nfc(stretch.at, stretch.length, &work->normal, error);
        stretch = (struct vv_text){work->normal.at, work->normal.length};
    }
    struct vv_split split = {.text = stretch.at, .length = stretch.length};
    struct vv_text piece;
    while (status == VV_OK && t->splitter->next(&split, &piece)) {
        status = vv_bpe_encode(&t->bpe, &work->bpe, piece.at, piece.length, out, error);
    }
    return status;
}

/* Encodes what waits before `end`, and goes on at `next`. */
static int flush(const struct vv_tokenizer *t, struct work *work, size_t end, size_t next,
                 struct vv_ids *out, struct vv_error *error) {
    struct vv_text stretch = {work->text.at + work->begin, end - work->begin};
    work->begin = next;
    return stretch.length > 0 ? encode(t, work, stretch, out, error) : VV_OK;
}

/* Looks for special tokens from `at` to the end of the text. */
static int find_specials(const struct vv_tokenizer *t, const struct vv_special_set *set,
                         struct work *work, size_t at, struct vv_ids *out, struct vv_error *error) {
    int status = VV_OK;
    while (at < work->text.length && status == VV_OK) {
        const struct vv_special_token *token =
            vv_special_match(set, work->text.at + at, work->text.length - at);
        if (token) {
            status = flush(t, work, at, at + token->text.length, out, error);
            status = status == VV_OK ? vv_ids_append(out, token->id, error) : status;
        }
        at += token ? token->text.length : 1;
    }
    return status;
}

static int check_length(size_t length, struct vv_error *error) {
    return length <= VV_TOKENIZE_MAX
               ? VV_OK
               : vv_fail(error, VV_ERROR_INVALID,
                         "the text is longer than the %d bytes that can be tokenized at once: "
                         "shorten it",
                         (int)VV_TOKENIZE_MAX);
}

/* Appends the span's text, repaired. */
static int add_text(struct work *work, struct vv_text text, struct vv_error *error) {
    struct vv_utf8_stream stream = {0};
    int status = check_length(text.length, error);
    if (status == VV_OK) {
        status = vv_utf8_feed(&stream, text.at, text.length, &work->text, error);
    }
    if (status == VV_OK) {
        status = vv_utf8_end(&stream, &work->text, error);
    }
    return status == VV_OK ? check_length(work->text.length, error) : status;
}

static int add_span(const struct vv_tokenizer *t, struct work *work, const struct vv_span *span,
                    struct vv_ids *out, struct vv_error *error) {
    size_t begin = work->text.length;
    int status = add_text(work, span->text, error);
    if (status == VV_OK && span->special != VV_SPECIAL_NONE) {
        const struct vv_special_set *set = span->special == VV_SPECIAL_ALL ? &t->all : &t->user;
        status = find_specials(t, set, work, begin, out, error);
    }
    return status;
}

int vv_tokenize(const struct vv_tokenizer *tokenizer, const struct vv_span *spans, size_t count,
                struct vv_ids *out, struct vv_error *error) {
    struct work work = {0};
    size_t before = out->count;
    int status = VV_OK;
    for (size_t i = 0; i < count && status == VV_OK; i++) {
        status = add_span(tokenizer, &work, &spans[i], out, error);
    }
    if (status == VV_OK && work.text.length > 0) {
        status = flush(tokenizer, &work, work.text.length, work.text.length, out, error);
    }
    if (status != VV_OK) {
        out->count = before;
    }
    vv_bytes_free(&work.text);
    vv_bytes_free(&work.normal);
    vv_bpe_work_free(&work.bpe);
    return status;
}

size_t vv_tokenizer_count(const struct vv_tokenizer *tokenizer) {
    return tokenizer->count;
}

const struct vv_splitter *vv_tokenizer_splitter(const struct vv_tokenizer *tokenizer) {
    return tokenizer->splitter;
}

int32_t vv_tokenizer_bos(const struct vv_tokenizer *tokenizer) {
    return tokenizer->bos;
}

int32_t vv_tokenizer_eos(const struct vv_tokenizer *tokenizer) {
    return tokenizer->eos;
}

int32_t vv_tokenizer_special(const struct vv_tokenizer *tokenizer, const char *text) {
    size_t length = strlen(text);
    const struct vv_special_token *token = vv_special_match(&tokenizer->all, text, length);
    return token && token->text.length == length ? token->id : -1;
}

struct vv_text vv_token_bytes(const struct vv_tokenizer *tokenizer, int32_t id) {
    const size_t *starts = tokenizer->starts + id;
    return (struct vv_text){tokenizer->bytes + starts[0], starts[1] - starts[0]};
}

enum vv_token_type vv_token_type(const struct vv_tokenizer *tokenizer, int32_t id) {
    return (enum vv_token_type)tokenizer->types[id];
}

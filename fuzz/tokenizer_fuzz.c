/*
 * Any bytes as text. The first byte chooses the pre-tokenizer, the special tokens recognised and
 * whether the text comes as two spans; the rest is the text.
 */
#include "../tests/support/small_vocabulary.h"
#include "text/detokenize.h"
#include "text/unicode.h"

#include <stdlib.h>

static struct vv_error error;

static void must(bool holds) {
    if (!holds) {
        abort();
    }
}

static const struct vv_tokenizer *tokenizer_of(unsigned which) {
    static struct vv_tokenizer *tokenizers[2];
    if (!tokenizers[which]) {
        struct small_vocabulary *small = malloc(sizeof *small);
        must(small != NULL);
        small_vocabulary_make(small, vv_splitters[which].name);
        must(vv_tokenizer_new(&small->vocabulary, &tokenizers[which], &error) == VV_OK);
        free(small);
    }
    return tokenizers[which];
}

static bool same(struct vv_bytes a, struct vv_bytes b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

static void repair(struct vv_text text, struct vv_bytes *out) {
    struct vv_utf8_stream stream = {0};
    must(vv_utf8_feed(&stream, text.at, text.length, out, &error) == VV_OK);
    must(vv_utf8_end(&stream, out, &error) == VV_OK);
    for (size_t at = 0, n; at < out->length; at += n) {
        n = vv_utf8_length(out->at + at, out->length - at);
        must(n > 0);
    }
}

/* Replaces the text by its normal form, of which the normal form is itself. */
static void normalise(struct vv_bytes *text) {
    struct vv_bytes once = {0}, twice = {0};
    must(vv_nfc(text->at, text->length, &once, &error) == VV_OK);
    must(vv_nfc(once.at, once.length, &twice, &error) == VV_OK);
    must(same(once, twice));
    vv_bytes_free(&twice);
    vv_bytes_free(text);
    *text = once;
}

/* Pieces follow one another without a gap and cover the text. */
static void check_pieces(const struct vv_splitter *splitter, struct vv_bytes text) {
    struct vv_split split = {.text = text.at, .length = text.length};
    struct vv_text piece;
    const char *at = text.at;
    while (splitter->next(&split, &piece)) {
        must(piece.at == at && piece.length > 0);
        at += piece.length;
    }
    must(text.length == 0 || at == text.at + text.length);
}

/* The ids stand for the text again, joined or as a stream of whole characters. */
static void check_ids(const struct vv_tokenizer *tokenizer, const struct vv_ids *ids,
                      bool none_special, struct vv_bytes expected) {
    struct vv_detokenizer detokenizer = {.tokenizer = tokenizer};
    struct vv_bytes text = {0};
    for (size_t i = 0; i < ids->count; i++) {
        must(ids->at[i] >= 0 && (size_t)ids->at[i] < vv_tokenizer_count(tokenizer));
        must(!none_special || vv_token_type(tokenizer, ids->at[i]) == VV_TOKEN_NORMAL);
        must(vv_detokenize(&detokenizer, ids->at[i], &text, &error) == VV_OK);
    }
    must(vv_detokenize_end(&detokenizer, &text, &error) == VV_OK);
    if (vv_tokenizer_splitter(tokenizer)->nfc) {
        normalise(&text); /* what special tokens part was normalised apart */
    }
    must(same(text, expected));
    vv_bytes_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    const struct vv_tokenizer *tokenizer = tokenizer_of(data[0] & 1);
    enum vv_special special = (enum vv_special)((data[0] >> 1) % 3);
    size_t length = size - 1, cut = data[0] & 0x40 ? length / 2 : length;
    const char *text = (const char *)data + 1;
    struct vv_span spans[2] = {{{text, cut}, special}, {{text + cut, length - cut}, special}};
    struct vv_bytes expected = {0};
    struct vv_ids ids = {0};

    repair(spans[0].text, &expected);
    repair(spans[1].text, &expected);
    must(vv_tokenize(tokenizer, spans, 2, &ids, &error) == VV_OK);
    if (vv_tokenizer_splitter(tokenizer)->nfc) {
        normalise(&expected);
    }
    check_pieces(vv_tokenizer_splitter(tokenizer), expected);
    check_ids(tokenizer, &ids, special == VV_SPECIAL_NONE, expected);
    vv_bytes_free(&expected);
    vv_ids_free(&ids);
    return 0;
}

/*
 * Text to token ids, and ids to bytes: byte-level BPE with the vocabulary, the merges and the
 * pre-tokenizer that the model file names. A tokenizer never changes, so threads may share it.
 */
#pragma once
#include "base/error.h"
#include "base/text.h"
#include "text/grow.h"
#include "text/split.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in tokenizer.ggml.token_type. */
enum vv_token_type {
    VV_TOKEN_NORMAL = 1, /* in the byte alphabet; the only ones that byte-pair encoding makes */
    VV_TOKEN_UNKNOWN = 2,
    VV_TOKEN_CONTROL = 3,
    VV_TOKEN_USER_DEFINED = 4,
    VV_TOKEN_UNUSED = 5, /* fills up the vocabulary; stands for no text */
    VV_TOKEN_BYTE = 6,
};

/* What a tokenizer is made from. Nothing of it is needed any more once it is made. */
struct vv_vocabulary {
    const struct vv_text *tokens; /* [token_count], the plain ones in GPT-2's byte alphabet */
    const int32_t *types;         /* [token_count] enum vv_token_type; NULL: all are normal */
    size_t token_count;
    const struct vv_text *merges; /* [merge_count] "LEFT RIGHT", in order of rank */
    size_t merge_count;
    struct vv_text pre; /* name of the pre-tokenizer */
    int32_t bos, eos;   /* ids, or -1 */
    bool add_bos;
};

struct vv_tokenizer;
struct vv_gguf;

/*
 * Fails with VV_ERROR_INVALID if the vocabulary contradicts itself, and with VV_ERROR_UNSUPPORTED
 * if the pre-tokenizer is none of those known (they are listed, none is guessed). Of several tokens
 * with the same text the lowest id is used.
 */
int vv_tokenizer_new(const struct vv_vocabulary *vocabulary, struct vv_tokenizer **out,
                     struct vv_error *error);

/* The same from a model file's tokenizer.ggml.… keys. */
int vv_tokenizer_open(const struct vv_gguf *gguf, struct vv_tokenizer **out,
                      struct vv_error *error);

void vv_tokenizer_free(struct vv_tokenizer *tokenizer); /* NULL is let be */

/* Which special tokens are recognised in a text; they are so before anything else is done to it. */
enum vv_special {
    VV_SPECIAL_ALL,  /* control and user-defined ones: text that the engine wrote itself */
    VV_SPECIAL_USER, /* user-defined ones */
    VV_SPECIAL_NONE, /* none: a person's text, in which nothing may open or close a turn */
};

struct vv_span {
    struct vv_text text; /* any bytes */
    enum vv_special special;
};

enum { VV_TOKENIZE_MAX = 1 << 29 }; /* bytes of all spans together, after repair */

/*
 * Appends the ids of the spans, read as one text: only where a special token was found does the
 * text fall apart; the end of a span alone is no border for pieces and merges. Special tokens and
 * characters must lie within one span, and the longest token at a place is taken. Ill-formed UTF-8
 * is repaired as in utf8.h. No BOS is added. On failure `out` is as it was.
 */
int vv_tokenize(const struct vv_tokenizer *tokenizer, const struct vv_span *spans /* [count] */,
                size_t count, struct vv_ids *out, struct vv_error *error);

size_t vv_tokenizer_count(const struct vv_tokenizer *tokenizer); /* ids are below this */
const struct vv_splitter *vv_tokenizer_splitter(const struct vv_tokenizer *tokenizer);
int32_t vv_tokenizer_bos(const struct vv_tokenizer *tokenizer); /* to begin with, or -1: nothing */
int32_t vv_tokenizer_eos(const struct vv_tokenizer *tokenizer); /* or -1 */

/* The id of the control or user-defined token of that text, or -1. */
int32_t vv_tokenizer_special(const struct vv_tokenizer *tokenizer, const char *text);

/* Of an id, which must be below vv_tokenizer_count: what it stands for, perhaps a part of a
 * character, and its type. */
struct vv_text vv_token_bytes(const struct vv_tokenizer *tokenizer, int32_t id);
enum vv_token_type vv_token_type(const struct vv_tokenizer *tokenizer, int32_t id);

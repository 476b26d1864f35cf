/* Inside of a tokenizer: for vocabulary.c, which makes it, and tokenizer.c, which uses it. */
#pragma once
#include "text/bpe.h"
#include "text/special.h"
#include "text/tokenizer.h"

struct vv_tokenizer {
    const struct vv_splitter *splitter;
    size_t count;
    char *bytes;       /* what the tokens stand for, one after another */
    size_t *starts;    /* [count + 1]: token i is bytes starts[i] .. starts[i + 1] */
    uint8_t *types;    /* [count] enum vv_token_type */
    int32_t bos, eos;  /* -1: none */
    struct vv_bpe bpe; /* of normal tokens alone: no merge leads to a control token */
    struct vv_special_set all, user;
};

/* Making a tokenizer: the vocabulary is checked, decoded and indexed. */
#include "text/tokenizer_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of a token or merge a message shows. */
static int shown(struct vv_text text) {
    return text.length < 60 ? (int)text.length : 60;
}

/*
 * GPT-2's byte alphabet: a byte that prints in Latin-1 is written as itself, the other 68, in
 * ascending order, as U+0100, U+0101 and so on.
 */
enum { ALPHABET_END = 0x100 + 68 };

struct alphabet {
    uint16_t character[256];    /* that stands for a byte */
    int16_t byte[ALPHABET_END]; /* that a character stands for, or -1 */
};

static void make_alphabet(struct alphabet *a) {
    memset(a->byte, 0xff, sizeof a->byte);
    uint16_t next = 0x100;
    for (int b = 0; b < 256; b++) {
        bool prints = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        a->character[b] = prints ? (uint16_t)b : next++;
        a->byte[a->character[b]] = (int16_t)b;
    }
}

/* Decodes `token` to `to`, which has room for it; false if a character is not in the alphabet. */
static bool decode(const struct alphabet *a, struct vv_text token, char *to, size_t *length) {
    const unsigned char *s = (const unsigned char *)token.at;
    *length = 0;
    for (size_t i = 0; i < token.length; i++) {
        unsigned character = s[i];
        if (character >= 0x80) {
            if ((character & 0xfe) != 0xc4 && (character & 0xfe) != 0xc2) {
                return false; /* neither U+0080 … U+00FF nor U+0100 … U+017F */
            }
            if (++i == token.length || (s[i] & 0xc0) != 0x80) {
                return false;
            }
            character = (character & 0x1f) << 6 | (s[i] & 0x3f);
        }
        if (character >= ALPHABET_END || a->byte[character] < 0) {
            return false;
        }
        to[(*length)++] = (char)a->byte[character];
    }
    return true;
}

/* Normal tokens by their text as in the file: open addressing, at most half full. */
struct slot {
    uint32_t hash;
    int32_t id; /* -1: empty */
};

struct table {
    const struct vv_text *tokens;
    struct slot *slots; /* [mask + 1], a power of two */
    size_t mask;
};

/* FNV-1a, continued from `hash`. */
static uint64_t hash_on(uint64_t hash, struct vv_text text) {
    for (size_t i = 0; i < text.length; i++) {
        hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3u;
    }
    return hash;
}

static uint32_t hash_of(struct vv_text left, struct vv_text right) {
    uint64_t hash = hash_on(hash_on(0xcbf29ce484222325u, left), right);
    return (uint32_t)(hash >> 32) ^ (uint32_t)hash;
}

static bool is_joined(struct vv_text whole, struct vv_text left, struct vv_text right) {
    return whole.length == left.length + right.length &&
           memcmp(whole.at, left.at, left.length) == 0 &&
           memcmp(whole.at + left.length, right.at, right.length) == 0;
}

/* The slot of the token whose text is `left` and `right` joined, or the empty one for it. */
static struct slot *find(const struct table *table, uint32_t hash, struct vv_text left,
                         struct vv_text right) {
    for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
        struct slot *slot = &table->slots[i];
        if (slot->id < 0 ||
            (slot->hash == hash && is_joined(table->tokens[slot->id], left, right))) {
            return slot;
        }
    }
}

static int32_t find_id(const struct table *table, struct vv_text left, struct vv_text right) {
    return find(table, hash_of(left, right), left, right)->id;
}

static const struct vv_text nothing = {"", 0};

static bool is_plain(uint8_t type) {
    return type != VV_TOKEN_CONTROL && type != VV_TOKEN_USER_DEFINED && type != VV_TOKEN_UNUSED;
}

static int fill_table(struct table *table, const struct vv_vocabulary *v, const uint8_t *types,
                      struct vv_error *error) {
    size_t slots = 2;
    while (slots < 2 * v->token_count) {
        slots *= 2;
    }
    table->tokens = v->tokens;
    table->mask = slots - 1;
    table->slots = malloc(slots * sizeof *table->slots);
    if (!table->slots) {
        return vv_fail_memory(error, slots * sizeof *table->slots, "the vocabulary");
    }
    memset(table->slots, 0xff, slots * sizeof *table->slots);
    for (size_t id = 0; id < v->token_count; id++) {
        if (is_plain(types[id]) && v->tokens[id].length > 0) {
            uint32_t hash = hash_of(v->tokens[id], nothing);
            struct slot *slot = find(table, hash, v->tokens[id], nothing);
            if (slot->id < 0) { /* else a lower id has this text */
                *slot = (struct slot){hash, (int32_t)id};
            }
        }
    }
    return VV_OK;
}

/* Every byte must have a token, so that every text has ids. */
static int find_bytes(struct vv_bpe *bpe, const struct table *table, const struct alphabet *a,
                      struct vv_error *error) {
    for (int b = 0; b < 256; b++) {
        unsigned c = a->character[b];
        char text[2] = {(char)(c < 0x80 ? c : 0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};
        bpe->bytes[b] = find_id(table, (struct vv_text){text, c < 0x80 ? 1 : 2}, nothing);
        if (bpe->bytes[b] < 0) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "tokenizer.ggml.tokens has no token for the byte 0x%02x: this is no "
                           "complete byte-level vocabulary",
                           (unsigned)b);
        }
    }
    return VV_OK;
}

static int fail_merge(size_t rank, struct vv_text merge, const char *trouble,
                      struct vv_error *error) {
    return vv_fail(error, VV_ERROR_INVALID, "tokenizer.ggml.merges: merge %zu (\"%.*s\") %s", rank,
                   shown(merge), merge.at, trouble);
}

static int find_merge(const struct table *table, size_t rank, struct vv_text merge,
                      struct vv_bpe_merge *out, struct vv_error *error) {
    const char *space = merge.length ? memchr(merge.at, ' ', merge.length) : NULL;
    if (!space) {
        return fail_merge(rank, merge, "is not two tokens with a space between", error);
    }
    struct vv_text left = {merge.at, (size_t)(space - merge.at)};
    struct vv_text right = {space + 1, merge.length - left.length - 1};
    out->left = find_id(table, left, nothing);
    out->right = find_id(table, right, nothing);
    out->whole = find_id(table, left, right);
    if (out->left < 0 || out->right < 0) {
        return fail_merge(rank, merge, "joins what is no normal token", error);
    }
    return out->whole < 0 ? fail_merge(rank, merge, "makes what is no normal token", error) : VV_OK;
}

static int add_merges(struct vv_bpe *bpe, const struct vv_vocabulary *v, const struct table *table,
                      struct vv_error *error) {
    bpe->merges = malloc(v->merge_count * sizeof *bpe->merges + 1);
    if (!bpe->merges) {
        return vv_fail_memory(error, v->merge_count * sizeof *bpe->merges, "the merges");
    }
    bpe->merge_count = v->merge_count;
    for (size_t rank = 0; rank < v->merge_count; rank++) {
        int status = find_merge(table, rank, v->merges[rank], &bpe->merges[rank], error);
        if (status != VV_OK) {
            return status;
        }
    }
    return vv_bpe_index(bpe, error);
}

static int add_types(struct vv_tokenizer *t, const struct vv_vocabulary *v,
                     struct vv_error *error) {
    for (size_t id = 0; id < v->token_count; id++) {
        int32_t type = v->types ? v->types[id] : VV_TOKEN_NORMAL;
        if (type < VV_TOKEN_NORMAL || type > VV_TOKEN_BYTE) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "tokenizer.ggml.token_type: token %zu has type %d, known are 1 to 6", id,
                           (int)type);
        }
        t->types[id] = (uint8_t)type;
    }
    return VV_OK;
}

/* What each token stands for, and the sets of special ones. */
static int add_tokens(struct vv_tokenizer *t, const struct vv_vocabulary *v,
                      const struct alphabet *a, struct vv_error *error) {
    char *to = t->bytes;
    int status = VV_OK;
    for (size_t id = 0; id < v->token_count && status == VV_OK; id++) {
        struct vv_text token = v->tokens[id];
        size_t length = 0;
        if (t->types[id] != VV_TOKEN_UNUSED && token.length > 0 &&
            !(is_plain(t->types[id]) && decode(a, token, to, &length))) {
            memcpy(to, token.at, token.length); /* special, or not in the alphabet: as it is */
            length = token.length;
        }
        t->starts[id + 1] = t->starts[id] + length;
        struct vv_text stored = {to, length};
        to += length;
        if (t->types[id] == VV_TOKEN_CONTROL || t->types[id] == VV_TOKEN_USER_DEFINED) {
            status = vv_special_add(&t->all, stored, (int32_t)id, error);
        }
        if (t->types[id] == VV_TOKEN_USER_DEFINED && status == VV_OK) {
            status = vv_special_add(&t->user, stored, (int32_t)id, error);
        }
    }
    vv_special_sort(&t->all);
    vv_special_sort(&t->user);
    return status;
}

static int add_splitter(struct vv_tokenizer *t, struct vv_text pre, struct vv_error *error) {
    char known[200] = "";
    for (const struct vv_splitter *s = vv_splitters; s->name; s++) {
        if (strlen(s->name) == pre.length && memcmp(s->name, pre.at, pre.length) == 0) {
            t->splitter = s;
            return VV_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", s->name);
    }
    return vv_fail(error, VV_ERROR_UNSUPPORTED,
                   "tokenizer.ggml.pre is \"%.*s\", which is not known here; known are: %s",
                   shown(pre), pre.at, known);
}

static int check(const struct vv_vocabulary *v, struct vv_error *error) {
    if (v->token_count == 0 || v->token_count > INT32_MAX || v->merge_count >= INT32_MAX) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "the vocabulary has %zu tokens and %zu merges: 1 to 2147483647 tokens are "
                       "possible, and fewer merges than that",
                       v->token_count, v->merge_count);
    }
    const struct {
        const char *key;
        int32_t id;
    } ids[] = {{"bos", v->bos}, {"eos", v->eos}};
    for (size_t i = 0; i < 2; i++) {
        if (ids[i].id < -1 || (ids[i].id >= 0 && (size_t)ids[i].id >= v->token_count)) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "tokenizer.ggml.%s_token_id is %d, but there are only %zu tokens",
                           ids[i].key, (int)ids[i].id, v->token_count);
        }
    }
    return VV_OK;
}

static int allocate(struct vv_tokenizer *t, const struct vv_vocabulary *v, struct vv_error *error) {
    size_t bytes = 1;
    for (size_t id = 0; id < v->token_count; id++) {
        bytes += v->tokens[id].length; /* all of them lie in memory: no overflow */
    }
    t->count = v->token_count;
    t->bytes = malloc(bytes);
    t->starts = calloc(v->token_count + 1, sizeof *t->starts);
    t->types = malloc(v->token_count);
    return t->bytes && t->starts && t->types
               ? VV_OK
               : vv_fail_memory(error, bytes + v->token_count * (sizeof *t->starts + 1),
                                "the vocabulary");
}

static int build(struct vv_tokenizer *t, const struct vv_vocabulary *v, struct table *table,
                 struct vv_error *error) {
    struct alphabet a;
    make_alphabet(&a);
    int status = add_splitter(t, v->pre, error);
    status = status == VV_OK ? check(v, error) : status;
    status = status == VV_OK ? allocate(t, v, error) : status;
    status = status == VV_OK ? add_types(t, v, error) : status;
    status = status == VV_OK ? add_tokens(t, v, &a, error) : status;
    status = status == VV_OK ? fill_table(table, v, t->types, error) : status;
    status = status == VV_OK ? find_bytes(&t->bpe, table, &a, error) : status;
    status = status == VV_OK ? add_merges(&t->bpe, v, table, error) : status;
    t->bos = v->add_bos ? v->bos : -1;
    t->eos = v->eos;
    return status;
}

int vv_tokenizer_new(const struct vv_vocabulary *vocabulary, struct vv_tokenizer **out,
                     struct vv_error *error) {
    struct vv_tokenizer *t = calloc(1, sizeof *t);
    struct table table = {0};
    *out = NULL;
    if (!t) {
        return vv_fail_memory(error, sizeof *t, "a tokenizer");
    }
    int status = build(t, vocabulary, &table, error);
    free(table.slots);
    if (status != VV_OK) {
        vv_tokenizer_free(t);
        return status;
    }
    *out = t;
    return VV_OK;
}

void vv_tokenizer_free(struct vv_tokenizer *tokenizer) {
    if (tokenizer) {
        free(tokenizer->bytes);
        free(tokenizer->starts);
        free(tokenizer->types);
        vv_bpe_free(&tokenizer->bpe);
        vv_special_free(&tokenizer->all);
        vv_special_free(&tokenizer->user);
        free(tokenizer);
    }
}

#include "model/metadata.h"
#include "base/rotary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 96, WHY_BYTES = 120 };

static void full_key(const struct vv_metadata *m, const char *key, char to[KEY_BYTES]) {
    snprintf(to, KEY_BYTES, "%s.%s", m->architecture, key);
}

void vv_refuse_key(struct vv_metadata *m, const char *key, const char *why) {
    if (m->code == VV_OK) {
        m->code = vv_fail(m->error, VV_ERROR_INVALID, "%s: the metadata key \"%s.%s\" %s",
                          vv_gguf_path(m->file, 0), m->architecture, key, why);
    }
}

bool vv_has_key(const struct vv_metadata *m, const char *key) {
    char name[KEY_BYTES];
    full_key(m, key, name);
    return vv_gguf_has(m->file, name);
}

size_t vv_number(struct vv_metadata *m, const char *key, uint64_t least, uint64_t most) {
    char name[KEY_BYTES], why[WHY_BYTES];
    uint64_t value = least;
    full_key(m, key, name);
    if (m->code == VV_OK) {
        m->code = vv_gguf_get_u64(m->file, name, &value, m->error);
    }
    if (m->code == VV_OK && (value < least || value > most)) {
        snprintf(why, sizeof why, "is %llu, which is not between %llu and %llu",
                 (unsigned long long)value, (unsigned long long)least, (unsigned long long)most);
        vv_refuse_key(m, key, why);
    }
    return (size_t)(m->code == VV_OK ? value : least);
}

size_t vv_number_or(struct vv_metadata *m, const char *key, uint64_t least, uint64_t most,
                    size_t missing) {
    return vv_has_key(m, key) ? vv_number(m, key, least, most) : missing;
}

double vv_real(struct vv_metadata *m, const char *key) {
    char name[KEY_BYTES];
    float value = 1.0f;
    full_key(m, key, name);
    if (m->code == VV_OK) {
        m->code = vv_gguf_get_f32(m->file, name, &value, m->error);
    }
    if (m->code == VV_OK && !(value > 0)) {
        vv_refuse_key(m, key, "must be above 0");
    }
    return (double)value;
}

void vv_numbers(struct vv_metadata *m, const char *key, size_t count, uint64_t *to) {
    char name[KEY_BYTES], why[WHY_BYTES];
    const struct vv_gguf_entry *entry = NULL;
    full_key(m, key, name);
    if (m->code == VV_OK) {
        m->code = vv_gguf_get_array(m->file, name, &entry, m->error);
    }
    if (m->code == VV_OK && entry->count < count) {
        snprintf(why, sizeof why, "has %llu elements where %zu are needed",
                 (unsigned long long)entry->count, count);
        vv_refuse_key(m, key, why);
    }
    for (size_t i = 0; m->code == VV_OK && i < count; i++) {
        m->code = vv_gguf_entry_u64(m->file, entry, i, &to[i], m->error);
    }
}

size_t vv_read_vocabulary(struct vv_metadata *m) {
    const struct vv_gguf_tensor *t = vv_gguf_find_tensor(m->file, "token_embd.weight");
    const struct vv_gguf_entry *tokens = vv_gguf_find(m->file, "tokenizer.ggml.tokens");
    if (m->code == VV_OK && t && (t->ne[1] > INT32_MAX || (tokens && tokens->count != t->ne[1]))) {
        m->code =
            vv_fail(m->error, VV_ERROR_INVALID,
                    "%s: tokenizer.ggml.tokens has %llu tokens, the tensor \"%s\" %llu rows; "
                    "they must be equal",
                    vv_gguf_path(m->file, 0), (unsigned long long)(tokens ? tokens->count : 0),
                    t->name, (unsigned long long)t->ne[1]);
    }
    return t ? (size_t)t->ne[1] : 0;
}

static void add_stop(uint64_t id, size_t vocabulary, struct vv_stops *stops) {
    if (id >= vocabulary || stops->count == VV_STOPS_MAX) {
        return;
    }
    for (size_t i = 0; i < stops->count; i++) {
        if (stops->id[i] == (int32_t)id) {
            return;
        }
    }
    stops->id[stops->count++] = (int32_t)id;
}

void vv_read_stop(struct vv_metadata *m, const char *key, size_t vocabulary,
                  struct vv_stops *stops) {
    uint32_t id;
    struct vv_error ignored;
    if (vv_gguf_has(m->file, key) && vv_gguf_get_u32(m->file, key, &id, &ignored) == VV_OK) {
        add_stop(id, vocabulary, stops);
    }
}

void vv_read_stop_text(struct vv_metadata *m, const char *text, size_t vocabulary,
                       struct vv_stops *stops) {
    const struct vv_gguf_entry *tokens = NULL;
    struct vv_error ignored;
    uint64_t count = vv_gguf_get_array(m->file, "tokenizer.ggml.tokens", &tokens, &ignored) == VV_OK
                         ? tokens->count
                         : 0;
    for (uint64_t id = 0; id < count; id++) {
        struct vv_string token;
        if (vv_gguf_entry_string(m->file, tokens, id, &token, &ignored) == VV_OK &&
            token.length == strlen(text) && memcmp(token.at, text, token.length) == 0) {
            add_stop(id, vocabulary, stops);
            return;
        }
    }
}

uint64_t *vv_read_turns(struct vv_metadata *m, double base, size_t dims) {
    uint64_t *turn = m->code == VV_OK ? calloc(dims / 2, sizeof *turn) : NULL;
    if (m->code == VV_OK && !turn) {
        m->code = vv_fail_memory(m->error, dims * sizeof *turn, "rotary frequencies");
    }
    for (size_t i = 0; turn && i < dims / 2; i++) {
        turn[i] = vv_rotary_turn(base, (unsigned)i, (unsigned)dims);
    }
    return turn;
}

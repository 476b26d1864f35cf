/* What `varve inspect --json` gives to a program. */
#include "inspect.h"
#include "json.h"
#include "layers.h"
#include "metadata.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_MOST = 16 };

/* JSON's readers hold integers up to 2^63 - 1 at best: what is larger is given as its digits. */
static json_t *json_unsigned(uint64_t u) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)u);
    return u <= INT64_MAX ? json_integer((json_int_t)u) : json_string(digits);
}

static json_t *json_value(const struct varve_value *value) {
    switch (value->kind) {
    case VARVE_UNSIGNED:
        return json_unsigned(value->u);
    case VARVE_SIGNED:
        return json_integer(value->i);
    case VARVE_FLOAT:
        return isfinite(value->f) ? json_real(shortest(value->f)) : json_null();
    case VARVE_BOOL:
        return json_boolean(value->u != 0);
    case VARVE_STRING:
        return json_text(value->text, value->length);
    }
    return json_null();
}

static void add_key(const struct inspection *in, size_t index, json_t *metadata) {
    struct varve_key key;
    struct varve_value value;
    varve_file_key(in->file, index, &key);
    json_t *entry = json_pack("{s:s}", "type", key.type);
    if (key.array) {
        json_t *array = json_array();
        for (uint64_t i = 0; i < key.count && (in->full || i < ARRAY_MOST); i++) {
            varve_file_value(in->file, index, i, &value);
            json_array_append_new(array, json_value(&value));
        }
        json_object_set_new(entry, "count", json_integer((json_int_t)key.count));
        json_object_set_new(entry, "value", array);
    } else {
        varve_file_value(in->file, index, 0, &value);
        json_object_set_new(entry, "value", json_value(&value));
    }
    json_t *name = json_text(key.name, key.name_length);
    json_object_setn_new_nocheck(metadata, json_string_value(name), json_string_length(name),
                                 entry);
    json_decref(name);
}

static json_t *json_tensor(const struct inspection *in, size_t index) {
    struct varve_tensor t;
    varve_file_tensor(in->file, index, &t);
    json_t *shape = json_array();
    for (uint32_t d = 0; d < t.dimensions; d++) {
        json_array_append_new(shape, json_integer((json_int_t)t.ne[d]));
    }
    return json_pack("{s:o, s:s, s:o, s:I, s:I, s:I, s:b}", "name",
                     json_text(t.name, strlen(t.name)), "type", t.type, "ne", shape, "bytes",
                     (json_int_t)t.bytes, "offset", (json_int_t)t.offset, "file",
                     (json_int_t)t.shard, "used", (int)t.used);
}

static json_t *json_types(const struct inspection *in) {
    json_t *types = json_array();
    for (size_t i = 0; i < in->type_count; i++) {
        const struct type_total *t = &in->types[i];
        json_array_append_new(types,
                              json_pack("{s:s, s:I, s:I, s:I}", "type", t->type, "tensors",
                                        (json_int_t)t->tensors, "values", (json_int_t)t->elements,
                                        "bytes", (json_int_t)t->bytes));
    }
    return types;
}

static json_t *json_layer(const struct layer *layer, size_t number) {
    return json_pack("{s:I, s:s, s:b, s:b, s:I, s:[s, s, s], s:I}", "layer", (json_int_t)number,
                     "mixer", mixer_names[layer->mixer], "ngram", layer->ngram, "draft",
                     layer->draft, "experts", (json_int_t)layer->experts, "expert_types",
                     layer->formats[0], layer->formats[1], layer->formats[2], "bytes",
                     (json_int_t)layer->bytes);
}

static json_t *json_layers(const struct varve_file *file) {
    size_t count;
    struct layer *layers = layers_of(file, &count);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        if (layers[i].tensors) {
            json_array_append_new(list, json_layer(&layers[i], i));
        }
    }
    free(layers);
    return list;
}

/* The memory plan, or null. */
static json_t *json_plan(const struct inspection *in) {
    if (in->why_not[0]) {
        return json_null();
    }
    json_t *plan = json_array();
    for (size_t i = 0; i < in->plan_count; i++) {
        const struct varve_plan_line *line = &in->plan[i];
        json_array_append_new(plan, json_pack("{s:s, s:I, s:I}", "what", line->what, "bytes",
                                              (json_int_t)line->bytes, "bytes_per_token",
                                              (json_int_t)line->per_token));
    }
    return plan;
}

int inspect_as_json(const struct inspection *in) {
    json_t *metadata = json_object(), *tensors = json_array();
    for (size_t i = 0; i < in->info.keys; i++) {
        add_key(in, i, metadata);
    }
    for (size_t i = 0; i < in->info.tensors; i++) {
        json_array_append_new(tensors, json_tensor(in, i));
    }
    json_t *page =
        json_pack("{s:i, s:s, s:I, s:i, s:o, s:o, s:o, s:o, s:o}", "version", (int)in->info.version,
                  "architecture", in->info.architecture, "bytes", (json_int_t)in->info.bytes,
                  "files", (int)in->info.shards, "metadata", metadata, "tensors", tensors, "types",
                  json_types(in), "layers", json_layers(in->file), "memory", json_plan(in));
    if (in->why_not[0]) {
        json_object_set_new(page, "no_session", json_string(in->why_not));
    }
    return json_page(page);
}

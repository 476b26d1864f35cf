/* The map of layers of `varve inspect`: a model of 48 made here, and a real one against its own
 * metadata. */
#include "support/command.h"
#include "support/gguf_bytes.h"
#include "support/temporary.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ODD VARVE_SOURCE_DIR "/tests/data/qwen4exp/odd.f32.gguf"

enum { TRUNK = 48, TENSOR_BYTES = 32 };

/* ---- a file of 48 layers and a draft layer ---- */

struct records {
    struct gguf_bytes bytes;
    size_t count;
};

/* Each tensor is 32 bytes long: 8 values of float32 or 16 of float16, for 2 experts. */
static void put(struct records *r, size_t layer, const char *part, uint32_t type) {
    char name[60];
    uint64_t ne[3] = {type == VV_TYPE_F16 ? 4 : 2, 2, 2};
    snprintf(name, sizeof name, "blk.%zu.%s", layer, part);
    gguf_put_tensor(&r->bytes, name, 3, ne, type, TENSOR_BYTES * r->count++);
}

static void put_layer(struct records *r, size_t layer) {
    if (layer % 4 == 3 || layer == TRUNK) {
        put(r, layer, "indexer.k_proj.weight", VV_TYPE_F32);
        put(r, layer, "attn_q.weight", VV_TYPE_F32);
    } else {
        put(r, layer, "attn_qkv.weight", VV_TYPE_F32);
        put(r, layer, "ssm_a", VV_TYPE_F32);
    }
    if (layer == 1) {
        put(r, layer, "ple_key.weight", VV_TYPE_F32);
    }
    if (layer == TRUNK) {
        put(r, layer, "nextn.eh_proj.weight", VV_TYPE_F32);
    }
    put(r, layer, "ffn_gate_exps.weight", VV_TYPE_F32);
    put(r, layer, "ffn_up_exps.weight", VV_TYPE_F32);
    put(r, layer, "ffn_down_exps.weight", layer >= 40 ? VV_TYPE_F16 : VV_TYPE_F32);
}

static void write_model(const char *path) {
    struct records r = {0};
    struct gguf_bytes file = {0};
    for (size_t layer = 0; layer <= TRUNK; layer++) {
        put_layer(&r, layer);
    }
    gguf_put_tensor_1d(&r.bytes, "blk.x.weight", 8, VV_TYPE_F32, TENSOR_BYTES * r.count++);
    gguf_put_tensor_1d(&r.bytes, "blk.99999999999999999999.y", 8, VV_TYPE_F32,
                       TENSOR_BYTES * r.count++);
    gguf_put_header(&file, 3, r.count, 1);
    gguf_put_key_string(&file, "general.architecture", "test");
    gguf_put(&file, r.bytes.at, r.bytes.size);
    gguf_put_padding(&file, 32);
    gguf_put_data(&file, TENSOR_BYTES * r.count);
    gguf_save(&file, path);
    gguf_bytes_free(&r.bytes);
    gguf_bytes_free(&file);
}

static void equal_layers_share_a_line(void **state) {
    (void)state;
    struct temporary folder = temporary_make();
    const char *path = temporary_file(&folder, "layers.gguf");
    write_model(path);
    struct command_result r = varve("inspect", "-m", path);
    assert_int_equal(r.code, 0);
    char *map = strstr(r.out, "\nLayers: 49"), *end = map ? strstr(map, "\n\n") : NULL;
    assert_non_null(end);
    *end = 0;
    assert_string_equal(
        strchr(map + 1, '\n'),
        "\n"
        "       0  dDds ddds ddds ddds ddds ddds ddds ddds\n"
        "      32  ddds ddds ddds ddds m\n"
        "  d  gated delta net           2 experts F32                         160 bytes  "
        "0, 2, 4-6, 8-10, 12-14, 16-18, 20-22, 24-26, 28-30, 32-34, 36-38\n"
        "  D  gated delta net, n-gram   2 experts F32                         192 bytes  1\n"
        "  s  sparse attention          2 experts F32                         160 bytes  "
        "3, 7, 11, 15, 19, 23, 27, 31, 35, 39\n"
        "  d  gated delta net           2 experts F32/F32/F16                 160 bytes  "
        "40-42, 44-46\n"
        "  s  sparse attention          2 experts F32/F32/F16                 160 bytes  43, 47\n"
        "  m  sparse attention, draft   2 experts F32/F32/F16                 192 bytes  48");
    command_free(&r);
    temporary_remove(&folder);
}

/* ---- a real model ---- */

static json_t *value_of(json_t *page, const char *key) {
    return json_object_get(json_object_get(json_object_get(page, "metadata"), key), "value");
}

static json_int_t bytes_of_tensors(json_t *page, size_t layer) {
    char start[30];
    size_t i;
    json_t *tensor;
    json_int_t sum = 0;
    snprintf(start, sizeof start, "blk.%zu.", layer);
    json_array_foreach(json_object_get(page, "tensors"), i, tensor) {
        const char *name = json_string_value(json_object_get(tensor, "name"));
        if (strncmp(name, start, strlen(start)) == 0) {
            sum += json_integer_value(json_object_get(tensor, "bytes"));
        }
    }
    return sum;
}

/* The metadata says which layers are sparse, have n-grams, and how many are for drafts. */
static void layers_are_what_the_metadata_says(void **state) {
    (void)state;
    struct command_result r = varve("inspect", "-m", ODD, "--json");
    json_t *page = json_loads(r.out, 0, NULL), *layer;
    assert_non_null(page);
    command_free(&r);
    json_t *layers = json_object_get(page, "layers");
    json_t *ratios = value_of(page, "qwen4exp.attention.compress_ratios");
    json_int_t ngram = json_integer_value(json_array_get(value_of(page, "qwen4exp.ple.layers"), 0));
    json_int_t experts = json_integer_value(value_of(page, "qwen4exp.expert_count"));
    assert_int_equal(json_array_size(layers), 7);
    assert_int_equal(json_array_size(ratios), 7);
    size_t i;
    json_array_foreach(layers, i, layer) {
        assert_int_equal(json_integer_value(json_object_get(layer, "layer")), i);
        assert_string_equal(json_string_value(json_object_get(layer, "mixer")),
                            json_integer_value(json_array_get(ratios, i)) ? "sparse attention"
                                                                          : "gated delta net");
        assert_int_equal(json_is_true(json_object_get(layer, "ngram")), (json_int_t)i == ngram);
        assert_int_equal(json_is_true(json_object_get(layer, "draft")), i == 6);
        assert_int_equal(json_integer_value(json_object_get(layer, "experts")), experts);
        assert_int_equal(json_integer_value(json_object_get(layer, "bytes")),
                         bytes_of_tensors(page, i));
    }
    json_decref(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_layers_share_a_line),
        cmocka_unit_test(layers_are_what_the_metadata_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

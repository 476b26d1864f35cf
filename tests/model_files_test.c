/*
 * Forms that a model's file may take, and what is refused: cases C011 and C019 of docs/cases.md and
 * section 10 of the model's specification. Two files that say the same give the same bits.
 */
#include "support/edited.h"
#include "support/folder.h"
#include "support/opened.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MICRO "qwen4exp/micro.f32.gguf"
#define HQ "qwen4exp/hq.ud.gguf"

enum { TOKENS = 75, CONTEXT = 128 };

static const struct varve_session_options plain = {
    .context = CONTEXT, .window = CONTEXT, .logits = CONTEXT, .threads = 1};
static const struct varve_session_options floats = {.context = CONTEXT,
                                                    .window = CONTEXT,
                                                    .logits = CONTEXT,
                                                    .threads = 1,
                                                    .float_activations = true};

static const char *save(struct edited *e, const char *name) {
    const char *path = temporary_file(&folder, name);
    edited_write(e, path);
    return path;
}

/* Writes `e`, closes it. */
static const char *finish(struct edited *e, const char *name) {
    const char *path = save(e, name);
    edited_close(e);
    return path;
}

static float *run(const char *path, bool read, const struct varve_session_options *options) {
    struct opened o = open_path(path, read);
    int32_t tokens[TOKENS];
    random_tokens(&o, 6, tokens, TOKENS);
    float *logits = logits_of(&o, options, tokens, TOKENS);
    for (size_t i = 0; i < TOKENS * o.info.vocabulary; i++) {
        assert_true(isfinite(logits[i]));
    }
    close_model(&o);
    return logits;
}

static size_t values_of(const char *path) {
    struct opened o = open_path(path, false);
    size_t values = TOKENS * o.info.vocabulary;
    close_model(&o);
    return values;
}

/* Whether two files give the same logits, to the bit. */
static bool equal(const char *a, const char *b, const struct varve_session_options *options) {
    float *x = run(a, false, options), *y = run(b, false, options);
    bool same = memcmp(x, y, values_of(a) * sizeof *x) == 0;
    free(x);
    free(y);
    return same;
}

/* The root mean square of the differences of logits, as a share of that of the logits. */
static double distance(const char *a, const char *b, const struct varve_session_options *options) {
    float *x = run(a, false, options), *y = run(b, false, options);
    double far = 0, all = 0;
    for (size_t i = 0, n = values_of(a); i < n; i++) {
        double d = (double)x[i] - (double)y[i];
        far += d * d;
        all += (double)x[i] * (double)x[i];
    }
    free(x);
    free(y);
    return sqrt(far / all);
}

/* ---- C011: nothing in a file goes unused ---- */

static void c011_unknown_tensors_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"blk.1.attn_gate_gain.weight", "output_norm.weight",
                                        "blk.3.attn_q.bias",           "blk.0.attn_norm.weight",
                                        "blk.7.attn_q.weight",         "blk.1.ssm_a.weight.scale"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct edited *e = edited_open(MICRO);
        edited_add(e, names[i], VV_TYPE_F32, 1, &(uint64_t){64});
        const char *path = finish(e, "unknown.gguf");
        refuse_path(path, WORDS("unknown.gguf", names[i], "1 of its tensors"));
        /* `varve inspect` lists it as unused. */
        struct varve_file *file;
        struct varve_error error = {0};
        size_t index;
        struct varve_tensor t;
        assert_int_equal(varve_file_open(path, false, &file, &error), 0);
        assert_int_equal(varve_file_find(file, names[i], &index, &error), 0);
        varve_file_tensor(file, index, &t);
        assert_false(t.used);
        assert_int_equal(varve_file_find(file, "output.weight", &index, &error), 0);
        varve_file_tensor(file, index, &t);
        assert_true(t.used);
        varve_file_close(file);
    }
}

/* Random NVFP4 blocks in the place of a tensor's values, with scales of 2^-1 to 2^2 (so that half
 * of each is a scale too). */
static void make_nvfp4(struct edited *e, const char *name, uint32_t seed) {
    struct edited_tensor *t = edited_tensor(e, name);
    size_t blocks = edited_count(t) / 64;
    free(t->data);
    t->type = VV_TYPE_NVFP4;
    t->size = blocks * 36;
    t->data = malloc(t->size);
    for (size_t i = 0; i < t->size; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned char byte = (unsigned char)(seed >> 24);
        t->data[i] = i % 36 < 4 ? (unsigned char)(0x18 + byte % 16) : byte;
    }
}

/* Doubles the scales of slice s of a tensor `times[s]` times: 8 more is one more in the exponent.
 */
static void double_scales(struct edited *e, const char *name, const int *times) {
    struct edited_tensor *t = edited_tensor(e, name);
    size_t slice = t->size / t->ne[2];
    for (size_t i = 0; i < t->size; i++) {
        if (i % 36 < 4) {
            t->data[i] = (unsigned char)(t->data[i] + 8 * times[i / slice]);
        }
    }
}

static void add_scale(struct edited *e, const char *weight, const int *times) {
    struct edited_tensor *t = edited_tensor(e, weight);
    char name[96];
    uint64_t slices = t->ne[2];
    snprintf(name, sizeof name, "%.*s.scale", (int)(strlen(weight) - strlen(".weight")), weight);
    struct edited_tensor *scale = edited_add(e, name, VV_TYPE_F32, 1, &slices);
    for (size_t s = 0; s < slices; s++) {
        float value = ldexpf(1, times[s]);
        memcpy(scale->data + s * sizeof value, &value, sizeof value);
    }
}

/* Weights with a separate scale equal weights that have it in their blocks; without it results
 * differ. A plain matrix, each kind of experts, the router of the streams, the output. */
static void c011_separate_scales_are_applied(void **state) {
    (void)state;
    static const char *const names[] = {"blk.0.attn_qkv.weight",
                                        "blk.3.attn_q.weight",
                                        "blk.1.ffn_gate_exps.weight",
                                        "blk.1.ffn_up_exps.weight",
                                        "blk.2.ffn_gate_shexp.weight",
                                        "blk.2.hc_attn_down.weight",
                                        "blk.2.hc_ffn_inject.weight",
                                        "output.weight",
                                        "token_embd.weight"};
    static const int times[8] = {2, -1, 1, 3, -2, 1, -1, 2};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct edited *e = edited_open(MICRO);
        make_nvfp4(e, names[i], (uint32_t)i);
        char without[600], with[600], inside[600];
        snprintf(without, sizeof without, "%s", save(e, "without.gguf"));
        add_scale(e, names[i], times);
        snprintf(with, sizeof with, "%s", finish(e, "with.gguf"));
        e = edited_open(MICRO);
        make_nvfp4(e, names[i], (uint32_t)i);
        double_scales(e, names[i], times);
        snprintf(inside, sizeof inside, "%s", finish(e, "inside.gguf"));
        if (!equal(with, inside, &plain) || !equal(with, inside, &floats)) {
            fail_msg("the scale of %s is not what it should be", names[i]);
        }
        if (equal(with, without, &plain)) {
            fail_msg("the scale of %s is not seen", names[i]);
        }
    }
}

static void c011_a_scale_of_another_shape_is_refused(void **state) {
    (void)state;
    struct edited *e = edited_open(MICRO);
    edited_add(e, "blk.1.ffn_gate_exps.scale", VV_TYPE_F32, 1, &(uint64_t){7});
    refuse_path(finish(e, "scale.gguf"), WORDS("blk.1.ffn_gate_exps.scale", "7 x 1"));
}

/* ---- C019 ---- */

/* Three weights moved beyond 2 and 4 GiB in a sparse file. */
static void c019_weights_beyond_2_and_4_gib(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t offset;
    } moved[] = {{"blk.3.attn_k.weight", (UINT64_C(1) << 31) - 64},
                 {"blk.1.ffn_down_exps.weight", UINT64_C(1) << 32},
                 {"output.weight", (UINT64_C(5) << 32) + 96}};
    struct edited *e = edited_open(MICRO);
    struct vv_error error;
    struct vv_gguf *g;
    char path[600];
    snprintf(path, sizeof path, "%s", save(e, "sparse.gguf"));
    assert_int_equal(vv_gguf_open(path, NULL, &g, &error), VV_OK);
    uint64_t data = vv_gguf_tensor_at(g, 0)->offset; /* offsets in a record count from here */
    vv_gguf_close(g);
    unsigned char *header = malloc(data);
    int descriptor = open(path, O_RDWR);
    assert_int_equal(pread(descriptor, header, data, 0), data);
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        struct edited_tensor *t = edited_tensor(e, moved[i].name);
        unsigned char *record = edited_record(header, data, moved[i].name);
        memcpy(record + 4 + 8 * t->dimensions + 4, &moved[i].offset, sizeof moved[i].offset);
        assert_int_equal(pwrite(descriptor, t->data, t->size, (off_t)(data + moved[i].offset)),
                         t->size);
    }
    assert_int_equal(pwrite(descriptor, header, data, 0), data);
    close(descriptor);
    free(header);
    char whole[600];
    snprintf(whole, sizeof whole, "%s", finish(e, "whole.gguf"));
    assert_true(equal(whole, path, &plain));
    float *mapped = run(path, false, &plain), *read = run(path, true, &plain);
    assert_memory_equal(mapped, read, values_of(path) * sizeof *read);
    free(mapped);
    free(read);
    unlink(path);
}

/* ---- split models ---- */

static void a_split_model_is_the_whole_one(void **state) {
    (void)state;
    struct edited *e = edited_open(HQ);
    char first[600], whole[600];
    snprintf(first, sizeof first, "%s", edited_write_split(e, folder.path, 3));
    snprintf(whole, sizeof whole, "%s", finish(e, "whole.gguf"));
    size_t bytes = values_of(whole) * sizeof(float);
    float *want = run(whole, false, &plain);
    for (int i = 0; i < 4; i++) { /* by any of its files, read either way */
        char *number = strstr(first, "-of-00003") - 1;
        *number = (char)('1' + i % 3);
        float *got = run(first, i == 3, &plain);
        assert_memory_equal(want, got, bytes);
        free(got);
    }
    free(want);
}

/* ---- forms of the weights ---- */

static bool has_suffix(const char *name, const char *suffix) {
    return strlen(name) >= strlen(suffix) &&
           strcmp(name + strlen(name) - strlen(suffix), suffix) == 0;
}

/* Gate and up experts of every layer as one tensor, the gate's rows first. */
static void fuse_experts(struct edited *e) {
    for (size_t layer = 0; layer < 5; layer++) {
        char gate_name[64], up_name[64], name[64];
        snprintf(gate_name, sizeof gate_name, "blk.%zu.ffn_gate_exps.weight", layer);
        snprintf(up_name, sizeof up_name, "blk.%zu.ffn_up_exps.weight", layer);
        snprintf(name, sizeof name, "blk.%zu.ffn_gate_up_exps.weight", layer);
        struct edited_tensor *gate = edited_tensor(e, gate_name), *up = edited_tensor(e, up_name);
        const uint64_t ne[3] = {gate->ne[0], 2 * gate->ne[1], gate->ne[2]};
        struct edited_tensor *fused = edited_add(e, name, gate->type, 3, ne);
        size_t slice = gate->size / gate->ne[2];
        for (size_t x = 0; x < gate->ne[2]; x++) {
            memcpy(fused->data + 2 * x * slice, gate->data + x * slice, slice);
            memcpy(fused->data + (2 * x + 1) * slice, up->data + x * slice, slice);
        }
        edited_drop(e, gate_name);
        edited_drop(e, up_name);
    }
}

static void fused_experts_equal_split_ones(void **state) {
    (void)state;
    for (int quantised = 0; quantised < 2; quantised++) {
        struct edited *e = edited_open(MICRO);
        for (size_t i = 0; quantised && i < e->tensor_count; i++) {
            if (has_suffix(e->tensors[i]->name, "_exps.weight")) {
                edited_retype(e->tensors[i], VV_TYPE_Q8_0);
            }
        }
        char split[600];
        snprintf(split, sizeof split, "%s", save(e, "split.gguf"));
        fuse_experts(e);
        assert_true(equal(split, finish(e, "fused.gguf"), &plain));
    }
    struct edited *e = edited_open(MICRO); /* up first is another model */
    fuse_experts(e);
    struct edited_tensor *t = edited_tensor(e, "blk.1.ffn_gate_up_exps.weight");
    for (size_t x = 0, half = t->size / 16; x < 8; x++) {
        unsigned char *gate = t->data + 2 * x * half, *kept = malloc(half);
        memcpy(kept, gate, half);
        memcpy(gate, gate + half, half);
        memcpy(gate + half, kept, half);
        free(kept);
    }
    assert_false(equal(VARVE_SOURCE_DIR "/tests/data/" MICRO, finish(e, "swapped.gguf"), &plain));
}

/* Without an output matrix the embedding serves. */
static void a_tied_output_is_the_embedding(void **state) {
    (void)state;
    struct edited *e = edited_open(MICRO);
    struct edited_tensor *embedding = edited_tensor(e, "token_embd.weight");
    memcpy(edited_tensor(e, "output.weight")->data, embedding->data, embedding->size);
    char own[600];
    snprintf(own, sizeof own, "%s", save(e, "own.gguf"));
    edited_drop(e, "output.weight");
    const char *tied = finish(e, "tied.gguf");
    assert_true(equal(own, tied, &plain));
    assert_false(equal(VARVE_SOURCE_DIR "/tests/data/" MICRO, tied, &plain));
}

/* Which layers are recurrent may be listed; the interval then has no say. */
static void listed_recurrent_layers_count(void **state) {
    (void)state;
    static const bool layers[5] = {true, true, true, false, false};
    static const bool others[5] = {true, true, false, true, false};
    struct edited *e = edited_open(MICRO);
    edited_set_u32(e, "qwen4exp.full_attention_interval", 3);
    refuse_path(save(e, "interval.gguf"),
                WORDS("blk.2.attn_q.weight")); /* by the interval it would attend */
    edited_set_array(e, "qwen4exp.attention.recurrent_layers", VV_GGUF_BOOL, layers, 5, 1);
    assert_true(equal(VARVE_SOURCE_DIR "/tests/data/" MICRO, save(e, "listed.gguf"), &plain));
    edited_set_array(e, "qwen4exp.attention.recurrent_layers", VV_GGUF_BOOL, others, 5, 1);
    refuse_path(finish(e, "other.gguf"), WORDS("blk.2.attn_q.weight", "missing"));
}

/* The fork's blocks of 128 under the id of Q2_0 say the same as pairs of blocks of 64. */
static void q2_0_has_blocks_of_64_or_128(void **state) {
    (void)state;
    struct edited *e = edited_open(HQ);
    struct edited_tensor *t = edited_tensor(e, "blk.0.attn_qkv.weight");
    size_t pairs = edited_count(t) / 128;
    unsigned char *two = malloc(pairs * 36), *one = malloc(pairs * 34);
    uint32_t seed = 1;
    for (size_t b = 0; b < pairs; b++) {
        for (size_t i = 2; i < 34; i++) {
            seed = seed * 1664525u + 1013904223u;
            one[b * 34 + i] = (unsigned char)(seed >> 24);
        }
        const uint16_t scale = (uint16_t)(0x2800 + seed % 0x400); /* 2^-5 to 2^-4 */
        memcpy(one + b * 34, &scale, 2);
        memcpy(two + b * 36, one + b * 34, 18);
        memcpy(two + b * 36 + 18, &scale, 2);
        memcpy(two + b * 36 + 20, one + b * 34 + 18, 16);
    }
    free(t->data);
    t->type = VV_TYPE_Q2_0;
    t->size = pairs * 36;
    t->data = two;
    char short_blocks[600];
    snprintf(short_blocks, sizeof short_blocks, "%s", save(e, "q2_0_64.gguf"));
    free(t->data);
    t->type = VV_TYPE_Q2_0_128;
    t->size = pairs * 34;
    t->data = one;
    const char *long_blocks = finish(e, "q2_0_128.gguf");
    struct vv_gguf *g;
    struct vv_error error;
    assert_int_equal(vv_gguf_open(long_blocks, NULL, &g, &error), VV_OK);
    assert_int_equal(vv_gguf_find_tensor(g, "blk.0.attn_qkv.weight")->type, VV_TYPE_Q2_0_128);
    vv_gguf_close(g);
    assert_true(equal(short_blocks, long_blocks, &plain));
    assert_true(equal(short_blocks, long_blocks, &floats));
}

/* ---- small tensors of any type ---- */

/* What published files keep in F32 for the most part. */
static bool is_small(const char *name) {
    static const char *const suffixes[] = {"_norm.weight",
                                           "norm.weight",
                                           "conv1d.weight",
                                           "_inject.weight",
                                           "ssm_a",
                                           "ssm_dt.bias",
                                           "alpha.weight",
                                           "beta.weight",
                                           "gate_inp.weight",
                                           "_proj.weight",
                                           "norm_key.weight",
                                           "norm_query.weight",
                                           "norm_conv.weight",
                                           "gate_inp_shexp.weight",
                                           "per_layer_token_embd.weight"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (has_suffix(name, suffixes[i])) {
            return true;
        }
    }
    return false;
}

/* Small tensors in half precision give the bits of the same values in F32: with int8 activations
 * too, which only quantised weights meet. */
static void small_tensors_in_half_precision(void **state) {
    (void)state;
    static const int types[] = {VV_TYPE_F16, VV_TYPE_BF16};
    struct edited *e = edited_open(MICRO);
    size_t changed = 0;
    for (size_t i = 0; i < e->tensor_count; i++) {
        if (is_small(e->tensors[i]->name)) {
            edited_retype(e->tensors[i], types[changed++ % 2]);
        }
    }
    assert_true(changed > 60);
    char halves[600];
    snprintf(halves, sizeof halves, "%s", save(e, "halves.gguf"));
    for (size_t i = 0; i < e->tensor_count; i++) {
        edited_retype(e->tensors[i], VV_TYPE_F32);
    }
    assert_true(equal(halves, finish(e, "decoded.gguf"), &plain));
}

/* Q8_0 where rows are long enough: with float activations the decoded file's bits, with int8 ones
 * its results but for the rounding. */
static void small_tensors_in_q8_0(void **state) {
    (void)state;
    struct edited *e = edited_open(MICRO);
    size_t changed = 0;
    for (size_t i = 0; i < e->tensor_count; i++) {
        if (is_small(e->tensors[i]->name) && e->tensors[i]->ne[0] % 32 == 0) {
            edited_retype(e->tensors[i], VV_TYPE_Q8_0);
            changed++;
        }
    }
    assert_true(changed > 50);
    char quantised[600], decoded[600];
    snprintf(quantised, sizeof quantised, "%s", save(e, "q8_0.gguf"));
    for (size_t i = 0; i < e->tensor_count; i++) {
        edited_retype(e->tensors[i], VV_TYPE_F32);
    }
    snprintf(decoded, sizeof decoded, "%s", finish(e, "decoded.gguf"));
    assert_true(equal(quantised, decoded, &floats));
    double off = distance(quantised, decoded, &plain);
    assert_true(off > 0.001 && off < 0.5); /* of unrelated results: 1.4 */
}

/* ---- what is refused ---- */

/* Every tensor in turn with its first dimensions exchanged, or one element less. */
static void wrong_shapes_are_refused(void **state) {
    (void)state;
    struct edited *e = edited_open(MICRO);
    char path[600];
    snprintf(path, sizeof path, "%s", save(e, "shape.gguf"));
    enum { HEADER = 60000 };
    unsigned char *header = malloc(HEADER);
    int descriptor = open(path, O_RDWR);
    assert_int_equal(pread(descriptor, header, HEADER, 0), HEADER);
    for (size_t i = 0; i < e->tensor_count; i++) {
        const struct edited_tensor *t = e->tensors[i];
        unsigned char *record = edited_record(header, HEADER, t->name);
        uint64_t ne[2] = {t->ne[1], t->ne[0]};
        if (t->dimensions == 1 || ne[0] == ne[1]) {
            ne[0] = t->ne[0] - 1;
            ne[1] = t->ne[1];
        }
        off_t at = record + 4 - header;
        size_t size = t->dimensions == 1 ? 8 : 16;
        assert_int_equal(pwrite(descriptor, ne, size, at), size);
        char want[100];
        bool known = strcmp(t->name, "token_embd.weight") != 0; /* of it the vocabulary comes */
        snprintf(want, sizeof want, "%llu x %llu", (unsigned long long)ne[0],
                 (unsigned long long)ne[1]);
        refuse_path(path, known && strcmp(t->name, "per_layer_token_embd.weight") != 0
                              ? WORDS("shape.gguf", t->name, want, "metadata ask for")
                              : WORDS("shape.gguf", t->name));
        assert_int_equal(pwrite(descriptor, record + 4, size, at), size);
    }
    close(descriptor);
    free(header);
    assert_true(equal(path, finish(e, "whole.gguf"), &plain)); /* all is as it was */
}

/* Every tensor in turn left out. */
static void missing_tensors_are_named(void **state) {
    (void)state;
    struct edited *e = edited_open(MICRO);
    char path[600];
    enum { HEADER = 60000 };
    snprintf(path, sizeof path, "%s", save(e, "missing.gguf"));
    unsigned char *header = malloc(HEADER);
    int descriptor = open(path, O_RDWR);
    assert_int_equal(pread(descriptor, header, HEADER, 0), HEADER);
    for (size_t i = 0; i < e->tensor_count; i++) {
        const char *name = e->tensors[i]->name;
        if (strcmp(name, "output.weight") == 0) {
            continue; /* tied, then */
        }
        off_t at = edited_record(header, HEADER, name) - strlen(name) - header;
        assert_int_equal(pwrite(descriptor, "X", 1, at), 1);
        /* A family's own name for it, with or without ".weight". */
        char base[80];
        snprintf(base, sizeof base, "\"%s", name);
        base[strlen(base) - (has_suffix(name, ".weight") ? strlen(".weight") : 0)] = 0;
        refuse_path(path, WORDS("missing.gguf", base));
        assert_int_equal(pwrite(descriptor, name, 1, at), 1);
    }
    close(descriptor);
    free(header);
    edited_close(e);
}

static void types_that_are_no_weights_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"blk.0.attn_qkv.weight", "blk.1.hc_attn_norm.weight",
                                        "blk.3.ffn_down_exps.weight"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct edited *e = edited_open(MICRO);
        edited_tensor(e, names[i])->type = VV_TYPE_I32;
        refuse_path(finish(e, "integers.gguf"), WORDS("integers.gguf", names[i], "I32"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c011_unknown_tensors_are_refused),
        cmocka_unit_test(c011_separate_scales_are_applied),
        cmocka_unit_test(c011_a_scale_of_another_shape_is_refused),
        cmocka_unit_test(c019_weights_beyond_2_and_4_gib),
        cmocka_unit_test(a_split_model_is_the_whole_one),
        cmocka_unit_test(fused_experts_equal_split_ones),
        cmocka_unit_test(a_tied_output_is_the_embedding),
        cmocka_unit_test(listed_recurrent_layers_count),
        cmocka_unit_test(q2_0_has_blocks_of_64_or_128),
        cmocka_unit_test(small_tensors_in_half_precision),
        cmocka_unit_test(small_tensors_in_q8_0),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(missing_tensors_are_named),
        cmocka_unit_test(types_that_are_no_weights_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

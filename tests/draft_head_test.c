/* A draft block in a file of its own: with it a model is the one that has both, and a head that
 * doesn't belong to it is refused. */
#include "support/opened.h"

#include "support/edited.h"
#include "support/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6, BLOCK = 6, TEXT = 50, STEPS = 5 };
#define WHOLE "qwen4exp/odd.f32.gguf"
#define KEY "qwen4exp."

/* The model without its block: `ratios` lists its layers alone. */
static const char *write_trunk(void) {
    static const int32_t ratios[LAYERS] = {0, 0, 3, 0, 0, 3};
    struct edited *e = edited_open(WHOLE);
    const char *path = temporary_file(&folder, "trunk.gguf");
    for (size_t i = e->tensor_count; i-- > 0;) {
        if (strncmp(e->tensors[i]->name, "blk.6.", 6) == 0) {
            edited_drop(e, e->tensors[i]->name);
        }
    }
    edited_set_u32(e, KEY "block_count", LAYERS);
    edited_unset(e, KEY "nextn_predict_layers");
    edited_set_array(e, KEY "attention.compress_ratios", VV_GGUF_I32, ratios, LAYERS,
                     sizeof *ratios);
    edited_write(e, path);
    edited_close(e);
    return path;
}

/* The block alone, with the tables that such files repeat; what else is changed is the caller's. */
static struct edited *open_head(void) {
    struct edited *e = edited_open(WHOLE);
    for (size_t i = e->tensor_count; i-- > 0;) {
        const char *name = e->tensors[i]->name;
        if (strncmp(name, "blk.6.", 6) != 0 && strncmp(name, "token_embd", 10) != 0) {
            edited_drop(e, name);
        }
    }
    return e;
}

static const char *write_head(struct edited *e, const char *name) {
    const char *path = temporary_file(&folder, name);
    edited_write(e, path);
    edited_close(e);
    return path;
}

/* What a session of a model drafts after a text, and its state then. */
struct drafted {
    int32_t drafts[STEPS];
    float *logits;
    void *state;
    size_t bytes, logit_bytes;
};

static struct drafted draft_with(struct opened *o, const struct varve_session_options *how) {
    struct drafted d;
    struct varve_error error = {0};
    struct varve_session_options options = how ? *how : (struct varve_session_options){0};
    options.context = 80;
    options.threads = 1;
    options.mtp = true;
    struct varve_session *s = open_session(o, &options);
    int32_t tokens[TEXT];
    random_tokens(o, 11, tokens, TEXT);
    d.logit_bytes = STEPS * o->info.vocabulary * sizeof(float);
    d.logits = malloc(d.logit_bytes);
    advance(s, o, 0, tokens, TEXT, NULL);
    d.state = state_of(s, 0, &d.bytes);
    assert_int_equal(varve_session_draft(s, 0, 3, STEPS, d.drafts, d.logits, &error), 0);
    varve_session_close(s);
    return d;
}

static void free_drafted(struct drafted *d) {
    free(d->state);
    free(d->logits);
}

static void a_file_of_its_own_is_the_same_block(void **state) {
    (void)state;
    char *trunk = strdup(write_trunk()), *head = strdup(write_head(open_head(), "head.gguf"));
    for (int read = 0; read < 2; read++) {
        struct opened whole = open_model(WHOLE), both = {0};
        struct varve_error error = {0};
        assert_int_equal(varve_file_open(trunk, read, &both.file, &error), 0);
        if (varve_file_add_drafts(both.file, head, &error) != VARVE_OK ||
            varve_model_open(both.file, NULL, NULL, &both.model, &error) != VARVE_OK) {
            fail_msg("%s", error.message);
        }
        varve_model_info(both.model, &both.info);
        assert_int_equal(both.info.mtp_layers, 1);
        assert_int_equal(both.info.layers, whole.info.layers);
        assert_int_equal(both.info.parameters, whole.info.parameters);
        struct drafted a = draft_with(&whole, NULL), b = draft_with(&both, NULL);
        assert_int_equal(a.bytes, b.bytes);
        assert_memory_equal(a.state, b.state, a.bytes);
        assert_memory_equal(a.drafts, b.drafts, sizeof a.drafts);
        assert_memory_equal(a.logits, b.logits, a.logit_bytes);
        free_drafted(&a), free_drafted(&b);
        close_model(&whole);
        close_model(&both);
    }
    free(trunk);
    free(head);
}

/* Refused with these words, and the model runs without afterwards. */
static void refuses(const char *trunk, const char *head, const char *const *words) {
    struct opened o = {0};
    struct varve_error error = {0};
    assert_int_equal(varve_file_open(trunk, false, &o.file, &error), 0);
    assert_int_not_equal(varve_file_add_drafts(o.file, head, &error), VARVE_OK);
    message_has(&error, words);
    assert_int_equal(varve_model_open(o.file, NULL, NULL, &o.model, &error), 0);
    close_model(&o);
}

static void heads_of_other_kinds_are_refused(void **state) {
    (void)state;
    char *trunk = strdup(write_trunk());
    struct edited *e = open_head();
    char name[8 + 6] = {6};
    memcpy(name + 8, "eagle3", 6);
    edited_set(e, "general.architecture", VV_GGUF_STRING, name, sizeof name);
    refuses(trunk, write_head(e, "eagle.gguf"), WORDS("eagle.gguf", "\"eagle3\"", "\"qwen4exp\""));

    e = open_head();
    edited_set_u32(e, KEY "block_count", 9);
    refuses(trunk, write_head(e, "deep.gguf"), WORDS("deep.gguf", "8 layers", "behind its 6"));

    e = open_head();
    edited_set_u32(e, KEY "nextn_predict_layers", 0);
    refuses(trunk, write_head(e, "none.gguf"), WORDS("none.gguf", "0 draft blocks"));

    e = open_head();
    edited_set_u32(e, KEY "attention.indexer.head_count", 77);
    refuses(trunk, write_head(e, "other.gguf"),
            WORDS("other.gguf", "another model", "attention.indexer.head_count"));

    static const int32_t ratios[LAYERS + 1] = {0, 0, 3, 0, 0, 9, 3};
    e = open_head();
    edited_set_array(e, KEY "attention.compress_ratios", VV_GGUF_I32, ratios, LAYERS + 1,
                     sizeof *ratios);
    refuses(trunk, write_head(e, "ratios.gguf"), WORDS("another model", "compress_ratios"));

    char whole[400];
    snprintf(whole, sizeof whole, "%s/tests/data/" WHOLE, VARVE_SOURCE_DIR);
    refuses(whole, write_head(open_head(), "again.gguf"), WORDS("draft block of its own", "again"));
    refuses(trunk, temporary_file(&folder, "nowhere.gguf"), WORDS("nowhere.gguf"));
    free(trunk);
}

/* A part of the block is missing: the model says which. */
static void an_incomplete_head_is_refused(void **state) {
    (void)state;
    struct varve_error error = {0};
    struct varve_file *file;
    struct varve_model *model;
    char *trunk = strdup(write_trunk());
    struct edited *e = open_head();
    edited_drop(e, "blk.6.nextn.enorm.weight");
    const char *head = write_head(e, "part.gguf");
    assert_int_equal(varve_file_open(trunk, false, &file, &error), 0);
    assert_int_equal(varve_file_add_drafts(file, head, &error), 0);
    assert_int_equal(varve_model_open(file, NULL, NULL, &model, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("blk.6.nextn.enorm", "missing"));
    varve_file_close(file);
    free(trunk);
}

/* Kept as Q8_0, the block is that of a file whose block is in Q8_0, and nothing else changes. */
static void in_q8_0_as_in_a_file(void **state) {
    (void)state;
    const struct varve_quantize_options rules = {.rules = "blk.6.*=Q8_0", .threads = 1};
    struct varve_error error = {0};
    struct opened from = open_model(WHOLE);
    char *coarse = strdup(temporary_file(&folder, "coarse.gguf"));
    if (varve_quantize(from.file, coarse, &rules, &error) != VARVE_OK) {
        fail_msg("%s", error.message);
    }
    close_model(&from);
    for (int mock = 0; mock < 2; mock++) {
        struct opened whole = open_model(WHOLE), file = open_path(coarse, mock);
        const struct varve_session_options plain = {
            .device = mock ? VARVE_DEVICE_MOCK : VARVE_DEVICE_CPU, .mtp_q8_0 = true};
        struct drafted fine = draft_with(&whole, NULL), kept = draft_with(&whole, &plain),
                       want = draft_with(&file, NULL);
        assert_int_equal(kept.bytes, want.bytes);
        assert_memory_equal(kept.state, want.state, kept.bytes);
        assert_memory_equal(kept.logits, want.logits, kept.logit_bytes);
        assert_memory_not_equal(kept.logits, fine.logits, kept.logit_bytes);
        free_drafted(&fine), free_drafted(&kept), free_drafted(&want);
        close_model(&whole);
        close_model(&file);
    }
    free(coarse);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_its_own_is_the_same_block),
        cmocka_unit_test(heads_of_other_kinds_are_refused),
        cmocka_unit_test(an_incomplete_head_is_refused),
        cmocka_unit_test(in_q8_0_as_in_a_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

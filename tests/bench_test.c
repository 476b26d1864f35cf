/* Measuring a model through the public interface, and made-up state. No test looks at how long
 * anything took. */
#include "gguf/gguf.h"
#include "session/session.h"
#include "support/opened.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODEL "qwen4exp/hq.ud.gguf"

/* ---- made-up state ---- */

struct bare {
    struct opened opened;
    struct vv_gguf *file;
    const struct vv_family *family;
    void *geometry;
    struct vv_session *session;
};

static struct bare bare_open(bool mock, int kv_type) {
    struct bare b = {0};
    struct vv_error error;
    const struct vv_session_options options = {.slots = 2,
                                               .context = 300,
                                               .window = 16,
                                               .outputs = 4,
                                               .threads = 1,
                                               .features = UINT32_MAX,
                                               .kv_type = kv_type,
                                               .device = mock ? VV_DEVICE_MOCK : VV_DEVICE_CPU};
    const struct vv_gguf_options map = {0};
    assert_int_equal(vv_gguf_open(VARVE_SOURCE_DIR "/tests/data/" MODEL, &map, &b.file, &error), 0);
    b.family = vv_family_of(b.file, &error);
    assert_non_null(b.family);
    assert_int_equal(b.family->open(b.file, &b.geometry, &error), 0);
    assert_int_equal(vv_session_new(b.file, b.family, b.geometry, &options, &b.session, &error), 0);
    return b;
}

static void bare_close(struct bare *b) {
    vv_session_free(b->session);
    b->family->close(b->geometry);
    vv_gguf_close(b->file);
}

/* Logits of three tokens after made-up state, on a device with memory of its own and in halves too.
 */
static void filled_state_can_be_gone_on_from(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct bare b = bare_open(way == 1, way == 2 ? VV_TYPE_F16 : VV_TYPE_F32);
        struct vv_error error;
        struct vv_row rows[3] = {{1, 5, true}, {1, 6, true}, {1, 7, true}};
        struct vv_model_facts facts;
        b.family->facts(b.geometry, &facts);
        float first[3], again[3];
        for (int time = 0; time < 3; time++) {
            float *kept = time == 1 ? again : first;
            uint64_t seed = time < 2 ? 1 : 2;
            assert_int_equal(vv_session_fill(b.session, 1, 290, seed, &error), 0);
            assert_int_equal(vv_session_length(b.session, 1), 290);
            assert_int_equal(vv_session_length(b.session, 0), 0);
            assert_int_equal(vv_session_run(b.session, rows, 3, VV_ADVANCE, &error), 0);
            for (size_t i = 0; i < 3; i++) {
                const float *logits = vv_session_logits(b.session, i);
                for (size_t k = 0; k < facts.vocabulary; k++) {
                    assert_true(isfinite(logits[k]));
                }
                if (time == 2) {
                    assert_true(logits[9] != again[i]); /* another seed, another state */
                } else {
                    kept[i] = logits[9];
                }
            }
        }
        assert_memory_equal(first, again, sizeof first);
        bare_close(&b);
    }
}

static void more_tokens_than_the_context_are_refused(void **state) {
    (void)state;
    struct bare b = bare_open(false, VV_TYPE_F32);
    struct vv_error error;
    assert_int_equal(vv_session_fill(b.session, 0, 301, 1, &error), VV_ERROR_INVALID);
    assert_non_null(strstr(error.message, "301"));
    assert_int_equal(vv_session_fill(b.session, 2, 1, 1, &error), VV_ERROR_INVALID);
    assert_int_equal(vv_session_fill(b.session, 0, 300, 1, &error), VV_OK);
    bare_close(&b);
}

/* ---- a model's measurement ---- */

struct heard {
    char text[1000];
    size_t steps, end_at;
};

static void on_result(void *context, const struct varve_bench_result *r) {
    struct heard *h = context;
    static const char *const names[] = {"prompt", "generate", "window", "batch"};
    size_t used = strlen(h->text);
    snprintf(h->text + used, sizeof h->text - used, "%s %u at %u, %zu; ", names[r->kind], r->n,
             r->depth, r->rounds);
    for (size_t i = 0; i < r->rounds; i++) {
        assert_true(r->ms[i] > 0);
    }
}

static bool on_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    struct heard *h = context;
    assert_string_equal(what, "measuring");
    assert_int_equal(done, h->steps++);
    assert_true(done < total);
    return h->steps != h->end_at;
}

static int bench(const struct opened *o, struct heard *heard, struct varve_bench_options options,
                 struct varve_bench_facts *facts, struct varve_error *error) {
    static const struct varve_session_options session = {.threads = 2};
    options.progress = on_progress;
    options.result = on_result;
    options.context = heard;
    return varve_bench_model(o->model, &session, &options, facts, error);
}

static const uint32_t prompts[] = {3, 20}, depths[] = {0, 40}, windows[] = {1, 5};
static const struct varve_bench_options usual = {.prompts = prompts,
                                                 .prompt_count = 2,
                                                 .depths = depths,
                                                 .depth_count = 2,
                                                 .windows = windows,
                                                 .window_count = 2,
                                                 .generate = 4,
                                                 .rounds = 2,
                                                 .seed = 1};

static void c195_tests_are_told_with_all_their_rounds(void **state) {
    (void)state;
    struct opened o = open_model(MODEL);
    struct heard heard = {0};
    struct varve_bench_facts facts = {0};
    struct varve_error error;
    assert_int_equal(bench(&o, &heard, usual, &facts, &error), 0);
    assert_string_equal(heard.text, "prompt 3 at 0, 2; prompt 20 at 0, 2; "
                                    "window 1 at 0, 2; window 5 at 0, 2; generate 4 at 0, 2; "
                                    "window 1 at 40, 2; window 5 at 40, 2; generate 4 at 40, 2; ");
    assert_int_equal(heard.steps, 16);
    assert_true(facts.load_ms > 0 && facts.cold_ms > 0 && facts.cold_rows > 0); /* apart */
    close_model(&o);
}

static void tests_can_be_left_out(void **state) {
    (void)state;
    struct opened o = open_model(MODEL);
    struct heard heard = {0};
    struct varve_bench_facts facts;
    struct varve_error error;
    struct varve_bench_options options = usual;
    options.prompt_count = 0;
    options.window_count = 1;
    options.depth_count = 1;
    options.generate = 0;
    options.same_experts = true;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), 0);
    assert_string_equal(heard.text, "window 1 at 0, 2; ");
    close_model(&o);
}

static void batches_are_told_after_a_depths_other_tests(void **state) {
    (void)state;
    static const uint32_t batches[] = {2, 40};
    struct opened o = open_model(MODEL);
    struct heard heard = {0};
    struct varve_bench_facts facts;
    struct varve_error error;
    struct varve_bench_options options = usual;
    options.prompt_count = options.window_count = 0;
    options.batches = batches;
    options.batch_count = 2;
    options.generate = 0;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), 0);
    assert_string_equal(heard.text, "batch 2 at 0, 2; batch 40 at 0, 2; "
                                    "batch 2 at 40, 2; batch 40 at 40, 2; ");
    static const uint32_t many[] = {1025};
    options.batches = many;
    options.batch_count = 1;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), VARVE_ERROR_INVALID);
    assert_non_null(strstr(error.message, "1025"));
    close_model(&o);
}

static void what_cannot_be_measured_is_refused(void **state) {
    (void)state;
    static const uint32_t none[] = {0}, wide[] = {17}, deep[] = {1 << 20};
    struct opened o = open_model(MODEL);
    struct heard heard = {0};
    struct varve_bench_facts facts;
    struct varve_error error;
    struct varve_bench_options options = usual;
    options.rounds = 0;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), VARVE_ERROR_INVALID);
    options = usual;
    options.windows = wide;
    options.window_count = 1;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("17", "16"));
    options.windows = none;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), VARVE_ERROR_INVALID);
    options = usual;
    options.prompts = none;
    options.prompt_count = 1;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), VARVE_ERROR_INVALID);
    options = usual;
    options.depths = deep;
    options.depth_count = 1;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("tokens are needed"));
    assert_string_equal(heard.text, "");
    close_model(&o);
}

static void a_measurement_ends_when_progress_says_so(void **state) {
    (void)state;
    struct opened o = open_model(MODEL);
    struct heard heard = {.end_at = 5};
    struct varve_bench_facts facts;
    struct varve_error error;
    assert_int_equal(bench(&o, &heard, usual, &facts, &error), VARVE_ERROR_CANCELLED);
    assert_int_equal(heard.steps, 5);
    assert_string_equal(heard.text, "");
    close_model(&o);
}

static bool is_key(const struct varve_key *key, const char *name) {
    return key->name_length == strlen(name) && memcmp(key->name, name, key->name_length) == 0;
}

/* Dense weights whole, two of the experts of each layer, no table: counted here from the file. */
static void bytes_of_a_token_leave_out_idle_experts(void **state) {
    (void)state;
    struct opened o = open_model(MODEL);
    struct heard heard = {0};
    struct varve_bench_facts facts;
    struct varve_error error;
    struct varve_bench_options options = usual;
    options.prompt_count = options.depth_count = 0;
    assert_int_equal(bench(&o, &heard, options, &facts, &error), 0);
    uint64_t idle = 0, all = 0, experts = 0, used = 0;
    struct varve_file_info info;
    varve_file_info(o.file, &info);
    for (size_t i = 0; i < info.keys; i++) {
        struct varve_key key;
        struct varve_value value;
        varve_file_key(o.file, i, &key);
        varve_file_value(o.file, i, 0, &value);
        experts = is_key(&key, "qwen4exp.expert_count") ? value.u : experts;
        used = is_key(&key, "qwen4exp.expert_used_count") ? value.u : used;
    }
    assert_true(experts > used && used > 0);
    for (size_t i = 0; i < info.tensors; i++) {
        struct varve_tensor t;
        unsigned layer = 0;
        varve_file_tensor(o.file, i, &t);
        bool draft = sscanf(t.name, "blk.%u.", &layer) == 1 && layer >= o.info.layers;
        bool table = strstr(t.name, "token_embd") != NULL;
        all += t.bytes;
        idle += draft || table                   ? t.bytes
                : strstr(t.name, "_exps.weight") ? t.bytes / experts * (experts - used)
                                                 : 0;
    }
    assert_int_equal(facts.token_bytes, all - idle);
    close_model(&o);
}

/* ---- operations ---- */

struct lines {
    size_t count;
};

static void on_line(void *context, const struct varve_bench_line *line) {
    struct lines *lines = context;
    assert_true(line->rows == 3 && line->rounds == 2);
    assert_true(line->bytes > 0 && line->seconds[0] > 0 && line->seconds[1] > 0);
    lines->count++;
}

/* Every folder's cases can be built and run: no variant fails on them. */
static void all_operations_can_be_measured(void **state) {
    (void)state;
    static const uint32_t rows[] = {3};
    static const struct {
        const char *name, *shape; /* one of those that are alike */
    } cases[] = {{"attend", "512"},    {"expert_up", "Q8_0"}, {"expert_down", "Q8_0"},
                 {"gdn_step", NULL},   {"hyper_read", NULL},  {"quantize_rows", NULL},
                 {"rms_norm", NULL},   {"route", NULL},       {"index_score", "8k"},
                 {"gemv", "ssm_alpha"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lines lines = {0};
        struct varve_error error;
        const struct varve_bench_lines_options options = {
            .names = &cases[i].name,
            .name_count = 1,
            .variant = "portable_avx", /* those that are not too slow */
            .shape = cases[i].shape,
            .rows = rows,
            .row_count = 1,
            .rounds = 2,
            .threads = 2,
            .seed = 1,
            .line = on_line,
            .context = &lines,
        };
        assert_int_equal(varve_bench_operations(&options, &error), 0);
    }
}

static void unknown_operations_are_refused(void **state) {
    (void)state;
    static const uint32_t rows[] = {1};
    static const char *const names[] = {"rms_norm", "rms"};
    struct lines lines = {0};
    struct varve_error error;
    struct varve_bench_lines_options options = {.names = names,
                                                .name_count = 2,
                                                .rows = rows,
                                                .row_count = 1,
                                                .rounds = 1,
                                                .line = on_line,
                                                .context = &lines};
    assert_int_equal(varve_bench_operations(&options, &error), VARVE_ERROR_INVALID);
    message_has(&error, WORDS("\"rms\"", "gemv"));
    options.name_count = 1;
    options.rounds = 0;
    assert_int_equal(varve_bench_operations(&options, &error), VARVE_ERROR_INVALID);
    assert_int_equal(lines.count, 0);
}

static void ceilings_are_found(void **state) {
    (void)state;
    struct varve_ceilings c;
    const struct varve_session_options two = {.threads = 2}, unknown = {.isa = "nonsense"};
    struct varve_error error;
    assert_int_equal(varve_measure_ceilings(&two, &c, &error), 0);
    assert_int_equal(c.threads, 2);
    assert_true(c.read > 0 && c.copy > 0 && c.int8 > 0 && c.f32 > 0);
    assert_true(isfinite(c.read) && isfinite(c.copy) && isfinite(c.int8) && isfinite(c.f32));
    assert_int_equal(varve_measure_ceilings(&unknown, &c, &error), VARVE_ERROR_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filled_state_can_be_gone_on_from),
        cmocka_unit_test(more_tokens_than_the_context_are_refused),
        cmocka_unit_test(c195_tests_are_told_with_all_their_rounds),
        cmocka_unit_test(tests_can_be_left_out),
        cmocka_unit_test(batches_are_told_after_a_depths_other_tests),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
        cmocka_unit_test(a_measurement_ends_when_progress_says_so),
        cmocka_unit_test(bytes_of_a_token_leave_out_idle_experts),
        cmocka_unit_test(all_operations_can_be_measured),
        cmocka_unit_test(unknown_operations_are_refused),
        cmocka_unit_test(ceilings_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

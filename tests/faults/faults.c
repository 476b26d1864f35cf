/*
 * Each scenario runs once to count its calls for memory, files and threads, then once for each of
 * them, with that call failing. Every run must end with one sentence (or go on, where the library
 * can do without), give back all it took, and leave no file under the final name that isn't whole.
 */
#include "faults/inject.h"
#include "varve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"

static struct varve_error error;
static char output[200];

/* A scenario: 0, or an error's code. */
typedef int scenario(void);

static int open_and_close(void) {
    struct varve_file *file;
    int code = varve_file_open(MICRO, false, &file, &error);
    if (code == VARVE_OK) {
        varve_file_close(file);
    }
    return code;
}

static int plain_reads(void) {
    struct varve_file *file;
    int code = varve_file_open(MICRO, true, &file, &error);
    if (code == VARVE_OK) {
        code = varve_file_verify(file, NULL, NULL, &error);
        varve_file_close(file);
    }
    return code;
}

static int text(const struct varve_model *model) {
    const struct varve_message messages[] = {{"system", "Be kind.", 8},
                                             {"user", "hello world", 11}};
    const char *const stops[] = {"\n\n", "end"};
    struct varve_ids ids = {0};
    struct varve_detokenizer *stream = NULL;
    struct varve_stopper *stopper = NULL;
    const char *out;
    size_t length;
    bool stopped;
    int code = varve_chat_tokens(model, messages, 2, true, &ids, &error);
    code = code ? code : varve_detokenizer_new(varve_model_tokenizer(model), true, &stream, &error);
    code = code ? code : varve_stopper_new(stops, 2, &stopper, &error);
    for (size_t i = 0; code == VARVE_OK && i < ids.count; i++) {
        code = varve_detokenizer_push(stream, ids.at[i], &out, &length, &error);
        code =
            code ? code
                 : varve_stopper_push(stopper, out, length, false, &out, &length, &stopped, &error);
    }
    varve_stopper_free(stopper);
    varve_detokenizer_free(stream);
    varve_ids_free(&ids);
    return code;
}

#define TOOLS                                                                                      \
    "[{\"name\": \"f\", \"parameters\": {\"properties\": {\"a\": {\"type\": \"array\"}}}}]"

static int take_event(void *context, const struct varve_answer_event *event,
                      struct varve_error *e) {
    (void)context;
    (void)event;
    (void)e;
    return VARVE_OK;
}

static int parse_answer(void) {
    static const char said[] = "Hm.\n</think>\n\nYes.\n\n<tool_call>\n<function=f>\n<parameter=a>\n"
                               "[1, 2]\n</parameter>\n</function>\n</tool_call>";
    struct varve_answer *answer;
    int code =
        varve_answer_new("qwen4exp", VARVE_THINKING_OPEN, TOOLS, strlen(TOOLS), &answer, &error);
    if (code == VARVE_OK) {
        code = varve_answer_push(answer, said, strlen(said), take_event, NULL, &error);
        code = code ? code : varve_answer_end(answer, take_event, NULL, &error);
        varve_answer_free(answer);
    }
    return code;
}

/* A request by a template of some size, and an answer with a call. */
static int conversation(void) {
    static const char template[] =
        "{% macro say(x) %}{{ x | trim | tojson }}{% endmacro %}{% set n = namespace(i=0) %}"
        "{% for m in messages %}{% set n.i = n.i + 1 %}{{ n.i ~ m.role }}{{ say(m.content) }}"
        "{% for c in m.tool_calls or [] %}{{ c.arguments | dictsort }}{% endfor %}{% endfor %}"
        "{{ tools | map(attribute='name') | join(', ') }}{{ strftime_now('%F') }}";
    static const char request[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"Hi "
        "\"}]}, "
        "{\"role\": \"assistant\", \"tool_calls\": [{\"arguments\": \"{\\\"a\\\": [1]}\"}]}], "
        "\"tools\": " TOOLS ", \"now\": 0}";
    struct varve_file *file;
    struct varve_prompt *prompt;
    int code = varve_file_open(MICRO, false, &file, &error);
    if (code != VARVE_OK) {
        return code;
    }
    code = varve_prompt_new(file, template, strlen(template), request, strlen(request), &prompt,
                            &error);
    if (code == VARVE_OK) {
        varve_prompt_free(prompt);
        code = parse_answer();
    }
    varve_file_close(file);
    return code;
}

static int draw(const struct varve_model_info *info, const float *logits) {
    struct varve_sampling sampling;
    struct varve_sampler *sampler;
    const int32_t history[] = {1, 2, 3};
    int32_t token;
    varve_sampling_defaults(&sampling);
    sampling.temperature = 1;
    sampling.top_k = 5;
    sampling.presence_penalty = 1;
    int code = varve_sampler_new(info->vocabulary, &sampling, &sampler, &error);
    if (code == VARVE_OK) {
        code = varve_sampler_draw(sampler, logits, history, 3, 7, &token, &error);
        varve_sampler_free(sampler);
    }
    return code;
}

static int evaluate(const struct varve_model *model, bool mock) {
    struct varve_session_options options = {.context = 32,
                                            .window = 8,
                                            .threads = mock ? 2 : 1,
                                            .mtp = true,
                                            .observe = true,
                                            .device = mock ? VARVE_DEVICE_MOCK : VARVE_DEVICE_CPU};
    const struct varve_row rows[] = {{0, 5, true}, {0, 6, true}, {0, 7, true}};
    struct varve_session *session;
    struct varve_observed observed;
    struct varve_model_info info;
    int32_t drafts[2];
    size_t bytes;
    varve_model_info(model, &info);
    int code = varve_session_open(model, &options, &session, &error);
    if (code != VARVE_OK) {
        return code;
    }
    code = varve_session_evaluate(session, rows, 3, VARVE_ADVANCE, NULL, NULL, &error);
    code = code ? code : draw(&info, varve_session_logits(session, 2));
    code = code ? code : varve_session_observed(session, "selected.3", &observed, &error);
    code = code ? code : varve_session_draft(session, 0, 9, 2, drafts, NULL, &error);
    code = code ? code : varve_session_evaluate(session, rows, 3, VARVE_VERIFY, NULL, NULL, &error);
    code = code ? code : varve_session_commit(session, 0, 2, &error);
    code = code ? code : varve_session_state(session, 0, NULL, 0, &bytes, &error);
    varve_session_close(session);
    return code;
}

/* A text that repeats itself, so that both drafters have something to say. */
static int write_drafted(const struct varve_model *model) {
    const struct varve_session_options options = {
        .context = 32, .window = 8, .threads = 1, .mtp = true};
    const struct varve_decoder_options drafts = {
        .draft = VARVE_DRAFT_BOTH, .most = 2, .fixed = true};
    const int32_t text[] = {5, 6, 7, 8, 5, 6, 7, 8, 9, 9};
    struct varve_row rows[7];
    struct varve_session *session;
    struct varve_decoder *decoder = NULL;
    int code = varve_session_open(model, &options, &session, &error);
    if (code != VARVE_OK) {
        return code;
    }
    for (size_t i = 0; i < 7; i++) {
        rows[i] = (struct varve_row){.token = text[i], .logits = i == 6};
    }
    code = varve_session_evaluate(session, rows, 7, VARVE_ADVANCE, NULL, NULL, &error);
    code = code ? code : varve_decoder_open(session, &drafts, &decoder, &error);
    code = code ? code : varve_decoder_begin(decoder, text, 7, &error);
    for (size_t i = 7; code == VARVE_OK && i < 10; i++) {
        code = varve_decoder_take(decoder, text[i], 5, &error);
    }
    code = code ? code : varve_decoder_settle(decoder, &error);
    varve_decoder_close(decoder);
    varve_session_close(session);
    return code;
}

/* Requests that share windows; each ends once, with a sentence where it fails. */
struct asked {
    size_t answered, over;
};

static int answer_on(void *context, const float *logits, struct varve_next *next,
                     struct varve_error *failure) {
    struct asked *asked = context;
    (void)failure;
    if (asked->answered < 3) {
        *next = (struct varve_next){{logits[5] > logits[6] ? 5 : 6}, 1};
        asked->answered++;
    }
    return VARVE_OK;
}

static void answer_over(void *context, const int32_t *tokens, size_t count, int code,
                        const struct varve_error *failure) {
    struct asked *asked = context;
    asked->over += tokens && count >= 7;
    if (code != VARVE_OK) {
        error = *failure;
    }
}

static int answer_many(struct varve_session *session) {
    const int32_t tokens[] = {5, 6, 7, 8, 5, 6, 7};
    struct asked asked[3] = {{0}};
    struct varve_schedule_step step = {0};
    struct varve_schedule *schedule;
    int code = varve_schedule_open(session, 0.001, &schedule, &error);
    size_t added = 0;
    if (code != VARVE_OK) {
        return code;
    }
    for (; code == VARVE_OK && added < 3; added += code == VARVE_OK) {
        const struct varve_request request = {.prompt = tokens,
                                              .count = 7,
                                              .next = answer_on,
                                              .drafts = {0, VARVE_DRAFT_BOTH, 2, true},
                                              .ended = answer_over,
                                              .context = &asked[added]};
        uint64_t id;
        code = varve_schedule_add(schedule, &request, &id, &error);
    }
    while (code == VARVE_OK && !step.idle) {
        code = varve_schedule_step(schedule, &step, &error);
    }
    varve_schedule_close(schedule);
    for (size_t i = 0; i < added; i++) {
        if (asked[i].over != 1) {
            error.message[0] = 0; /* which is a complaint */
            return VARVE_ERROR_INVALID;
        }
    }
    return error.message[0] ? error.code : code;
}

static int ask_many(const struct varve_model *model) {
    const struct varve_session_options options = {
        .slots = 2, .context = 32, .window = 8, .threads = 1, .mtp = true};
    struct varve_session *session;
    int code = varve_session_open(model, &options, &session, &error);
    if (code == VARVE_OK) {
        code = answer_many(session);
        varve_session_close(session);
    }
    return code;
}

/* Everything that is kept of a sequence, and its way into a file and back. */
static int keep(const struct varve_model *model) {
    struct varve_session_options options = {
        .slots = 2, .context = 32, .window = 8, .threads = 1, .checkpoint_every = 4};
    const int32_t text[] = {5, 6, 7, 8, 9, 10, 12};
    struct varve_row rows[6];
    struct varve_session *session;
    struct varve_resumed resumed;
    struct varve_note note;
    int code = varve_session_open(model, &options, &session, &error);
    if (code != VARVE_OK) {
        return code;
    }
    for (size_t i = 0; i < 6; i++) {
        rows[i] = (struct varve_row){.token = text[i]};
    }
    code = varve_session_evaluate(session, rows, 6, VARVE_ADVANCE, NULL, NULL, &error);
    code = code ? code : varve_session_fork(session, 0, 1, &error);
    code = code ? code : varve_session_keep(session, 0, &error);
    code = code ? code : varve_session_save(session, 0, output, "note", 4, &error);
    code = code ? code : varve_session_truncate(session, 0, 5, &error);
    code = code ? code : varve_session_resume(session, 1, text, 7, &resumed, &error);
    code = code ? code : varve_session_load(session, 0, output, &note, &error);
    if (code == VARVE_OK) {
        varve_note_free(&note);
    }
    varve_session_close(session);
    return code;
}

static int with_model(int (*use)(const struct varve_model *model)) {
    struct varve_file *file;
    struct varve_model *model;
    int code = varve_file_open(MICRO, false, &file, &error);
    if (code != VARVE_OK) {
        return code;
    }
    code = varve_model_open(file, NULL, NULL, &model, &error);
    if (code == VARVE_OK) {
        code = use(model);
        varve_model_close(model);
    }
    varve_file_close(file);
    return code;
}

static int evaluate_cpu(const struct varve_model *model) {
    return evaluate(model, false);
}
static int evaluate_mock(const struct varve_model *model) {
    return evaluate(model, true);
}
static int run_text(void) {
    return with_model(text);
}
static int run_cpu(void) {
    return with_model(evaluate_cpu);
}
static int run_drafted(void) {
    return with_model(write_drafted);
}

static int run_many(void) {
    return with_model(ask_many);
}

static int run_keep(void) {
    return with_model(keep);
}
static int run_mock(void) {
    return with_model(evaluate_mock);
}

static int write_output(void) {
    struct varve_output *out;
    int code = varve_output_open(output, &out, &error);
    for (int i = 0; code == VARVE_OK && i < 3; i++) {
        code = varve_output_write(out, "0123456789", 10, &error);
        if (code != VARVE_OK) {
            varve_output_abandon(out);
        }
    }
    return code ? code : varve_output_finish(out, &error);
}

static int quantize(void) {
    const struct varve_quantize_options options = {.rules = "output.weight=Q8_0", .threads = 2};
    struct varve_file *file;
    int code = varve_file_open(MICRO, true, &file, &error);
    if (code == VARVE_OK) {
        code = varve_quantize(file, output, &options, &error);
        varve_file_close(file);
    }
    return code;
}

/* Whether there is a file of a session that can be loaded. */
static int load_output(const struct varve_model *model) {
    struct varve_session_options options = {.context = 32, .threads = 1};
    struct varve_session *session;
    struct varve_note note;
    int code = varve_session_open(model, &options, &session, &error);
    if (code == VARVE_OK) {
        code = varve_session_load(session, 0, output, &note, &error);
        if (code == VARVE_OK) {
            code = varve_session_length(session, 0) == 6 ? VARVE_OK : VARVE_ERROR_INVALID;
            varve_note_free(&note);
        }
        varve_session_close(session);
    }
    return code;
}

static bool is_whole(scenario *run) {
    if (run == run_keep) {
        struct varve_error kept = error;
        int code = with_model(load_output);
        error = kept;
        return code == VARVE_OK;
    }
    if (run == quantize) {
        struct varve_file *model;
        struct varve_error e;
        int code = varve_file_open(output, false, &model, &e);
        varve_file_close(code == VARVE_OK ? model : NULL);
        return code == VARVE_OK;
    }
    char content[64];
    FILE *file = fopen(output, "rb");
    size_t n = file ? fread(content, 1, sizeof content, file) : 0;
    if (file) {
        fclose(file);
    }
    return n == 30;
}

/* Whole, or not there. */
static bool output_is_right(scenario *run, bool finished) {
    bool right = access(output, F_OK) == 0 ? is_whole(run) : !finished;
    unlink(output);
    return right;
}

/* ---- measurements ---- */

static void ignore_result(void *context, const struct varve_bench_result *result) {
    (void)context, (void)result;
}

static const struct varve_session_options two_threads = {.window = 8, .threads = 2};
static const uint32_t few[] = {4}, none_deep[] = {0}, rows[] = {2};

static int bench(const struct varve_model *model) {
    const struct varve_bench_options options = {.prompts = few,
                                                .depths = none_deep,
                                                .windows = rows,
                                                .prompt_count = 1,
                                                .depth_count = 1,
                                                .window_count = 1,
                                                .generate = 1,
                                                .rounds = 1,
                                                .result = ignore_result};
    struct varve_bench_facts facts;
    return varve_bench_model(model, &two_threads, &options, &facts, &error);
}

static int compare_settings(const struct varve_model *model) {
    static const int32_t prompt[] = {5, 6, 7};
    const struct varve_ab_options options = {.a = &two_threads,
                                             .b = &two_threads,
                                             .prompt = prompt,
                                             .prompt_count = 3,
                                             .generate = 1,
                                             .rounds = 1};
    struct varve_ab_result result;
    return varve_ab(model, &options, &result, &error);
}

static bool stop_at_once(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)context, (void)what, (void)done, (void)total;
    return false;
}

static void ignore_line(void *context, const struct varve_tune_line *line) {
    (void)context, (void)line;
}

/* Up to the first measurement, where it is ended: all of them would take a minute. */
static int tune(const struct varve_model *model) {
    const struct varve_tune_options options = {
        .session = &two_threads, .rounds = 1, .progress = stop_at_once, .line = ignore_line};
    struct varve_tune_threads best;
    int code = varve_tune(model, &options, &best, &error);
    if (code == VARVE_ERROR_CANCELLED) {
        error.message[0] = 0;
        code = VARVE_OK;
    }
    return code;
}

static int run_bench(void) {
    return with_model(bench);
}
static int run_ab(void) {
    return with_model(compare_settings);
}
static int run_tune(void) {
    return with_model(tune);
}

/* The header of a file and its weights made up. */
static int made_up(void) {
    const struct varve_geometry_options options = {.layers = 2};
    struct varve_file *file;
    struct varve_model *model;
    int code = varve_geometry_open(MICRO, &options, &file, &error);
    if (code != VARVE_OK) {
        return code;
    }
    code = varve_model_open(file, NULL, NULL, &model, &error);
    if (code == VARVE_OK) {
        code = bench(model);
        varve_model_close(model);
    }
    varve_file_close(file);
    return code;
}

static const struct {
    const char *name;
    scenario *run;
} scenarios[] = {
    {"open", open_and_close},
    {"plain reads", plain_reads},
    {"text", run_text},
    {"conversation", conversation},
    {"cpu session", run_cpu},
    {"mock session", run_mock},
    {"output", write_output},
    {"quantize", quantize},
    {"kept state", run_keep},
    {"bench", run_bench},
    {"ab", run_ab},
    {"tune", run_tune},
    {"made-up weights", made_up},
    {"drafts", run_drafted},
    {"many requests", run_many},
};

/* One run with call `at` failing (0: none). Returns a complaint, or NULL. */
static const char *one(size_t i, size_t at, size_t *calls) {
    long before = inject_held();
    error = (struct varve_error){0};
    inject_begin(at);
    int code = scenarios[i].run();
    *calls = inject_end();
    if (at == 0 && code != VARVE_OK) {
        return "fails without a reason";
    }
    if (code != VARVE_OK && (error.message[0] == 0 || strchr(error.message, '\n'))) {
        return "fails without one sentence";
    }
    if (inject_held() != before) {
        return "doesn't give back all that it took";
    }
    bool writes = scenarios[i].run == write_output || scenarios[i].run == quantize ||
                  scenarios[i].run == run_keep;
    return output_is_right(scenarios[i].run, code == VARVE_OK && writes)
               ? NULL
               : "leaves a file that isn't whole";
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    size_t points = 0, passed = 0, bad = 0;
    size_t every = argc > 1 ? strtoul(argv[1], NULL, 10) : 1; /* a sample, if above 1 */
    snprintf(output, sizeof output, "%.180s.output", argv[0]);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        size_t total, ignored, survived = 0;
        one(i, 0, &total); /* what a process keeps for good is taken in its first run */
        const char *complaint = one(i, 0, &total);
        for (size_t at = 1; !complaint && at <= total; at += every, points++) {
            complaint = one(i, at, &ignored);
            survived += error.message[0] == 0;
            if (complaint) {
                printf("%s, call %zu of %zu: %s\n", scenarios[i].name, at, total, complaint);
                bad++;
                complaint = NULL;
            } else {
                passed++;
            }
        }
        if (complaint) {
            printf("%s: %s: %s\n", scenarios[i].name, complaint, error.message);
            bad++;
        }
        printf("%-14s %zu calls, %zu of them done without\n", scenarios[i].name, total, survived);
    }
    printf("%zu injection points\n%zu passed, %zu failed\n", points, passed, bad);
    return bad != 0;
}

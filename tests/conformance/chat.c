/* The golden renderings of four chat templates, text and ids: conformance_chat FIXTURES */
#include "conformance/vocabulary.h"
#include "text/chat_template.h"
#include "text/jinja/jinja.h"

struct run {
    const struct vv_tokenizer *tokenizer;
    struct vv_jinja *jinja;            /* the template as it is */
    struct vv_chat_template *template; /* the same, for conversations */
    struct vv_text bos;
    size_t passed, failed;
    struct vv_error error;
};

/* A member of a case as a value; none where there is no such member. */
static struct vv_value value_of(struct vv_arena *arena, const json_t *json) {
    struct vv_value value = vv_value_none(true);
    struct vv_error error;
    char *text = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) : NULL;
    if (text && vv_value_json(arena, (struct vv_text){text, strlen(text)}, true, &value, &error)) {
        fail_loudly("case", error.message);
    }
    free(text);
    return value;
}

static struct vv_pair pair_of(struct vv_arena *arena, const char *name, struct vv_value value) {
    struct vv_pair pair = {.value = value};
    struct vv_error error;
    if (vv_value_string(arena, (struct vv_text){name, strlen(name)}, false, &pair.key, &error)) {
        fail_loudly("case", error.message);
    }
    return pair;
}

/* The template given the case as it stands, as the reference was. */
static int render_plain(struct run *run, struct vv_arena *arena, const json_t *json,
                        struct vv_jinja_rendering *out) {
    struct vv_pair pairs[32];
    struct vv_value variables, bos;
    size_t count = 0;
    const char *name;
    json_t *option;
    if (vv_value_string(arena, run->bos, false, &bos, &run->error)) {
        fail_loudly("case", run->error.message);
    }
    pairs[count++] = pair_of(arena, "messages", value_of(arena, json_object_get(json, "messages")));
    pairs[count++] = pair_of(arena, "tools", value_of(arena, json_object_get(json, "tools")));
    pairs[count++] = pair_of(arena, "bos_token", bos);
    json_object_foreach(json_object_get(json, "options"), name, option) {
        pairs[count++] = pair_of(arena, name, value_of(arena, option));
    }
    if (vv_value_dict(arena, pairs, count, false, &variables, &run->error)) {
        fail_loudly("case", run->error.message);
    }
    return vv_jinja_render(run->jinja, &variables, NULL, out, &run->error);
}

static size_t count_special(const struct run *run, const struct vv_ids *ids) {
    size_t count = 0;
    for (size_t i = 0; i < ids->count; i++) {
        count += vv_token_type(run->tokenizer, ids->at[i]) != VV_TOKEN_NORMAL;
    }
    return count;
}

static struct vv_ids tokenize(struct run *run, const struct vv_span *spans, size_t count) {
    struct vv_ids ids = {0};
    if (vv_tokenize(run->tokenizer, spans, count, &ids, &run->error)) {
        fail_loudly("ids", run->error.message);
    }
    return ids;
}

/* Special tokens of all spans of one kind, each read by itself with all of them recognised. */
static size_t special_in(struct run *run, const struct vv_prompt *prompt, enum vv_special kind) {
    size_t count = 0;
    for (size_t i = 0; i < prompt->count; i++) {
        struct vv_span span = {prompt->spans[i].text, VV_SPECIAL_ALL};
        if (prompt->spans[i].special == kind) {
            struct vv_ids ids = tokenize(run, &span, 1);
            count += count_special(run, &ids);
            vv_ids_free(&ids);
        }
    }
    return count;
}

/*
 * The ids of the whole text are the golden ones. Those of the spans are the same, unless the data
 * spell a special token; in any case only the template's spans have special ones.
 */
static bool same_tokens(struct run *run, const struct vv_prompt *prompt, const json_t *wanted) {
    struct vv_span whole = {prompt->text, VV_SPECIAL_ALL};
    struct vv_ids of_text = tokenize(run, &whole, 1);
    struct vv_ids of_spans = tokenize(run, prompt->spans, prompt->count);
    bool spelled = special_in(run, prompt, VV_SPECIAL_NONE) > 0;
    bool same = count_special(run, &of_spans) == special_in(run, prompt, VV_SPECIAL_ALL);
    if (wanted) {
        same = same && same_ids(&of_text, wanted) && (spelled || same_ids(&of_spans, wanted));
    }
    vv_ids_free(&of_text);
    vv_ids_free(&of_spans);
    return same;
}

static bool check_plain(struct run *run, struct vv_arena *arena, const json_t *json) {
    const json_t *wanted = json_object_get(json, "rendered");
    struct vv_jinja_rendering rendering;
    int status = render_plain(run, arena, json, &rendering);
    bool same = wanted ? status == VV_OK : status == VV_ERROR_INVALID;
    if (status == VV_OK) {
        same = same && same_text(rendering.text, text_of(wanted));
        vv_jinja_rendering_free(&rendering);
    }
    return same;
}

static bool check_chat(struct run *run, struct vv_arena *arena, const json_t *json) {
    const json_t *wanted = json_object_get(json, "rendered");
    struct vv_chat chat = {.messages = value_of(arena, json_object_get(json, "messages")),
                           .tools = value_of(arena, json_object_get(json, "tools")),
                           .options = value_of(arena, json_object_get(json, "options"))};
    struct vv_prompt prompt;
    int status = vv_chat_template_render(run->template, &chat, &prompt, &run->error);
    bool same = wanted ? status == VV_OK : status == VV_ERROR_INVALID;
    if (status == VV_OK) {
        same = same && same_text(prompt.text, text_of(wanted)) &&
               same_tokens(run, &prompt, json_object_get(json, "ids"));
        vv_prompt_free(&prompt);
    }
    return same;
}

static void check(const json_t *json, void *context) {
    struct run *run = context;
    struct vv_arena arena = {0};
    snprintf(run->error.message, sizeof run->error.message, "another text, or other ids");
    if (check_plain(run, &arena, json) && check_chat(run, &arena, json)) {
        run->passed++;
    } else {
        run->failed++;
        printf("case \"%s\" differs: %s\n", json_string_value(json_object_get(json, "id")),
               run->error.message);
    }
    vv_arena_free(&arena);
}

static void check_template(struct run *run, const char *fixtures, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tokenizer/chat/%s.jinja", fixtures, name);
    struct vv_bytes source = read_file(path);
    struct vv_text text = {source.at, source.length}, none = {"", 0};
    if (vv_jinja_compile(text, &run->jinja, &run->error) ||
        vv_chat_template_new(text, run->bos, none, &run->template, &run->error)) {
        fail_loudly(path, run->error.message);
    }
    snprintf(path, sizeof path, "%s/tokenizer/chat/%s.chat.jsonl", fixtures, name);
    size_t before = run->passed;
    each_line(path, check, run);
    printf("%s: %zu passed\n", name, run->passed - before);
    vv_jinja_free(run->jinja);
    vv_chat_template_free(run->template);
    vv_bytes_free(&source);
}

int main(int argc, char **argv) {
    static const struct {
        const char *vocabulary, *bos, *templates[2];
    } models[] = {{"qwen35", "", {"qwen35", "qwen38"}},
                  {"deepseek4", "<｜begin▁of▁sentence｜>", {"deepseek4", "deepseek4-0731"}}};
    struct run run = {.passed = 0};
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    for (int m = 0; m < 2; m++) {
        struct vv_tokenizer *tokenizer = open_vocabulary(argv[1], models[m].vocabulary);
        run.tokenizer = tokenizer;
        run.bos = (struct vv_text){models[m].bos, strlen(models[m].bos)};
        for (int i = 0; i < 2; i++) {
            check_template(&run, argv[1], models[m].templates[i]);
        }
        vv_tokenizer_free(tokenizer);
    }
    printf("chat: %zu passed, %zu failed\n", run.passed, run.failed);
    return run.failed > 0;
}

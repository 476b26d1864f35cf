/* The plain conversations among the golden renderings of the chat formats that have a layout:
 * conformance_chat_layout FIXTURES */
#include "text/chat_layout.h"
#include "conformance/vocabulary.h"

enum { MOST = 32 }; /* messages of a conversation */

struct run {
    const char *name; /* of the renderings */
    vv_chat_layout *layout;
    const struct vv_tokenizer *tokenizer;
    size_t passed, failed, skipped;
    struct vv_error error;
};

/* The messages, or false where the case is not plain: tools, other roles, contents in parts. */
static bool read_messages(const json_t *list, struct vv_chat_message *messages) {
    static const char *const roles[] = {"system", "user", "assistant"};
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one) {
        const json_t *content = json_object_get(one, "content");
        const char *role = json_string_value(json_object_get(one, "role"));
        int r = 0;
        while (r < 3 && strcmp(roles[r], role) != 0) {
            r++;
        }
        if (i == MOST || r == 3 || json_object_get(one, "tool_calls") ||
            (json_is_array(content) || json_is_object(content))) {
            return false;
        }
        messages[i] = (struct vv_chat_message){(enum vv_chat_role)r, text_of(content),
                                               text_of(json_object_get(one, "reasoning_content"))};
    }
    return true;
}

/* The fixture's template has a marker for each of the model's sentences on effort. */
static struct vv_chat_options read_qwen_options(const json_t *json) {
    const char *effort = json_string_value(json_object_get(json, "reasoning_effort"));
    effort = !effort || strcmp(effort, "xhigh") == 0 ? "[[effort xhigh]]"
             : strcmp(effort, "low") == 0            ? "[[effort low]]"
                                                     : "";
    return (struct vv_chat_options){
        .think = !json_is_false(json_object_get(json, "enable_thinking")),
        .effort = {effort, strlen(effort)},
        .keep_reasoning = !json_is_false(json_object_get(json, "preserve_thinking")),
        .answer = json_is_true(json_object_get(json, "add_generation_prompt")),
    };
}

static struct vv_chat_options read_deepseek_options(const json_t *json) {
    return (struct vv_chat_options){
        .think = json_is_true(json_object_get(json, "thinking")) ||
                 json_is_true(json_object_get(json, "enable_thinking")),
        .effort = {"", 0},
        .keep_reasoning = json_is_false(json_object_get(json, "drop_thinking")),
        .answer = json_is_true(json_object_get(json, "add_generation_prompt")),
    };
}

/* Texts that only the model's own template has: of efforts, of a format for responses. */
static bool has_texts(const json_t *json) {
    const json_t *options = json_object_get(json, "options");
    const char *rendered = json_string_value(json_object_get(json, "rendered"));
    return strcmp(json_string_value(json_object_get(json, "id")), "bad effort") == 0 ||
           json_object_get(options, "response_format") ||
           (rendered && strstr(rendered, "Reasoning Effort: "));
}

/*
 * Whether a message spells a special token. Golden ids were made of the whole rendering with all of
 * them recognised; ours keep a message's text as text, on purpose.
 */
static bool spells_special(struct run *run, const struct vv_spans *spans) {
    bool found = false;
    for (size_t i = 0; i < spans->count; i++) {
        struct vv_span span = {spans->at[i].text, VV_SPECIAL_ALL};
        struct vv_ids ids = {0};
        if (spans->at[i].special == VV_SPECIAL_NONE &&
            vv_tokenize(run->tokenizer, &span, 1, &ids, &run->error) != VV_OK) {
            fail_loudly("text", run->error.message);
        }
        for (size_t k = 0; k < ids.count; k++) {
            found = found || vv_token_type(run->tokenizer, ids.at[k]) != VV_TOKEN_NORMAL;
        }
        vv_ids_free(&ids);
    }
    return found;
}

static bool is_rendered(struct run *run, const json_t *json, const struct vv_spans *spans) {
    struct vv_bytes text = {0};
    struct vv_ids ids = {0};
    const json_t *wanted = json_object_get(json, "ids");
    for (size_t i = 0; i < spans->count; i++) {
        struct vv_text part = spans->at[i].text;
        if (vv_bytes_append(&text, part.at, part.length, &run->error)) {
            fail_loudly("text", run->error.message);
        }
    }
    bool same = same_text((struct vv_text){text.at, text.length},
                          text_of(json_object_get(json, "rendered")));
    if (same && wanted && !spells_special(run, spans)) {
        same = vv_tokenize(run->tokenizer, spans->at, spans->count, &ids, &run->error) == VV_OK &&
               same_ids(&ids, wanted);
    }
    vv_ids_free(&ids);
    vv_bytes_free(&text);
    return same;
}

static void check(const json_t *json, void *context) {
    struct run *run = context;
    const json_t *list = json_object_get(json, "messages");
    struct vv_chat_message messages[MOST];
    const json_t *given = json_object_get(json, "options");
    struct vv_chat_options options = run->layout == vv_chat_layout_qwen4exp
                                         ? read_qwen_options(given)
                                         : read_deepseek_options(given);
    struct vv_spans spans = {0};
    const json_t *tools = json_object_get(json, "tools");
    if ((tools && !json_is_null(tools)) || has_texts(json) || !read_messages(list, messages)) {
        run->skipped++;
        return;
    }
    int status = run->layout(messages, json_array_size(list), &options, &spans, &run->error);
    bool refused = json_object_get(json, "error") != NULL;
    if (refused ? status != VV_OK : status == VV_OK && is_rendered(run, json, &spans)) {
        run->passed++;
    } else {
        run->failed++;
        printf("case \"%s\" of %s differs\n", json_string_value(json_object_get(json, "id")),
               run->name);
    }
    vv_spans_free(&spans);
}

static void check_file(const char *fixtures, const char *vocabulary, struct run *run) {
    char path[4096];
    struct vv_tokenizer *tokenizer = open_vocabulary(fixtures, vocabulary);
    run->tokenizer = tokenizer;
    snprintf(path, sizeof path, "%s/tokenizer/chat/%s.chat.jsonl", fixtures, run->name);
    each_line(path, check, run);
    vv_tokenizer_free(tokenizer);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    struct run run = {.name = "qwen38", .layout = vv_chat_layout_qwen4exp};
    check_file(argv[1], "qwen35", &run);
    run.layout = vv_chat_layout_deepseek4;
    run.name = "deepseek4";
    check_file(argv[1], "deepseek4", &run);
    run.name = "deepseek4-0731";
    check_file(argv[1], "deepseek4", &run);
    printf("%zu cases (tools, contents in parts, names of efforts) are left to the templates\n",
           run.skipped);
    printf("chat_layout: %zu passed, %zu failed\n", run.passed, run.failed);
    return run.failed > 0;
}

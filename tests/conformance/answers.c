/*
 * Every assistant's turn of the golden renderings, parsed as if the model had written it, gives the
 * message back: conformance_answers FIXTURES
 *
 * What a template leaves out of its rendering can't come back, and is not asked for: white space
 * around Qwen's texts, and thoughts of turns that are rendered without a block of them. One
 * template (qwen35) takes a content with thinking tags apart itself; these turns are counted and
 * left out.
 */
#include "conformance/vocabulary.h"
#include "support/told.h"
#include "text/answer/answer.h"

static const struct family {
    const char *file, *name, *turn, *turn_end; /* what a turn lies between */
    const char *open, *closed; /* how a turn's thoughts begin; that there are none */
    bool trims;                /* white space around texts */
    bool splits;               /* contents at thinking tags */
} families[] = {
    {"qwen38", "qwen4exp", "<|im_start|>assistant\n", "<|im_end|>\n", "<think>\n",
     "<think>\n\n</think>\n\n", true, false},
    {"qwen35", "qwen4exp", "<|im_start|>assistant\n", "<|im_end|>\n", "<think>\n",
     "<think>\n\n</think>\n\n", true, true},
    {"deepseek4", "deepseek4", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<think>", "</think>",
     false, false},
    {"deepseek4-0731", "deepseek4", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<think>",
     "</think>", false, false},
};

struct run {
    const struct family *family;
    size_t passed, failed, left_out, trimmed, dropped, parses;
    uint32_t seed;
};

/* ---- The message that events give ---- */

struct message {
    struct vv_bytes reasoning, content, arguments;
    json_t *calls; /* [{name, arguments}] */
    bool broken;
};

static int take(void *context, const struct vv_answer_event *event, struct vv_error *error) {
    struct message *message = context;
    json_t *call = json_array_get(message->calls, json_array_size(message->calls) - 1);
    (void)error;
    switch (event->kind) {
    case VV_ANSWER_REASONING:
        told_add(&message->reasoning, event->text);
        break;
    case VV_ANSWER_CONTENT:
        told_add(&message->content, event->text);
        break;
    case VV_ANSWER_CALL:
        json_array_append_new(message->calls,
                              json_pack("{s:s%}", "name", event->text.at, event->text.length));
        message->arguments.length = 0;
        break;
    case VV_ANSWER_ARGUMENTS:
        told_add(&message->arguments, event->text);
        break;
    case VV_ANSWER_CALL_END:
        json_object_set_new(call, "arguments",
                            json_loadb(message->arguments.at, message->arguments.length,
                                       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL));
        break;
    case VV_ANSWER_UNFINISHED:
        message->broken = true;
        break;
    case VV_ANSWER_MARKUP:
    case VV_ANSWER_END:
        break;
    }
    return VV_OK;
}

static struct message parse(const struct answer_setting *setting, struct vv_text text) {
    struct message message = {.calls = json_array()};
    struct vv_error error;
    struct vv_answer *answer = told_begin(setting);
    if (vv_answer_push(answer, text, take, &message, &error) ||
        vv_answer_end(answer, take, &message, &error)) {
        fail_loudly("answer", error.message);
    }
    vv_answer_free(answer);
    return message;
}

static void message_free(struct message *message) {
    vv_bytes_free(&message->reasoning);
    vv_bytes_free(&message->content);
    vv_bytes_free(&message->arguments);
    json_decref(message->calls);
}

/* ---- The message of the golden ---- */

static struct vv_text wanted_text(const struct run *run, const json_t *string) {
    struct vv_text text = json_is_string(string) ? text_of(string) : (struct vv_text){"", 0};
    while (run->family->trims && text.length > 0 && strchr(" \n", text.at[0])) {
        text.at++;
        text.length--;
    }
    while (run->family->trims && text.length > 0 && strchr(" \n", text.at[text.length - 1])) {
        text.length--;
    }
    return text;
}

static bool is_trimmed(const struct run *run, const json_t *string) {
    return wanted_text(run, string).length < json_string_length(string);
}

/* The calls of a message in the form of struct message. */
static json_t *wanted_calls(const json_t *message) {
    json_t *calls = json_array();
    size_t i;
    json_t *call;
    json_array_foreach(json_object_get(message, "tool_calls"), i, call) {
        json_t *function = json_object_get(call, "function");
        json_t *arguments = json_object_get(function, "arguments");
        arguments = json_is_string(arguments) ? json_loads(json_string_value(arguments), 0, NULL)
                                              : json_incref(arguments);
        json_array_append_new(calls,
                              json_pack("{s:O, s:o}", "name", json_object_get(function, "name"),
                                        "arguments", arguments));
    }
    return calls;
}

static bool begins(struct vv_text text, const char *beginning) {
    size_t length = strlen(beginning);
    return text.length >= length && memcmp(text.at, beginning, length) == 0;
}

static bool is_given_back(const struct run *run, const struct message *got, const json_t *wanted,
                          bool thoughts) {
    json_t *calls = wanted_calls(wanted);
    struct vv_text reasoning = wanted_text(run, json_object_get(wanted, "reasoning_content"));
    reasoning.length = thoughts ? reasoning.length : 0;
    bool same = !got->broken && json_equal(got->calls, calls) &&
                same_text((struct vv_text){got->reasoning.at, got->reasoning.length}, reasoning) &&
                same_text((struct vv_text){got->content.at, got->content.length},
                          wanted_text(run, json_object_get(wanted, "content")));
    json_decref(calls);
    return same;
}

/* ---- Turns ---- */

static size_t cut_at_random(size_t at, void *context) {
    struct run *run = context;
    (void)at;
    run->seed = run->seed * 1664525u + 1013904223u;
    return 1 + (run->seed >> 16) % 9;
}

static bool same_told(struct run *run, struct told *whole, struct told part) {
    bool same = told_same(whole, &part);
    told_free(&part);
    run->parses++;
    return same;
}

/* All ways into two pieces, byte by byte, and twenty random ways tell the same as the whole. */
static bool cuts_do_not_matter(struct run *run, const struct answer_setting *setting,
                               struct vv_text text) {
    struct told whole = told_of(setting, text, NULL, NULL);
    bool same = same_text((struct vv_text){whole.raw.at, whole.raw.length}, text) &&
                same_told(run, &whole, told_of(setting, text, told_cut_bytes, NULL));
    for (size_t place = 1; place < text.length && same; place++) {
        same = same_told(run, &whole, told_of(setting, text, told_cut_once, &place));
    }
    for (int i = 0; i < 20 && same; i++) {
        same = same_told(run, &whole, told_of(setting, text, cut_at_random, run));
    }
    told_free(&whole);
    return same;
}

static void check_text(struct run *run, const char *id, const char *tools, struct vv_text text,
                       enum vv_thinking thinking, const json_t *wanted, bool thoughts) {
    struct answer_setting setting = {run->family->name, thinking, tools};
    struct message got = parse(&setting, text);
    if (is_given_back(run, &got, wanted, thoughts) && cuts_do_not_matter(run, &setting, text)) {
        run->passed++;
    } else {
        run->failed++;
        printf("%s, \"%s\", thinking %d: the message does not come back\n", run->family->file, id,
               (int)thinking);
    }
    message_free(&got);
}

/* A turn as a model would write it: after a prompt that opened the thoughts, or closed them, or
 * ended before either. */
static void check_turn(struct run *run, const char *id, const char *tools, struct vv_text turn,
                       const json_t *wanted) {
    const struct family *family = run->family;
    const char *content = json_string_value(json_object_get(wanted, "content"));
    size_t open = strlen(family->open), closed = strlen(family->closed);
    bool thoughts = begins(turn, family->open), none = begins(turn, family->closed);
    if (family->splits && content && strstr(content, "</think>")) {
        run->left_out++;
        return;
    }
    run->dropped +=
        !thoughts && json_string_length(json_object_get(wanted, "reasoning_content")) > 0;
    run->trimmed += is_trimmed(run, json_object_get(wanted, "content")) ||
                    is_trimmed(run, json_object_get(wanted, "reasoning_content"));
    if (thoughts) {
        check_text(run, id, tools, (struct vv_text){turn.at + open, turn.length - open},
                   VV_THINKING_OPEN, wanted, true);
    }
    if (none) {
        check_text(run, id, tools, (struct vv_text){turn.at + closed, turn.length - closed},
                   VV_THINKING_CLOSED, wanted, false);
    }
    if (thoughts || !none) {
        check_text(run, id, tools, turn, VV_THINKING_NONE, wanted, thoughts);
    }
}

static const char *find(struct vv_text text, const char *word) {
    return memmem(text.at, text.length, word, strlen(word));
}

static void check(const json_t *json, void *context) {
    struct run *run = context;
    const struct family *family = run->family;
    struct vv_text rest = text_of(json_object_get(json, "rendered"));
    const char *id = json_string_value(json_object_get(json, "id"));
    json_t *list = json_object_get(json, "tools"), *message;
    char *tools = json_array_size(list) > 0 ? json_dumps(list, 0) : NULL;
    size_t i;
    json_array_foreach(json_object_get(json, "messages"), i, message) {
        if (!rest.at ||
            strcmp(json_string_value(json_object_get(message, "role")), "assistant") != 0) {
            continue;
        }
        const char *turn = find(rest, family->turn);
        turn = turn ? turn + strlen(family->turn) : rest.at + rest.length;
        rest = (struct vv_text){turn, (size_t)(rest.at + rest.length - turn)};
        const char *end = find(rest, family->turn_end);
        if (!end) {
            run->failed++;
            printf("%s, \"%s\": a turn is missing\n", family->file, id);
            break;
        }
        check_turn(run, id, tools, (struct vv_text){turn, (size_t)(end - turn)}, message);
        rest = (struct vv_text){end, (size_t)(rest.at + rest.length - end)};
    }
    free(tools);
}

int main(int argc, char **argv) {
    char path[4096];
    struct run run = {.seed = 1};
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        run.family = &families[i];
        snprintf(path, sizeof path, "%s/tokenizer/chat/%s.chat.jsonl", argv[1], run.family->file);
        each_line(path, check, &run);
    }
    printf("%zu ways of cutting tell the same\n", run.parses);
    printf("by the templates, texts of %zu turns are trimmed and thoughts of %zu are dropped; %zu "
           "turns whose content they take apart are left out\n",
           run.trimmed, run.dropped, run.left_out);
    printf("answers: %zu passed, %zu failed\n", run.passed, run.failed);
    return run.failed > 0;
}

/*
 * Any bytes as an answer. The first byte chooses the family, where the answer begins and which
 * tools there are; the second the cuts; the rest is the answer.
 */
#include "../tests/support/told.h"
#include "text/json.h"
#include "text/utf8.h"

static void must(bool holds) {
    if (!holds) {
        abort();
    }
}

static const char *const tools_of[] = {
    NULL,
    "[]",
    "[{\"name\": \"f\", \"parameters\": {\"properties\": {\"s\": {\"type\": \"string\"}, \"i\": "
    "{\"type\": \"integer\"}, \"o\": {\"type\": [\"object\", \"null\"]}, \"u\": {\"anyOf\": "
    "[{\"type\": \"string\"}, {\"type\": \"array\"}, {\"type\": \"boolean\"}]}}}}]",
};

/* What is checked of the events beside their line. */
struct checked {
    struct told told;
    struct vv_bytes arguments; /* of the call so far */
    size_t calls;
    bool in_call, ended, well_formed;
};

/* Whether the text is one JSON object. */
static bool is_object(const struct vv_bytes *text) {
    struct vv_json json = {.text = {text->at, text->length}};
    enum vv_json_part part = VV_JSON_ARRAY;
    struct vv_error error;
    bool object = vv_json_next(&json, &part, &error) == VV_OK && part == VV_JSON_OBJECT;
    while (object && part != VV_JSON_END) {
        object = vv_json_next(&json, &part, &error) == VV_OK;
    }
    vv_bytes_free(&json.string);
    return object;
}

static int check(void *context, const struct vv_answer_event *event, struct vv_error *error) {
    struct checked *c = context;
    bool text = event->kind == VV_ANSWER_REASONING || event->kind == VV_ANSWER_CONTENT;
    must(!c->ended);
    must(text ? !c->in_call : true);
    must(!text || (event->text.length == event->raw.length &&
                   memcmp(event->text.at, event->raw.at, event->raw.length) == 0));
    switch (event->kind) {
    case VV_ANSWER_CALL:
        must(!c->in_call && event->call == c->calls && event->text.length > 0);
        c->in_call = true;
        c->arguments.length = 0;
        break;
    case VV_ANSWER_ARGUMENTS:
        must(c->in_call && event->call == c->calls);
        told_add(&c->arguments, event->text);
        break;
    case VV_ANSWER_CALL_END:
        must(c->in_call && event->call == c->calls);
        must(!c->well_formed || is_object(&c->arguments));
        c->in_call = false;
        c->calls++;
        break;
    case VV_ANSWER_UNFINISHED:
        must(event->call == c->calls && !(c->in_call && is_object(&c->arguments)));
        c->in_call = false;
        break;
    case VV_ANSWER_END:
        must(!c->in_call);
        c->ended = true;
        break;
    default:
        break;
    }
    return told_take(&c->told, event, error);
}

static bool is_well_formed(struct vv_text text) {
    for (size_t at = 0, n; at < text.length; at += n) {
        n = vv_utf8_length(text.at + at, text.length - at);
        if (n == 0) {
            return false;
        }
    }
    return true;
}

/* Checks each event of the answer in one piece, and that all bytes are told of. */
static struct told check_whole(const struct answer_setting *setting, struct vv_text text) {
    struct checked c = {.well_formed = is_well_formed(text)};
    struct vv_answer *answer = told_begin(setting);
    struct vv_error error;
    must(vv_answer_push(answer, text, check, &c, &error) == VV_OK);
    must(text.length - c.told.raw.length < 1000); /* what is held back is bounded */
    must(vv_answer_end(answer, check, &c, &error) == VV_OK);
    must(c.ended && c.told.raw.length == text.length);
    must(text.length == 0 || memcmp(c.told.raw.at, text.at, text.length) == 0);
    vv_answer_free(answer);
    vv_bytes_free(&c.arguments);
    return c.told;
}

static size_t cut(size_t at, void *context) {
    uint32_t *state = context;
    (void)at;
    *state = *state * 1664525u + 1013904223u;
    return 1 + (*state >> 16) % (1 + (*state >> 28));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    struct answer_setting setting = {
        .family = data[0] & 1 ? "qwen4exp" : "deepseek4",
        .thinking = (enum vv_thinking)((data[0] >> 1) % 3),
        .tools = tools_of[(data[0] >> 3) % 3],
    };
    uint32_t state = data[1];
    struct vv_text text = {(const char *)data + 2, size - 2};
    struct told whole = check_whole(&setting, text);
    struct told bytes = told_of(&setting, text, told_cut_bytes, NULL);
    struct told pieces = told_of(&setting, text, cut, &state);
    must(told_same(&whole, &bytes) && told_same(&whole, &pieces));
    told_free(&whole);
    told_free(&bytes);
    told_free(&pieces);
    return 0;
}

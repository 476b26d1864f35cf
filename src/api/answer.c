#include "text/answer/answer.h"

#include "api/internal.h"

/* A public answer is the library's own under another name; events are handed on one by one. */
struct listener {
    varve_answer_sink sink;
    void *context;
};

_Static_assert((int)VARVE_ANSWER_END == (int)VV_ANSWER_END, "kinds of events are in step");
_Static_assert((int)VARVE_THINKING_CLOSED == (int)VV_THINKING_CLOSED, "so are beginnings");

static struct vv_answer *own(struct varve_answer *answer) {
    return (struct vv_answer *)answer;
}

static int hand_on(void *context, const struct vv_answer_event *event, struct vv_error *error) {
    const struct listener *listener = context;
    struct varve_answer_event public = {
        .kind = (enum varve_answer_kind)event->kind,
        .call = event->call,
        .text = event->text.at,
        .length = event->text.length,
        .raw = event->raw.at,
        .raw_length = event->raw.length,
    };
    return listener->sink(listener->context, &public, (struct varve_error *)(void *)error);
}

enum varve_thinking varve_prompt_thinking(const char *prompt, size_t length) {
    return (enum varve_thinking)vv_thinking_of((struct vv_text){prompt, length});
}

int varve_answer_new(const char *architecture, enum varve_thinking thinking, const char *tools,
                     size_t tools_length, struct varve_answer **answer, struct varve_error *error) {
    struct vv_text text = {tools, tools_length};
    struct vv_answer *made;
    int code = vv_answer_new(architecture, (enum vv_thinking)thinking, tools ? &text : NULL, &made,
                             vv_internal(error));
    if (code == VV_OK) {
        *answer = (struct varve_answer *)made;
    }
    return code;
}

void varve_answer_free(struct varve_answer *answer) {
    vv_answer_free(own(answer));
}

int varve_answer_push(struct varve_answer *answer, const char *text, size_t length,
                      varve_answer_sink sink, void *context, struct varve_error *error) {
    struct listener listener = {sink, context};
    return vv_answer_push(own(answer), (struct vv_text){text, length}, hand_on, &listener,
                          vv_internal(error));
}

int varve_answer_end(struct varve_answer *answer, varve_answer_sink sink, void *context,
                     struct varve_error *error) {
    struct listener listener = {sink, context};
    return vv_answer_end(own(answer), hand_on, &listener, vv_internal(error));
}

#include "text/answer/syntax.h"

#include "text/answer/schema.h"

#include <string.h>

#define TEXT(literal)                                                                              \
    { literal, sizeof(literal) - 1 }
#define DSML                                                                                       \
    "\xef\xbd\x9c"                                                                                 \
    "DSML\xef\xbd\x9c" /* between two U+FF5C */

static const struct vv_answer_syntax syntaxes[] = {
    {
        .family = "qwen4exp",
        .think = TEXT("<think>"),
        .think_end = TEXT("</think>"),
        .block = TEXT("<tool_call>"),
        .block_end = TEXT("</tool_call>"),
        .call = TEXT("<function="),
        .call_tail = TEXT(">"),
        .call_end = TEXT("</function>"),
        .parameter = TEXT("<parameter="),
        .parameter_end = TEXT("</parameter>"),
        .tails = {{TEXT(">"), 0}},
        .think_newlines = 1,
        .content_newlines = 2,
        .block_newlines = 2,
        .value_newlines = 1,
        .calls_in_thinking = true,
    },
    {
        .family = "deepseek4",
        .think = TEXT("<think>"),
        .think_end = TEXT("</think>"),
        .block = TEXT("<" DSML "tool_calls>"),
        .block_end = TEXT("</" DSML "tool_calls>"),
        .call = TEXT("<" DSML "invoke name=\""),
        .call_tail = TEXT("\">"),
        .call_end = TEXT("</" DSML "invoke>"),
        .parameter = TEXT("<" DSML "parameter name=\""),
        .parameter_end = TEXT("</" DSML "parameter>"),
        .tails = {{TEXT("\" string=\"true\">"), VV_TYPE_STRING},
                  {TEXT("\" string=\"false\">"), VV_TYPE_ANY & ~VV_TYPE_STRING},
                  {TEXT("\">"), 0}},
        .block_newlines = 2,
    },
};

const struct vv_answer_syntax *vv_answer_syntax_of(const char *family) {
    for (size_t i = 0; i < sizeof syntaxes / sizeof *syntaxes; i++) {
        if (strcmp(syntaxes[i].family, family) == 0) {
            return &syntaxes[i];
        }
    }
    return NULL;
}

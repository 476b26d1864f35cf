/* Text to ids. */
#include "base64.h"
#include "commands.h"
#include "input.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tokenize_text(const struct varve_tokenizer *tokenizer, enum varve_special special) {
    struct text text;
    struct varve_ids ids = {0};
    struct varve_error error;
    int code = input_read("-", &text);
    if (code != EXIT_DONE) {
        return code;
    }
    struct varve_span span = {text.at, text.length, special};
    if (varve_tokenize(tokenizer, &span, 1, &ids, &error) != VARVE_OK) {
        code = fail("%s", error.message);
    }
    for (size_t i = 0; code == EXIT_DONE && i < ids.count; i++) {
        output_format(i ? " %d" : "%d", (int)ids.at[i]);
    }
    if (code == EXIT_DONE) {
        output_write("\n", 1);
    }
    varve_ids_free(&ids);
    free(text.at);
    return code;
}

/* ---- JSON lines ---- */

/* The span of an object; `*owned` is to be freed. NULL, or what is wrong. */
static const char *span_of(json_t *object, enum varve_special usual, struct varve_span *span,
                           char **owned) {
    static const char *const names[] = {"all", "user", "none"};
    json_t *text = json_object_get(object, "text"), *bytes = json_object_get(object, "bytes");
    json_t *special = json_object_get(object, "special");
    *span = (struct varve_span){.special = usual};
    if (special) {
        const char *name = json_string_value(special);
        unsigned i = 0;
        while (name && i < 3 && strcmp(names[i], name) != 0) {
            i++;
        }
        if (!name || i == 3) {
            return "\"special\" is all, user or none";
        }
        span->special = (enum varve_special)i;
    }
    if (!!json_is_string(text) + !!json_is_string(bytes) != 1) {
        return "one of \"text\" and \"bytes\" has to be a string";
    }
    if (text) {
        span->text = json_string_value(text);
        span->length = json_string_length(text);
        return NULL;
    }
    bool ok =
        base64_decode(json_string_value(bytes), json_string_length(bytes), owned, &span->length);
    span->text = *owned;
    return ok ? NULL : "\"bytes\" is no base64";
}

static int write_ids(const struct varve_ids *ids) {
    json_t *array = json_array();
    for (size_t i = 0; i < ids->count; i++) {
        json_array_append_new(array, json_integer(ids->at[i]));
    }
    return json_line(array);
}

struct line_context {
    const struct varve_tokenizer *tokenizer;
    enum varve_special special;
};

static int tokenize_line(void *context, json_t *object, size_t number) {
    const struct line_context *c = context;
    struct varve_span span;
    struct varve_ids ids = {0};
    struct varve_error error;
    char *owned = NULL;
    const char *wrong = span_of(object, c->special, &span, &owned);
    int code;
    if (wrong) {
        code = fail("line %zu of standard input: %s", number, wrong);
    } else if (varve_tokenize(c->tokenizer, &span, 1, &ids, &error) != VARVE_OK) {
        code = fail("line %zu of standard input: %s", number, error.message);
    } else {
        code = write_ids(&ids);
    }
    varve_ids_free(&ids);
    free(owned);
    return code;
}

int command_tokenize(const struct arguments *arguments) {
    struct varve_file *file;
    struct varve_tokenizer *tokenizer;
    enum varve_special special = (enum varve_special)choice_of(arguments, OPTION_special);
    int code = open_tokenizer(arguments, &file, &tokenizer);
    if (code != EXIT_DONE) {
        return code;
    }
    if (given(arguments, OPTION_jsonl)) {
        struct line_context context = {tokenizer, special};
        code = json_lines(tokenize_line, &context);
    } else {
        code = tokenize_text(tokenizer, special);
    }
    varve_tokenizer_close(tokenizer);
    varve_file_close(file);
    return code;
}

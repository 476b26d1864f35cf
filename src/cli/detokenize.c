/* Ids to text. */
#include "commands.h"
#include "input.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

struct line_context {
    const struct varve_tokenizer *tokenizer;
    bool control_tokens;
};

/* Called with every piece of the text. */
typedef void (*text_sink)(void *context, const char *text, size_t length);

static int detokenize(const struct line_context *c, const int32_t *ids, size_t count,
                      text_sink sink, void *context, struct varve_error *error) {
    struct varve_detokenizer *stream;
    const char *text;
    size_t length;
    int code = varve_detokenizer_new(c->tokenizer, c->control_tokens, &stream, error);
    if (code != VARVE_OK) {
        return code;
    }
    for (size_t i = 0; code == VARVE_OK && i < count; i++) {
        code = varve_detokenizer_push(stream, ids[i], &text, &length, error);
        if (code == VARVE_OK) {
            sink(context, text, length);
        }
    }
    if (code == VARVE_OK) {
        code = varve_detokenizer_end(stream, &text, &length, error);
    }
    if (code == VARVE_OK) {
        sink(context, text, length);
    }
    varve_detokenizer_free(stream);
    return code;
}

static void to_output(void *context, const char *text, size_t length) {
    (void)context;
    output_write(text, length);
}

static int detokenize_text(const struct line_context *c) {
    struct text text;
    struct token_list tokens;
    struct varve_error error;
    int code = input_read("-", &text);
    if (code != EXIT_DONE) {
        return code;
    }
    code = input_tokens(&text, "standard input", &tokens);
    free(text.at);
    if (code == EXIT_DONE &&
        detokenize(c, tokens.at, tokens.count, to_output, NULL, &error) != VARVE_OK) {
        code = fail("%s", error.message);
    }
    free(tokens.at);
    return code;
}

/* ---- JSON lines ---- */

static int ids_of(json_t *array, size_t number, struct token_list *tokens) {
    *tokens = (struct token_list){.at = malloc((json_array_size(array) + 1) * sizeof *tokens->at)};
    if (!json_is_array(array)) {
        return fail("line %zu of standard input is no array of ids", number);
    }
    if (!tokens->at) {
        return fail("no memory for line %zu of standard input", number);
    }
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *id = json_array_get(array, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) > INT32_MAX) {
            return fail("line %zu of standard input: element %zu is no token id", number, i);
        }
        tokens->at[tokens->count++] = (int32_t)json_integer_value(id);
    }
    return EXIT_DONE;
}

static void to_stream(void *context, const char *text, size_t length) {
    fwrite(text, 1, length, context);
}

static int detokenize_line(void *context, json_t *array, size_t number) {
    struct token_list tokens;
    struct varve_error error;
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    int code = ids_of(array, number, &tokens);
    if (!stream) {
        code = fail("no memory for line %zu of standard input", number);
    } else if (code == EXIT_DONE && detokenize(context, tokens.at, tokens.count, to_stream, stream,
                                               &error) != VARVE_OK) {
        code = fail("line %zu of standard input: %s", number, error.message);
    }
    if (stream) {
        fclose(stream);
    }
    if (code == EXIT_DONE) {
        code = json_line(json_pack("{s:o}", "text", json_text(text, length)));
    }
    free(text);
    free(tokens.at);
    return code;
}

int command_detokenize(const struct arguments *arguments) {
    struct varve_file *file;
    struct varve_tokenizer *tokenizer;
    int code = open_tokenizer(arguments, &file, &tokenizer);
    if (code != EXIT_DONE) {
        return code;
    }
    struct line_context context = {tokenizer, !given(arguments, OPTION_skip_control)};
    code = given(arguments, OPTION_jsonl) ? json_lines(detokenize_line, &context)
                                          : detokenize_text(&context);
    varve_tokenizer_close(tokenizer);
    varve_file_close(file);
    return code;
}

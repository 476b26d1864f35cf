/* Conversations to the text of a prompt. */
#include "commands.h"
#include "input.h"
#include "json.h"
#include "opened.h"
#include "output.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct render {
    const struct varve_file *file;
    struct text template; /* `at` NULL: the file's own */
};

static int new_prompt(const struct render *render, const char *request, size_t length,
                      struct varve_prompt **prompt, struct varve_error *error) {
    return varve_prompt_new(render->file, render->template.at, render->template.length, request,
                            length, prompt, error);
}

static int render_one(const struct render *render) {
    struct text request;
    struct varve_error error;
    struct varve_prompt *prompt;
    int code = input_read("-", &request);
    if (code != EXIT_DONE) {
        return code;
    }
    if (new_prompt(render, request.at, request.length, &prompt, &error) != VARVE_OK) {
        code = fail("%s", error.message);
    } else {
        size_t length;
        const char *text = varve_prompt_text(prompt, &length);
        output_write(text, length);
        varve_prompt_free(prompt);
    }
    free(request.at);
    return code;
}

static int render_line(const struct render *render, const char *line, size_t length) {
    struct varve_error error;
    struct varve_prompt *prompt;
    if (new_prompt(render, line, length, &prompt, &error) != VARVE_OK) {
        json_t *message = json_text(error.message, strlen(error.message));
        return json_line(json_pack("{s:o}", "error", message));
    }
    const char *text = varve_prompt_text(prompt, &length);
    int code = json_line(json_text(text, length));
    varve_prompt_free(prompt);
    return code;
}

/* Lines are handed on as they are: a number stays as it was written. */
static int render_lines(const struct render *render) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int code = EXIT_DONE;
    while (code == EXIT_DONE && (length = getline(&line, &room, stdin)) >= 0) {
        if ((size_t)length > strspn(line, " \t\r\n")) {
            code = render_line(render, line, (size_t)length);
        }
        if (!output_flush()) {
            break;
        }
    }
    free(line);
    return code == EXIT_DONE && ferror(stdin) ? fail("standard input cannot be read") : code;
}

int command_render(const struct arguments *arguments) {
    struct varve_file *file;
    struct render render = {0};
    const char *path = text_of(arguments, OPTION_template);
    int code = open_file(arguments, &file);
    if (code != EXIT_DONE) {
        return code;
    }
    render.file = file;
    if (path) {
        code = input_read(path, &render.template);
    }
    if (code == EXIT_DONE) {
        code = given(arguments, OPTION_jsonl) ? render_lines(&render) : render_one(&render);
    }
    free(render.template.at);
    varve_file_close(file);
    return code;
}

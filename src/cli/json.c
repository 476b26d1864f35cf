#include "json.h"
#include "options.h"
#include "output.h"
#include "report.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text, size_t length) {
    size_t clean_length;
    char *clean = utf8_clean(text, length, &clean_length);
    json_t *value = clean ? json_stringn_nocheck(clean, clean_length) : NULL;
    free(clean);
    return value;
}

static int write_json(json_t *value, size_t flags) {
    char *text = value ? json_dumps(value, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(value);
    if (!text) {
        return fail("no memory for a line of JSON");
    }
    output_write(text, strlen(text));
    output_write("\n", 1);
    free(text);
    return EXIT_DONE;
}

int json_line(json_t *value) {
    return write_json(value, JSON_COMPACT);
}

int json_page(json_t *value) {
    return write_json(value, JSON_INDENT(2));
}

static int parse_line(const char *line, size_t length, size_t number, json_t **value) {
    json_error_t error;
    *value = json_loadb(line, length, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    return *value ? EXIT_DONE
                  : fail("line %zu of standard input is no JSON: %s", number, error.text);
}

int json_lines(int (*each)(void *context, json_t *value, size_t number), void *context) {
    char *line = NULL;
    size_t room = 0;
    int code = EXIT_DONE;
    ssize_t length;
    for (size_t number = 1; code == EXIT_DONE && (length = getline(&line, &room, stdin)) >= 0;
         number++) {
        if (line[strspn(line, " \t\r\n")] == 0) {
            continue;
        }
        json_t *value;
        code = parse_line(line, (size_t)length, number, &value);
        if (code == EXIT_DONE) {
            code = each(context, value, number);
            json_decref(value);
        }
        if (!output_flush()) {
            break;
        }
    }
    free(line);
    return code == EXIT_DONE && ferror(stdin) ? fail("standard input cannot be read") : code;
}

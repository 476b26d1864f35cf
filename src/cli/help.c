/* Help, from the table. */
#include "help.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 88, HELP_COLUMN = 29 };

const char *const option_group_names[GROUP_COUNT] = {
    [GROUP_INPUT] = "Input",
    [GROUP_MEMORY] = "Memory and speed",
    [GROUP_SAMPLING] = "Choice of tokens",
    [GROUP_OUTPUT] = "Output",
    [GROUP_CHECKING] = "Checking",
    [GROUP_MEASURING] = "Measuring",
    [GROUP_GENERAL] = "General",
};

/* Prints words, the first at column `at`, broken at blanks; further lines are indented by it. */
static void print_wrapped(const char *text, size_t at) {
    size_t column = at;
    for (bool first = true; *text; first = false) {
        size_t n = strcspn(text, " ");
        if (!first && column + 1 + n > COLUMNS) {
            printf("\n%*s", (int)at, "");
            column = at;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)n, text);
        column += n;
        text += n + strspn(text + n, " ");
    }
    putchar('\n');
}

void option_value_text(const struct option *option, char *out, size_t room) {
    out[0] = 0;
    if (option->kind == OPTION_FLAG) {
        return;
    }
    size_t used = (size_t)snprintf(out, room, " %s", option->value ? option->value : "");
    for (size_t i = 0; option->choices && option->choices[i] && used < room; i++) {
        int n = snprintf(out + used, room - used, "%s%s", i ? "|" : "", option->choices[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    if (option->word && used < room) {
        snprintf(out + used, room - used, "|%s", option->word);
    }
}

void option_help_text(const struct option *option, char *out, size_t room) {
    size_t used = (size_t)snprintf(out, room, "%s", option->help);
    if (option->fallback && used < room) {
        used += (size_t)snprintf(out + used, room - used, " (default: %s)", option->fallback);
    }
    if (option->repeated && used < room) {
        used += (size_t)snprintf(out + used, room - used, "; may be repeated");
    }
    if (option->environment && used < room) {
        snprintf(out + used, room - used, "; also %s", option->environment);
    }
}

static void print_option(enum command_id command, enum option_id id) {
    const struct option *option = &option_table[id];
    char value[OPTION_VALUE_ROOM], head[120], text[OPTION_HELP_ROOM];
    option_value_text(option, value, sizeof value);
    option_help_text(option, text, sizeof text);
    char letter[] = {'-', option->letter, ',', 0};
    bool lettered = option->letter && option_lettered(command, option->letter) == id;
    int n =
        snprintf(head, sizeof head, "  %-3s --%s%s", lettered ? letter : "", option->name, value);
    if (n < HELP_COLUMN) {
        printf("%-*s", HELP_COLUMN, head);
    } else {
        printf("%s\n%*s", head, HELP_COLUMN, "");
    }
    print_wrapped(text, HELP_COLUMN);
}

void help_command(enum command_id id) {
    const struct command *command = &command_table[id];
    printf("varve %s [options]%s%s\n\n", command->name, command->operands[0] ? " " : "",
           command->operands);
    print_wrapped(command->paragraph, 0);
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        bool first = true;
        for (unsigned i = 0; i < OPTION_COUNT; i++) {
            if (option_table[i].group == group && option_table[i].commands & 1u << id) {
                if (first) {
                    printf("\n%s\n", option_group_names[group]);
                }
                first = false;
                print_option(id, (enum option_id)i);
            }
        }
    }
}

void help_program(void) {
    printf("varve runs sparse mixture-of-experts language models from GGUF files.\n\n"
           "  varve run -m FILE \"Once upon a time\"\n\nCommands\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        printf("  %-12s %s\n", command_table[i].name, command_table[i].line);
    }
    printf("\nvarve COMMAND --help explains a command and its options. Exit codes: 0 done, 1 "
           "failed,\n2 wrong use, 130 interrupted.\n");
}

/* varve: the command. It uses the public interface of the library (varve.h) and nothing else. */
#include "commands.h"
#include "help.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

static int (*const functions[COMMAND_COUNT])(const struct arguments *) = {
#define COMMAND(name, ...) [COMMAND_##name] = command_##name,
#include "commands.def"
#undef COMMAND
};

int command_help(const struct arguments *arguments) {
    bool man = given(arguments, OPTION_man), completion = given(arguments, OPTION_completion);
    if (man + completion + (arguments->operand_count > 0) > 1) {
        return fail_use("a command, --man and --completion are three things to print: choose one");
    }
    if (man) {
        help_manual();
        return EXIT_DONE;
    }
    if (completion) {
        (choice_of(arguments, OPTION_completion) == 0 ? help_bash : help_zsh)();
        return EXIT_DONE;
    }
    if (arguments->operand_count == 0) {
        help_program();
        return EXIT_DONE;
    }
    enum command_id id = command_find(arguments->operands[0]);
    if (id == COMMAND_COUNT) {
        return command_unknown(arguments->operands[0]);
    }
    help_command(id);
    return EXIT_DONE;
}

static int run_command(enum command_id id, int count, char **words) {
    struct arguments arguments;
    int code = arguments_read(&arguments, id, count, words);
    if (code == EXIT_DONE && given(&arguments, OPTION_help)) {
        help_command(id);
    } else if (code == EXIT_DONE) {
        code = functions[id](&arguments);
    }
    arguments_free(&arguments);
    return code;
}

/* The command that the first word stands for: a name, or one of the two options that every program
 * has. */
static enum command_id command_of(const char *word) {
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return COMMAND_help;
    }
    return strcmp(word, "--version") == 0 ? COMMAND_version : command_find(word);
}

int main(int count, char **words) {
    interrupt_install();
    if (count < 2) {
        return fail_use("say what to do: varve run -m FILE \"Once upon a time\" "
                        "(varve --help lists the commands)");
    }
    enum command_id id = command_of(words[1]);
    if (id == COMMAND_COUNT) {
        return command_unknown(words[1]);
    }
    return output_finish(run_command(id, count - 2, words + 2));
}

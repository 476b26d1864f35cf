/* The manual page, from the table: troff with the man macros. */
#include "help.h"
#include "output.h"

#include <string.h>
#include <varve.h>

enum { COLUMNS = 76 };

/* One word as it is to be seen: minus signs, quotes and backslashes are troff's own otherwise. */
static void print_word(const char *word, size_t length) {
    static const struct {
        char c;
        const char *name;
    } escapes[] = {{'-', "\\-"},   {'\\', "\\e"},  {'\'', "\\(aq"},
                   {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    for (size_t i = 0; i < length; i++) {
        size_t e = 0;
        while (e < sizeof escapes / sizeof *escapes && escapes[e].c != word[i]) {
            e++;
        }
        if (e < sizeof escapes / sizeof *escapes) {
            output_format("%s", escapes[e].name);
        } else {
            output_write(word + i, 1);
        }
    }
}

/* Words, in lines of a readable length; a line that would begin with a dot is no request. */
static void print_text(const char *text) {
    for (size_t column = 0; *text;) {
        size_t n = strcspn(text, " ");
        if (column > 0 && column + 1 + n > COLUMNS) {
            output_format("\n");
            column = 0;
        }
        output_format("%s", column > 0 ? " " : text[0] == '.' ? "\\&" : "");
        print_word(text, n);
        column += n + 1;
        text += n + strspn(text + n, " ");
    }
    output_format("\n");
}

/* The names of the commands of a set, in bold, a line each. */
static void print_commands(unsigned set) {
    const char *link = "";
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (set & 1u << i) {
            output_format("%s\\fB%s\\fR", link, command_table[i].name);
            link = ",\n";
        }
    }
}

static void print_option(const struct option *option) {
    char value[OPTION_VALUE_ROOM], text[OPTION_HELP_ROOM];
    option_value_text(option, value, sizeof value);
    option_help_text(option, text, sizeof text);
    output_format(".TP\n");
    if (option->letter) {
        output_format("\\fB\\-%c\\fR, ", option->letter);
    }
    output_format("\\fB");
    print_word("--", 2);
    print_word(option->name, strlen(option->name));
    output_format("\\fR%s", option->value ? "\\fI" : "");
    print_word(value, strlen(value));
    output_format("%s\n", option->value ? "\\fR" : "");
    print_text(text);
    output_format(".br\nOf\n");
    if (option->commands == ~0u) {
        output_format("all commands");
    } else {
        print_commands(option->commands);
    }
    output_format(".\n");
}

static void print_options(void) {
    output_format(".SH OPTIONS\n");
    print_text("--name value and --name=value are the same; -n 5 and -n5 too. -- ends the options. "
               "Of an option given twice the last counts, unless it may be repeated.");
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        output_format(".SS \"%s\"\n", option_group_names[group]);
        for (unsigned i = 0; i < OPTION_COUNT; i++) {
            if (option_table[i].group == group) {
                print_option(&option_table[i]);
            }
        }
    }
}

static void print_environment(void) {
    output_format(".SH ENVIRONMENT\n");
    print_text("A variable repeats an option for all commands that take it; the command line has "
               "precedence, and an empty variable counts as none.");
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        if (option->environment) {
            output_format(".TP\n\\fB%s\\fR\n\\fB\\-\\-", option->environment);
            print_word(option->name, strlen(option->name));
            output_format("\\fR of\n");
            print_commands(option->commands);
            output_format(".\n");
        }
    }
}

/* A paragraph with a head: a file, an exit code. */
static void print_item(const char *head, const char *text) {
    output_format(".TP\n\\fB");
    print_word(head, strlen(head));
    output_format("\\fR\n");
    print_text(text);
}

static void print_example(const char *text, const char *command) {
    output_format(".TP\n");
    print_text(text);
    output_format(".nf\n");
    print_word(command, strlen(command));
    output_format("\n.fi\n");
}

static void print_rest(void) {
    output_format(".SH FILES\n");
    print_item("NAME.partial", "A file that a command writes has this name until it is whole.");
    output_format(".SH \"EXIT STATUS\"\n");
    print_item("0", "Done; also when the reader of the output went away first.");
    print_item("1", "Failed: one sentence on standard error says what, where, and what to do.");
    print_item("2", "Wrong use: an option, a value, a contradiction; nothing was done.");
    print_item("130", "Interrupted by Ctrl-C (SIGINT, SIGTERM, SIGHUP).");
    output_format(".SH EXAMPLES\n");
    print_example("A story, and the same one again by its seed:",
                  "varve run -m varve-tiny.gguf --temperature 0.7 --seed 1 \"Tell me a story.\"");
    print_example("What a file holds, and whether every block of it is sound:",
                  "varve inspect -m model.gguf\nvarve inspect -m model.gguf --verify");
    print_example("How far a smaller file is from a larger one on a text:",
                  "varve perplexity -m small.gguf -f text.txt --kl large.gguf");
    print_example("Text to tokens and back:",
                  "echo Hello | varve tokenize -m model.gguf | varve detokenize -m model.gguf");
}

void help_manual(void) {
    output_format(".TH VARVE 1 \"\" \"varve %s\" \"User Commands\"\n", varve_version());
    output_format(".SH NAME\nvarve \\- run sparse mixture\\-of\\-experts language models\n"
                  ".SH SYNOPSIS\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        output_format("%s\\fBvarve %s\\fR [options]%s%s\n", i ? ".br\n" : "", command_table[i].name,
                      command_table[i].operands[0] ? " " : "", command_table[i].operands);
    }
    output_format(".SH DESCRIPTION\n");
    print_text("varve runs language models from GGUF files on one machine, and gives the same bits "
               "whatever the window, the thread count or the instruction set. Results go to "
               "standard output, everything else to standard error.");
    output_format(".SH COMMANDS\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        print_item(command_table[i].name, command_table[i].paragraph);
    }
    print_options();
    print_environment();
    print_rest();
}

/*
 * The shells' completions, from the table. What follows a command's name is one of its options;
 * what follows an option is one of its words, a file, or left to the person.
 */
#include "help.h"
#include "output.h"

#include <string.h>

static bool takes(enum command_id command, const struct option *option) {
    return option->commands & 1u << command;
}

static void print_joined(const char *const *words) {
    for (size_t i = 0; words[i]; i++) {
        output_format("%s%s", i ? " " : "", words[i]);
    }
}

static void print_command_names(void) {
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        output_format("%s%s", i ? " " : "", command_table[i].name);
    }
}

/* ---- bash ---- */

/* "    --model|-m" */
static void bash_pattern(const struct option *option, const char *before) {
    output_format("%s--%s", before, option->name);
    if (option->letter) {
        output_format("|-%c", option->letter);
    }
}

/* The names of all options of a kind in one pattern. */
static void bash_patterns(enum option_kind kind) {
    const char *before = "    ";
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (option_table[i].kind == kind) {
            bash_pattern(&option_table[i], before);
            before = "|";
        }
    }
    output_format(")\n");
}

/* What can follow an option that takes a value: a file, a word of its own, or no one knows. */
static void bash_values(void) {
    bash_patterns(OPTION_FILE);
    output_format("        compopt -o filenames 2> /dev/null\n"
                  "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
                  "        return ;;\n");
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        if (option->kind == OPTION_CHOICE) {
            bash_pattern(option, "    ");
            output_format(") words='");
            print_joined(option->choices);
            output_format("' ;;\n");
        } else if (option->word) {
            bash_pattern(option, "    ");
            output_format(") words='%s' ;;\n", option->word);
        }
    }
    static const enum option_kind free_kinds[] = {OPTION_INTEGER, OPTION_REAL, OPTION_TEXT,
                                                  OPTION_LIST};
    for (size_t k = 0; k < sizeof free_kinds / sizeof *free_kinds; k++) {
        bash_patterns(free_kinds[k]);
        output_format("        ;;\n");
    }
}

static void bash_options(enum command_id command) {
    output_format("        %s) words='", command_table[command].name);
    const char *link = "";
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (takes(command, &option_table[i])) {
            output_format("%s--%s", link, option_table[i].name);
            link = " ";
        }
    }
    if (command == COMMAND_help) {
        output_format(" ");
        print_command_names();
    }
    output_format("' ;;\n");
}

/* "=" is a word of its own in COMP_WORDS: --kv=f is three. */
void help_bash(void) {
    output_format("# bash completion of varve, written by: varve help --completion bash\n"
                  "_varve() {\n"
                  "    local current=${COMP_WORDS[COMP_CWORD]} words=''\n"
                  "    local previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
                  "    if [[ $current == '=' ]]; then\n"
                  "        current=''\n"
                  "    elif [[ $previous == '=' ]]; then\n"
                  "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
                  "    fi\n"
                  "    COMPREPLY=()\n"
                  "    case $previous in\n");
    bash_values();
    output_format("    *)\n        case ${COMP_WORDS[1]} in\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        bash_options((enum command_id)i);
    }
    output_format("        esac\n"
                  "        if ((COMP_CWORD == 1)); then\n"
                  "            words='");
    print_command_names();
    output_format(" --help --version'\n"
                  "        fi ;;\n"
                  "    esac\n"
                  "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                  "}\n"
                  "complete -F _varve varve\n");
}

/* ---- zsh ---- */

/* Text up to the first semicolon, inside single quotes, with `special` characters escaped. */
static void zsh_text(const char *text, const char *special) {
    for (size_t i = 0; text[i] && text[i] != ';'; i++) {
        if (text[i] == '\'') {
            output_format("'\\''");
        } else {
            output_format(strchr(special, text[i]) ? "\\%c" : "%c", text[i]);
        }
    }
}

/* "[help]:N:action" */
static void zsh_value(const struct option *option) {
    output_format("[");
    zsh_text(option->help, "[]\\");
    output_format("]");
    if (option->kind == OPTION_FLAG) {
        return;
    }
    output_format(":%s:", option->value ? option->value : option->name);
    if (option->kind == OPTION_CHOICE) {
        output_format("(");
        print_joined(option->choices);
        output_format(")");
    } else if (option->kind == OPTION_FILE) {
        output_format("_files");
    } else {
        output_format(option->word ? "(%s)" : " ", option->word);
    }
}

static void zsh_option(const struct option *option) {
    const char *equals = option->kind == OPTION_FLAG ? "" : "=";
    output_format(" \\\n            ");
    if (option->letter) {
        output_format("'(-%c --%s)'{-%c%s,--%s%s}'", option->letter, option->name, option->letter,
                      *equals ? "+" : "", option->name, equals);
    } else {
        output_format("'%s--%s%s", option->repeated ? "*" : "", option->name, equals);
    }
    zsh_value(option);
    output_format("'");
}

static void zsh_command(enum command_id command) {
    output_format("    %s)\n        _arguments -s", command_table[command].name);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (takes(command, &option_table[i])) {
            zsh_option(&option_table[i]);
        }
    }
    if (command == COMMAND_help) {
        output_format(" \\\n            ':command:(");
        print_command_names();
        output_format(")'");
    } else if (command_table[command].operands_most) {
        output_format(" \\\n            ':text: '");
    }
    output_format(" ;;\n");
}

void help_zsh(void) {
    output_format("#compdef varve\n"
                  "# zsh completion of varve, written by: varve help --completion zsh\n"
                  "_varve() {\n"
                  "    if ((CURRENT == 2)); then\n"
                  "        local -a commands=(");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        output_format("\n            '%s:", command_table[i].name);
        zsh_text(command_table[i].line, ":\\");
        output_format("'");
    }
    output_format(")\n"
                  "        _describe command commands\n"
                  "        return\n"
                  "    fi\n"
                  "    shift words\n"
                  "    ((CURRENT--))\n"
                  "    case $words[1] in\n");
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        zsh_command((enum command_id)i);
    }
    output_format("    esac\n"
                  "}\n"
                  "if [[ $funcstack[1] == _varve ]]; then\n"
                  "    _varve \"$@\"\n"
                  "else\n"
                  "    compdef _varve varve\n"
                  "fi\n");
}

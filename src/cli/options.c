#include "options.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command command_table[COMMAND_COUNT] = {
#define COMMAND(id, ...) [COMMAND_##id] = {#id, __VA_ARGS__},
#include "commands.def"
#undef COMMAND
};

#define WORDS(name, ...) static const char *const name[] = {__VA_ARGS__, NULL}
WORDS(THINKINGS, "on", "off", "hide");
WORDS(SPECIALS, "all", "user", "none");
WORDS(DRAFTS, "off", "mtp", "suffix", "both");
WORDS(DRAFT_PRECISIONS, "file", "q8_0");
WORDS(LOADS, "map", "read");
WORDS(MIXES, "q2", "q3", "q4", "q8", "mxfp4");
WORDS(CONTEXT_FULLS, "stop", "shift");
WORDS(NUMAS, "auto", "off", "spread", "node");
WORDS(KV_TYPES, "f32", "f16");
WORDS(CACHE_PRECISIONS, "model", "exact");
WORDS(INDEX_SCORES, "auto", "integer", "half", "float"); /* as enum varve_index_score */
WORDS(TABLES, "auto", "device", "host");                 /* as enum varve_tables */
WORDS(ISAS, "auto", "portable", "avx2", "avxvnni", "avx512", "vnni", "amx", "neon", "dotprod",
      "i8mm");
WORDS(ACTIVATIONS, "int8", "f32");
WORDS(BARRIERS, "needed", "all");
WORDS(DEVICES, "cpu", "mock", "cuda", "cuda-emulated"); /* as enum varve_device */
WORDS(GRAPHS, "on", "off");
WORDS(SHELLS, "bash", "zsh");

#define RUN (1u << COMMAND_run)
#define INSPECT (1u << COMMAND_inspect)
#define CHAT (1u << COMMAND_chat)
#define RENDER (1u << COMMAND_render)
#define TOKENIZE (1u << COMMAND_tokenize)
#define DETOKENIZE (1u << COMMAND_detokenize)
#define LOGITS (1u << COMMAND_logits)
#define PERPLEXITY (1u << COMMAND_perplexity)
#define QUANTIZE (1u << COMMAND_quantize)
#define CHECK (1u << COMMAND_check)
#define BENCH (1u << COMMAND_bench)
#define AB (1u << COMMAND_ab)
#define TUNE (1u << COMMAND_tune)
#define HELP (1u << COMMAND_help)

const struct option option_table[OPTION_COUNT] = {
#define OPTION(id, ...) [OPTION_##id] = {__VA_ARGS__},
#include "options.def"
#undef OPTION
};

enum command_id command_find(const char *name) {
    unsigned id = 0;
    while (id < COMMAND_COUNT && strcmp(command_table[id].name, name) != 0) {
        id++;
    }
    return (enum command_id)id;
}

enum option_id option_lettered(enum command_id command, char letter) {
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (option_table[i].letter == letter && option_table[i].commands & 1u << command) {
            return (enum option_id)i;
        }
    }
    return OPTION_COUNT;
}

int command_unknown(const char *name) {
    const char *names[COMMAND_COUNT + 1] = {NULL};
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        names[i] = command_table[i].name;
    }
    char near[200];
    suggest(name, names, "", near, sizeof near);
    return fail_use("there is no command \"%s\"%s (varve --help lists them)", name, near);
}

/* ---- values ---- */

/* "a", "a or b", "a, b or c". */
static void join(const char *const *words, const char *link, char *out, size_t room) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; words[i] && used < room; i++) {
        const char *between = i == 0 ? "" : words[i + 1] ? ", " : link;
        int n = snprintf(out + used, room - used, "%s%s", between, words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

static int range_error(const struct option *option, const char *where, const char *text) {
    char word[60] = "";
    if (option->word) {
        snprintf(word, sizeof word, ", or %s", option->word);
    }
    return fail_use("%s takes %s from %.16g to %.16g%s, not \"%s\"", where,
                    option->kind == OPTION_INTEGER ? "a whole number" : "a number", option->low,
                    option->high, word, text);
}

static bool begins_a_number(const char *text) {
    return strchr("+-.0123456789", text[0]) && text[0];
}

static int read_integer(const struct option *option, const char *where, struct option_value *v) {
    if (option->word && strcmp(v->text, option->word) == 0) {
        v->integer = -1;
        return EXIT_DONE;
    }
    char *end;
    errno = 0;
    long long n = begins_a_number(v->text) ? strtoll(v->text, &end, 10) : 0;
    if (!begins_a_number(v->text) || *end || end == v->text || errno || (double)n < option->low ||
        (double)n > option->high) {
        return range_error(option, where, v->text);
    }
    v->integer = n;
    return EXIT_DONE;
}

static int read_real(const struct option *option, const char *where, struct option_value *v) {
    char *end;
    double x = begins_a_number(v->text) ? strtod(v->text, &end) : 0;
    if (!begins_a_number(v->text) || *end || end == v->text || !isfinite(x) || x < option->low ||
        x > option->high) {
        return range_error(option, where, v->text);
    }
    v->real = x;
    return EXIT_DONE;
}

int choice_named(enum option_id id, const char *word) {
    const char *const *choices = option_table[id].choices;
    int i = 0;
    while (choices[i] && strcmp(choices[i], word) != 0) {
        i++;
    }
    return choices[i] ? i : -1;
}

static int read_choice(const struct option *option, const char *where, struct option_value *v) {
    v->choice = choice_named((enum option_id)(option - option_table), v->text);
    if (v->choice >= 0) {
        return EXIT_DONE;
    }
    char list[200];
    join(option->choices, " or ", list, sizeof list);
    return fail_use("%s takes %s, not \"%s\"", where, list, v->text);
}

/* Reads the numbers of a list; SIZE_MAX if it is none. */
static size_t read_numbers(const struct option *option, const char *text, uint32_t *numbers) {
    size_t count = 0;
    if (option->word && strcmp(text, option->word) == 0) {
        return 0;
    }
    for (;;) {
        char *end;
        errno = 0;
        unsigned long n = strtoul(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || errno || (double)n < option->low ||
            (double)n > option->high || count == LIST_MOST) {
            return SIZE_MAX;
        }
        numbers[count++] = (uint32_t)n;
        if (*end != ',') {
            return *end ? SIZE_MAX : count;
        }
        text = end + 1;
    }
}

static int read_list(const struct option *option, const char *where, struct option_value *v) {
    uint32_t numbers[LIST_MOST];
    return read_numbers(option, v->text, numbers) != SIZE_MAX
               ? EXIT_DONE
               : fail_use(
                     "%s takes up to %d whole numbers from %.16g to %.16g with commas between, "
                     "or %s, not \"%s\"",
                     where, LIST_MOST, option->low, option->high, option->word, v->text);
}

/* Fills the value from its text; `where` names the option or the variable in an error. */
static int read_value(struct option_value *value, const char *where) {
    const struct option *option = &option_table[value->id];
    switch (option->kind) {
    case OPTION_INTEGER:
        return read_integer(option, where, value);
    case OPTION_REAL:
        return read_real(option, where, value);
    case OPTION_CHOICE:
        return read_choice(option, where, value);
    case OPTION_LIST:
        return read_list(option, where, value);
    case OPTION_FILE:
        return value->text[0] ? EXIT_DONE : fail_use("%s takes a file's name, not \"\"", where);
    case OPTION_FLAG:
    case OPTION_TEXT:
        break;
    }
    return EXIT_DONE;
}

static int add_value(struct arguments *arguments, enum option_id id, const char *text,
                     const char *where) {
    struct option_value *value = &arguments->values[arguments->count++];
    *value = (struct option_value){.id = id, .text = text};
    return read_value(value, where);
}

/* ---- words ---- */

static int unknown_option(enum command_id command, const char *name) {
    const char *names[OPTION_COUNT + 1] = {NULL};
    size_t count = 0;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (option_table[i].commands & 1u << command) {
            names[count++] = option_table[i].name;
        }
    }
    char near[200];
    suggest(name + strspn(name, "-"), names, "--", near, sizeof near);
    return fail_use("varve %s has no option %s%s (varve %s --help lists them)",
                    command_table[command].name, name, near, command_table[command].name);
}

static int wrong_command(enum command_id command, const struct option *option) {
    const char *names[COMMAND_COUNT + 1] = {NULL};
    size_t count = 0;
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (option->commands & 1u << i) {
            names[count++] = command_table[i].name;
        }
    }
    char list[200];
    join(names, " and ", list, sizeof list);
    return fail_use("varve %s does not take --%s; %s %s", command_table[command].name, option->name,
                    list, count == 1 ? "does" : "do");
}

/* The words being read, and where in them. */
struct words {
    int at, count;
    char **word;
};

/* One option, whose name was found; `attached` is a value in the same word, or NULL. */
static int read_option(struct arguments *arguments, enum option_id id, const char *attached,
                       struct words *words) {
    const struct option *option = &option_table[id];
    char where[80];
    snprintf(where, sizeof where, "--%s", option->name);
    if (!(option->commands & 1u << arguments->command)) {
        return wrong_command(arguments->command, option);
    }
    if (option->kind == OPTION_FLAG) {
        return attached ? fail_use("%s takes no value, but has \"%s\"", where, attached)
                        : add_value(arguments, id, "", where);
    }
    if (!attached && words->at == words->count) {
        char choices[200] = "";
        if (option->choices) {
            join(option->choices, " or ", choices, sizeof choices);
        }
        return fail_use("%s needs a value: %s", where, option->choices ? choices : option->value);
    }
    return add_value(arguments, id, attached ? attached : words->word[words->at++], where);
}

static int read_long(struct arguments *arguments, const char *word, struct words *words) {
    size_t length = strcspn(word + 2, "=");
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        if (strlen(option_table[i].name) == length &&
            strncmp(option_table[i].name, word + 2, length) == 0) {
            const char *attached = word[2 + length] ? word + 2 + length + 1 : NULL;
            return read_option(arguments, (enum option_id)i, attached, words);
        }
    }
    char name[100];
    snprintf(name, sizeof name, "%.*s", (int)(length < 90 ? length + 2 : 92), word);
    return unknown_option(arguments->command, name);
}

static int read_short(struct arguments *arguments, const char *word, struct words *words) {
    unsigned id = option_lettered(arguments->command, word[1]);
    for (unsigned i = 0; id == OPTION_COUNT && i < OPTION_COUNT; i++) {
        id = option_table[i].letter == word[1] ? i : id; /* another command's */
    }
    return id == OPTION_COUNT
               ? unknown_option(arguments->command, word)
               : read_option(arguments, (enum option_id)id, word[2] ? word + 2 : NULL, words);
}

static int read_operand(struct arguments *arguments, const char *word) {
    const struct command *command = &command_table[arguments->command];
    if (arguments->operand_count < command->operands_most) {
        arguments->operands[arguments->operand_count++] = word;
        return EXIT_DONE;
    }
    if (command->operands_most == 0) {
        return fail_use("varve %s takes options only, not \"%s\"", command->name, word);
    }
    return fail_use(
        "varve %s takes one %s, and \"%s\" is another: put a text with blanks in quotes",
        command->name, command->operands, word);
}

static int read_environment(struct arguments *arguments) {
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const char *name = option_table[i].environment;
        const char *text = name ? getenv(name) : NULL;
        if (text && text[0] && option_table[i].commands & 1u << arguments->command) {
            int code = add_value(arguments, (enum option_id)i, text, name);
            arguments->values[arguments->count - 1].environment = true;
            if (code != EXIT_DONE) {
                return code;
            }
        }
    }
    return EXIT_DONE;
}

int arguments_read(struct arguments *arguments, enum command_id command, int count, char **list) {
    struct words words = {.count = count, .word = list};
    *arguments = (struct arguments){.command = command};
    arguments->values = calloc((size_t)count + OPTION_COUNT, sizeof *arguments->values);
    arguments->operands = calloc((size_t)count + 1, sizeof *arguments->operands);
    if (!arguments->values || !arguments->operands) {
        return fail_use("no memory for %d arguments", count);
    }
    int code = read_environment(arguments);
    bool ended = false;
    while (code == EXIT_DONE && words.at < words.count) {
        const char *word = words.word[words.at++];
        if (ended || word[0] != '-' || !word[1]) {
            code = read_operand(arguments, word);
        } else if (strcmp(word, "--") == 0) {
            ended = true;
        } else {
            code = word[1] == '-' ? read_long(arguments, word, &words)
                                  : read_short(arguments, word, &words);
        }
    }
    return code;
}

void arguments_free(struct arguments *arguments) {
    free(arguments->values);
    free(arguments->operands);
}

/* ---- questions ---- */

static const struct option_value *last(const struct arguments *arguments, enum option_id id) {
    for (size_t i = arguments->count; i-- > 0;) {
        if (arguments->values[i].id == id) {
            return &arguments->values[i];
        }
    }
    return NULL;
}

/* The value given last, or the fallback's, or zeros. */
static struct option_value value_of(const struct arguments *arguments, enum option_id id) {
    const struct option_value *value = last(arguments, id);
    if (value) {
        return *value;
    }
    struct option_value fallback = {.id = id, .text = option_table[id].fallback};
    if (fallback.text) {
        read_value(&fallback, option_table[id].name);
    }
    return fallback;
}

bool given(const struct arguments *arguments, enum option_id id) {
    return last(arguments, id) != NULL;
}

int64_t integer_of(const struct arguments *arguments, enum option_id id) {
    return value_of(arguments, id).integer;
}

double real_of(const struct arguments *arguments, enum option_id id) {
    return value_of(arguments, id).real;
}

const char *text_of(const struct arguments *arguments, enum option_id id) {
    return value_of(arguments, id).text;
}

int choice_of(const struct arguments *arguments, enum option_id id) {
    return value_of(arguments, id).choice;
}

size_t list_of(const struct arguments *arguments, enum option_id id, uint32_t *numbers) {
    return read_numbers(&option_table[id], value_of(arguments, id).text, numbers);
}

const char *text_at(const struct arguments *arguments, enum option_id id, size_t i) {
    for (size_t k = 0; k < arguments->count; k++) {
        if (arguments->values[k].id == id && i-- == 0) {
            return arguments->values[k].text;
        }
    }
    return NULL;
}

int refuse_given(const struct arguments *arguments, const enum option_id *ids, const char *why) {
    for (; *ids != OPTION_COUNT; ids++) {
        const struct option_value *value = last(arguments, *ids);
        if (value && !value->environment) {
            return fail_use("--%s %s", option_table[*ids].name, why);
        }
    }
    return EXIT_DONE;
}

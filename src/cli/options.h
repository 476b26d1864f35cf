/*
 * Everything that can be said on the command line, in one table (commands.def, options.def), and
 * the values of one call. From the table come parsing, help and errors, the manual page and the
 * shells' completions.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the program ends with. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG_USE = 2, EXIT_INTERRUPTED = 130 };

enum command_id {
#define COMMAND(name, ...) COMMAND_##name,
#include "commands.def"
#undef COMMAND
    COMMAND_COUNT
};

struct command {
    const char *name;
    const char *operands; /* as the help shows them */
    size_t operands_most;
    const char *line, *paragraph;
};
extern const struct command command_table[COMMAND_COUNT];

enum option_kind {
    OPTION_FLAG,    /* no value */
    OPTION_INTEGER, /* a whole number within a range, or the word for -1 */
    OPTION_REAL,    /* a finite number within a range */
    OPTION_TEXT,    /* anything */
    OPTION_FILE,    /* a path */
    OPTION_CHOICE,  /* one of some words */
    OPTION_LIST,    /* whole numbers within a range, separated by commas, or the word for none */
};

enum option_group {
    GROUP_INPUT,
    GROUP_MEMORY,
    GROUP_SAMPLING,
    GROUP_OUTPUT,
    GROUP_CHECKING,
    GROUP_MEASURING,
    GROUP_GENERAL,
    GROUP_COUNT
};

enum option_id {
#define OPTION(id, ...) OPTION_##id,
#include "options.def"
#undef OPTION
    OPTION_COUNT
};

struct option {
    const char *name; /* without its dashes */
    char letter;      /* 0: none; of a command's options with one letter the first has it */
    enum option_kind kind;
    enum option_group group;
    unsigned commands; /* bits 1 << COMMAND_… */
    const char *value; /* what the help calls the value */
    double low, high;  /* range of a number, both included */
    const char *word;  /* of an integer: the word that stands for -1; of a list: for an empty one */
    const char *const *choices; /* ended by NULL */
    const char *fallback;       /* the value when none is given, as it would be written; or NULL */
    bool repeated;              /* every one given counts, else the last */
    const char *environment;    /* a variable that repeats the option; or NULL */
    const char *help;           /* one sentence, without a full stop */
};
/* The choices of --context-full. */
enum { CONTEXT_STOP, CONTEXT_SHIFT };
/* The choices of --thinking. */
enum { THINKING_ON, THINKING_OFF, THINKING_HIDE };

extern const struct option option_table[OPTION_COUNT];

struct option_value {
    enum option_id id;
    bool environment; /* from a variable, not from the command line */
    const char *text;
    int64_t integer;
    double real;
    int choice; /* index */
};

struct arguments {
    enum command_id command;
    struct option_value *values; /* in the order given, the environment's first */
    size_t count;
    const char **operands;
    size_t operand_count;
};

/* Reads the words after the command's name, and the environment. Returns EXIT_DONE, or
 * EXIT_WRONG_USE after an error on standard error. Free in either case. */
int arguments_read(struct arguments *arguments, enum command_id command, int count, char **words);
void arguments_free(struct arguments *arguments);

/* Whether an option was given. */
bool given(const struct arguments *arguments, enum option_id id);

/* The value given last, else the fallback, else 0 or NULL. */
int64_t integer_of(const struct arguments *arguments, enum option_id id);
double real_of(const struct arguments *arguments, enum option_id id);
const char *text_of(const struct arguments *arguments, enum option_id id);
int choice_of(const struct arguments *arguments, enum option_id id);

/* Index of a word among an option's choices; -1: none of them. */
int choice_named(enum option_id id, const char *word);

/* The numbers of a list, LIST_MOST at most; returns how many there are. */
enum { LIST_MOST = 32 };
size_t list_of(const struct arguments *arguments, enum option_id id, uint32_t *numbers);

/* The i-th value of a repeated option, from 0; NULL beyond them. */
const char *text_at(const struct arguments *arguments, enum option_id id, size_t i);

/* Refuses options that make no sense together: an error with `why` for the first of `ids` (ended by
 * OPTION_COUNT) that the command line has. Variables are let be: they are meant for many calls. */
int refuse_given(const struct arguments *arguments, const enum option_id *ids, const char *why);

/* Help on standard output, for a command or for the program. */
void help_command(enum command_id id);
void help_program(void);

/* The command of that name, or COMMAND_COUNT. */
enum command_id command_find(const char *name);
/* The option that has the letter there, or OPTION_COUNT. */
enum option_id option_lettered(enum command_id command, char letter);
/* Says on standard error that there is no such command, and which are near. */
int command_unknown(const char *name);

/* Writes up to three of `names` (ended by NULL) that a person may have meant by `word` as
 * "; did you mean A or B?" to `out`, or nothing. `prefix` goes before each. */
void suggest(const char *word, const char *const *names, const char *prefix, char *out,
             size_t room);

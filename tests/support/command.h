/*
 * The command as a program of its own: what it writes, and how it ends. The includer's build gives
 * VARVE_BINARY.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct command_result {
    int code;   /* exit code, or -1 */
    int signal; /* that ended it, or 0 */
    char *out;  /* ended by a zero that does not count; so is err */
    size_t out_length;
    char *err;
};

/* Runs a program to its end with `input` [input_length] on standard input. The arguments end with
 * NULL, the first is the program. */
struct command_result command_input(const char *input, size_t input_length,
                                    const char *const *arguments);
void command_free(struct command_result *result);

/* Starts a program whose output comes through a pipe of few bytes; its standard error goes to the
 * file `error_path`. */
struct command_process {
    pid_t pid;
    int out;
};
struct command_process command_start(const char *error_path, const char *const *arguments);
/* Waits; the exit code, or minus the signal. */
int command_wait(const struct command_process *process);

/* Fails the test unless the program ended with `code` after one sentence on standard error that has
 * every one of the `words`, and wrote nothing else. Frees the result. */
void command_refuses(struct command_result result, int code, const char *const *words);

#define ARGUMENTS(...) ((const char *const[]){VARVE_BINARY, __VA_ARGS__, NULL})
#define varve(...) command_input("", 0, ARGUMENTS(__VA_ARGS__))
#define varve_reads(text, ...) command_input(text, strlen(text), ARGUMENTS(__VA_ARGS__))
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

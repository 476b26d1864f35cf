#include "support/command.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static FILE *scratch(void) {
    FILE *file = tmpfile();
    assert_non_null(file);
    return file;
}

static char *contents(FILE *file, size_t *length) {
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *length, file), *length);
    text[*length] = 0;
    fclose(file);
    return text;
}

/* In the child: never returns. */
static void become(int in, int out, int err, const char *const *arguments) {
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) {
        _exit(126);
    }
    execv(arguments[0], (char *const *)arguments);
    _exit(127);
}

struct command_result command_input(const char *input, size_t input_length,
                                    const char *const *arguments) {
    struct command_result result = {.code = -1};
    FILE *in = scratch(), *out = scratch(), *err = scratch();
    size_t ignored;
    int status;
    assert_int_equal(fwrite(input, 1, input_length, in), input_length);
    rewind(in);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        become(fileno(in), fileno(out), fileno(err), arguments);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    fclose(in);
    result.out = contents(out, &result.out_length);
    result.err = contents(err, &ignored);
    return result;
}

void command_free(struct command_result *result) {
    free(result->out);
    free(result->err);
}

struct command_process command_start(const char *error_path, const char *const *arguments) {
    struct command_process process;
    int ends[2];
    int err = open(error_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(err >= 0 && in >= 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    process.pid = fork();
    assert_true(process.pid >= 0);
    if (process.pid == 0) {
        become(in, ends[1], err, arguments);
    }
    close(in);
    close(err);
    close(ends[1]);
    process.out = ends[0];
    return process;
}

int command_wait(const struct command_process *process) {
    int status;
    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void command_refuses(struct command_result result, int code, const char *const *words) {
    const char *end = strchr(result.err, '\n');
    if (result.code != code || result.signal) {
        fail_msg("exit code %d (signal %d) instead of %d: %s", result.code, result.signal, code,
                 result.err);
    }
    if (strncmp(result.err, "varve: ", 7) != 0 || !end || end[1] || result.out_length > 0) {
        fail_msg("no single sentence: %s%s", result.err, result.out);
    }
    for (; *words; words++) {
        if (!strstr(result.err, *words)) {
            fail_msg("\"%s\" is not in: %s", *words, result.err);
        }
    }
    command_free(&result);
}

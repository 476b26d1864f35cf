/* Results of the tools that an answer calls. varve runs nothing by itself: a person types a result,
 * or names the command that makes it. */
#include "chat.h"
#include "interrupt.h"
#include "output.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- the call that waits ---- */

struct waiting {
    const json_t *call; /* NULL: none waits */
    size_t number, count;
};

static bool has_role(const json_t *message, const char *role) {
    const char *text = json_string_value(json_object_get(message, "role"));
    return text && strcmp(text, role) == 0;
}

/* Behind an answer with calls there are as many messages of tools as have a result. */
static struct waiting find_waiting(const struct chat *chat) {
    const json_t *messages = chat->conversation.messages;
    size_t given = 0, end = json_array_size(messages);
    while (given < end && has_role(json_array_get(messages, end - 1 - given), "tool")) {
        given++;
    }
    if (given == end) {
        return (struct waiting){0};
    }
    const json_t *answer = json_array_get(messages, end - 1 - given);
    const json_t *calls = json_object_get(answer, "tool_calls");
    bool asked = has_role(answer, "assistant");
    return (struct waiting){.call = asked ? json_array_get(calls, given) : NULL,
                            .number = given + 1,
                            .count = json_array_size(calls)};
}

/* A member of a call, which has it in its "function" or, in files, by itself. */
static const json_t *member_of(const json_t *call, const char *name) {
    const json_t *function = json_object_get(call, "function");
    return json_object_get(function ? function : call, name);
}

void chat_tell_waiting(const struct chat *chat) {
    struct waiting waiting = find_waiting(chat);
    char place[60] = "";
    if (!waiting.call || !chat->terminal || chat->leave) {
        return;
    }
    const char *name = json_string_value(member_of(waiting.call, "name"));
    if (waiting.count > 1) {
        snprintf(place, sizeof place, ", call %zu of %zu", waiting.number, waiting.count);
    }
    report("the model waits for a result of %.100s%s: /result TEXT, or /run COMMAND",
           name ? name : "a tool", place);
}

/* ---- a result ---- */

static int nothing_waits(void) {
    return fail("no call of a tool waits for a result");
}

static int add_result(struct chat *chat, const char *text, size_t length) {
    size_t count = json_array_size(chat->conversation.messages);
    int code = conversation_add(&chat->conversation, SIZE_MAX, "tool", text, length);
    if (code == EXIT_DONE && find_waiting(chat).call) {
        chat_tell_waiting(chat);
        return code;
    }
    return code == EXIT_DONE ? chat_answer(chat, count) : code;
}

int chat_take_result(struct chat *chat, const char *text) {
    return find_waiting(chat).call ? add_result(chat, text, strlen(text)) : nothing_waits();
}

/* ---- a command ---- */

/* Begins the shell's command with `in` and `out` as its standard input and output. errno or 0. */
static int begin_shell(const char *command, int in, int out, pid_t *pid) {
    const char *const arguments[] = {"sh", "-c", command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual; /* what we ignore ourselves */
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    int code = posix_spawn_file_actions_init(&actions);
    if (code) {
        return code;
    }
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        posix_spawnattr_setsigdefault(&attributes, &usual);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        code = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
        code = code ? code : posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        code = code ? code
                    : posix_spawn(pid, "/bin/sh", &actions, &attributes,
                                  (char *const *)(uintptr_t)arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Why the command's output is no result; EXIT_DONE if it is one. */
static int judge(int status) {
    if (interrupt_take()) {
        return fail("the command was interrupted: the call still waits for a result");
    }
    if (WIFSIGNALED(status)) {
        return fail("the command was ended by signal %d: the call still waits for a result",
                    WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0
               ? EXIT_DONE
               : fail("the command ended with exit code %d: the call still waits for a result",
                      WEXITSTATUS(status));
}

/* What the command prints, up to INPUT_MOST bytes. */
static int shell_output(const char *command, int in, struct text *result) {
    int ends[2], status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail("the command cannot be run: %s", strerror(errno));
    }
    int reason = begin_shell(command, in, ends[1], &pid);
    close(ends[1]);
    int code = reason ? fail("the command cannot be run: %s", strerror(reason))
                      : input_read_from(ends[0], "the command's output", result);
    close(ends[0]);
    while (!reason && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return code == EXIT_DONE ? judge(status) : code;
}

/* The arguments as a file, which the command may read when it likes. NULL: errno says why. */
static FILE *arguments_file(const json_t *call) {
    const json_t *arguments = member_of(call, "arguments");
    char *text = json_is_string(arguments) ? strdup(json_string_value(arguments))
                 : arguments               ? json_dumps(arguments, JSON_COMPACT | JSON_ENCODE_ANY)
                                           : strdup("{}");
    FILE *file = text ? tmpfile() : NULL;
    if (file && (fputs(text, file) < 0 || fflush(file) != 0)) {
        fclose(file);
        file = NULL;
    }
    free(text);
    if (file) {
        rewind(file);
    }
    return file;
}

int chat_run_tool(struct chat *chat, const char *command) {
    const json_t *call = find_waiting(chat).call;
    struct text result = {0};
    if (!call) {
        return nothing_waits();
    }
    FILE *arguments = arguments_file(call);
    if (!arguments) {
        return fail("the command's standard input cannot be made: %s", strerror(errno));
    }
    int code = shell_output(command, fileno(arguments), &result);
    fclose(arguments);
    if (code == EXIT_DONE) {
        result.length -= result.length && result.at[result.length - 1] == '\n';
        if (chat->terminal) {
            output_write(result.at, result.length);
            output_write("\n", 1);
        }
        code = add_result(chat, result.at, result.length);
    }
    free(result.at);
    return code;
}

/* `varve run` as a program: prompts, limits, events, signals, pipes (cases C030, C034, C184). */
#include "support/command.h"
#include "support/folder.h"
#include "support/sanitized.h"

#include <fcntl.h>
#include <jansson.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MICRO VARVE_SOURCE_DIR "/tests/data/qwen4exp/micro.f32.gguf"
#define RUN "run", "-m", MICRO
/* Random weights may write anything; token 188 is the zero byte, which C strings do not bear, and
 * 288 and 290 would end the answer. */
#define GREEDY                                                                                     \
    RUN, "--temperature", "0", "--logit-bias", "188=-inf", "--logit-bias", "288=-inf",             \
        "--logit-bias", "290=-inf"

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 100000);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, 99999, file) < 99999);
    fclose(file);
    return text;
}

static char *answer_of(struct command_result r) {
    if (r.code != 0) {
        fail_msg("exit code %d: %s", r.code, r.err);
    }
    free(r.err);
    return r.out;
}

static void same_answer(char *a, char *b) {
    assert_string_equal(a, b);
    assert_true(a[0] != 0);
    free(a);
    free(b);
}

static void every_source_of_a_prompt(void **state) {
    (void)state;
    const char *path = temporary_write(&folder, "prompt.txt", "Tell me a story\n");
    char *want = answer_of(varve(GREEDY, "-n", "16", "Tell me a story"));
    for (int i = 0; i < 3; i++) {
        char *got = answer_of(i == 0   ? varve(GREEDY, "-n", "16", "-f", path)
                              : i == 1 ? varve_reads("Tell me a story\n", GREEDY, "-n", "16")
                                       : varve_reads("Tell me a story", GREEDY, "-n16", "-f", "-"));
        assert_string_equal(got, want);
        free(got);
    }
    char *raw = answer_of(varve(GREEDY, "-n", "16", "--raw", "Tell me a story"));
    assert_string_not_equal(raw, want);
    free(raw);
    free(want);
}

static void prompts_that_are_refused(void **state) {
    (void)state;
    command_refuses(varve_reads("", RUN, "--raw"), 1, WORDS("prompt is empty"));
    command_refuses(varve(RUN, "-f", temporary_file(&folder, "none.txt")), 1,
                    WORDS("none.txt", "No such file"));
    command_refuses(varve(RUN, "-f", folder.path), 1, WORDS(folder.path, "directory"));
    command_refuses(varve(RUN, "-c", "8", "--raw", "one two three four five six seven eight nine"),
                    1, WORDS("context holds 8", "--ctx-size"));
}

/* Text without end is refused once it is too long, and takes no more memory than that. */
static void c030_a_prompt_without_end(void **state) {
    (void)state;
    char line[700];
    struct rusage usage;
    snprintf(line, sizeof line, "tr '\\0' '\\n' < /dev/zero 2>/dev/null | %s run -m %s",
             VARVE_BINARY, MICRO);
    command_refuses(command_input("", 0, (const char *const[]){"/bin/sh", "-c", line, NULL}), 1,
                    WORDS("standard input", "256 MB"));
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    assert_true(usage.ru_maxrss < 1 << 20); /* kilobytes */
}

/* Settings of speed change nothing; the seed alone decides what is drawn. */
static void c044_settings_and_seeds(void **state) {
    (void)state;
    const char *text = "Once upon a time there was a small fox who lived near a river";
    same_answer(answer_of(varve(GREEDY, "-n", "24", text)),
                answer_of(varve(GREEDY, "-n", "24", "--window", "3", "-t", "2", "--load", "read",
                                "--isa", "portable", "--barriers", "all", text)));
    same_answer(answer_of(varve(RUN, "-n", "24", "--temperature", "1", "--seed", "7", text)),
                answer_of(varve(RUN, "-n", "24", "--temperature", "1", "--seed=7", "-w1", text)));
    char *a = answer_of(varve(RUN, "-n", "24", "--temperature", "1", "--seed", "7", text));
    char *b = answer_of(varve(RUN, "-n", "24", "--temperature", "1", "--seed", "8", text));
    assert_string_not_equal(a, b);
    free(a);
    free(b);
}

/* A seed that was not given is told, and gives the same answer again. */
static void the_seed_is_printed(void **state) {
    (void)state;
    struct command_result r = varve(RUN, "-n", "24", "--temperature", "1", "Hello");
    assert_int_equal(r.code, 0);
    const char *seed = strstr(r.err, "; seed ");
    char number[32] = "";
    assert_non_null(seed);
    assert_int_equal(sscanf(seed, "; seed %31[0-9]", number), 1);
    char *again =
        answer_of(varve(RUN, "-n", "24", "--temperature", "1", "--seed", number, "Hello"));
    assert_string_equal(again, r.out);
    free(again);
    command_free(&r);
}

static void notes_on_standard_error(void **state) {
    (void)state;
    struct command_result r = varve(GREEDY, "-n", "2", "--kv", "f16", "--top-k", "5", "Hello");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "f16"));
    assert_non_null(strstr(r.err, "--top-k changes nothing"));
    assert_non_null(strstr(r.err, "tokens/s; answer 2 tokens"));
    assert_null(strchr(r.err, '\r')); /* no progress where there is no terminal */
    command_free(&r);
}

/* ---- events ---- */

/* Parses JSON lines; checks the order of events; joins their texts. */
struct events {
    char text[20000];
    size_t tokens;
    json_t *done;
};

static void read_events(const char *lines, struct events *events) {
    memset(events, 0, sizeof *events);
    size_t number = 0;
    for (const char *line = lines; *line; line += strcspn(line, "\n") + 1, number++) {
        json_t *event = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        assert_non_null(event);
        const char *name = json_string_value(json_object_get(event, "event"));
        const char *text = json_string_value(json_object_get(event, "text"));
        assert_non_null(name);
        assert_null(events->done);
        assert_string_equal(name, number == 0                               ? "start"
                                  : number == 1                             ? "prompt"
                                  : json_object_get(event, "finish_reason") ? "done"
                                                                            : "token");
        strcat(events->text, text ? text : "");
        events->tokens += strcmp(name, "token") == 0;
        if (strcmp(name, "done") == 0) {
            events->done = json_incref(event);
        }
        json_decref(event);
    }
    assert_non_null(events->done);
}

static const char *finish_of(const struct events *events) {
    return json_string_value(json_object_get(events->done, "finish_reason"));
}

static void events_tell_the_answer(void **state) {
    (void)state;
    struct events e;
    char *plain = answer_of(varve(GREEDY, "-n", "20", "Hello"));
    char *lines = answer_of(varve(GREEDY, "-n", "20", "--json", "Hello"));
    read_events(lines, &e);
    size_t length = strlen(e.text);
    assert_memory_equal(e.text, plain, length);
    assert_true(plain[length] == 0 || strcmp(plain + length, "\n") == 0);
    json_t *usage = json_object_get(e.done, "usage");
    assert_int_equal(json_integer_value(json_object_get(usage, "completion_tokens")), e.tokens);
    assert_int_equal(json_integer_value(json_object_get(usage, "total_tokens")),
                     json_integer_value(json_object_get(usage, "prompt_tokens")) +
                         (json_int_t)e.tokens);
    assert_int_equal(e.tokens, 20);
    assert_string_equal(finish_of(&e), "length");
    json_decref(e.done);
    free(plain);
    free(lines);
}

/* The answer ends before a stop text, wherever token borders fall, and says so. */
static void stop_texts(void **state) {
    (void)state;
    struct events all, e;
    char *lines = answer_of(varve(GREEDY, "-n", "40", "--json", "--raw", "Hello"));
    read_events(lines, &all);
    free(lines);
    size_t length = strlen(all.text), at = length / 2;
    while ((all.text[at] & 0xc0) == 0x80) {
        at++;
    }
    char stop[8] = "";
    size_t n = 0;
    while (n < 3 || (all.text[at + n] & 0xc0) == 0x80) {
        stop[n] = all.text[at + n];
        n++;
        assert_true(n < sizeof stop - 1);
    }
    lines = answer_of(varve(GREEDY, "-n", "40", "--json", "--raw", "--stop", "never comes",
                            "--stop", stop, "Hello"));
    read_events(lines, &e);
    free(lines);
    assert_string_equal(finish_of(&e), "stop");
    *strstr(all.text, stop) = 0;
    assert_string_equal(e.text, all.text);
    json_decref(all.done);
    json_decref(e.done);
    command_refuses(varve(RUN, "--stop", "", "Hello"), 1, WORDS("stop"));
}

static void a_full_context_ends_the_answer(void **state) {
    (void)state;
    struct events e;
    char *lines = answer_of(varve(GREEDY, "-c", "24", "--raw", "--json", "Hello"));
    read_events(lines, &e);
    free(lines);
    assert_string_equal(finish_of(&e), "length");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(e.done, "usage"), "total_tokens")), 24);
    json_decref(e.done);
    struct command_result r = varve(GREEDY, "-c", "24", "--raw", "Hello");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "context of 24 tokens is full"));
    command_free(&r);
}

static void only_the_prompt(void **state) {
    (void)state;
    struct command_result r = varve(GREEDY, "-n", "0", "Hello");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "answer 0 tokens"));
    command_free(&r);
}

/* ---- signals and pipes ---- */

static void read_some(int from) {
    char c[64];
    assert_true(read(from, c, sizeof c) > 0);
}

/* Reads what is left, up to the end. */
static char *read_rest(int from) {
    size_t room = 1 << 20, used = 0;
    char *text = malloc(room);
    ssize_t n;
    assert_non_null(text);
    while ((n = read(from, text + used, room - used - 1)) > 0) {
        used += (size_t)n;
    }
    text[used] = 0;
    close(from);
    return text;
}

/* The pipe holds a part of what comes, so the program still writes when the signal arrives. */
static void c184_ctrl_c_while_decoding(void **state) {
    (void)state;
    const char *errors = temporary_file(&folder, "errors");
    struct command_process p =
        command_start(errors, ARGUMENTS(GREEDY, "-n", "2000", "--json", "--raw", "Hello"));
    read_some(p.out);
    kill(p.pid, SIGINT);
    char *rest = read_rest(p.out);
    assert_int_equal(command_wait(&p), 130);
    assert_non_null(strstr(rest, "\"finish_reason\":\"interrupted\""));
    assert_int_equal(rest[strlen(rest) - 1], '\n');
    free(rest);
    char *said = read_file(errors);
    assert_string_equal(said, "");
    free(said);
}

static void c184_ctrl_c_keeps_text_and_statistics(void **state) {
    (void)state;
    const char *errors = temporary_file(&folder, "errors");
    struct command_process p =
        command_start(errors, ARGUMENTS(GREEDY, "-n", "4000", "--raw", "Hello"));
    read_some(p.out);
    kill(p.pid, SIGINT);
    free(read_rest(p.out));
    assert_int_equal(command_wait(&p), 130);
    char *said = read_file(errors);
    assert_non_null(strstr(said, "interrupted"));
    assert_non_null(strstr(said, "tokens/s"));
    free(said);
}

/* Nobody reads, so the program can't end well: the second signal ends it all the same. */
static void c184_a_second_ctrl_c_ends_at_once(void **state) {
    (void)state;
    struct command_process p =
        command_start(temporary_file(&folder, "errors"),
                      ARGUMENTS(GREEDY, "-n", "2000", "--json", "--raw", "Hello"));
    read_some(p.out);
    usleep(300000); /* the pipe is full by now */
    kill(p.pid, SIGINT);
    usleep(50000);
    kill(p.pid, SIGINT);
    assert_int_equal(command_wait(&p), 130);
    close(p.out);
}

static void c184_ctrl_c_before_there_is_a_prompt(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(ends[0], 0);
        execv(VARVE_BINARY, (char *const *)ARGUMENTS(RUN));
        _exit(127);
    }
    usleep(200000);
    kill(pid, SIGINT);
    struct command_process p = {pid, ends[0]};
    assert_int_equal(command_wait(&p), 130);
    close(ends[0]);
    close(ends[1]);
}

enum { LONG_PROMPT = SANITIZED ? 1000 : 6000 };

/* A prompt of many tokens, one at a time, takes long enough to be interrupted. */
static const char *long_prompt(void) {
    static char text[LONG_PROMPT];
    for (size_t i = 0; i + 4 < sizeof text; i += 4) {
        memcpy(text + i, "a b ", 5);
    }
    return temporary_write(&folder, "long.txt", text);
}

static void c184_ctrl_c_while_reading_the_prompt(void **state) {
    (void)state;
    struct command_process p = command_start(
        temporary_file(&folder, "errors"),
        ARGUMENTS(GREEDY, "--window", "1", "--json", "-c", "4096", "--raw", "-f", long_prompt()));
    read_some(p.out); /* the start event */
    kill(p.pid, SIGINT);
    char *rest = read_rest(p.out);
    assert_int_equal(command_wait(&p), 130);
    assert_null(strstr(rest, "\"event\":\"token\""));
    assert_non_null(strstr(rest, "\"finish_reason\":\"interrupted\""));
    free(rest);
}

/* Runs with a terminal as standard error; gives what it showed. */
static char *shown_on_a_terminal(const char *const *arguments) {
    char *text = calloc(1, 1 << 16);
    size_t used = 0;
    ssize_t n;
    int status, master;
    pid_t pid = forkpty(&master, NULL, NULL, NULL);
    assert_true(pid >= 0 && text);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        execv(arguments[0], (char *const *)arguments);
        _exit(127);
    }
    while (used < (1 << 16) - 1 && (n = read(master, text + used, (1 << 16) - 1 - used)) > 0) {
        used += (size_t)n;
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(master);
    return text;
}

static void c181_progress_on_a_terminal(void **state) {
    (void)state;
    char *shown = shown_on_a_terminal(
        ARGUMENTS(GREEDY, "--window", "1", "-n", "1", "--raw", "-f", long_prompt()));
    assert_non_null(strstr(shown, "\rreading the prompt "));
    assert_non_null(strstr(shown, " a second"));
    assert_non_null(strstr(shown, "\r\033[Kvarve: prompt")); /* taken away before the report */
    free(shown);
}

static void c184_a_closed_pipe(void **state) {
    (void)state;
    const char *errors = temporary_file(&folder, "errors");
    struct command_process p =
        command_start(errors, ARGUMENTS(GREEDY, "-n", "2000", "--raw", "Hello"));
    read_some(p.out);
    close(p.out);
    assert_int_equal(command_wait(&p), 0);
    char *said = read_file(errors);
    assert_string_equal(said, "");
    free(said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_source_of_a_prompt),
        cmocka_unit_test(prompts_that_are_refused),
        cmocka_unit_test(c030_a_prompt_without_end),
        cmocka_unit_test(c044_settings_and_seeds),
        cmocka_unit_test(the_seed_is_printed),
        cmocka_unit_test(notes_on_standard_error),
        cmocka_unit_test(events_tell_the_answer),
        cmocka_unit_test(stop_texts),
        cmocka_unit_test(a_full_context_ends_the_answer),
        cmocka_unit_test(only_the_prompt),
        cmocka_unit_test(c184_ctrl_c_while_decoding),
        cmocka_unit_test(c184_ctrl_c_keeps_text_and_statistics),
        cmocka_unit_test(c184_a_second_ctrl_c_ends_at_once),
        cmocka_unit_test(c184_ctrl_c_before_there_is_a_prompt),
        cmocka_unit_test(c184_ctrl_c_while_reading_the_prompt),
        cmocka_unit_test(c181_progress_on_a_terminal),
        cmocka_unit_test(c184_a_closed_pipe),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

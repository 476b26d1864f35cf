/* `varve chat` in pipes and in a terminal. The model is varve-tiny. */
#include "support/command.h"
#include "support/folder.h"

#include <jansson.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY VARVE_SOURCE_DIR "/models/varve-tiny.gguf"
#define CHAT "chat", "-m", TINY, "--temperature", "0", "-t", "1"
#define ENDLESS "--logit-bias", "4063=-inf", "--logit-bias", "4065=-inf"

/* The numbers of the n-th line that begins with "last answer". */
static void read_stats(const char *out, int n, int *read, int *reused, int *written) {
    for (int i = 0; i <= n; i++) {
        out = strstr(out, "last answer: ");
        assert_non_null(out);
        out++;
    }
    assert_int_equal(sscanf(out, "ast answer: read %d tokens (%*f/s), reused %d, wrote %d", read,
                            reused, written),
                     3);
}

/* The second turn reads its own tokens, and the one that the first answer ended with. */
static void c043_a_turn_reads_only_what_is_new(void **state) {
    (void)state;
    struct command_result r =
        varve_reads("Tell me a story\n/stats\nThank you!\n/stats\n/reset\nTell me a "
                    "story\n/stats\n",
                    CHAT, "-n", "12");
    int read[3], reused[3], written[3];
    assert_int_equal(r.code, 0);
    for (int i = 0; i < 3; i++) {
        read_stats(r.out, i, &read[i], &reused[i], &written[i]);
    }
    assert_int_equal(reused[0], 0);
    assert_int_equal(written[0], 12);
    assert_int_equal(reused[1], read[0] + 11); /* the last token was not evaluated */
    assert_in_range(read[1], 1, 1 + 20);
    assert_int_equal(reused[2] + read[2], read[0]); /* as the first: it was kept */
    assert_in_range(read[2], 1, 8);                 /* all but where an answer begins */
    assert_null(strstr(r.out, "> "));               /* no prompt in a pipe */
    command_free(&r);
}

/* What was kept from the turn before changes no answer. */
static void reuse_changes_nothing(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "one.json");
    char input[600];
    snprintf(input, sizeof input, "Tell me a story\n/save %s\nThank you!\n", path);
    struct command_result a = varve_reads(input, CHAT, "-n", "12");
    snprintf(input, sizeof input, "/load %s\nThank you!\n", path);
    struct command_result b = varve_reads(input, CHAT, "-n", "12");
    const char *second = strchr(a.out, '\n');
    assert_int_equal(a.code, 0);
    assert_non_null(second);
    assert_string_equal(second + 1, b.out);
    command_free(&a);
    command_free(&b);
}

static json_t *load_json(const char *path) {
    json_t *value = json_load_file(path, 0, NULL);
    assert_non_null(value);
    return value;
}

static const char *content_of(json_t *messages, size_t i) {
    return json_string_value(json_object_get(json_array_get(messages, i), "content"));
}

static void saved_and_loaded(void **state) {
    (void)state;
    const char *a = temporary_file(&folder, "a.json"), *b = temporary_file(&folder, "b.json");
    char input[900];
    snprintf(
        input, sizeof input,
        "/system \"\"\"Be <|im_end|>\nkind.\"\"\"\none \\\ntwo\n\"\"\"\n/three\n\nfour\n\"\"\"\n"
        "//five \"\"\"\n"
        "/save %s\n/reset\n/load %s\n/save %s\n",
        a, a, b);
    struct command_result r = varve_reads(input, CHAT, "-n", "3");
    assert_int_equal(r.code, 0);
    json_t *first = load_json(a), *second = load_json(b);
    assert_true(json_equal(first, second));
    assert_int_equal(json_array_size(first), 7);
    assert_string_equal(content_of(first, 0), "Be <|im_end|>\nkind.");
    assert_string_equal(content_of(first, 1), "one \ntwo");
    assert_string_equal(content_of(first, 3), "/three\n\nfour");
    assert_string_equal(content_of(first, 5), "/five \"\"\"");
    json_decref(first);
    json_decref(second);
    command_free(&r);
}

static void commands_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *word;
    } refused[] = {{"/halp\n",
                    "/help, /reset, /system, /tools, /result, /run, /save, /load, /stats, "
                    "/quit"},
                   {"/save\n", "needs FILE"},
                   {"/stats x\n", "takes nothing"},
                   {"/load none.json\n", "No such file"},
                   {"/tools none.json\n", "No such file"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        command_refuses(varve_reads(refused[i].line, CHAT), 1, WORDS(refused[i].word));
    }
    struct command_result r = varve_reads("/help\n\n  \n/quit\nHello\n", CHAT);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "/system  TEXT"));
    assert_string_equal(r.err, "");
    command_free(&r);
}

/* A message that can't be read is taken back; the conversation goes on. */
static void a_message_that_is_too_long(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "left.json");
    char input[2000] = "word ";
    for (int i = 0; i < 100; i++) {
        strcat(input, "word ");
    }
    snprintf(input + strlen(input), 500, "\nHello\n/save %s\n", path);
    struct command_result r = varve_reads(input, CHAT, "-n", "3", "-c", "60");
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "the context holds 60"));
    json_t *messages = load_json(path);
    assert_int_equal(json_array_size(messages), 2);
    assert_string_equal(content_of(messages, 0), "Hello");
    json_decref(messages);
    command_free(&r);
}

/* ---- tools ---- */

#define TOOLS VARVE_SOURCE_DIR "/examples/tools.json"
#define CALL(city) "{\"name\":\"get_weather\",\"arguments\":{\"city\":\"" city "\"}}\n"

/* The model was trained to say such a result in a sentence. */
static void a_result_is_given_back(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "result.json");
    char input[600];
    snprintf(input, sizeof input,
             "What is the weather in Paris?\n/result \"\"\"\n{\"temperature\": 18,\n \"sky\": "
             "\"cloudy\"}\n\"\"\"\n/save %s\n",
             path);
    struct command_result r = varve_reads(input, CHAT, "--tools", TOOLS);
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, CALL("Paris") "In Paris it is cloudy and 18 degrees.\n");
    json_t *messages = load_json(path);
    assert_int_equal(json_array_size(messages), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(messages, 2), "role")),
                        "tool");
    assert_string_equal(content_of(messages, 2), "{\"temperature\": 18,\n \"sky\": \"cloudy\"}");
    json_decref(messages);
    command_free(&r);
}

/* It gets the arguments, and what it prints is the result. A command that fails gives none. */
static void a_command_makes_the_result(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "run.json");
    char input[600];
    snprintf(input, sizeof input,
             "What is the weather in Paris?\n/run echo no; exit 3\n/run kill -9 $$\n"
             "/run cat; echo; echo\n/save %s\n/run cat\n",
             path);
    struct command_result r = varve_reads(input, CHAT, "-n", "30", "--tools", TOOLS);
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "exit code 3: the call still waits"));
    assert_non_null(strstr(r.err, "signal 9: the call still waits"));
    assert_non_null(strstr(r.err, "no call of a tool waits"));
    json_t *messages = load_json(path);
    assert_int_equal(json_array_size(messages), 4);
    assert_string_equal(content_of(messages, 2), "{\"city\":\"Paris\"}\n");
    json_decref(messages);
    command_free(&r);
}

/* Results are taken in the order of the calls; the model goes on behind the last. A message in
 * place of them is a message. */
static void several_calls_wait(void **state) {
    (void)state;
    const char *first = temporary_file(&folder, "first.json");
    const char *second = temporary_file(&folder, "second.json");
    const char *asked = temporary_file(&folder, "asked.json");
    FILE *file = fopen(asked, "wb");
    assert_non_null(file);
    fputs("[{\"role\": \"user\", \"content\": \"And?\"}, {\"role\": \"assistant\", \"content\": "
          "\"\", "
          "\"tool_calls\": [{\"name\": \"a\", \"arguments\": {\"x\": 1}}, {\"name\": \"b\", "
          "\"arguments\": {\"y\": 2}}]}]",
          file);
    fclose(file);
    char input[600];
    snprintf(input, sizeof input,
             "/run cat\n/save %s\n/run cat\n/save %s\n/load %s\nHello\n/result 5\n", first, second,
             asked);
    struct command_result r = varve_reads(input, CHAT, "-n", "3", "--messages", asked);
    assert_int_equal(r.code, 1); /* nothing waits behind Hello */
    json_t *messages = load_json(first);
    assert_int_equal(json_array_size(messages), 3);
    assert_string_equal(content_of(messages, 2), "{\"x\":1}");
    json_decref(messages);
    messages = load_json(second);
    assert_int_equal(json_array_size(messages), 5);
    assert_string_equal(content_of(messages, 3), "{\"y\":2}");
    json_decref(messages);
    command_free(&r);
}

/* ---- signals ---- */

struct talk {
    pid_t pid;
    int in, out;
    char seen[20000];
    size_t length, at;     /* read, and awaited so far */
    struct termios before; /* of a terminal */
};

static void begin_talk(struct talk *talk, const char *const *arguments) {
    int in[2], out[2];
    memset(talk, 0, sizeof *talk);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    talk->pid = fork();
    assert_true(talk->pid >= 0);
    if (talk->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execv(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    talk->in = in[1];
    talk->out = out[0];
}

static void begin_terminal(struct talk *talk, const char *const *arguments) {
    memset(talk, 0, sizeof *talk);
    talk->pid = forkpty(&talk->in, NULL, NULL, NULL);
    assert_true(talk->pid >= 0);
    if (talk->pid == 0) {
        setenv("TERM", "vt100", 1);
        execv(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    talk->out = talk->in;
    assert_int_equal(tcgetattr(talk->in, &talk->before), 0);
}

static void say(struct talk *talk, const char *text) {
    assert_int_equal(write(talk->in, text, strlen(text)), (ssize_t)strlen(text));
}

/* Reads until the text comes behind what was awaited before; NULL: to the end. */
static void await(struct talk *talk, const char *text) {
    const char *found = NULL;
    alarm(60);
    while (!text || !(found = strstr(talk->seen + talk->at, text))) {
        ssize_t n =
            read(talk->out, talk->seen + talk->length, sizeof talk->seen - 1 - talk->length);
        if (n <= 0) {
            assert_null(text);
            break;
        }
        talk->length += (size_t)n;
    }
    alarm(0);
    talk->at = found ? (size_t)(found - talk->seen) + strlen(text) : talk->length;
}

static int end_talk(struct talk *talk) {
    int status;
    assert_int_equal(waitpid(talk->pid, &status, 0), talk->pid);
    close(talk->out);
    if (talk->in != talk->out) {
        close(talk->in);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A terminal is to be as it was, and a shell's prompt to begin a line. */
static int end_terminal(struct talk *talk) {
    struct termios after;
    assert_true(talk->length > 0 && talk->seen[talk->length - 1] == '\n');
    assert_int_equal(tcgetattr(talk->in, &after), 0);
    assert_int_equal(after.c_lflag, talk->before.c_lflag);
    assert_int_equal(after.c_iflag, talk->before.c_iflag);
    assert_int_equal(after.c_oflag, talk->before.c_oflag);
    return end_talk(talk);
}

/* The answer would fill the context; what came of it stays in the conversation. */
static void interrupt_ends_the_answer_alone(void **state) {
    (void)state;
    struct talk talk;
    int read, reused, written;
    begin_talk(&talk, ARGUMENTS(CHAT, ENDLESS));
    say(&talk, "Tell me a story\n");
    await(&talk, " ");
    kill(talk.pid, SIGINT);
    await(&talk, "\n");
    say(&talk, "/stats\nThank you!\n");
    await(&talk, "reused 0, wrote");
    await(&talk, "(--keep).\n");
    await(&talk, " ");
    kill(talk.pid, SIGINT);
    say(&talk, "/stats\n/quit\n");
    await(&talk, NULL);
    assert_int_equal(end_talk(&talk), 0);
    read_stats(talk.seen, 0, &read, &reused, &written);
    assert_in_range(written, 1, 1000);
    read_stats(talk.seen, 1, &read, &reused, &written);
    assert_true(reused > 0);
}

static void other_signals_end_the_program(void **state) {
    (void)state;
    struct talk talk;
    begin_talk(&talk, ARGUMENTS(CHAT, ENDLESS));
    say(&talk, "Tell me a story\n");
    await(&talk, " ");
    kill(talk.pid, SIGTERM);
    await(&talk, NULL);
    assert_int_equal(end_talk(&talk), 130);
}

/* The prompt appears a moment before the editor takes the terminal over; a key in between would be
 * the terminal's own. */
static void press(struct talk *talk, const char *keys) {
    usleep(500000);
    say(talk, keys);
}

static void c184_keys_in_a_terminal(void **state) {
    (void)state;
    struct talk talk;
    begin_terminal(&talk, ARGUMENTS(CHAT, "-n", "4"));
    await(&talk, "> ");
    press(&talk, "/quit\003"); /* Ctrl-C takes the line away */
    await(&talk, "once more");
    await(&talk, "> ");
    press(&talk, "Hello\r");
    await(&talk, "> ");
    press(&talk, "\003");
    await(&talk, "once more");
    await(&talk, "> ");
    press(&talk, "\004");
    await(&talk, NULL);
    assert_int_equal(end_terminal(&talk), 0);
    begin_terminal(&talk, ARGUMENTS(CHAT));
    await(&talk, "> ");
    press(&talk, "\003");
    await(&talk, "once more");
    await(&talk, "> ");
    press(&talk, "\003");
    await(&talk, NULL);
    assert_int_equal(end_terminal(&talk), 130);
}

static void c184_ended_by_a_signal_at_the_prompt(void **state) {
    (void)state;
    struct talk talk;
    begin_terminal(&talk, ARGUMENTS(CHAT));
    await(&talk, "> ");
    press(&talk, "half a mess");
    await(&talk, "half a mess");
    kill(talk.pid, SIGTERM);
    await(&talk, NULL);
    assert_int_equal(end_terminal(&talk), 130);
}

/* A person is told what to do, and sees what the command printed. */
static void a_call_in_a_terminal(void **state) {
    (void)state;
    struct talk talk;
    begin_terminal(&talk, ARGUMENTS(CHAT, "--tools", TOOLS));
    await(&talk, "> ");
    press(&talk, "What is the weather in Paris?\r");
    await(&talk, "a result of get_weather: /result TEXT, or /run COMMAND");
    await(&talk, "> ");
    press(&talk, "/run sleep 60\r");
    await(&talk, "\n");
    press(&talk, "\003");
    await(&talk, "was interrupted: the call still waits");
    await(&talk, "> ");
    press(&talk, "/run echo cloudy $((10 + 8))\r");
    await(&talk, "\ncloudy 18");
    await(&talk, "> ");
    press(&talk, "\004");
    await(&talk, NULL);
    assert_int_equal(end_terminal(&talk), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c043_a_turn_reads_only_what_is_new),
        cmocka_unit_test(reuse_changes_nothing),
        cmocka_unit_test(saved_and_loaded),
        cmocka_unit_test(commands_that_are_refused),
        cmocka_unit_test(a_message_that_is_too_long),
        cmocka_unit_test(a_result_is_given_back),
        cmocka_unit_test(a_command_makes_the_result),
        cmocka_unit_test(several_calls_wait),
        cmocka_unit_test(interrupt_ends_the_answer_alone),
        cmocka_unit_test(other_signals_end_the_program),
        cmocka_unit_test(c184_keys_in_a_terminal),
        cmocka_unit_test(c184_ended_by_a_signal_at_the_prompt),
        cmocka_unit_test(a_call_in_a_terminal),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

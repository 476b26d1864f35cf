/*
 * What is kept of a conversation: files of --session, prompts of --parallel, contexts that are full
 * (cases C056, C065, C069, C071). The model is varve-tiny.
 */
#include "support/command.h"
#include "support/folder.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY VARVE_SOURCE_DIR "/models/varve-tiny.gguf"
#define COMMON "-m", TINY, "-t", "1"
#define ENDLESS "--logit-bias", "4063=-inf", "--logit-bias", "4065=-inf"

/* What it writes; the caller frees. */
static char *out_of(struct command_result r) {
    if (r.code != 0) {
        fail_msg("exit code %d: %s", r.code, r.err);
    }
    free(r.err);
    return r.out;
}

static void same_text(char *a, char *b) {
    assert_string_equal(a, b);
    assert_true(strlen(a) > 10);
    free(a);
    free(b);
}

/* Sampled, in two pieces: the same as in one. */
static void a_raw_text_goes_on(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "raw");
    char joined[2000];
    char *whole = out_of(varve("run", COMMON, "--raw", "--temperature", "1", "--seed", "3", "-n",
                               "40", ENDLESS, "Once upon a time"));
    char *first = out_of(varve("run", COMMON, "--raw", "--temperature", "1", "--seed", "3", "-n",
                               "17", ENDLESS, "--session", path, "Once upon a time"));
    char *second = out_of(varve("run", COMMON, "--raw", "--temperature", "1", "--seed", "3", "-n",
                                "23", ENDLESS, "--session", path, ""));
    first[strlen(first) - 1] = 0; /* its line's end */
    snprintf(joined, sizeof joined, "%s%s", first, second);
    free(first);
    free(second);
    same_text(whole, strdup(joined));
}

#define CHATS COMMON, "--temperature", "0", "-n", "24"

/* Two calls of run, and two of chat, say what one chat says. */
static void c056_a_conversation_goes_on(void **state) {
    (void)state;
    const char *run = temporary_file(&folder, "run"), *chat = temporary_file(&folder, "chat");
    char joined[2000];
    char *whole = out_of(varve_reads("Tell me a story\nWhat then?\n", "chat", CHATS));
    char *a = out_of(varve("run", CHATS, "--session", run, "Tell me a story"));
    char *b = out_of(varve("run", CHATS, "--session", run, "What then?"));
    snprintf(joined, sizeof joined, "%s%s", a, b);
    assert_string_equal(whole, joined);
    free(a);
    free(b);
    a = out_of(varve_reads("Tell me a story\n", "chat", CHATS, "--session", chat));
    b = out_of(varve_reads("What then?\n", "chat", CHATS, "--session", chat));
    snprintf(joined, sizeof joined, "%s%s", a, b);
    free(a);
    free(b);
    same_text(whole, strdup(joined));
}

/* Tokens that the last answer read, and reused. */
static void stats_of(const char *out, int *read, int *reused) {
    const char *line = strstr(out, "last answer: ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "last answer: read %d tokens (%*f/s), reused %d", read, reused),
                     2);
}

/* After a restart only what is new is read. */
static void c056_nothing_is_read_again(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "again");
    int read, reused;
    free(out_of(varve_reads("Tell me a story\n", "chat", CHATS, "--session", path)));
    char *out = out_of(varve_reads("What then?\n/stats\n", "chat", CHATS, "--session", path));
    stats_of(out, &read, &reused);
    assert_true(reused > 30);
    assert_in_range(read, 1, 25);
    free(out);
}

/* Thoughts leave the text of later turns: what stands before them is not read again. */
static void c069_thoughts_are_dropped(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "thoughts");
    int read, reused;
    static const char system[] = "You are kind, and you answer in few words, for a child who is "
                                 "tired and wants to hear a story about a fox who lost a shoe.";
    free(out_of(varve_reads("Tell me a story\n", "chat", CHATS, "--thinking", "on", "--system",
                            system, "--session", path)));
    char *out = out_of(
        varve_reads("What then?\n/stats\n", "chat", CHATS, "--thinking", "on", "--session", path));
    stats_of(out, &read, &reused);
    assert_true(reused > 30);
    free(out);
}

/* The place and the text of the first difference are told. */
static void c071_where_the_text_differs(void **state) {
    (void)state;
    int at = 0;
    char *out = out_of(varve_reads("Hi\n/stats\n/system It is Monday.\nHi\n/stats\n", "chat", CHATS,
                                   "--system", "It is Sunday."));
    static const char told[] = "differs from what was read before from token ";
    const char *line = strstr(out, told);
    assert_non_null(line);
    assert_true(line > strstr(out, "all answers: ")); /* not by the first /stats */
    assert_int_equal(sscanf(line + strlen(told), "%d", &at), 1);
    assert_in_range(at, 1, 12);
    assert_null(strstr(line + 1, told));
    line = strchr(line, '"');
    assert_memory_equal(line, "\" Mon", 5);
    free(out);
}

static void files_that_cannot_be_gone_on_from(void **state) {
    (void)state;
    const char *raw = temporary_file(&folder, "raw1"), *chat = temporary_file(&folder, "chat1");
    free(out_of(varve("run", CHATS, "--raw", "--session", raw, "One")));
    free(out_of(varve("run", CHATS, "--session", chat, "One")));
    command_refuses(varve("run", CHATS, "--session", raw, "Two"), 1, WORDS("raw text", "--raw"));
    command_refuses(varve("run", CHATS, "--raw", "--session", chat, "Two"), 1,
                    WORDS("conversation", "--raw"));
    command_refuses(varve("run", CHATS, "--session", chat, "--system", "x", "Two"), 2,
                    WORDS("--system", "already"));
    command_refuses(varve("run", CHATS, "--session", temporary_write(&folder, "no", "no"), "Two"),
                    1, WORDS("no session file"));
    command_refuses(varve("run", CHATS, "-c", "10", "--session", chat, "Two"), 1, WORDS("larger"));
}

/* Every prompt is answered as if it were alone, sampled too, and the answers stand in order. */
static void prompts_in_parallel(void **state) {
    (void)state;
    static const char *const prompts[] = {"Tell me a story", "Thank you", "What is a fox?",
                                          "Hello"};
#define SAMPLED COMMON, "--temperature", "0.8", "--seed", "5", "-n", "30"
    const char *path = temporary_write(&folder, "prompts",
                                       "Tell me a story\nThank you\n\nWhat is a fox?\nHello\n");
    static const char *const together[] = {"1", "3", "9"};
    char want[4000] = "";
    for (size_t i = 0; i < 4; i++) {
        char *one = out_of(varve("run", SAMPLED, prompts[i]));
        strcat(want, i > 0 ? "---\n" : "");
        strcat(want, one);
        free(one);
    }
    static const char *const drafts[] = {"off", "mtp", "both"};
    for (size_t i = 0; i < 3; i++) {
        struct command_result r = varve("run", SAMPLED, "--parallel", together[i], "--draft",
                                        drafts[i], "--draft-max", "3", "--draft-fixed", "-f", path);
        assert_true(i == 0 || strstr(r.err, "were right"));
        same_text(strdup(want), out_of(r));
    }
    struct command_result r = varve("run", SAMPLED, "--parallel", "2", "--json", "-f", path);
    char *line = strtok(r.out, "\n");
    for (int i = 0; i < 4; i++, line = strtok(NULL, "\n")) {
        json_t *event = json_loads(line, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(event, "index")), i);
        assert_true(strstr(want, json_string_value(json_object_get(event, "text"))) != NULL);
        json_decref(event);
    }
    assert_null(line);
    command_free(&r);
    command_refuses(varve("run", SAMPLED, "--parallel", "2", "--session", "x", "-f", path), 2,
                    WORDS("--session", "one answer"));
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text++;
    }
    return count;
}

/* Stops by itself; shifts where that is asked for, and says so each time. */
static void c065_a_full_context(void **state) {
    (void)state;
#define FULL COMMON, "--temperature", "0", "-c", "64", "-n", "120", ENDLESS
    struct command_result r = varve("run", FULL, "Tell me a story");
    assert_int_equal(r.code, 0);
    assert_int_equal(count_of(r.err, "context of 64 tokens is full"), 1);
    size_t length = r.out_length;
    command_free(&r);
    r = varve("run", FULL, "--context-full", "shift", "Tell me a story");
    assert_int_equal(r.code, 0);
    assert_true(count_of(r.err, "have left it") >= 2);
    assert_non_null(strstr(r.err, "answer 120 tokens"));
    assert_true(r.out_length > length + 100);
    command_free(&r);
    r = varve_reads("Tell me a story\nAnd then?\nWhat is that?\n", "chat", COMMON, "--temperature",
                    "0", "-c", "100", "-n", "40", ENDLESS, "--context-full", "shift");
    assert_int_equal(r.code, 0);
    assert_true(count_of(r.err, "oldest messages") >= 1);
    command_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_raw_text_goes_on),
        cmocka_unit_test(c056_a_conversation_goes_on),
        cmocka_unit_test(c056_nothing_is_read_again),
        cmocka_unit_test(c069_thoughts_are_dropped),
        cmocka_unit_test(c071_where_the_text_differs),
        cmocka_unit_test(files_that_cannot_be_gone_on_from),
        cmocka_unit_test(prompts_in_parallel),
        cmocka_unit_test(c065_a_full_context),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

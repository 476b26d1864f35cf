/*
 * What keeping a conversation's state costs, and what it saves: `kept MODEL TOKENS CHATS` reads a
 * text of random tokens, keeps it, comes back to it, and lets chats of that length take turns on
 * one slot. Times are the least of three. `--device NAME` is as the command's, `--window N` the
 * rows that are read at a time, `--keep GIB` host memory for what is kept; with `--layers N` MODEL
 * is a released model's name, and that many of its layers have weights that are made up; an n-gram
 * table is cut so that all take `--room GIB` at most. See docs/sessions.md.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <varve.h>

enum { WINDOW_USUAL = 512, WINDOW_MOST = 8192, KEEP_USUAL = 16, TURNS = 4, ROUNDS = 3 };

static struct varve_error error;
static struct varve_model_info info;
static struct varve_session *session;
static struct varve_row rows[WINDOW_MOST];
static size_t window = WINDOW_USUAL;

static void need(int code) {
    if (code != VARVE_OK) {
        fprintf(stderr, "kept: %s\n", error.message);
        exit(EXIT_FAILURE);
    }
}

static void *get(size_t bytes) {
    void *at = malloc(bytes);
    if (!at) {
        fprintf(stderr, "kept: no memory for %zu bytes\n", bytes);
        exit(EXIT_FAILURE);
    }
    return at;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void make_text(int32_t *tokens, size_t count, uint32_t seed) {
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        tokens[i] = (int32_t)((seed >> 8) % info.vocabulary);
    }
}

static void read_tokens(const int32_t *tokens, size_t count) {
    for (size_t at = 0; at < count;) {
        size_t n = count - at < window ? count - at : window;
        for (size_t i = 0; i < n; i++) {
            rows[i] = (struct varve_row){0, tokens[at + i], at + i + 1 == count};
        }
        need(varve_session_evaluate(session, rows, n, VARVE_ADVANCE, NULL, NULL, &error));
        at += n;
    }
}

/* Makes the slot hold a text, with the last token's logits, and returns how many tokens were read.
 * The checkpoint before the last token is for whoever asks the same again. */
static size_t answerable(const int32_t *tokens, size_t count) {
    struct varve_resumed resumed;
    need(varve_session_resume(session, 0, tokens, count, &resumed, &error));
    if (resumed.held + 1 < count) {
        read_tokens(tokens + resumed.held, count - 1 - resumed.held);
        need(varve_session_checkpoint(session, 0, &error));
    }
    read_tokens(tokens + count - 1, 1);
    return count - resumed.held;
}

static void tell(const char *what, double seconds, double bytes, double cold) {
    printf("%-42s %10.2f ms", what, seconds * 1e3);
    if (bytes > 0) {
        printf("  %5.2f GB/s", bytes / seconds / 1e9);
    }
    if (cold > 0) {
        printf("  %7.3f %% of cold", 100 * seconds / cold);
    }
    puts("");
    fflush(stdout);
}

/* ---- what one text costs ---- */

static int fork_it(void) {
    return varve_session_fork(session, 0, 1, &error);
}
static int fork_back(void) {
    return varve_session_fork(session, 1, 0, &error);
}
static int keep_it(void) {
    return varve_session_keep(session, 0, &error);
}
static int save_it(void) {
    return varve_session_save(session, 0, "kept.session", "", 0, &error);
}
static int load_it(void) {
    struct varve_note note;
    int code = varve_session_load(session, 1, "kept.session", &note, &error);
    if (code == VARVE_OK) {
        varve_note_free(&note);
    }
    return code;
}

static double least(int (*call)(void), int rounds) {
    double best = 0;
    for (int i = 0; i < rounds; i++) {
        double began = now();
        need(call());
        double took = now() - began;
        best = i == 0 || took < best ? took : best;
    }
    return best;
}

static void one_text(const int32_t *text, const int32_t *other, size_t count, bool made_up) {
    double again = 0, back = 0;
    size_t size;
    read_tokens(other, window < count ? window : count); /* the device's first window is slow */
    varve_session_clear(session, 0);
    double began = now();
    answerable(text, count);
    double cold = now() - began;
    need(varve_session_state(session, 0, NULL, 0, &size, &error));
    double bytes = (double)size;
    printf("%zu tokens, %.1f MiB of state\n", count, bytes / 1048576);
    tell("read cold", cold, 0, 0);
    for (int i = 0; i < ROUNDS; i++) {
        began = now();
        size_t read = answerable(text, count);
        double took = now() - began;
        again = i == 0 || took < again ? took : again;
        if (read > 1) {
            printf("read again: %zu tokens\n", read);
        }
    }
    tell("the same prompt again, in its slot", again, 0, cold);
    tell("keep in host memory", least(keep_it, 1), bytes, 0);
    for (int i = 0; i < ROUNDS; i++) {
        varve_session_clear(session, 0);
        read_tokens(other, 64);
        began = now();
        answerable(text, count);
        double took = now() - began;
        back = i == 0 || took < back ? took : back;
    }
    tell("the same prompt, from host memory", back, 0, cold);
    tell("snapshot within the device: a fork", least(fork_it, ROUNDS), bytes, 0);
    tell("and back", least(fork_back, ROUNDS), bytes, 0);
    if (!made_up) { /* a session's file names its model by its weights */
        tell("save to a file", least(save_it, 1), bytes, 0);
        tell("load from the file", least(load_it, ROUNDS), bytes, 0);
    }
    remove("kept.session");
}

/* ---- chats that take turns ---- */

static void chats_in_turn(int32_t *texts, size_t chats, size_t count) {
    struct varve_kept kept;
    size_t read = 0;
    varve_session_clear(session, 0);
    for (size_t turn = 1; turn <= TURNS; turn++) {
        for (size_t c = 0; c < chats; c++) {
            read += answerable(texts + c * count, count * turn / TURNS);
        }
    }
    varve_session_kept(session, &kept);
    printf("%zu chats of %zu tokens took %d turns each on one slot: %zu tokens were new, %zu were "
           "read; a spacing is %zu, and %.0f MiB are kept\n",
           chats, count, TURNS, chats * count, read, kept.spacing, (double)kept.bytes / 1048576);
}

/* ---- what is asked for ---- */

struct asked {
    const char *model;
    size_t tokens, chats, keep; /* GiB */
    enum varve_device device;
    struct varve_geometry_options described; /* of `layers`, or none */
};

static void refuse(const char *why) {
    fprintf(stderr,
            "kept: %s: kept MODEL TOKENS CHATS [--device NAME] [--window N] "
            "[--keep GIB] [--layers N --room GIB]\n",
            why);
    exit(EXIT_FAILURE);
}

static enum varve_device device_of(const char *name) {
    static const char *const names[] = {"cpu", "mock", "cuda", "cuda-emulated"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum varve_device)i;
        }
    }
    refuse("a device is cpu, mock, cuda or cuda-emulated");
    return VARVE_DEVICE_CPU;
}

static struct asked read_arguments(int count, char **argument) {
    if (count < 4 || count % 2 != 0) {
        refuse("give a model, tokens, and how many chats");
    }
    struct asked a = {.model = argument[1],
                      .tokens = strtoul(argument[2], NULL, 10),
                      .chats = strtoul(argument[3], NULL, 10),
                      .keep = KEEP_USUAL};
    for (int i = 4; i < count; i += 2) {
        if (strcmp(argument[i], "--device") == 0) {
            a.device = device_of(argument[i + 1]);
        } else if (strcmp(argument[i], "--window") == 0) {
            window = strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--keep") == 0) {
            a.keep = strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--layers") == 0) {
            a.described.layers = (uint32_t)strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--room") == 0) {
            a.described.room = strtoull(argument[i + 1], NULL, 10) << 30;
        } else {
            refuse("there is no such option");
        }
    }
    if (window < 1 || window > WINDOW_MOST || a.keep > 1024) {
        refuse("windows of 1 to 8192 rows, and up to 1024 GiB for what is kept, are possible");
    }
    if (a.tokens < 256 || a.tokens > 1 << 20 || a.chats > 64) {
        refuse("256 to 1048576 tokens and up to 64 chats are possible");
    }
    return a;
}

int main(int arguments, char **argument) {
    const struct asked asked = read_arguments(arguments, argument);
    size_t count = asked.tokens, chats = asked.chats;
    struct varve_session_options options = {.slots = 2,
                                            .context = (uint32_t)count,
                                            .window = (uint32_t)window,
                                            .logits = 1,
                                            .kv_f16 = true,
                                            .keep_bytes = (uint64_t)asked.keep << 30,
                                            .device = asked.device};
    struct varve_file *file;
    struct varve_model *model;
    need(asked.described.layers ? varve_geometry_open(asked.model, &asked.described, &file, &error)
                                : varve_file_open(asked.model, false, &file, &error));
    need(varve_model_open(file, NULL, NULL, &model, &error));
    need(varve_session_open(model, &options, &session, &error));
    varve_model_info(model, &info);
    int32_t *texts = get((chats + 2) * count * sizeof *texts);
    make_text(texts, (chats + 2) * count, 1);
    one_text(texts, texts + count, count, asked.described.layers > 0);
    if (chats > 0) {
        chats_in_turn(texts + 2 * count, chats, count);
    }
    free(texts);
    varve_session_close(session);
    varve_model_close(model);
    varve_file_close(file);
}

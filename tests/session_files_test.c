/*
 * Session files: what was saved goes on with the same bits, from every place; what is damaged, cut
 * short, of another model, version or setting is refused in one sentence; a killed writer and a
 * full disk leave the old file. Cases C055 to C058, C061, C062, C066 and C077 of docs/cases.md.
 */
#include "support/opened.h"
#include "support/temporary.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOKENS = 150, CONTEXT = 200 };
static const char micro[] = "qwen4exp/micro.f32.gguf";
static const struct varve_session_options plain = {
    .context = CONTEXT, .window = 64, .logits = 16, .threads = 1};

static struct varve_error error;

static void done(int code) {
    if (code != VARVE_OK) {
        fail_msg("%s", error.message);
    }
}

static void load(struct varve_session *s, const char *path) {
    struct varve_note note;
    done(varve_session_load(s, 0, path, &note, &error));
    varve_note_free(&note);
}

/* The sentence has the words; the slot holds `length` tokens afterwards. */
static void refuses(struct varve_session *s, const char *path, size_t length,
                    const char *const *words) {
    struct varve_note note = {(char *)"untouched", 1};
    memset(&error, 0, sizeof error);
    assert_int_not_equal(varve_session_load(s, 0, path, &note, &error), VARVE_OK);
    message_has(&error, words);
    assert_null(strchr(error.message, '\n'));
    assert_string_equal(note.text, "untouched");
    assert_int_equal(varve_session_length(s, 0), length);
}

/* ---- a file and what it came from ---- */

struct setting {
    struct opened o;
    struct temporary folder;
    struct varve_session *session;
    int32_t tokens[TOKENS];
    const char *path;
};

static struct setting set_up(const char *model, struct varve_session_options options,
                             size_t count) {
    struct setting s = {.o = open_model(model), .folder = temporary_make()};
    s.path = strdup(temporary_file(&s.folder, "saved"));
    s.session = open_session(&s.o, &options);
    random_tokens(&s.o, 5, s.tokens, TOKENS);
    if (count > 0) {
        advance(s.session, &s.o, 0, s.tokens, count, NULL);
    }
    done(varve_session_save(s.session, 0, s.path, "note", 4, &error));
    return s;
}

static void tear_down(struct setting *s) {
    varve_session_close(s->session);
    free((void *)(uintptr_t)s->path);
    temporary_remove(&s->folder);
    close_model(&s->o);
}

/* ---- what is saved goes on ---- */

static void restored_everywhere(const char *model, bool mtp) {
    struct varve_session_options options = plain, other = plain;
    struct setting s;
    options.mtp = other.mtp = mtp;
    other.device = VARVE_DEVICE_MOCK;
    s = set_up(model, options, 0);
    struct varve_session *there = open_session(&s.o, &other);
    size_t v = s.o.info.vocabulary;
    float *want = malloc(v * sizeof *want), *got = malloc(v * sizeof *got);
    for (size_t i = 0; i + 1 < TOKENS; i++) { /* every place in blocks of 128, and some more */
        advance(s.session, &s.o, 0, s.tokens + i, 1, NULL);
        done(varve_session_save(s.session, 0, s.path, NULL, 0, &error));
        load(there, s.path);
        size_t bytes, bytes_there;
        void *state = state_of(s.session, 0, &bytes);
        void *state_there = state_of(there, 0, &bytes_there);
        assert_int_equal(bytes, bytes_there);
        assert_memory_equal(state, state_there, bytes);
        free(state);
        free(state_there);
        if (mtp) { /* the draft block, whose cache lags one token, goes on, too */
            int32_t drafts[3], drafts_there[3];
            done(varve_session_draft(s.session, 0, s.tokens[i + 1], 3, drafts, NULL, &error));
            done(varve_session_draft(there, 0, s.tokens[i + 1], 3, drafts_there, NULL, &error));
            assert_memory_equal(drafts, drafts_there, sizeof drafts);
        }
        if (i % 7 == 0) { /* and it goes on */
            done(varve_session_checkpoint(s.session, 0, &error));
            advance(s.session, &s.o, 0, s.tokens + i + 1, 1, want);
            advance(there, &s.o, 0, s.tokens + i + 1, 1, got);
            assert_memory_equal(want, got, v * sizeof *want);
            done(varve_session_truncate(s.session, 0, i + 1, &error));
        }
    }
    free(want);
    free(got);
    varve_session_close(there);
    tear_down(&s);
}

static void c055_c077_restored_at_every_place(void **state) {
    (void)state;
    restored_everywhere(micro, false);
    restored_everywhere("qwen4exp/odd.f32.gguf", true);
}

/* Nothing of the prompt is read again, in a process that has only the file; twice the same. */
static void c056_c066_saved_restarted_restored_twice(void **state) {
    (void)state;
    struct setting s = set_up(micro, plain, TOKENS - 1);
    size_t v = s.o.info.vocabulary;
    float *want = malloc(v * sizeof *want), *got = malloc(v * sizeof *got);
    advance(s.session, &s.o, 0, s.tokens + TOKENS - 1, 1, want);
    struct varve_session *again = open_session(&s.o, &plain);
    for (int round = 0; round < 2; round++) {
        struct varve_resumed resumed;
        load(again, s.path);
        done(varve_session_resume(again, 0, s.tokens, TOKENS, &resumed, &error));
        assert_int_equal(resumed.held, TOKENS - 1);
        advance(again, &s.o, 0, s.tokens + TOKENS - 1, 1, got);
        assert_memory_equal(want, got, v * sizeof *want);
    }
    free(want);
    free(got);
    varve_session_close(again);
    tear_down(&s);
}

static void c057_an_empty_session_and_no_file(void **state) {
    (void)state;
    struct setting s = set_up(micro, plain, 0);
    load(s.session, s.path);
    assert_int_equal(varve_session_length(s.session, 0), 0);
    advance(s.session, &s.o, 0, s.tokens, 20, NULL);
    refuses(s.session, temporary_file(&s.folder, "none"), 20, WORDS("none", "No such file"));
    refuses(s.session, s.folder.path, 20, WORDS("a directory"));
    refuses(s.session, temporary_write(&s.folder, "text", "varve.session?"), 20,
            WORDS("text is no session file"));
    refuses(s.session, temporary_write(&s.folder, "empty", ""), 20, WORDS("no session file"));
    refuses(s.session, temporary_write(&s.folder, "short", "varve.s\n"), 20,
            WORDS("ends too early"));
    tear_down(&s);
}

/* ---- what is of something else ---- */

static void c061_of_another_model_or_setting(void **state) {
    (void)state;
    static const struct {
        const char *model;
        bool f16, mtp, floats;
        const char *word;
    } others[] = {
        {"qwen4exp/odd.f32.gguf", false, false, false, "geometry"},
        {"qwen4exp/micro.f32.gguf", true, false, false, "f16"},
        {"qwen4exp/micro.f32.gguf", false, true, false, "draft"},
        {"qwen4exp/micro.f32.gguf", false, false, true, "activations"},
    };
    struct setting s = set_up(micro, plain, 20);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct opened o = open_model(others[i].model);
        struct varve_session_options options = plain;
        options.kv_f16 = others[i].f16;
        options.mtp = others[i].mtp;
        options.float_activations = others[i].floats;
        struct varve_session *session = open_session(&o, &options);
        refuses(session, s.path, 0, WORDS("saved", others[i].word));
        varve_session_close(session);
        close_model(&o);
    }
    struct varve_session_options narrow = plain;
    narrow.context = 19;
    struct varve_session *session = open_session(&s.o, &narrow);
    refuses(session, s.path, 0, WORDS("20 tokens", "19", "larger"));
    varve_session_close(session);
    tear_down(&s);
}

/* One matrix in another type: the same geometry, other weights. */
static void c061_of_another_quantisation(void **state) {
    (void)state;
    struct setting s = set_up(micro, plain, 20);
    const char *path = temporary_file(&s.folder, "other.gguf");
    const struct varve_quantize_options options = {.rules = "output.weight=Q8_0", .threads = 1};
    done(varve_quantize(s.o.file, path, &options, &error));
    struct opened o = open_path(path, false);
    struct varve_session *session = open_session(&o, &plain);
    refuses(session, s.path, 0, WORDS("other weights"));
    varve_session_close(session);
    close_model(&o);
    tear_down(&s);
}

/* ---- what is damaged ---- */

struct bytes {
    unsigned char *at;
    size_t count;
};

static struct bytes read_file(const char *path) {
    struct bytes b = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    b.count = (size_t)ftell(file);
    b.at = malloc(2 * b.count);
    rewind(file);
    assert_int_equal(fread(b.at, 1, b.count, file), b.count);
    fclose(file);
    return b;
}

static void write_file(const char *path, const unsigned char *at, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(at, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void c058_flipped_cut_and_longer(void **state) {
    (void)state;
    struct setting s = set_up(micro, plain, 70);
    struct bytes b = read_file(s.path);
    const char *bad = temporary_file(&s.folder, "bad");
    size_t step = b.count / 400 + 1;
    for (size_t at = 0; at < b.count; at += at < 200 ? 1 : step) {
        b.at[at] ^= (unsigned char)(1u << at % 8);
        write_file(bad, b.at, b.count);
        b.at[at] ^= (unsigned char)(1u << at % 8);
        refuses(s.session, bad, at < 96 ? varve_session_length(s.session, 0) : 0, WORDS("bad"));
        load(s.session, s.path); /* the next one is as good as ever */
        assert_int_equal(varve_session_length(s.session, 0), 70);
    }
    for (size_t count = 0; count < b.count; count += count < 200 ? 1 : step) {
        write_file(bad, b.at, count);
        refuses(s.session, bad, count < 96 ? varve_session_length(s.session, 0) : 0, WORDS("bad"));
    }
    b.at[b.count] = 0;
    write_file(bad, b.at, b.count + 1);
    refuses(s.session, bad, 0, WORDS("beyond its end"));
    free(b.at);
    tear_down(&s);
}

static void another_version(void **state) {
    (void)state;
    struct setting s = set_up(micro, plain, 20);
    struct bytes b = read_file(s.path);
    b.at[8]++;
    write_file(s.path, b.at, b.count);
    refuses(s.session, s.path, 20, WORDS("version 2", "reads version 1"));
    free(b.at);
    tear_down(&s);
}

/* A block that stands there twice, the first one's neighbours being right. */
static void c062_a_block_twice(void **state) {
    (void)state;
    enum { HEADER = 96, TOKEN_BLOCK = 40 };
    struct setting s = set_up(micro, plain, 20);
    struct bytes b = read_file(s.path);
    uint64_t stored;
    memcpy(&stored, b.at + HEADER + 24, sizeof stored);
    size_t block = TOKEN_BLOCK + (size_t)stored, rest = b.count - HEADER;
    memmove(b.at + HEADER + block, b.at + HEADER, rest);
    write_file(s.path, b.at, b.count + block);
    refuses(s.session, s.path, 0, WORDS("another block is expected"));
    free(b.at);
    tear_down(&s);
}

/* ---- writers that fail ---- */

static void the_old_file_is_whole(struct setting *s, size_t tokens) {
    struct varve_session *session = open_session(&s->o, &plain);
    load(session, s->path);
    if (tokens > 0) {
        assert_int_equal(varve_session_length(session, 0), tokens);
    }
    varve_session_close(session);
}

/* A file may not grow as large as this one: as on a full disk. */
static void a_full_disk(void **state) {
    (void)state;
    struct setting s = set_up(micro, plain, 20);
    struct bytes b = read_file(s.path);
    advance(s.session, &s.o, 0, s.tokens + 20, 100, NULL);
    struct rlimit old, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t share = 0; share < 8; share++) {
        little = (struct rlimit){b.count * share / 8, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
        int code = varve_session_save(s.session, 0, s.path, NULL, 0, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(code, VARVE_ERROR_IO);
        message_has(&error, WORDS("saved", "written"));
    }
    the_old_file_is_whole(&s, 20);
    assert_int_not_equal(access(temporary_file(&s.folder, "saved.partial"), F_OK), 0);
    free(b.at);
    tear_down(&s);
}

static void c056_killed_while_writing(void **state) {
    (void)state;
    struct setting s = set_up(micro, plain, 20);
    for (unsigned round = 0; round < 12; round++) {
        pid_t child = fork();
        if (child == 0) {
            for (;;) {
                if (varve_session_save(s.session, 0, s.path, NULL, 0, &error) != VARVE_OK) {
                    _exit(1);
                }
            }
        }
        usleep(2000 + round * 1700);
        assert_int_equal(kill(child, SIGKILL), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        the_old_file_is_whole(&s, 20);
    }
    done(varve_session_save(s.session, 0, s.path, NULL, 0, &error)); /* over what was left */
    tear_down(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c055_c077_restored_at_every_place),
        cmocka_unit_test(c056_c066_saved_restarted_restored_twice),
        cmocka_unit_test(c057_an_empty_session_and_no_file),
        cmocka_unit_test(c058_flipped_cut_and_longer),
        cmocka_unit_test(c061_of_another_model_or_setting),
        cmocka_unit_test(c061_of_another_quantisation),
        cmocka_unit_test(c062_a_block_twice),
        cmocka_unit_test(another_version),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(c056_killed_while_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

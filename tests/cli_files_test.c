/* Model files that can't be opened, files that can't be written (docs/cases.md C012 … C018), and
 * what `varve inspect` gives. */
#include "support/command.h"
#include "support/folder.h"
#include "support/gguf_bytes.h"

#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DATA VARVE_SOURCE_DIR "/tests/data/qwen4exp/"
#define MICRO DATA "micro.f32.gguf"
#define GOLDEN DATA "micro.golden.gguf"

struct bytes {
    char *at;
    size_t size;
};

static struct bytes load(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    struct bytes b = {.size = (size_t)ftell(file)};
    rewind(file);
    b.at = malloc(b.size);
    assert_non_null(b.at);
    assert_int_equal(fread(b.at, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

static const char *save(const char *name, const void *bytes, size_t size) {
    const char *path = temporary_file(&folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    return path;
}

static char *find(const struct bytes *b, const char *text) {
    char *at = memmem(b->at, b->size, text, strlen(text));
    assert_non_null(at);
    return at;
}

/* All commands that open a model say the same of a bad file. */
static void refused_by_all(const char *path, const char *const *words) {
    command_refuses(varve("run", "-m", path, "Hello"), 1, words);
    command_refuses(varve("logits", "-m", path, "--tokens", "1", "--out",
                          temporary_file(&folder, "refused.npy")),
                    1, words);
    assert_int_not_equal(access(temporary_file(&folder, "refused.npy"), F_OK), 0);
}

static void files_that_are_no_models(void **state) {
    (void)state;
    const char *none = temporary_file(&folder, "none.gguf");
    refused_by_all(none, WORDS("none.gguf", "No such file"));
    refused_by_all(folder.path, WORDS(folder.path, "directory"));
    const char *text = save("text.gguf", "Once upon a time\n", 17);
    refused_by_all(text, WORDS("text.gguf", "GGUF"));
    command_refuses(varve("inspect", "-m", text), 1, WORDS("text.gguf", "GGUF"));
    command_refuses(varve_reads("x", "tokenize", "-m", text), 1, WORDS("text.gguf", "GGUF"));
    refused_by_all(save("empty.gguf", "", 0), WORDS("empty.gguf"));
}

static void c015_files_that_are_cut(void **state) {
    (void)state;
    struct bytes b = load(MICRO);
    const size_t sizes[] = {1, 4096, b.size / 2, b.size - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *path = save("cut.gguf", b.at, sizes[i]);
        refused_by_all(path, WORDS("cut.gguf"));
        command_refuses(varve("inspect", "-m", path, "--load", "read"), 1, WORDS("cut.gguf"));
    }
    free(b.at);
}

static void c013_a_shard_is_missing(void **state) {
    (void)state;
    struct gguf_bytes b = {0};
    uint16_t zero = 0, three = 3;
    gguf_put_header(&b, 3, 0, 4);
    gguf_put_key_string(&b, "general.architecture", "qwen4exp");
    gguf_put_key(&b, "split.no", 2);
    gguf_put(&b, &zero, sizeof zero);
    gguf_put_key(&b, "split.count", 2);
    gguf_put(&b, &three, sizeof three);
    gguf_put_key_u32(&b, "split.tensors.count", 1);
    const char *path = temporary_file(&folder, "m-00001-of-00003.gguf");
    gguf_save(&b, path);
    gguf_bytes_free(&b);
    refused_by_all(path, WORDS("m-00002-of-00003.gguf", "m-00003-of-00003.gguf"));
}

static void another_architecture(void **state) {
    (void)state;
    struct bytes b = load(MICRO);
    memcpy(find(&b, "general.architecture") + 20 + 4 + 8, "othermoe", 8);
    const char *path = save("other.gguf", b.at, b.size);
    free(b.at);
    refused_by_all(path, WORDS("othermoe", "qwen4exp"));
    struct command_result r = varve("inspect", "-m", path);
    assert_int_equal(r.code, 0); /* what it holds can be seen all the same */
    assert_non_null(strstr(r.out, "architecture othermoe"));
    assert_non_null(strstr(r.out, "No session can be opened"));
    command_free(&r);
}

static void a_wrong_shape(void **state) {
    (void)state;
    struct bytes b = load(MICRO);
    char *record = find(&b, "blk.0.ffn_gate_inp.weight") + 25 + 4, swap[8];
    memcpy(swap, record, 8);
    memcpy(record, record + 8, 8);
    memcpy(record + 8, swap, 8);
    const char *path = save("shape.gguf", b.at, b.size);
    free(b.at);
    refused_by_all(path, WORDS("shape.gguf", "blk.0.ffn_gate_inp"));
}

/* ---- inspect ---- */

static json_t *inspect(const char *path) {
    struct command_result r = varve("inspect", "-m", path, "--json");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    json_t *page = json_loads(r.out, 0, NULL);
    assert_non_null(page);
    command_free(&r);
    return page;
}

static json_t *tensor_of(json_t *page, const char *name) {
    size_t i;
    json_t *tensor;
    json_array_foreach(json_object_get(page, "tensors"), i, tensor) {
        if (strcmp(json_string_value(json_object_get(tensor, "name")), name) == 0) {
            return tensor;
        }
    }
    fail_msg("no tensor %s", name);
    return NULL;
}

static json_int_t integer_in(json_t *object, const char *key) {
    assert_true(json_is_integer(json_object_get(object, key)));
    return json_integer_value(json_object_get(object, key));
}

static void inspect_as_json(void **state) {
    (void)state;
    json_t *page = inspect(MICRO);
    struct stat s;
    assert_int_equal(stat(MICRO, &s), 0);
    assert_int_equal(integer_in(page, "bytes"), s.st_size);
    assert_int_equal(integer_in(page, "files"), 1);
    json_t *key = json_object_get(json_object_get(page, "metadata"), "qwen4exp.block_count");
    assert_int_equal(integer_in(key, "value"), 5);
    json_t *tensor = tensor_of(page, "token_embd.weight");
    assert_string_equal(json_string_value(json_object_get(tensor, "type")), "F32");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(tensor, "ne"), 0)), 64);
    assert_true(json_is_true(json_object_get(tensor, "used")));
    size_t i;
    json_t *line;
    json_int_t per_token = 0;
    json_array_foreach(json_object_get(page, "memory"), i, line) {
        per_token += integer_in(line, "bytes_per_token");
    }
    assert_true(per_token > 0);
    json_decref(page);
}

static void inspect_any_file(void **state) {
    (void)state;
    struct command_result r = varve("inspect", "-m", GOLDEN);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "architecture golden"));
    command_free(&r);
    struct gguf_bytes b = gguf_small_file();
    const char *path = temporary_file(&folder, "small.gguf");
    gguf_save(&b, path);
    gguf_bytes_free(&b);
    r = varve("inspect", "-m", path);
    assert_int_equal(r.code, 0);
    command_free(&r);
}

/* Names and strings that would change a terminal are shown as text. */
static void inspect_shows_no_control_characters(void **state) {
    (void)state;
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 0, 2);
    gguf_put_key_string(&b, "general.architecture", "a\x1b[2J");
    gguf_put_key_string(&b, "general.name", "line\n\x1b[31mred\x9b\xc2\x9b");
    const char *path = temporary_file(&folder, "control.gguf");
    gguf_save(&b, path);
    gguf_bytes_free(&b);
    struct command_result r = varve("inspect", "-m", path);
    assert_int_equal(r.code, 0);
    for (const char *c = r.out; *c; c++) {
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    }
    assert_non_null(strstr(r.out, "line\\n\\x1b[31mred\\x9b\\xc2\\x9b"));
    command_free(&r);
    json_decref(inspect(path));
}

/* A float tensor's file holds the very bytes of the model. */
static void inspect_writes_a_tensor(void **state) {
    (void)state;
    json_t *page = inspect(MICRO);
    json_t *tensor = tensor_of(page, "blk.1.ffn_up_exps.weight");
    json_t *ne = json_object_get(tensor, "ne");
    const char *path = temporary_file(&folder, "t.npy");
    struct command_result r =
        varve("inspect", "-m", MICRO, "--tensor", "blk.1.ffn_up_exps.weight", "--out", path);
    assert_int_equal(r.code, 0);
    command_free(&r);
    struct bytes npy = load(path), model = load(MICRO);
    char shape[100];
    snprintf(shape, sizeof shape,
             "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld, %lld), }",
             (long long)json_integer_value(json_array_get(ne, 2)),
             (long long)json_integer_value(json_array_get(ne, 1)),
             (long long)json_integer_value(json_array_get(ne, 0)));
    assert_memory_equal(npy.at, "\x93NUMPY\x01\x00", 8);
    assert_memory_equal(npy.at + 10, shape, strlen(shape));
    size_t header = 10u + (unsigned char)npy.at[8] + 256u * (unsigned char)npy.at[9];
    size_t bytes = (size_t)integer_in(tensor, "bytes");
    assert_int_equal(header % 64, 0);
    assert_int_equal(npy.at[header - 1], '\n');
    assert_int_equal(npy.size, header + bytes);
    assert_memory_equal(npy.at + header, model.at + integer_in(tensor, "offset"), bytes);
    free(npy.at);
    free(model.at);
    json_decref(page);
    command_refuses(varve("inspect", "-m", MICRO, "--tensor", "nonsense", "--out", path), 1,
                    WORDS("nonsense", "micro.f32.gguf"));
}

static void c010_verify_names_the_bad_block(void **state) {
    (void)state;
    struct command_result r = varve("inspect", "-m", MICRO, "--verify");
    assert_int_equal(r.code, 0);
    command_free(&r);
    json_t *page = inspect(MICRO);
    size_t offset = (size_t)integer_in(tensor_of(page, "output.weight"), "offset");
    json_decref(page);
    struct bytes b = load(MICRO);
    const unsigned char nan_value[4] = {0, 0, 0xc0, 0x7f};
    memcpy(b.at + offset + 4 * 1234, nan_value, 4);
    const char *path = save("nan.gguf", b.at, b.size);
    free(b.at);
    command_refuses(varve("inspect", "-m", path, "--verify"), 1,
                    WORDS("output.weight", "block 1234", "nan.gguf"));
}

/* ---- output ---- */

/* Runs through a shell that allows files of `blocks` blocks of 512 bytes only. */
static struct command_result limited(const char *arguments, unsigned blocks) {
    char line[1000];
    snprintf(line, sizeof line, "ulimit -f %u; exec %s %s", blocks, VARVE_BINARY, arguments);
    return command_input("", 0, (const char *const[]){"/bin/sh", "-c", line, NULL});
}

static void a_file_that_may_not_grow(void **state) {
    (void)state;
    char arguments[700];
    const char *path = temporary_file(&folder, "full.npy");
    snprintf(arguments, sizeof arguments, "logits -m %s --tokens '1 2 3 4 5 6 7 8 9 10' --out %s",
             MICRO, path);
    command_refuses(limited(arguments, 8), 1, WORDS("full.npy", "cannot be written"));
    snprintf(arguments, sizeof arguments, "inspect -m %s --tensor token_embd.weight --out %s",
             MICRO, path);
    command_refuses(limited(arguments, 8), 1, WORDS("full.npy", "cannot be written"));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(temporary_file(&folder, "full.npy.partial"), F_OK), 0);
}

/* Killed in the middle, a command leaves nothing that could be taken for a result, and what it
 * leaves is no hindrance. */
static void c017_a_killed_command(void **state) {
    (void)state;
    const char *path = temporary_file(&folder, "killed.npy");
    const char *partial = temporary_file(&folder, "killed.npy.partial");
    char tokens[12001];
    for (size_t i = 0; i < 12000; i += 4) {
        memcpy(tokens + i, "100 ", 5);
    }
    const char *const arguments[] = {VARVE_BINARY, "logits", "-m",    MICRO, "--tokens", tokens,
                                     "--window",   "1",      "--out", path,  NULL};
    struct command_process p = command_start(temporary_file(&folder, "errors"), arguments);
    while (access(partial, F_OK) != 0) {
        usleep(1000);
    }
    kill(p.pid, SIGKILL);
    assert_int_equal(command_wait(&p), -SIGKILL);
    close(p.out);
    assert_int_not_equal(access(path, F_OK), 0);
    struct command_result r = varve("logits", "-m", MICRO, "--tokens", "1 2", "--out", path);
    assert_int_equal(r.code, 0);
    command_free(&r);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(partial, F_OK), 0);
}

static void outputs_that_cannot_be(void **state) {
    (void)state;
    command_refuses(
        varve("inspect", "-m", MICRO, "--tensor", "token_embd.weight", "--out", "/dev/full"), 1,
        WORDS("/dev/full"));
    command_refuses(varve("inspect", "-m", MICRO, "--tensor", "token_embd.weight", "--out",
                          temporary_file(&folder, "no/such/folder.npy")),
                    1, WORDS("folder.npy"));
    command_refuses(varve("logits", "-m", MICRO, "--tokens", "1", "--out", folder.path), 1,
                    WORDS(folder.path));
}

/* Standard output on a full disk is a failure; a reader who went away is not. */
static void c184_standard_output(void **state) {
    (void)state;
    char line[700];
    snprintf(line, sizeof line, "%s inspect -m %s > /dev/full", VARVE_BINARY, MICRO);
    command_refuses(command_input("", 0, (const char *const[]){"/bin/sh", "-c", line, NULL}), 1,
                    WORDS("standard output", "No space left"));
    snprintf(line, sizeof line, "{ %s inspect -m %s --full; echo $? >&2; } | head -c 10",
             VARVE_BINARY, MICRO);
    struct command_result r =
        command_input("", 0, (const char *const[]){"/bin/sh", "-c", line, NULL});
    assert_string_equal(r.err, "0\n");
    command_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_models),
        cmocka_unit_test(c015_files_that_are_cut),
        cmocka_unit_test(c013_a_shard_is_missing),
        cmocka_unit_test(another_architecture),
        cmocka_unit_test(a_wrong_shape),
        cmocka_unit_test(inspect_as_json),
        cmocka_unit_test(inspect_any_file),
        cmocka_unit_test(inspect_shows_no_control_characters),
        cmocka_unit_test(inspect_writes_a_tensor),
        cmocka_unit_test(c010_verify_names_the_bad_block),
        cmocka_unit_test(a_file_that_may_not_grow),
        cmocka_unit_test(c017_a_killed_command),
        cmocka_unit_test(outputs_that_cannot_be),
        cmocka_unit_test(c184_standard_output),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

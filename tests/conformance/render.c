/* The golden renderings through the command, line by line: conformance_render FIXTURES. The texts
 * of BOS and EOS are those of the model's file, so each family's templates go with its vocabulary.
 */
#include "conformance/vocabulary.h"
#include "support/command.h"
#include "support/temporary.h"

struct run {
    const char *at; /* the next line of the command's output */
    size_t passed, failed;
};

static void check(const json_t *json, void *context) {
    struct run *run = context;
    const json_t *wanted = json_object_get(json, "rendered");
    size_t length = strcspn(run->at, "\n");
    json_t *got = json_loadb(run->at, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (wanted ? json_equal(got, wanted) : json_is_string(json_object_get(got, "error"))) {
        run->passed++;
    } else {
        run->failed++;
        printf("case \"%s\" differs\n", json_string_value(json_object_get(json, "id")));
    }
    json_decref(got);
    run->at += length + (run->at[length] == '\n');
}

static void check_template(struct run *run, const char *fixtures, const char *model,
                           const char *name) {
    char template[4096], cases[4096];
    snprintf(template, sizeof template, "%s/tokenizer/chat/%s.jinja", fixtures, name);
    snprintf(cases, sizeof cases, "%s/tokenizer/chat/%s.chat.jsonl", fixtures, name);
    struct vv_bytes lines = read_file(cases);
    struct command_result r =
        command_input(lines.at, lines.length,
                      ARGUMENTS("render", "-m", model, "--jsonl", "--template", template));
    size_t before = run->passed;
    run->at = r.out;
    each_line(cases, check, run);
    if (r.code != 0 || *run->at) {
        run->failed++;
        printf("%s: exit code %d, more lines than cases, or %s\n", name, r.code, r.err);
    }
    printf("%s: %zu passed\n", name, run->passed - before);
    command_free(&r);
    vv_bytes_free(&lines);
}

/* The vocabulary as a file. */
static const char *save_vocabulary(const struct temporary *folder, const char *fixtures,
                                   const char *model) {
    size_t size;
    void *bytes = unpack_vocabulary(fixtures, model, &size);
    const char *path = temporary_file(folder, model);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        fail_loudly(path, "cannot be written");
    }
    free(bytes);
    return path;
}

int main(int argc, char **argv) {
    static const char *const models[][3] = {{"qwen35", "qwen35", "qwen38"},
                                            {"deepseek4", "deepseek4", "deepseek4-0731"}};
    struct run run = {.passed = 0};
    if (argc != 2) {
        fprintf(stderr, "usage: %s FIXTURES\n", argv[0]);
        return 2;
    }
    struct temporary folder = temporary_make();
    for (int m = 0; m < 2; m++) {
        const char *path = save_vocabulary(&folder, argv[1], models[m][0]);
        check_template(&run, argv[1], path, models[m][1]);
        check_template(&run, argv[1], path, models[m][2]);
    }
    temporary_remove(&folder);
    printf("render: %zu passed, %zu failed\n", run.passed, run.failed);
    return run.failed > 0;
}

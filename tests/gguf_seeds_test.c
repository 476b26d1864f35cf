/* The seeds of fuzz/gguf_fuzz.c, made by tools/gguf_seeds.py: all open, but for those named bad_.
 */
#include "gguf/internal.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vv_error error;

static size_t read_seed(const char *name, unsigned char *to, size_t size) {
    char path[1000];
    snprintf(path, sizeof path, "%s/fuzz/corpus/gguf/%s", VARVE_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t read = fread(to, 1, size, file);
    assert_true(read < size);
    fclose(file);
    return read;
}

/* NULL if it is refused. */
static struct vv_gguf *open_seed(const char *name, unsigned char *bytes /* [10000] */) {
    static const char mark[] = "\n--next file--\n";
    size_t size = read_seed(name, bytes, 10000);
    struct vv_gguf_part parts[8] = {{bytes, size}};
    struct vv_gguf *g;
    uint32_t count = 1;
    unsigned char *next;
    while ((next = memmem(parts[count - 1].bytes, parts[count - 1].size, mark, strlen(mark)))) {
        unsigned char *begin = next + strlen(mark);
        parts[count - 1].size = (size_t)(next - (const unsigned char *)parts[count - 1].bytes);
        parts[count++] = (struct vv_gguf_part){begin, (size_t)(bytes + size - begin)};
    }
    vv_gguf_open_parts(parts, count, name, &g, &error);
    return g;
}

static void seeds_open(void **state) {
    (void)state;
    unsigned char bytes[10000];
    DIR *folder = opendir(VARVE_SOURCE_DIR "/fuzz/corpus/gguf");
    assert_non_null(folder);
    int seen = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        seen++;
        bool bad = strncmp(entry->d_name, "bad_", 4) == 0;
        struct vv_gguf *g = open_seed(entry->d_name, bytes);
        if ((g == NULL) != bad) {
            fail_msg("%s: %s", entry->d_name, bad ? "opened" : error.message);
        }
        vv_gguf_close(g);
    }
    closedir(folder);
    assert_true(seen > 20);
}

static void seeds_say_what_they_hold(void **state) {
    (void)state;
    unsigned char bytes[10000];
    struct vv_gguf *g = open_seed("q2_0_128", bytes);
    assert_int_equal(vv_gguf_find_tensor(g, "a")->type, VV_TYPE_Q2_0_128);
    assert_int_equal(vv_gguf_find_tensor(g, "b")->bytes, 34);
    vv_gguf_close(g);
    g = open_seed("q2_0_64", bytes);
    assert_int_equal(vv_gguf_find_tensor(g, "a")->type, VV_TYPE_Q2_0);
    assert_int_equal(vv_gguf_find_tensor(g, "a")->bytes, 64 * 18);
    vv_gguf_close(g);
    g = open_seed("split_q2_0_128", bytes);
    assert_int_equal(vv_gguf_find_tensor(g, "a")->type, VV_TYPE_Q2_0_128);
    assert_int_equal(vv_gguf_find_tensor(g, "b")->type, VV_TYPE_Q2_0_128);
    assert_int_equal(vv_gguf_find_tensor(g, "b")->shard, 1);
    vv_gguf_close(g);
    g = open_seed("split_unsorted", bytes);
    assert_int_equal(vv_gguf_shard_count(g), 3);
    assert_string_equal(vv_gguf_tensor_at(g, 0)->name, "a");
    assert_string_equal(vv_gguf_tensor_at(g, 2)->name, "c");
    vv_gguf_close(g);
    g = open_seed("shapes", bytes);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(vv_gguf_tensor_at(g, i)->dimensions, i);
        assert_int_equal(vv_gguf_tensor_at(g, i)->ne[3], 1);
    }
    assert_int_equal(vv_gguf_tensor_at(g, 4)->elements, 12);
    vv_gguf_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_open),
        cmocka_unit_test(seeds_say_what_they_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

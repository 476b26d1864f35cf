/* The tokens that end an answer, by a key of the file and by their text. */
#include "model/metadata.h"
#include "support/gguf_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void stops_are_found_once(void **state) {
    (void)state;
    static const char *const tokens[] = {"a", "<end>", "<user>", "ab"};
    struct gguf_bytes file = {0};
    struct vv_error error;
    struct vv_gguf *gguf;
    gguf_put_header(&file, 3, 0, 2);
    gguf_put_key_u32(&file, "tokenizer.ggml.eos_token_id", 1);
    gguf_put_key_array(&file, "tokenizer.ggml.tokens", VV_GGUF_STRING, 4);
    for (int i = 0; i < 4; i++) {
        gguf_put_string(&file, tokens[i]);
    }
    assert_int_equal(vv_gguf_open_memory(file.at, file.size, "m.gguf", &gguf, &error), VV_OK);
    struct vv_metadata m = {gguf, "x", &error, VV_OK};
    struct vv_stops stops = {0};
    vv_read_stop(&m, "tokenizer.ggml.eos_token_id", 4, &stops);
    vv_read_stop(&m, "tokenizer.ggml.eot_token_id", 4, &stops);
    vv_read_stop_text(&m, "<user>", 4, &stops);
    vv_read_stop_text(&m, "<end>", 4, &stops); /* there already */
    vv_read_stop_text(&m, "<use", 4, &stops);
    vv_read_stop_text(&m, "ab", 3, &stops); /* beyond the vocabulary */
    assert_int_equal(m.code, VV_OK);
    assert_int_equal(stops.count, 2);
    assert_int_equal(stops.id[0], 1);
    assert_int_equal(stops.id[1], 2);
    vv_gguf_close(gguf);
    gguf_bytes_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_are_found_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

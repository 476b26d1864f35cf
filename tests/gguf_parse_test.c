/* What a GGUF file may not claim: cases C001 to C005 and C008 of docs/cases.md, and their kin. */
#include "support/gguf_bytes.h"
#include "support/sanitized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* `b` is refused with `code` and a sentence that holds all of the words (ended by NULL). */
static void refused(struct gguf_bytes *b, int code, ...) {
    struct vv_error error = {0};
    va_list words;
    va_start(words, code);
    assert_int_equal(gguf_try(b, &error), code);
    assert_int_equal(error.code, code);
    assert_null(strchr(error.message, '\n'));
    for (const char *word; (word = va_arg(words, const char *));) {
        if (!strstr(error.message, word)) {
            fail_msg("'%s' is not in: %s", word, error.message);
        }
    }
    va_end(words);
    gguf_bytes_free(b);
}

static void accepted(struct gguf_bytes *b) {
    struct vv_error error = {0};
    if (gguf_try(b, &error) != VV_OK) {
        fail_msg("refused: %s", error.message);
    }
    gguf_bytes_free(b);
}

/* A file with one tensor record and `data` bytes behind it. */
static struct gguf_bytes with_tensor(const char *name, uint32_t dimensions, const uint64_t *ne,
                                     uint32_t type, uint64_t offset, size_t data) {
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 1, 0);
    gguf_put_tensor(&b, name, dimensions, ne, type, offset);
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, data);
    return b;
}

static void a_small_file_is_read(void **state) {
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        struct gguf_bytes b = gguf_small_file();
        struct vv_error error;
        struct vv_gguf *g;
        memcpy(b.at + 4, &version, sizeof version);
        assert_int_equal(vv_gguf_open_memory(b.at, b.size, "file.gguf", &g, &error), VV_OK);
        assert_int_equal(vv_gguf_version(g), version);
        assert_int_equal(vv_gguf_alignment(g), 32);
        assert_int_equal(vv_gguf_shard_count(g), 1);
        assert_string_equal(vv_gguf_path(g, 0), "file.gguf");
        assert_int_equal(vv_gguf_file_bytes(g), b.size);
        assert_int_equal(vv_gguf_entry_count(g), 2);
        assert_int_equal(vv_gguf_tensor_count(g), 2);
        const struct vv_gguf_tensor *t = vv_gguf_find_tensor(g, "second");
        assert_ptr_equal(t, vv_gguf_tensor_at(g, 1));
        assert_int_equal(t->type, VV_TYPE_F32);
        assert_int_equal(t->dimensions, 1);
        assert_int_equal(t->ne[0], 4);
        assert_int_equal(t->ne[3], 1);
        assert_int_equal(t->elements, 4);
        assert_int_equal(t->bytes, 16);
        assert_int_equal(t->offset, b.size - 16);
        assert_ptr_equal(vv_gguf_tensor_data(g, t), b.at + b.size - 16);
        unsigned char read[4];
        assert_int_equal(vv_gguf_read_tensor(g, t, 4, 4, read, &error), VV_OK);
        assert_memory_equal(read, "\x24\x25\x26\x27", 4);
        assert_int_equal(vv_gguf_read_tensor(g, t, 13, 4, read, &error), VV_ERROR_INVALID);
        assert_int_equal(vv_gguf_read_tensor(g, t, UINT64_MAX, 4, read, &error), VV_ERROR_INVALID);
        assert_null(vv_gguf_find_tensor(g, "third"));
        assert_int_equal(vv_gguf_check_unchanged(g, &error), VV_OK);
        vv_gguf_close(g);
        gguf_bytes_free(&b);
    }
}

static void c001_dimension_product_wraps(void **state) {
    (void)state;
    struct gguf_bytes b;
    uint64_t wraps_to_0[] = {UINT64_C(1) << 63, 2}, wraps_to_64[] = {(UINT64_C(1) << 63) + 32, 2};
    uint64_t four[] = {1 << 16, 1 << 16, 1 << 16, (1 << 16) + 1};
    b = with_tensor("big", 2, wraps_to_0, VV_TYPE_I8, 0, 64);
    refused(&b, VV_ERROR_INVALID, "file.gguf", "'big'", NULL);
    b = with_tensor("big", 2, wraps_to_64, VV_TYPE_I8, 0, 64);
    refused(&b, VV_ERROR_INVALID, "'big'", "64 bits", NULL);
    b = with_tensor("big", 4, four, VV_TYPE_I8, 0, 64);
    refused(&b, VV_ERROR_INVALID, "'big'", "64 bits", NULL);
}

static void c002_block_bytes_wrap(void **state) {
    (void)state;
    /* 2^62 values of 4 bytes are 2^64 bytes; 2^42 + 256 values of Q6_K do not wrap, and are not
     * there. */
    uint64_t floats = UINT64_C(1) << 62, blocks = (UINT64_C(1) << 42) + 256;
    uint64_t odd = (UINT64_C(1) << 42) + 1;
    struct gguf_bytes b = with_tensor("big", 1, &floats, VV_TYPE_F32, 0, 64);
    refused(&b, VV_ERROR_INVALID, "'big'", "64 bits", NULL);
    b = with_tensor("big", 1, &blocks, VV_TYPE_Q6_K, 0, 64);
    refused(&b, VV_ERROR_INVALID, "'big'", "cut short", NULL);
    b = with_tensor("big", 1, &odd, VV_TYPE_Q6_K, 0, 64);
    refused(&b, VV_ERROR_INVALID, "'big'", "4398046511105", "256", "Q6_K", NULL);
}

static void c003_counts_beyond_the_file(void **state) {
    (void)state;
    const uint64_t counts[] = {2, 1 << 20, UINT64_C(1) << 58, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct gguf_bytes b = {0};
        gguf_put_header(&b, 3, counts[i], 0);
        gguf_put_data(&b, 24); /* one record takes 25 */
        refused(&b, VV_ERROR_INVALID, "tensor count", "48 bytes", NULL);
        gguf_put_header(&b, 3, 0, counts[i]);
        gguf_put_data(&b, 13); /* one takes 14 */
        refused(&b, VV_ERROR_INVALID, "key count", "37 bytes", NULL);
    }
}

static void c004_empty_key(void **state) {
    (void)state;
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 0, 2);
    gguf_put_key_u32(&b, "good", 1);
    gguf_put_key_u32(&b, "", 1);
    refused(&b, VV_ERROR_INVALID, "key 2 of 2", "empty name", NULL);
}

static void c005_too_many_dimensions(void **state) {
    (void)state;
    const uint32_t dimensions[] = {5, 100, UINT32_MAX};
    const uint64_t ne[5] = {1, 1, 1, 1, 1};
    for (size_t i = 0; i < 3; i++) {
        struct gguf_bytes b = with_tensor("deep", 5, ne, VV_TYPE_F32, 0, 512);
        memcpy(b.at + 24 + 8 + 4, &dimensions[i], 4);
        refused(&b, VV_ERROR_INVALID, "'deep'", "dimensions", NULL);
    }
    for (uint32_t n = 0; n <= 4; n++) {
        struct gguf_bytes b = with_tensor("fine", n, ne, VV_TYPE_F32, 0, 4);
        accepted(&b);
    }
}

/* The length of a string, of an array of each type, of a key and of a name is 64 GB in a small
 * file. In a process that may not allocate that much, the answer is still "damaged". */
static void claim_lengths(void) {
    const uint64_t lengths[] = {UINT64_C(1) << 36, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 61};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct gguf_bytes b = {0};
        gguf_put_header(&b, 3, 0, 1);
        gguf_put_key(&b, "text", VV_GGUF_STRING);
        gguf_put_u64(&b, lengths[i]);
        gguf_put_data(&b, 2000);
        refused(&b, VV_ERROR_INVALID, "'text'", "end of the file", NULL);
        for (uint32_t type = 0; type <= VV_GGUF_F64; type++) {
            if (type != VV_GGUF_ARRAY) {
                gguf_put_header(&b, 3, 0, 1);
                gguf_put_key_array(&b, "list", type, lengths[i]);
                gguf_put_data(&b, 2000);
                refused(&b, VV_ERROR_INVALID, "'list'", "elements", NULL);
            }
        }
        gguf_put_header(&b, 3, 0, 1);
        gguf_put_u64(&b, lengths[i]);
        gguf_put_data(&b, 2000);
        refused(&b, VV_ERROR_INVALID, "key 1 of 1", NULL);
        gguf_put_header(&b, 3, 1, 0);
        gguf_put_u64(&b, lengths[i]);
        gguf_put_data(&b, 2000);
        refused(&b, VV_ERROR_INVALID, "tensor 1 of 1", NULL);
    }
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key_array(&b, "tokens", VV_GGUF_STRING, 250); /* 2000 bytes of lengths fit */
    for (int i = 0; i < 249; i++) {
        gguf_put_u64(&b, 0);
    }
    gguf_put_u64(&b, UINT64_C(1) << 36);
    refused(&b, VV_ERROR_INVALID, "'tokens'", "end of the file", NULL);
}

static void c008_lengths_beyond_the_file(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
#if !SANITIZED
        struct rlimit limit = {UINT64_C(1) << 28, UINT64_C(1) << 28};
        setrlimit(RLIMIT_AS, &limit);
#endif
        claim_lengths();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Every beginning of a good file is refused, never half read. */
static void every_beginning_is_refused(void **state) {
    (void)state;
    struct gguf_bytes whole = gguf_small_file();
    for (size_t size = 0; size < whole.size; size++) {
        struct gguf_bytes b = {0};
        gguf_put(&b, whole.at, size);
        refused(&b, VV_ERROR_INVALID, "file.gguf", NULL);
    }
    gguf_bytes_free(&whole);
}

/* Every byte of a good file set to each of some values: opened or refused, and walked if opened
 * (the sanitizers watch). */
static void any_damaged_byte_does_no_harm(void **state) {
    (void)state;
    static const unsigned char values[] = {0, 1, 2, 5, 8, 9, 0x7f, 0x80, 0xff};
    struct gguf_bytes b = gguf_small_file();
    for (size_t i = 0; i < b.size; i++) {
        unsigned char kept = b.at[i];
        for (size_t k = 0; k < sizeof values; k++) {
            struct vv_error error = {0};
            b.at[i] = values[k];
            int code = gguf_try(&b, &error);
            assert_true(code == VV_OK || strlen(error.message) > 0);
        }
        b.at[i] = kept;
    }
    accepted(&b);
}

static void what_is_no_gguf_file_is_named(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *word;
    } cases[] = {
        {"", 0, "is empty"},
        {"GGUF", 4, "only 4 bytes"},
        {"lmgg\1\0\0\0\0\0\0\0", 12, "before GGUF"},
        {"fmgg\1\0\0\0\0\0\0\0", 12, "before GGUF"},
        {"tjgg\3\0\0\0\0\0\0\0", 12, "before GGUF"},
        {"FUGG\0\0\0\3\0\0\0\0", 12, "big-endian"},
        {"GGUF\0\0\0\3\0\0\0\0", 12, "big-endian"},
        {"GGUF\1\0\0\0\0\0\0\0", 12, "version 1;"},
        {"GGUF\4\0\0\0\0\0\0\0", 12, "version 4;"},
        {"GGUF\0\0\0\0\0\0\0\0", 12, "version 0;"},
        {"PK\3\4\0\0\0\0\0\0\0\0", 12, "zip"},
        {"\x28\xb5\x2f\xfd\0\0\0\0\0\0\0\0", 12, "zstd"},
        {"\x1f\x8b\x08\0\0\0\0\0", 8, "gzip"},
        {"\x40\0\0\0\0\0\0\0{\"a\"", 12, "safetensors"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "Git LFS"},
        {"<!DOCTYPE html>", 15, "web page"},
        {"Hello, this is a text.\n", 23, "text file"},
        {"\1\2\3\4\5\6\7\10\11", 9, "01 02 03 04"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vv_error error;
        struct vv_gguf *g;
        unsigned char bytes[64] = {0};
        memcpy(bytes, cases[i].bytes, cases[i].size);
        assert_true(vv_gguf_open_memory(bytes, cases[i].size, "x", &g, &error) < 0);
        assert_null(g);
        if (!strstr(error.message, cases[i].word)) {
            fail_msg("'%s' is not in: %s", cases[i].word, error.message);
        }
    }
}

static void names_and_keys_are_unique_and_not_empty(void **state) {
    (void)state;
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 0, 3);
    gguf_put_key_u32(&b, "same", 1);
    gguf_put_key_u32(&b, "other", 1);
    gguf_put_key_string(&b, "same", "x");
    refused(&b, VV_ERROR_INVALID, "'same' twice", NULL);

    gguf_put_header(&b, 3, 2, 0);
    gguf_put_tensor_1d(&b, "same", 8, VV_TYPE_F32, 0);
    gguf_put_tensor_1d(&b, "same", 8, VV_TYPE_F32, 32);
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, 64);
    refused(&b, VV_ERROR_INVALID, "'same' is there twice", NULL);

    uint64_t one = 1;
    b = with_tensor("", 1, &one, VV_TYPE_F32, 0, 4);
    refused(&b, VV_ERROR_INVALID, "tensor 1 of 1", "empty name", NULL);
    b = with_tensor("bad", 1, &one, VV_TYPE_F32, 0, 4);
    b.at[24 + 8 + 1] = 0;
    refused(&b, VV_ERROR_INVALID, "zero byte", NULL);

    /* A key may hold any bytes: one that goes on behind a zero is another key. */
    gguf_put_header(&b, 3, 0, 2);
    gguf_put_key_u32(&b, "same", 1);
    gguf_put_key_u32(&b, "same+", 2);
    b.at[b.size - 9] = 0;
    accepted(&b);

    gguf_put_header(&b, 3, 0, 1);
    gguf_put_u64(&b, 65536);
    gguf_put_data(&b, 65536);
    gguf_put_u32(&b, VV_GGUF_U32);
    gguf_put_u32(&b, 1);
    refused(&b, VV_ERROR_INVALID, "65536", "65535", NULL);
}

static void value_types_are_known(void **state) {
    (void)state;
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key(&b, "odd", 13);
    gguf_put_data(&b, 64);
    refused(&b, VV_ERROR_INVALID, "'odd'", "type 13", NULL);
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key_array(&b, "odd", UINT32_MAX, 1);
    gguf_put_data(&b, 64);
    refused(&b, VV_ERROR_INVALID, "'odd'", "type 4294967295", NULL);
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key_array(&b, "nest", VV_GGUF_ARRAY, 1);
    gguf_put_data(&b, 64);
    refused(&b, VV_ERROR_INVALID, "'nest'", "array of arrays", NULL);
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key(&b, "flag", VV_GGUF_BOOL);
    gguf_put(&b, "\2", 1);
    refused(&b, VV_ERROR_INVALID, "'flag'", "neither 0 nor 1", NULL);
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key_array(&b, "flags", VV_GGUF_BOOL, 3);
    gguf_put(&b, "\0\1\xff", 3);
    refused(&b, VV_ERROR_INVALID, "'flags'", "255", NULL);
}

static void tensor_types_are_known(void **state) {
    (void)state;
    /* Ids that were never given or taken back, and the one that is ours alone. */
    static const uint32_t unknown[] = {4, 5, 31, 36, 38, 43, 1042, UINT32_MAX};
    uint64_t ne = 256;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char id[32];
        snprintf(id, sizeof id, "type %u,", unknown[i]);
        struct gguf_bytes b = with_tensor("new", 1, &ne, unknown[i], 0, 4096);
        refused(&b, VV_ERROR_INVALID, "'new'", id, NULL);
    }
    const struct vv_type_info *info;
    for (size_t i = 0; (info = vv_type_at(i)); i++) {
        uint64_t values = info->block_values;
        assert_ptr_equal(vv_type_info(info->type), info);
        assert_int_equal(vv_type_by_name(info->name), info->type);
        if (info->type != VV_TYPE_Q2_0_128) {
            struct gguf_bytes b =
                with_tensor("t", 1, &values, (uint32_t)info->type, 0, info->block_bytes);
            accepted(&b);
            b = with_tensor("t", 1, &values, (uint32_t)info->type, 0, info->block_bytes - 1);
            refused(&b, VV_ERROR_INVALID, "'t'", "cut short", NULL);
        }
    }
    uint64_t bytes;
    assert_true(vv_type_bytes(VV_TYPE_Q4_K, 512, &bytes) && bytes == 288);
    assert_false(vv_type_bytes(VV_TYPE_Q4_K, 500, &bytes));
    assert_false(vv_type_bytes(VV_TYPE_F64, UINT64_C(1) << 61, &bytes));
    assert_false(vv_type_bytes(4, 0, &bytes));
    assert_null(vv_type_info(-1));
    assert_int_equal(vv_type_by_name("q4_k"), VV_TYPE_Q4_K);
    assert_int_equal(vv_type_by_name("Q4"), -1);
}

static void tensors_lie_aligned_inside_and_apart(void **state) {
    (void)state;
    uint64_t ne = 8, none[] = {8, 0};
    struct gguf_bytes b = with_tensor("t", 1, &ne, VV_TYPE_F32, 8, 128);
    refused(&b, VV_ERROR_INVALID, "'t'", "no multiple of 32", NULL);
    b = with_tensor("t", 1, &ne, VV_TYPE_F32, 128, 128);
    refused(&b, VV_ERROR_INVALID, "'t'", "cut short", NULL);
    b = with_tensor("t", 1, &ne, VV_TYPE_F32, UINT64_MAX - 31, 128);
    refused(&b, VV_ERROR_INVALID, "'t'", "behind the file's end", NULL);
    b = with_tensor("t", 2, none, VV_TYPE_F32, 0, 128);
    refused(&b, VV_ERROR_INVALID, "'t'", "dimension of 0", NULL);
    b = with_tensor("t", 1, &ne, VV_TYPE_F32, 64, 96); /* a gap before it does no harm */
    accepted(&b);

    gguf_put_header(&b, 3, 2, 0);
    gguf_put_tensor_1d(&b, "late", 8, VV_TYPE_F32, 32);
    gguf_put_tensor_1d(&b, "early", 16, VV_TYPE_F32, 0);
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, 128);
    refused(&b, VV_ERROR_INVALID, "'early'", "another tensor", NULL);

    gguf_put_header(&b, 3, 2, 0);
    gguf_put_tensor_1d(&b, "one", 8, VV_TYPE_F32, 0);
    gguf_put_tensor_1d(&b, "two", 8, VV_TYPE_F32, 0);
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, 128);
    refused(&b, VV_ERROR_INVALID, "another tensor", NULL);
}

static struct gguf_bytes with_alignment(uint32_t alignment, uint64_t offset) {
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 1, 1);
    gguf_put_key_u32(&b, "general.alignment", alignment);
    gguf_put_tensor_1d(&b, "t", 2, VV_TYPE_F32, offset);
    gguf_put_padding(&b, 64);
    gguf_put_data(&b, 72);
    return b;
}

static void alignment_is_a_power_of_two(void **state) {
    (void)state;
    static const uint32_t bad[] = {0, 1, 4, 24, 33, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gguf_bytes b = with_alignment(bad[i], 0);
        refused(&b, VV_ERROR_INVALID, "'general.alignment'", "power of two", NULL);
    }
    struct gguf_bytes b = with_alignment(8, 72);
    accepted(&b);
    b = with_alignment(64, 64);
    accepted(&b);
    b = with_alignment(64, 32);
    refused(&b, VV_ERROR_INVALID, "'t'", "no multiple of 64", NULL);
    b = with_alignment(UINT32_C(1) << 31, 0);
    refused(&b, VV_ERROR_INVALID, "'t'", "behind the file's end", NULL);
    gguf_put_header(&b, 3, 0, 1);
    gguf_put_key_string(&b, "general.alignment", "32");
    refused(&b, VV_ERROR_INVALID, "'general.alignment' is '32' (string)", NULL);
}

/* `count` Q2_0 tensors of 1024 values, 64 or 128 of them a block; then, perhaps, a float one. */
static struct gguf_bytes q2_0_file(int count, size_t bytes, bool float_at_end, size_t end_padding) {
    struct gguf_bytes b = {0};
    size_t stride = (bytes + 31) / 32 * 32;
    gguf_put_header(&b, 3, (uint64_t)count + float_at_end, 0);
    for (int i = 0; i < count; i++) {
        char name[] = {(char)('a' + i), 0};
        gguf_put_tensor_1d(&b, name, 1024, VV_TYPE_Q2_0, (uint64_t)i * stride);
    }
    if (float_at_end) {
        gguf_put_tensor_1d(&b, "float", 8, VV_TYPE_F32, (uint64_t)count * stride);
    }
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, float_at_end ? (size_t)count * stride + 32
                                   : (size_t)(count - 1) * stride + bytes + end_padding);
    return b;
}

static void opens_as(struct gguf_bytes *b, int type, uint64_t bytes) {
    struct vv_error error;
    struct vv_gguf *g;
    if (vv_gguf_open_memory(b->at, b->size, "file.gguf", &g, &error) != VV_OK) {
        fail_msg("refused: %s", error.message);
    }
    assert_int_equal(vv_gguf_tensor_at(g, 0)->type, type);
    assert_int_equal(vv_gguf_tensor_at(g, 0)->bytes, bytes);
    vv_gguf_close(g);
    gguf_bytes_free(b);
}

static void q2_0_blocks_are_told_apart_by_their_room(void **state) {
    (void)state;
    /* 1024 values: 288 bytes in blocks of 64, 272 in blocks of 128; both are multiples of 16. */
    const size_t as_64 = 288, as_128 = 272;
    for (int count = 1; count <= 3; count++) {
        for (int end = 0; end < 2; end++) {
            struct gguf_bytes b = q2_0_file(count, as_64, end, 0);
            opens_as(&b, VV_TYPE_Q2_0, as_64);
            /* 272 is padded to 288 here, so only an unpadded end tells: else it is the usual kind
             */
            b = q2_0_file(count, as_128, end, 0);
            opens_as(&b, end ? VV_TYPE_Q2_0 : VV_TYPE_Q2_0_128, end ? as_64 : as_128);
        }
    }
    /* Larger ones: 4096 values, 1152 and 1088 bytes. */
    struct gguf_bytes b = {0};
    gguf_put_header(&b, 3, 2, 0);
    gguf_put_tensor_1d(&b, "a", 4096, VV_TYPE_Q2_0, 0);
    gguf_put_tensor_1d(&b, "b", 4096, VV_TYPE_Q2_0, 1088);
    gguf_put_padding(&b, 32);
    gguf_put_data(&b, 2 * 1088);
    struct gguf_bytes cut = {0};
    gguf_put(&cut, b.at, b.size - 1);
    opens_as(&b, VV_TYPE_Q2_0_128, 1088);
    refused(&cut, VV_ERROR_INVALID, "Q2_0", NULL);
}

/* C015's kin: a file of the usual kind that was cut short is not taken for the other one. */
static void cut_q2_0_files_are_refused(void **state) {
    (void)state;
    for (size_t cut = 1; cut < 288; cut++) {
        if (288 - cut == 272) {
            continue; /* exactly what the other kind takes */
        }
        struct gguf_bytes b = q2_0_file(1, 288 - cut, false, 0);
        refused(&b, VV_ERROR_INVALID, "'a'", "cut short", NULL);
        b = q2_0_file(1, 288, false, 0);
        struct gguf_bytes shorter = {0};
        gguf_put(&shorter, b.at, b.size - cut);
        gguf_bytes_free(&b);
        refused(&shorter, VV_ERROR_INVALID, "'a'", "cut short", NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_is_read),
        cmocka_unit_test(c001_dimension_product_wraps),
        cmocka_unit_test(c002_block_bytes_wrap),
        cmocka_unit_test(c003_counts_beyond_the_file),
        cmocka_unit_test(c004_empty_key),
        cmocka_unit_test(c005_too_many_dimensions),
        cmocka_unit_test(c008_lengths_beyond_the_file),
        cmocka_unit_test(every_beginning_is_refused),
        cmocka_unit_test(any_damaged_byte_does_no_harm),
        cmocka_unit_test(what_is_no_gguf_file_is_named),
        cmocka_unit_test(names_and_keys_are_unique_and_not_empty),
        cmocka_unit_test(value_types_are_known),
        cmocka_unit_test(tensor_types_are_known),
        cmocka_unit_test(tensors_lie_aligned_inside_and_apart),
        cmocka_unit_test(alignment_is_a_power_of_two),
        cmocka_unit_test(q2_0_blocks_are_told_apart_by_their_room),
        cmocka_unit_test(cut_q2_0_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pieces of memory out of large blocks: none overlap, what is given back is whole again, and there
 * is an end. */
#include "base/random.h"
#include "device/launch.h"
#include "session/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PIECES = 60, STEPS = 20000 };

static size_t blocks, failing;

static void *host(struct vv_device *device, size_t bytes) {
    (void)device;
    blocks += !failing;
    return failing ? NULL : malloc(bytes);
}

static void unhost(struct vv_device *device, void *at) {
    (void)device;
    blocks--;
    free(at);
}

static const struct vv_launcher launcher = {.host = host, .unhost = unhost};
static struct vv_device device = {.launcher = &launcher};

struct piece {
    uint8_t *at;
    size_t bytes;
    uint8_t mark;
};

static bool has_mark(const struct piece *p) {
    for (size_t i = 0; i < p->bytes; i++) {
        if (p->at[i] != p->mark) {
            return false;
        }
    }
    return true;
}

static void pieces_do_not_overlap(void **state) {
    (void)state;
    struct vv_pool *pool = vv_pool_new(&device, (uint64_t)1 << 30);
    struct piece pieces[PIECES] = {{0}};
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t random = vv_random_at(3, i);
        struct piece *p = &pieces[random % PIECES];
        if (p->at) {
            assert_true(has_mark(p));
            assert_true(vv_pool_give(pool, p->at, p->bytes));
            p->at = NULL;
        } else {
            p->bytes = (size_t)((random >> 16) % 3000) + 1;
            p->mark = (uint8_t)(random >> 8);
            p->at = vv_pool_take(pool, p->bytes);
            assert_int_equal((uintptr_t)p->at % 16, 0);
            memset(p->at, p->mark, p->bytes);
        }
    }
    assert_int_equal(blocks, 1); /* all have room in the smallest one */
    for (size_t i = 0; i < PIECES; i++) {
        assert_true(!pieces[i].at || vv_pool_give(pool, pieces[i].at, pieces[i].bytes));
    }
    void *all = vv_pool_take(pool, (size_t)32 << 20); /* nothing is left between them */
    assert_int_equal(blocks, 1);
    assert_true(vv_pool_give(pool, all, (size_t)32 << 20));
    vv_pool_free(pool);
    assert_int_equal(blocks, 0);
}

static void there_is_a_limit(void **state) {
    (void)state;
    enum { LIMIT = 40 << 20, PIECE = 3 << 20 };
    struct vv_pool *pool = vv_pool_new(&device, LIMIT);
    uint8_t *at[20];
    size_t count = 0;
    while ((at[count] = vv_pool_take(pool, PIECE)) != NULL) {
        count++;
    }
    assert_int_equal(count, 12); /* 10 of 32 MiB, 2 of the other 8 */
    assert_false(vv_pool_give(pool, at, 1));
    while (count > 0) {
        assert_true(vv_pool_give(pool, at[--count], PIECE));
    }
    vv_pool_free(pool);
    pool = vv_pool_new(&device, 100); /* less than a piece */
    vv_pool_provide(pool, 100);
    assert_null(vv_pool_take(pool, 1));
    vv_pool_free(pool);
}

static void memory_is_got_ahead_if_there_is_any(void **state) {
    (void)state;
    struct vv_pool *pool = vv_pool_new(&device, (uint64_t)1 << 30);
    vv_pool_provide(pool, 50 << 20);
    vv_pool_provide(pool, 10 << 20);
    assert_int_equal(blocks, 1);
    void *at = vv_pool_take(pool, 45 << 20);
    failing = 1;
    vv_pool_provide(pool, 60 << 20);
    assert_null(vv_pool_take(pool, 45 << 20));
    failing = 0;
    assert_true(vv_pool_give(pool, at, 45 << 20));
    vv_pool_free(pool);
    assert_int_equal(blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(memory_is_got_ahead_if_there_is_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

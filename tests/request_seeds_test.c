/* The seeds of fuzz/request_fuzz.c, through the target itself. */
#include "../fuzz/request_fuzz.c"

#include "support/seeds.h"

static void all_seeds_hold(void **state) {
    (void)state;
    seeds_hold("request", 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_seeds_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

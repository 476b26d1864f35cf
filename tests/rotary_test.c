/*
 * Rotary frequencies and angles against values of mpmath 1.4 with 60 digits. The integers are the
 * output, for BASE and DIMS, of
 *
 *   python3 -c "from mpmath import *; mp.dps = 60; [print(int(nint(mpf(BASE) ** (-mpf(2 * i) /
 * DIMS)
 *               * 2 ** 63 / pi))) for i in range(DIMS // 2)]"
 *
 * and the sines and cosines of nstr(sin(mpf(BASE) ** (-mpf(2 * i) / DIMS) * POSITION), 12).
 */
#include "base/math.h"
#include "base/rotary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const uint64_t turns_1e7_64[32] = {
    2935890503282001226u, 1774148033267728375u, 1072111252251771033u, 647872959669429481u,
    391507290861131643u,  236586442619292578u,  142968333254119646u,  86395247703826907u,
    52208336321151933u,   31549309179210512u,   19065133651503701u,   11520991445011239u,
    6962093542184701u,    4207167996042431u,    2542376433133840u,    1536348901169279u,
    928410095122917u,     561034869143420u,     339031346221092u,     204875418698981u,
    123805475968320u,     74815202219370u,      45210556636101u,      27320576175853u,
    16509725562294u,      9976767561116u,       6028924623427u,       3643257386955u,
    2201607287645u,       1330423336646u,       803970019824u,        485836180839u,
};

static const uint64_t turns_1e7_22[11] = {
    2935890503282001226u, 678228784782384646u, 156679645917709615u, 36195030343301418u,
    8361521459147177u,    1931619906065857u,   446229251427458u,    103084744676845u,
    23813913030347u,      5501322776660u,      1270876913611u,
};

static const uint64_t turns_5e5_14[7] = {
    2935890503282001226u, 450403007809077248u, 69097559740966301u, 10600445999197841u,
    1626243470871640u,    249486467527193u,    38274402691890u,
};

static void compare(double base, unsigned dims, const uint64_t *want) {
    for (unsigned i = 0; i < dims / 2; i++) {
        assert_int_equal(vv_rotary_turn(base, i, dims), want[i]);
    }
}

static void turns_are_the_nearest_integers(void **state) {
    (void)state;
    compare(1e7, 64, turns_1e7_64);
    compare(1e7, 22, turns_1e7_22);
    compare(5e5, 14, turns_5e5_14);
}

/* Bases and counts at the ends of what is allowed. */
static void extremes_end(void **state) {
    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        assert_int_equal(vv_rotary_turn(1.0, i, 512), turns_1e7_64[0]);
    }
    assert_int_equal(vv_rotary_turn(1e308, 0, 2), turns_1e7_64[0]);
    assert_int_equal(vv_rotary_turn(1e308, 511, 1024), 0);
}

/* Inverse frequencies as model cards print them: base 1e7, 64 dims. */
static void frequencies_of_the_released_model(void **state) {
    (void)state;
    static const struct {
        unsigned i;
        double frequency;
    } cases[] = {
        {0, 1}, {1, 0.604296390}, {2, 0.365174127}, {16, 3.16227766e-4}, {31, 1.6548171e-7}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double radians =
            (double)vv_rotary_turn(1e7, cases[k].i, 64) * 0x1.921fb54442d18p+2 * 0x1p-64;
        assert_true(fabs(radians / cases[k].frequency - 1) < 2e-8);
    }
}

/* The wrapping product keeps every angle to the accuracy of vv_sincos_turn, 1.7 * 2^-24. */
static void angles_hold_at_large_positions(void **state) {
    (void)state;
    static const struct {
        uint64_t position;
        unsigned i;
        double sine, cosine;
    } cases[] = {
        {262143, 0, 0.793046201938, -0.609161490569},
        {262143, 1, 0.390027615445, 0.92080315985},
        {1000000, 3, 0.996394878731, -0.0848365819639},
        {2147483647, 0, -0.724916555145, -0.688836691878},
        {2147483647, 7, -0.374397754361, -0.927268203666},
        {999983, 31, 0.164724704736, 0.986339582319},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        float sine, cosine;
        vv_sincos_turn(cases[k].position * vv_rotary_turn(1e7, cases[k].i, 64), &sine, &cosine);
        assert_true(fabs((double)sine - cases[k].sine) < 1.8 * 0x1p-24);
        assert_true(fabs((double)cosine - cases[k].cosine) < 1.8 * 0x1p-24);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_the_nearest_integers),
        cmocka_unit_test(extremes_end),
        cmocka_unit_test(frequencies_of_the_released_model),
        cmocka_unit_test(angles_hold_at_large_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

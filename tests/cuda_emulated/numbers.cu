/* Functions of numbers, by values that the CUDA manual's definitions give. */
#include "test.h"
#include <cmath>

struct outcome {
    long long got, wanted;
};

static __global__ void compute(outcome *to, int *count, unsigned x, unsigned y) {
    int n = 0;
    auto is = [&](long long got, long long wanted) { to[n++] = {got, wanted}; };
    is(__dp4a(static_cast<int>(x), static_cast<int>(y), 5), 5 - 2 + 0 + 127 * 127 + 128);
    is(__dp4a(x, y, 5u), 5 + 0x01 * 0xfe + 0x02 * 0x00 + 0x7f * 0x7f + 0x80 * 0xff);
    is(__byte_perm(x, y, 0x7410), 0xfffe0201u);
    is(__byte_perm(x, y, 0x0b3f), 0x01ff80ffu);
    is(__popc(x), 1 + 1 + 7 + 1);
    is(__popcll(static_cast<unsigned long long>(x) << 20), 10);
    is(__clz(static_cast<int>(x >> 9)), 9);
    is(__clz(0), 32);
    is(__ffs(static_cast<int>(x << 5)), 6);
    is(__ffs(0), 0);
    is(__brev(x), 0x8040fe01u);
    is(__funnelshift_l(x, y, 8), 0x7f00fe80u);
    is(__funnelshift_r(x, y, 8), 0xfe807f02u);
    is(__umulhi(0x80000000u, x), 0x807f0201u >> 1);
    is(__mulhi(-8, 1 << 30), -2);
    is(__vadd4(x, y), 0x7ffe02ffu);
    is(__vsub4(x, y), 0x81000203u);
    is(__vsubss4(x, y), 0x81000203u);
    is(__vsubss4(0x80007f01u, 0x017fff02u), 0x80817fffu);
    is(__vaddss4(0x80807f01u, 0xff017f02u), 0x80817f03u);
    is(__vabsdiffu4(x, y), 0x7f0002fdu);
    is(__vcmpeq4(x, y), 0x00ff0000u);
    is(__vcmpgtu4(x, y), 0x0000ff00u);
    is(__vmaxs4(x, y), 0xff7f0201u);
    is(__vminu4(x, y), 0x807f0001u);
    is(__float2int_rn(2.5f), 2);
    is(__float2int_rn(-3.5f), -4);
    is(__float2int_rn(3e9f), 2147483647);
    is(__float2int_rz(-3.9f), -3);
    is(__float2int_rn(__int_as_float(0x7fc00000)), 0);
    is(__float_as_int(__int2float_rn(16777217)), __float_as_int(16777216.0f));
    is(__float_as_int(__fmaf_rn(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f)),
       __float_as_int(0x1p-11f + 0x1p-24f));
    is(__float_as_int(__fadd_rn(__fmul_rn(1.0f + 0x1p-12f, 1.0f + 0x1p-12f), -1.0f)),
       __float_as_int(0x1p-11f));
    is(__float_as_int(__fdiv_rn(1.0f, 3.0f)), 0x3eaaaaab);
    is(__float_as_int(__fsqrt_rn(2.0f)), 0x3fb504f3);
    is(__float_as_int(__frcp_rn(3.0f)), 0x3eaaaaab);
    is(min(3, -4), -4);
    is(max(3u, 4u), 4);
    is(__float_as_int(max(1.5f, -2.0f)), 0x3fc00000);
    is(__half_as_ushort(__float2half_rn(-0.0f)), 0x8000);
    is(__half_as_ushort(__float2half_rn(65519.0f)), 0x7bff);
    is(__half_as_ushort(__float2half_rn(65520.0f)), 0x7c00);
    is(__half_as_ushort(__float2half_rn(-0x1.8p-24f)), 0x8002);
    is(__half_as_ushort(__float2half_rn(0x1.004p0f)), 0x3c01);
    is(__half_as_ushort(__float2half_rn(0x1.002p0f)), 0x3c00);
    is(__half_as_ushort(__float2half_rn(0x1.ffep-15f)), 0x0400); /* carries into the normals */
    is(__float_as_int(__half2float(__ushort_as_half(0x0001))), __float_as_int(0x1p-24f));
    is(__float_as_int(__half2float(__ushort_as_half(0xfc00))), static_cast<int>(0xff800000u));
    is(__bfloat16_as_ushort(__float2bfloat16_rn(1.00390625f)), 0x3f80);
    is(__bfloat16_as_ushort(__float2bfloat16_rn(-3.4e38f)), 0xff80);
    is(__float_as_int(__bfloat162float(__ushort_as_bfloat16(0x4049))), 0x40490000);
    *count = n;
}

void test_numbers() {
    on_device<outcome> to{std::vector<outcome>(100)};
    on_device<int> count{std::vector<int>(1)};
    SUCCEEDS(vv_start(compute, 1, 1, 0, nullptr, to.at, count.at, 0x807f0201u, 0xff7f00feu));
    std::vector<outcome> got = to.read();
    int n = count.read()[0];
    EXPECT(n > 40);
    for (size_t i = 0; i < static_cast<size_t>(n); i++) {
        if (got[i].got != got[i].wanted) {
            std::fprintf(stderr, "number %zu: 0x%llx, not 0x%llx\n", i, got[i].got, got[i].wanted);
        }
        EXPECT(got[i].got == got[i].wanted);
    }
}

/* What all orders are drawn from. */
#pragma once
#include <cstdint>

namespace vv_emulated {

extern uint64_t random_state; /* never 0 */

/* The next number, by xorshift. */
inline uint64_t draw() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}
/* Below `count`, which is less than 2^32 and not 0. */
inline uint32_t draw_below(uint32_t count) {
    return static_cast<uint32_t>((draw() >> 32) * count >> 32);
}
/* The number of a set bit of `bits`, which is not 0: the next from a drawn place, up or down. */
inline unsigned draw_bit(uint32_t bits) {
    uint64_t drawn = draw();
    unsigned by = static_cast<unsigned>(drawn >> 8 & 31);
    uint32_t turned = bits >> by | bits << ((32 - by) & 31);
    unsigned at =
        static_cast<unsigned>(drawn >> 16 & 1 ? __builtin_ctz(turned) : 31 - __builtin_clz(turned));
    return (at + by) & 31;
}

} // namespace vv_emulated

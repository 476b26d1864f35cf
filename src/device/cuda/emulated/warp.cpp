/* What lanes of a warp make of what they bring to a meeting. */
#include "block.h"

namespace vv_emulated {

static void combine_nothing(exchange *const[warp_lanes], unsigned) {
}

static void combine_shuffle(exchange *const lanes[warp_lanes], unsigned present) {
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if (present >> lane & 1) {
            unsigned source = lanes[lane]->source;
            if (!(present >> source & 1)) {
                fail("lane %u reads by a shuffle from lane %u, which takes no part in it", lane,
                     source);
            }
            lanes[lane]->out[0] = lanes[source]->in[0];
            lanes[lane]->out[1] = lanes[source]->in[1];
        }
    }
}

static void combine_match(exchange *const lanes[warp_lanes], unsigned present) {
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        unsigned equal = 0;
        for (unsigned other = 0; other < warp_lanes && present >> lane & 1; other++) {
            bool same = present >> other & 1 && lanes[other]->in[0] == lanes[lane]->in[0] &&
                        lanes[other]->in[1] == lanes[lane]->in[1];
            equal |= static_cast<unsigned>(same) << other;
        }
        if (present >> lane & 1) {
            lanes[lane]->out[0] = equal;
        }
    }
}

/* `value = fold(value, its value, lane)` over the lanes that are here, ascending, for all of them.
 */
template <class F>
static void combine_fold(exchange *const lanes[warp_lanes], unsigned present, uint32_t value,
                         F fold) {
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if (present >> lane & 1) {
            value = fold(value, lanes[lane]->in[0], lane);
        }
    }
    for (unsigned lane = 0; lane < warp_lanes; lane++) {
        if (present >> lane & 1) {
            lanes[lane]->out[0] = value;
        }
    }
}

#define VV_FOLD(name, start, expression)                                                           \
    static void combine_##name(exchange *const lanes[warp_lanes], unsigned present) {              \
        combine_fold(lanes, present, start,                                                        \
                     [](uint32_t a, uint32_t b, unsigned lane) -> uint32_t {                       \
                         (void)lane;                                                               \
                         return expression;                                                        \
                     });                                                                           \
    }
VV_FOLD(ballot, 0, a | b << lane)
VV_FOLD(sum, 0, a + b)
VV_FOLD(smallest, UINT32_MAX, a < b ? a : b)
VV_FOLD(largest, 0, a > b ? a : b)
VV_FOLD(smallest_signed, INT32_MAX, static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b)
VV_FOLD(largest_signed, 0x80000000u, static_cast<int32_t>(a) > static_cast<int32_t>(b) ? a : b)
VV_FOLD(and, UINT32_MAX, a &b)
VV_FOLD(or, 0, a | b)
VV_FOLD(xor, 0, a ^ b)

const meeting warp_meeting = {"__syncwarp", combine_nothing},
              shuffle_meeting = {"a shuffle", combine_shuffle},
              match_meeting = {"__match_any_sync", combine_match},
              ballot_meeting = {"a ballot", combine_ballot},
              sum_meeting = {"__reduce_add_sync", combine_sum},
              smallest_meeting = {"__reduce_min_sync", combine_smallest},
              largest_meeting = {"__reduce_max_sync", combine_largest},
              smallest_signed_meeting = {"__reduce_min_sync", combine_smallest_signed},
              largest_signed_meeting = {"__reduce_max_sync", combine_largest_signed},
              and_meeting = {"__reduce_and_sync", combine_and},
              or_meeting = {"__reduce_or_sync", combine_or},
              xor_meeting = {"__reduce_xor_sync", combine_xor};

} // namespace vv_emulated

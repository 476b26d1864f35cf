/* Atomic operations: threads run one at a time, so that plain ones do. Each returns what was there.
 * Sums of floats are left out: their order is free on a GPU, and varve's is not. */
#pragma once
#include "keywords.h"

namespace vv_emulated {
template <class T> struct same {
    using type = T; /* so that arguments convert to the memory's type */
};
} // namespace vv_emulated

#define VV_ATOMIC(name, expression)                                                                \
    template <class T> T name(T *at, typename vv_emulated::same<T>::type value) {                  \
        static_assert(std::is_integral<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),            \
                      "integers of 32 or 64 bits");                                                \
        T old = *at;                                                                               \
        *at = static_cast<T>(expression);                                                          \
        return old;                                                                                \
    }
VV_ATOMIC(atomicAdd, old + value)
VV_ATOMIC(atomicSub, old - value)
VV_ATOMIC(atomicMin, old < value ? old : value)
VV_ATOMIC(atomicMax, old > value ? old : value)
VV_ATOMIC(atomicAnd, old &value)
VV_ATOMIC(atomicOr, old | value)
VV_ATOMIC(atomicXor, old ^ value)
VV_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
VV_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef VV_ATOMIC

template <class T> T atomicExch(T *at, typename vv_emulated::same<T>::type value) {
    T old = *at;
    *at = value;
    return old;
}
template <class T>
T atomicCAS(T *at, typename vv_emulated::same<T>::type expected,
            typename vv_emulated::same<T>::type value) {
    T old = *at;
    if (old == expected) {
        *at = value;
    }
    return old;
}

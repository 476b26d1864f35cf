/* The only place that asks what this CPU can do. */
#include "registry/operation.h"

#if defined(__x86_64__)
uint32_t vv_cpu_features(void) {
    /* The compiler's run-time support asks CPUID and XGETBV: a set counts only if the system saves
     * its registers. */
    __builtin_cpu_init();
    uint32_t features = VV_CPU_ANY;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
        features |= VV_CPU_AVX2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl")) {
            features |= VV_CPU_AVX512;
            features |= __builtin_cpu_supports("avx512vnni") ? VV_CPU_AVX512_VNNI : 0;
        }
    }
    return features;
}
#else
uint32_t vv_cpu_features(void) {
    return VV_CPU_ANY;
}
#endif

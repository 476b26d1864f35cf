/* How CPUID's words become VV_CPU_… bits: apart from the asking, so that it can be tested. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct vv_cpuid {
    uint32_t ecx1;             /* leaf 1 */
    uint32_t ebx7, ecx7, edx7; /* leaf 7, 0 */
    uint32_t eax7_1;           /* leaf 7, 1 */
    uint64_t saved;            /* XCR0: register files that the system saves; 0 without XGETBV */
};

/* VV_CPU_… bits of an x86-64 CPU; a set counts only if the system saves its registers. AMX counts
 * here whether or not the system lets this process use it. */
uint32_t vv_cpuid_features(const struct vv_cpuid *id);

/* The only place that asks what this CPU can do. */
#include "device/cpu/features.h"
#include "device/features.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static bool all(uint64_t word, uint64_t bits) {
    return (word & bits) == bits;
}

/* Bit numbers: Intel's manual, volume 2, CPUID; volume 1, 13.1 (XCR0). */
uint32_t vv_cpuid_features(const struct vv_cpuid *id) {
    static const uint64_t vectors = 0x6, masks = 0xe0, tiles = 0x60000; /* in XCR0 */
    static const uint32_t fma = 1u << 12, f16c = 1u << 29;
    static const uint32_t bmi = 1u << 3 | 1u << 8, avx2 = 1u << 5;
    static const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    static const uint32_t avx512_vnni = 1u << 11, avx512_vbmi = 1u << 1, avx_vnni = 1u << 4;
    static const uint32_t amx_int8 = 1u << 24 | 1u << 25;
    if (!all(id->saved, vectors) || !all(id->ecx1, fma | f16c) || !all(id->ebx7, bmi | avx2)) {
        return VV_CPU_ANY;
    }
    uint32_t features = VV_CPU_AVX2;
    features |= all(id->eax7_1, avx_vnni) ? VV_CPU_AVX_VNNI : 0;
    if (all(id->saved, masks) && all(id->ebx7, avx512)) {
        features |= VV_CPU_AVX512;
        features |= all(id->ecx7, avx512_vnni) ? VV_CPU_AVX512_VNNI : 0;
    }
    if (all(id->saved, tiles) && all(id->edx7, amx_int8) && all(id->ecx7, avx512_vbmi)) {
        features |= VV_CPU_AMX_INT8;
    }
    return features;
}

#if defined(__x86_64__)
static struct vv_cpuid read_cpuid(void) {
    struct vv_cpuid id = {0};
    uint32_t eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &id.ecx1, &edx) && id.ecx1 & 1u << 27) { /* OSXSAVE */
        __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
        id.saved = (uint64_t)edx << 32 | eax;
    }
    if (__get_cpuid_count(7, 0, &eax, &id.ebx7, &id.ecx7, &id.edx7) && eax >= 1) {
        __get_cpuid_count(7, 1, &id.eax7_1, &ebx, &ecx, &edx);
    }
    return id;
}

/* Linux saves tiles only for a process that has asked for it (Documentation/arch/x86/xstate.rst).
 * An older system, or one that watches calls, says no: then there is no AMX. */
static bool may_use_tiles(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

static uint32_t detect(void) {
    struct vv_cpuid id = read_cpuid();
    uint32_t features = vv_cpuid_features(&id);
    bool amx = features & VV_CPU_AMX_INT8 && may_use_tiles();
    return amx ? features : features & ~(uint32_t)VV_CPU_AMX_INT8;
}
#elif defined(__aarch64__)
/* Every AArch64 system has NEON; bits of the auxiliary vector: Linux, asm/hwcap.h. */
static uint32_t detect(void) {
    static const unsigned long dotprod = 1ul << 20 /* ASIMDDP */, i8mm = 1ul << 13 /* word 2 */;
    uint32_t features = VV_CPU_NEON;
    features |= getauxval(AT_HWCAP) & dotprod ? VV_CPU_DOTPROD : 0;
    features |= getauxval(AT_HWCAP2) & i8mm ? VV_CPU_I8MM : 0;
    return features;
}
#else
static uint32_t detect(void) {
    return VV_CPU_ANY;
}
#endif

/* Asked once: CPUID costs microseconds in a virtual machine. Two threads may both ask. */
uint32_t vv_cpu_features(void) {
    static const uint32_t asked = UINT32_C(1) << 31;
    static _Atomic uint32_t known;
    uint32_t features = atomic_load_explicit(&known, memory_order_relaxed);
    if (!features) {
        features = detect() | asked;
        atomic_store_explicit(&known, features, memory_order_relaxed);
    }
    return features & ~asked;
}

/* Each level with all that it includes, on each architecture from slower to faster. */
static const struct {
    const char *name;
    uint32_t features;
} levels[] = {
    {"portable", VV_CPU_ANY},
    {"avx2", VV_CPU_AVX2},
    {"avxvnni", VV_CPU_AVX2 | VV_CPU_AVX_VNNI},
    {"avx512", VV_CPU_AVX2 | VV_CPU_AVX512},
    {"vnni", VV_CPU_AVX2 | VV_CPU_AVX512 | VV_CPU_AVX512_VNNI},
    {"amx", VV_CPU_AVX2 | VV_CPU_AVX512 | VV_CPU_AVX512_VNNI | VV_CPU_AMX_INT8},
    {"neon", VV_CPU_NEON},
    {"dotprod", VV_CPU_NEON | VV_CPU_DOTPROD},
    {"i8mm", VV_CPU_NEON | VV_CPU_DOTPROD | VV_CPU_I8MM},
};
enum { LEVELS = sizeof levels / sizeof *levels };

int vv_cpu_level(const char *name, uint32_t *features, struct vv_error *error) {
    char here[100] = "";
    size_t length = 0;
    bool known = false;
    for (size_t i = 0; i < LEVELS; i++) {
        bool asked = strcmp(name, levels[i].name) == 0;
        known |= asked;
        if (levels[i].features & ~vv_cpu_features()) {
            continue;
        }
        if (asked) {
            *features = levels[i].features;
            return VV_OK;
        }
        length += (size_t)snprintf(here + length, sizeof here - length, "%s%s", length ? ", " : "",
                                   levels[i].name);
    }
    return known
               ? vv_fail(error, VV_ERROR_UNSUPPORTED,
                         "this machine does not offer %s; it offers %s", name, here)
               : vv_fail(error, VV_ERROR_INVALID,
                         "no instruction set is called \"%s\"; this machine offers %s", name, here);
}

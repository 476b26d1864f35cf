/*
 * What exact products reach at most: for each kind of format the forms in which its integers can be
 * put together (docs/arithmetic.md, 3.3), each as a kernel that has everything in registers and
 * loads nothing. A form is its matrix instructions and the contract's combination of what they
 * give. And beside them products of BF16 by cuBLAS, if that is on this machine.
 */
#include "device/cuda/roofs_group.cuh"
#include "device/cuda/runtime.cuh"

#include <dlfcn.h>

using namespace vv_roofs;

namespace {

#ifdef VV_CUDA_EMULATED
enum { RUNS = 1, SEGMENTS = 2, BLOCKS_EACH = 1 };
#else
enum { RUNS = 5, SEGMENTS = 2048, BLOCKS_EACH = 8 };
#endif
enum { THREADS = 256, DOWN = 2, ACROSS = 4, UNITS = DOWN * ACROSS };

/* What a warp holds of its weight rows and its rows of activations. */
struct operands {
    unsigned a[DOWN][4], b[ACROSS][2];
    float first[DOWN][2], second[DOWN][2]; /* of weight rows g and g + 8 */
    float scale[ACROSS][2], sum[ACROSS][2];
};

/* So that no product is one that was made before: as few instructions as that takes, of the integer
 * units, which no form keeps busy. */
template <bool SECOND> VV_DEVICE void change(operands &o) {
    VV_UNROLL
    for (int i = 0; i < DOWN; i++) {
        o.a[i][0]++;
        VV_UNROLL
        for (int k = 0; k < 2; k++) {
            o.first[i][k] = vv_from_bits(vv_bits(o.first[i][k]) + 1);
            o.second[i][k] = vv_from_bits(vv_bits(o.second[i][k]) + SECOND);
        }
    }
}

constexpr int FLOAT_START = 0x4B400000; /* an integer below 2^22 on top of it is a float's bits */

/* d = a·b + start, which costs no instruction that moves `start` to d. */
VV_DEVICE void multiply_from(int start, int (&d)[4], const unsigned (&a)[4],
                             const unsigned (&b)[2]) {
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(start));
#else
    d[0] = d[1] = d[2] = d[3] = start;
    vv_mma_m16n8k32_s8(d, a, b);
#endif
}
VV_DEVICE void multiply_16_from(int start, int (&d)[4], const unsigned (&a)[2],
                                const unsigned (&b)[1]) {
#ifdef __CUDACC__
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(start));
#else
    d[0] = d[1] = d[2] = d[3] = start;
    vv_mma_m16n8k16_s8(d, a, b);
#endif
}

/* Values of one unit, 16 weight rows by 8 rows of activations, in a segment. */
struct running {
    int i[4];
    float s[4], f[2][4];
};

/* s = fma(scale of the weights · scale of the activations, value, s) for each of a unit's four. */
VV_DEVICE void add_scaled(const float (&rows)[2], const float (&columns)[2],
                          const float (&value)[4], float (&s)[4]) {
    VV_UNROLL
    for (int e = 0; e < 4; e++) {
        s[e] = fmaf(rows[e / 2] * columns[e % 2], value[e], s[e]);
    }
}
VV_DEVICE void as_floats(const int (&d)[4], float (&to)[4]) {
    VV_UNROLL
    for (int e = 0; e < 4; e++) {
        to[e] = vv_from_bits((uint32_t)d[e]) - 12582912.0f;
    }
}

/* Group j of a segment, 32 values. */
template <form FORM, bool OFFSET>
VV_DEVICE void group(const operands &o, int m, int n, int j, running &r) {
    const unsigned a0[2] = {o.a[m][0], o.a[m][1]}, a1[2] = {o.a[m][2], o.a[m][3]};
    const unsigned b0[1] = {o.b[n][0]}, b1[1] = {o.b[n][1]};
    int d[4], d1[4];
    float f[4] = {}, f1[4] = {};
    if (FORM == BLOCKS) {
        multiply_from(FLOAT_START, d, o.a[m], o.b[n]);
        as_floats(d, f);
    } else if (FORM == BLOCK_FLOATS) {
        vv_mma_m16n8k16_f16(f, o.a[m], o.b[n]);
        vv_mma_m16n8k16_f16(f, o.a[m], o.b[n]);
    } else if (FORM == STEPS) {
        multiply_16_from(FLOAT_START, d, a0, b0);
        multiply_16_from(FLOAT_START, d1, a1, b1);
        as_floats(d, f);
        as_floats(d1, f1);
    } else if (FORM == STEP_FLOATS) {
        vv_mma_m16n8k16_f16(f, o.a[m], o.b[n]);
        vv_mma_m16n8k16_f16(f1, o.a[m], o.b[n]);
    } else if (FORM == SCALED) {
        multiply_from(0, d, o.a[m], o.b[n]);
        VV_UNROLL
        for (int e = 0; e < 4; e++) {
            r.i[e] += (int)vv_bits(o.second[m][e / 2]) * d[e];
        }
    } else if (FORM == FLOATS) {
        vv_mma_m16n8k16_f16(r.f[j / 2], o.a[m], o.b[n]);
        vv_mma_m16n8k16_f16(r.f[j / 2], o.a[m], o.b[n]);
    } else {
        vv_mma_m16n8k32_s8(r.i, o.a[m], o.b[n]);
    }
    if (FORM <= STEP_FLOATS) {
        add_scaled(o.first[m], o.scale[n], f, r.s);
    }
    if (FORM == STEPS || FORM == STEP_FLOATS) {
        add_scaled(o.second[m], o.scale[n], f1, r.s);
    } else if (FORM <= STEP_FLOATS && OFFSET) {
        const float sum[4] = {o.sum[n][0], o.sum[n][1], o.sum[n][0], o.sum[n][1]};
        add_scaled(o.second[m], o.scale[n], sum, r.s);
    }
}

/* The end of a segment of a super-block format: its scale, and its offsets by a product of halves.
 */
template <form FORM, bool OFFSET>
VV_DEVICE void end_segment(const operands &o, int m, int n, running &r) {
    float j[4] = {};
    if (FORM <= STEP_FLOATS) {
        return;
    }
    if (OFFSET) {
        const unsigned a[2] = {o.a[m][0], o.a[m][1]}, b[1] = {o.b[n][0]};
        vv_mma_m16n8k8_f16(j, a, b);
    }
    VV_UNROLL
    for (int e = 0; e < 4; e++) {
        float whole = FORM == FLOATS ? r.f[0][e] + r.f[1][e] : (float)r.i[e];
        float s = (o.first[m][e / 2] * o.scale[n][e % 2]) * whole;
        r.s[e] = OFFSET ? fmaf(-(o.second[m][e / 2] * o.scale[n][e % 2]), j[e], s) : s;
    }
}

template <form FORM, bool OFFSET>
__global__ void __launch_bounds__(THREADS, 2)
    multiply(int segments, const unsigned *from /* [40] */, float *sink) {
    constexpr int planes = FORM == SPLIT ? 2 : 1;
    operands o;
    for (int i = 0; i < DOWN * 4; i++) {
        o.a[i / 4][i % 4] = word(from, i) & 0x3f3f3f3fu;
    }
    for (int i = 0; i < ACROSS * 2; i++) {
        o.b[i / 2][i % 2] = word(from, 8 + i) & 0x3f3f3f3fu;
        o.scale[i / 2][i % 2] = small(word(from, 16 + i));
        o.sum[i / 2][i % 2] = small(word(from, 24 + i));
    }
    for (int i = 0; i < DOWN * 2; i++) {
        o.first[i / 2][i % 2] = small(word(from, 32 + i));
        o.second[i / 2][i % 2] = small(word(from, 36 + i));
    }
    float total[UNITS][4] = {};
    for (int segment = 0; segment < segments; segment++) {
        running r[UNITS] = {};
        VV_UNROLL
        for (int step = 0; step < 4 * planes; step++) {
            change<FORM == SCALED || (FORM <= STEP_FLOATS && (OFFSET || FORM >= STEPS))>(o);
            VV_UNROLL
            for (int u = 0; u < UNITS; u++) {
                VV_UNROLL
                for (int e = 0; e < 4 && step == 4; e++) {
                    r[u].i[e] *= 128;
                }
                group<FORM, OFFSET>(o, u / ACROSS, u % ACROSS, step % 4, r[u]);
            }
        }
        VV_UNROLL
        for (int u = 0; u < UNITS; u++) {
            end_segment<FORM, OFFSET>(o, u / ACROSS, u % ACROSS, r[u]);
            VV_UNROLL
            for (int e = 0; e < 4; e++) {
                total[u][e] += r[u].s[e];
            }
        }
    }
    float sum = 0.0f;
    for (int i = 0; i < UNITS * 4; i++) {
        sum += total[i / 4][i % 4];
    }
    if (sum == 12345.0f) { /* as good as never: what is computed has to be of use */
        *sink = sum;
    }
}

/* ---- rates ---- */

typedef void kernel(int segments, const unsigned *from, float *sink);

struct {
    vv_roof roof;
    const char *form;
    kernel *multiply;
    bool groups; /* of four warps */
} const forms[] = {
    {VV_ROOF_BLOCK, "s8, then floats", multiply<BLOCKS, false>},
    {VV_ROOF_BLOCK, "f16", multiply<BLOCK_FLOATS, false>},
    {VV_ROOF_BLOCK_OFFSET, "s8, then floats", multiply<BLOCKS, true>},
    {VV_ROOF_BLOCK_OFFSET, "f16", multiply<BLOCK_FLOATS, true>},
    {VV_ROOF_BLOCK_16, "s8, then floats", multiply<STEPS, false>},
    {VV_ROOF_BLOCK_16, "f16", multiply<STEP_FLOATS, false>},
    {VV_ROOF_SUPER, "s8, then times the sub-scale", multiply<SCALED, false>},
    {VV_ROOF_SUPER, "f16 with the sub-scale", multiply<FLOATS, false>},
    {VV_ROOF_SUPER, "two s8 with the sub-scale", multiply<SPLIT, false>},
    {VV_ROOF_SUPER_OFFSET, "s8, then times the sub-scale", multiply<SCALED, true>},
    {VV_ROOF_SUPER_OFFSET, "f16 with the sub-scale", multiply<FLOATS, true>},
    {VV_ROOF_SUPER_OFFSET, "two s8 with the sub-scale", multiply<SPLIT, true>},
    {VV_ROOF_SUPER_16, "two s8 with the sub-scale", multiply<SPLIT, false>},
    {VV_ROOF_FOLDED, "s8 with the sub-scale", multiply<FOLDED, false>},
    {VV_ROOF_BLOCK, "s8 by four warps, then floats", multiply_group<BLOCKS, false>, true},
    {VV_ROOF_BLOCK_OFFSET, "s8 by four warps, then floats", multiply_group<BLOCKS, true>, true},
    {VV_ROOF_SUPER, "s8 by four warps, then times the sub-scale", multiply_group<SCALED, false>,
     true},
    {VV_ROOF_SUPER, "two s8 with the sub-scale, by four warps", multiply_group<SPLIT, false>, true},
    {VV_ROOF_SUPER_OFFSET, "s8 by four warps, then times the sub-scale",
     multiply_group<SCALED, true>, true},
    {VV_ROOF_SUPER_OFFSET, "two s8 with the sub-scale, by four warps", multiply_group<SPLIT, true>,
     true},
    {VV_ROOF_SUPER_16, "two s8 with the sub-scale, by four warps", multiply_group<SPLIT, false>,
     true},
    {VV_ROOF_FOLDED, "s8 with the sub-scale, by four warps", multiply_group<FOLDED, false>, true},
};

/* Products of a block. */
constexpr double UNIT = 16 * 8 * 32, ALONE = (double)(THREADS / 32 * UNITS) * 4 * UNIT;
constexpr double GROUP = (double)GROUP_ROWS * COLUMNS * 128;

/* The least seconds of some runs of what `start` queues. */
template <typename START>
int best(vv_device *device, int runs, START start, double *seconds, vv_error *error) {
    const vv_launcher *l = device->launcher;
    *seconds = 1e30;
    int code = VV_OK;
    for (int run = 0; run < runs && code == VV_OK; run++) {
        vv_launch launch = {};
        uint64_t status;
        code = l->begin(device, false, &launch, error);
        code = code == VV_OK ? l->mark(device, 0, error) : code;
        code = code == VV_OK ? start(launch.stream) : code;
        code = code == VV_OK ? l->mark(device, 1, error) : code;
        struct vv_error other;
        int ended = l->end(device, nullptr, code == VV_OK ? error : &other);
        code = code == VV_OK ? ended : code;
        ended = l->wait(device, &status, code == VV_OK ? error : &other);
        code = code == VV_OK ? ended : code;
        double took = code == VV_OK ? l->seconds(device, 0, 1) : 0;
        *seconds = took < *seconds ? took : *seconds;
    }
    return code;
}

} // namespace

int vv_cuda_roofs(vv_device *device, vv_device_roof *roofs, vv_error *error) {
    unsigned blocks = device->processors * BLOCKS_EACH;
    constexpr size_t bytes = 64 * sizeof(unsigned);
    auto memory = static_cast<unsigned *>(device->calls->allocate(device, bytes));
    int code = memory ? VV_OK : vv_fail_memory(error, bytes, "a measurement");
    for (auto &f : forms) {
        double seconds, products = (double)blocks * (double)SEGMENTS * (f.groups ? GROUP : ALONE);
        if (f.groups && !vv_has_warpgroups) {
            continue;
        }
        if (code == VV_OK) {
            code = best(
                device, RUNS,
                [&](void *stream) {
                    return vv_start(f.multiply, blocks,
                                    f.groups ? (unsigned)GROUP_THREADS : (unsigned)THREADS, 0,
                                    stream, (int)SEGMENTS, static_cast<const unsigned *>(memory),
                                    reinterpret_cast<float *>(memory)) == cudaSuccess
                               ? VV_OK
                               : vv_fail(error, VV_ERROR_DEVICE, "the GPU refuses to be measured");
                },
                &seconds, error);
        }
        if (code == VV_OK && 2 * products / seconds > roofs[f.roof].rate) {
            roofs[f.roof] = {2 * products / seconds, f.form};
        }
    }
    if (memory) {
        device->calls->release(device, memory);
    }
    return code;
}

/* ---- cuBLAS ---- */

namespace {

/* As its manual declares them; numbers of enumerations likewise. */
struct blas {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*gemm)(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                const void *alpha, const void *a, int a_type, int lda, const void *b, int b_type,
                int ldb, const void *beta, void *c, int c_type, int ldc, int compute,
                int algorithm);
};
enum { TRANSPOSED = 1, PLAIN = 0, BF16 = 14, FLOAT32 = 0, IN_FLOAT32 = 68, ITS_CHOICE = -1 };

/* Stays loaded. */
const blas *find_blas() {
    static blas b;
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so"};
    void *library = nullptr;
#ifdef VV_CUDA_EMULATED
    (void)names;
#else
    for (size_t i = 0; i < sizeof names / sizeof *names && !library && !b.gemm; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
#endif
    if (library) {
        b.create = reinterpret_cast<decltype(b.create)>(dlsym(library, "cublasCreate_v2"));
        b.destroy = reinterpret_cast<decltype(b.destroy)>(dlsym(library, "cublasDestroy_v2"));
        b.set_stream =
            reinterpret_cast<decltype(b.set_stream)>(dlsym(library, "cublasSetStream_v2"));
        b.gemm = reinterpret_cast<decltype(b.gemm)>(dlsym(library, "cublasGemmEx"));
    }
    return b.create && b.destroy && b.set_stream && b.gemm ? &b : nullptr;
}

/* Numbers of either sign from 2^-7 to 2: a GPU that multiplies zeros gets by with less power. */
__global__ void __launch_bounds__(THREADS) fill_bf16(uint32_t *to, size_t pairs) {
    size_t step = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < pairs; i += step) {
        to[i] = ((uint32_t)i * 0x9e3779b9u & 0x83ff83ffu) | 0x3c003c00u;
    }
}

/* Calls in a row: one alone is as long as its launch. */
enum { CALLS = 16 };

int multiply_by(const blas *b, vv_device *device, size_t inputs, size_t outputs, size_t rows,
                uint8_t *memory, double *seconds, vv_error *error) {
    void *handle;
    const float one = 1.0f, zero = 0.0f;
    const uint8_t *x = memory + 2 * inputs * outputs;
    uint8_t *y = memory + 2 * inputs * (outputs + rows);
    size_t pairs = inputs * (outputs + rows) / 2;
    if (vv_start(fill_bf16, device->processors * BLOCKS_EACH, THREADS, 0, nullptr,
                 reinterpret_cast<uint32_t *>(memory), pairs) != cudaSuccess ||
        cudaDeviceSynchronize() != cudaSuccess) {
        return vv_fail(error, VV_ERROR_DEVICE, "the GPU refuses to be measured");
    }
    if (b->create(&handle) != 0) {
        return vv_fail(error, VV_ERROR_DEVICE, "cuBLAS can't begin on this GPU");
    }
    int m = (int)outputs, n = (int)rows, k = (int)inputs;
    int code = best(
        device, RUNS,
        [&](void *stream) {
            int failed = b->set_stream(handle, stream);
            for (int i = 0; i < CALLS && !failed; i++) {
                failed = b->gemm(handle, TRANSPOSED, PLAIN, m, n, k, &one, memory, BF16, k, x, BF16,
                                 k, &zero, y, FLOAT32, m, IN_FLOAT32, ITS_CHOICE);
            }
            return failed ? vv_fail(error, VV_ERROR_DEVICE, "cuBLAS refuses a product (%d)", failed)
                          : VV_OK;
        },
        seconds, error);
    b->destroy(handle);
    *seconds /= (double)CALLS;
    return code;
}

} // namespace

int vv_cuda_multiply_bf16(vv_device *device, size_t inputs, size_t outputs, size_t rows,
                          double *seconds, vv_error *error) {
    const blas *b = find_blas();
    if (!b) {
        return vv_fail(error, VV_ERROR_UNSUPPORTED,
                       "libcublas is not on this machine, or not where libraries are looked for");
    }
    size_t bytes = 2 * inputs * (outputs + rows) + 4 * outputs * rows;
    auto memory = static_cast<uint8_t *>(device->calls->allocate(device, bytes));
    if (!memory) {
        return vv_fail_memory(error, bytes, "a product of BF16");
    }
    int code = multiply_by(b, device, inputs, outputs, rows, memory, seconds, error);
    device->calls->release(device, memory);
    return code;
}

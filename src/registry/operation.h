/*
 * What the registry knows about an operation, and about one way to compute it.
 *
 * An operation is a folder src/op/NAME: contract.h (formula, shapes, order of every sum, the args
 * struct), reference.c, portable.c and other variants, check.c, shapes.c, variants.c (this table).
 * The build lists the folders; nothing else has to know a new one.
 */
#pragma once
#include "base/error.h"
#include "device/features.h"
#include "quant/weight.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch of memory that an operation touches. */
struct vv_buffer {
    const void *at;
    size_t bytes;
    bool read;    /* its contents before the run matter */
    bool written; /* fully defined by the run where it isn't also read */
};

enum { VV_BUFFERS_MAX = 24, VV_WEIGHTS_MAX = 4, VV_ARGS_MAX = 512 };

struct vv_launch;

/* A step of a program, to be launched together with others. */
struct vv_launched_step {
    const void *args;
    uint32_t step;
};
enum { VV_TOGETHER_MAX = 8 };

struct vv_variant;

/* Steps that follow each other, a chain: each part of one, which is a row or a piece of it, takes
 * up what the same part of the one before it left. */
enum { VV_CHAIN_STEPS = 4, VV_CHAINS_MOST = 8, VV_CHAINED_MOST = 14 /* steps of all chains */ };
struct vv_chain {
    struct vv_launched_step step[VV_CHAIN_STEPS];
    const struct vv_variant *variant[VV_CHAIN_STEPS];
    size_t count;
};

/* How steps are launched as chains: several at once, whose steps touch nothing that those of
 * another write. */
struct vv_chaining {
    int kind; /* of the step, as its module numbers them */
    /* Whether the chain's last step may be there: the first if it can be cut into parts at all; a
     * later one if it conflicts with those before it in nothing but the same part's result. */
    bool (*fits)(const struct vv_chain *chain);
    int (*launch)(const struct vv_chain *chains, size_t count, const struct vv_launch *on);
};

/* A step, then some of those that take its result, as one launch can do them all: all that follows
 * the first is found where it stands, with nothing in between that it would have to come after. */
enum { VV_WHOLE_STEPS = 16 };
struct vv_whole {
    struct vv_launched_step step[VV_WHOLE_STEPS];
    const struct vv_variant *variant[VV_WHOLE_STEPS];
    size_t count;
};
struct vv_whole_way {
    /* Whether the last step may be there; the first may, no other has to. */
    bool (*fits)(const struct vv_whole *whole);
    /* Queues all steps. VV_ERROR_UNSUPPORTED: not these, perhaps fewer; nothing was queued. `on`
     * has the first step's number and scratch memory. */
    int (*launch)(const struct vv_whole *whole, const struct vv_launch *on);
};

/*
 * A variant computes units [begin, end) and returns VV_OK or an error code, which the caller turns
 * into a sentence that names the layer. Units are independent: which thread computes one, and in
 * what company, cannot change its bits.
 */
struct vv_variant {
    const char *name;               /* "rms_norm/avx2": operation, then what is special */
    uint32_t needs;                 /* VV_CPU_… bits */
    bool exact;                     /* keeps the contract's order, bit for bit */
    bool (*fits)(const void *args); /* NULL: every shape */
    const struct vv_layout *layout; /* order it wants its weights in; NULL: the file's */
    int (*run)(const void *args, size_t begin, size_t end);

    /* Instead of `run`, of a variant for a device that runs kernels itself (device/launch.h):
     * queues the kernels of all units. VV_OK, or VV_ERROR_UNSUPPORTED where the device refused. */
    int (*launch)(const void *args, const struct vv_launch *on);
    size_t (*scratch)(const void *args, const struct vv_launch *on); /* its bytes; NULL: none */
    /* Or all at once, of up to VV_TOGETHER_MAX steps that may run beside each other and whose
     * variants have this function; `on` has the first one's number. NULL: one by one. */
    int (*launch_all)(const struct vv_launched_step *steps, size_t count,
                      const struct vv_launch *on);
    /* Or it and steps behind it, of other operations, too. NULL: never, as where there is
     * launch_all. */
    const struct vv_whole_way *whole;
    /* Or in a chain: of a short step, which then waits for others to be launched with until a step
     * comes that needs it. NULL: never. */
    const struct vv_chaining *chaining;
};

/*
 * An operation. `args` is its own struct (contract.h), at most VV_ARGS_MAX bytes, copied into the
 * program. `buffers` is the one description from which barriers, guard pages, bytes in a profile
 * (unless `bytes` knows better) and copies to a device all follow; weights are listed by `weights`
 * alone. Units and buffers are
 * counted at every run, since depth and rows change between runs; a program is planned with its
 * largest window. `out` NULL: only count.
 */
struct vv_operation {
    const char *name;
    size_t args_bytes;
    size_t (*units)(const void *args);
    size_t (*buffers)(const void *args, struct vv_buffer *out /* [VV_BUFFERS_MAX] */);
    size_t (*weights)(const void *args,
                      struct vv_weight **out /* [VV_WEIGHTS_MAX] */); /* or NULL */
    const struct vv_variant
        *variants; /* the reference first, then slower to faster; ends with {0} */
    /* Bytes that a run moves, where it touches less than its buffers and weights (part of a
     * sequence's state, some experts); NULL: all of them. */
    size_t (*bytes)(const void *args);
    size_t looks_at; /* offset in args of a pointer to the int32_t that `bytes` reads, if it reads
                      * what an earlier step wrote; 0: it doesn't */
    size_t grain;    /* so many units, from a multiple of it on, belong together; 0: 1 */
    bool varies;     /* its work hangs on more than the rows: on sequences' lengths, on routes */
};

/* Bytes that a run reads and writes. */
size_t vv_operation_bytes(const struct vv_operation *operation, const void *args);
/* All buffers, and the weights `times`, whatever part of them a run touches. */
size_t vv_listed_bytes(const struct vv_operation *operation, const void *args, size_t times);

struct vv_check; /* registry/check.h */
struct vv_bench; /* registry/bench.h */

/* What a folder exports, as `const struct vv_operation_folder vv_folder_NAME`. */
struct vv_operation_folder {
    const char *name;
    const struct vv_operation *const *operations; /* ends with NULL */
    void (*check)(struct vv_check *check);
    void (*bench)(struct vv_bench *bench); /* or NULL: not measured alone */
};

/* Variant `index` of an operation: its own, then those that a module of kernels brought; NULL
 * beyond the last. */
const struct vv_variant *vv_variant_at(const struct vv_operation *operation, size_t index);

/* What a module of kernels brings: more variants of an operation; the list ends with {0}. */
struct vv_more_variants {
    const char *operation;
    const struct vv_variant *variants;
};
/* Adds a module's list, which ends with {0} and stays; the same list is added once. */
void vv_add_variants(const struct vv_more_variants *list);

/* All folders of src/op, in name order; ends with NULL. */
extern const struct vv_operation_folder *const vv_operation_folders[];

/*
 * The variant that runs `args` on a device with `features`, whose kernels are launched or called:
 * the last one in the table that is exact,
 * fits, has what it needs and takes weights in the order they lie in (or, with `pack`, in an order
 * of its own, preferred then). NULL: none takes weights that lie as these do.
 */
const struct vv_variant *vv_choose_variant(const struct vv_operation *operation, const void *args,
                                           uint32_t features, bool pack);

/* Whether a device with `features` can run the variant at all. */
bool vv_variant_runs(const struct vv_variant *variant, uint32_t features);

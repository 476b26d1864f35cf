/*
 * The harness of an operation's check (src/op/NAME/check.c), which `varve check` and the tests run.
 *
 * A check builds args with buffers from vv_check_floats & co. (each ends right before a guard
 * page), then calls vv_check_variants: the reference runs once; every variant of this machine runs
 * on the same inputs, its outputs poisoned first, its units cut at random places as threads would,
 * its weights packed as it wants them; all written bytes must be equal, all other bytes unchanged.
 *
 * A check also computes the plausible misreadings of its formula and hands them to
 * vv_check_misreading, which fails if the data can't tell them from the reference: a blind check is
 * a defect.
 */
#pragma once
#include "registry/operation.h"
#include "registry/window.h"

struct vv_check;

/* Random numbers of this check, from its seed. */
uint64_t vv_check_random(struct vv_check *check);
size_t vv_check_below(struct vv_check *check, size_t n);               /* 0 .. n - 1 */
float vv_check_uniform(struct vv_check *check, float low, float high); /* low <= x < high */
float vv_check_normal(struct vv_check *check);                         /* mean 0, deviation 1 */

/* True when only the quick subset is wanted (under 30 s for all operations together). */
bool vv_check_quick(const struct vv_check *check);

/* Memory that ends at a guard page, filled with poison; freed after vv_check_reset. Never NULL: out
 * of memory ends the check with a failure (longjmp to the runner). */
void *vv_check_memory(struct vv_check *check, size_t bytes);
float *vv_check_floats(struct vv_check *check, size_t n);  /* poison */
float *vv_check_normals(struct vv_check *check, size_t n); /* N(0, 1) */

/* Values as nasty as a kernel must bear: normals with zeros, -0, denormals, 1e-30 .. 1e15
 * magnitudes. */
float *vv_check_adversarial(struct vv_check *check, size_t n);

/* Random blocks of a weight in the file's order, with sane scales, `slices` of them. */
struct vv_weight *vv_check_weight(struct vv_check *check, int type, size_t width, size_t rows,
                                  size_t slices);

/* A window of `rows` rows spread over `sequences` slots in mixed order; sequence i's first row is
 * at position `first[i]` (NULL: 0). Tokens are random below `vocabulary`. All rows are outputs. */
struct vv_window *vv_check_window(struct vv_check *check, int32_t rows, int32_t sequences,
                                  const int32_t *first, int32_t vocabulary);

/* Frees all memory of the calls above; call it after each case. */
void vv_check_reset(struct vv_check *check);

/* Runs one case on every variant; `what` (printf) names the case in a failure. Leaves the
 * reference's outputs in the buffers. Counts one pass or failure a variant. */
void vv_check_variants(struct vv_check *check, const struct vv_operation *operation, void *args,
                       const char *what, ...) VV_PRINTF(4, 5);

/* The reference and all variants must return `code` for these args (not-finite input …). */
void vv_check_refuses(struct vv_check *check, const struct vv_operation *operation, void *args,
                      int code, const char *what, ...) VV_PRINTF(5, 6);

/* `wrong` [n] is what a misreading gives where the reference gives `right` [n]: fails when no
 * element differs by more than `least` times the largest |right|. */
void vv_check_misreading(struct vv_check *check, const char *name, const float *right,
                         const float *wrong, size_t n, double least);

/* Any other demand on the reference: counts a pass, or a failure with this sentence. */
void vv_check_true(struct vv_check *check, bool ok, const char *what, ...) VV_PRINTF(3, 4);

/* Parts of `varve inspect`: what is shown is gathered once, and then printed as text or JSON. */
#pragma once
#include "options.h"

#include <varve.h>

/* Tensors of one type. */
struct type_total {
    const char *type;
    size_t tensors;
    uint64_t elements, bytes;
};

enum { TYPES_MOST = 64, PLAN_MOST = 32 };

struct inspection {
    const struct varve_file *file;
    struct varve_file_info info;
    bool full; /* long values whole */
    struct type_total types[TYPES_MOST];
    size_t type_count, unused;
    uint64_t elements, bytes; /* of all tensors */

    /* The memory of a session; without a model `why_not` says why there is none. */
    struct varve_plan_line plan[PLAN_MOST];
    size_t plan_count;
    char why_not[1000];
};

void inspect_as_text(const struct inspection *inspection);
int inspect_as_json(const struct inspection *inspection);

/* The drawing of the layers, a part of the text; nothing for a file that has none. */
void inspect_map(const struct varve_file *file);

/* --tensor and --verify; exit codes. */
int inspect_tensor(const struct arguments *arguments, const struct varve_file *file);
int inspect_verify(const struct varve_file *file);

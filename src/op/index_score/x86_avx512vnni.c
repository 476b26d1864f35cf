#include "op/index_score/x86_zmm.h"

int vv_index_score_integer_avx512vnni(const void *args, size_t begin_unit, size_t end_unit) {
    struct tile t;
    t.count = 0;
    return vv_index_units(args, begin_unit, end_unit, score_unit, &t);
}

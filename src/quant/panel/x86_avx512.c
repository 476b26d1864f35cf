#include "quant/panel/fill.h"

vv_panel_fill *vv_panel_fill_avx512(int type) {
    return fill_of(type);
}

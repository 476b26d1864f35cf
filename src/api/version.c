#include <varve.h>

const char *varve_version(void) {
    return VARVE_VERSION;
}

#include "metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool find_key(const struct varve_file *file, const char *name, size_t *index) {
    struct varve_file_info info;
    varve_file_info(file, &info);
    for (size_t i = 0; i < info.keys; i++) {
        struct varve_key key;
        varve_file_key(file, i, &key);
        if (key.name_length == strlen(name) && memcmp(key.name, name, key.name_length) == 0 &&
            key.count > 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

bool file_value(const struct varve_file *file, const char *name, struct varve_value *value) {
    size_t index;
    if (!find_key(file, name, &index)) {
        return false;
    }
    varve_file_value(file, index, 0, value);
    return true;
}

bool file_number(const struct varve_file *file, const char *name, double *number) {
    struct varve_value value;
    if (!file_value(file, name, &value)) {
        return false;
    }
    switch (value.kind) {
    case VARVE_UNSIGNED:
        *number = (double)value.u;
        return true;
    case VARVE_SIGNED:
        *number = (double)value.i;
        return true;
    case VARVE_FLOAT:
        *number = value.f;
        return true;
    case VARVE_BOOL:
    case VARVE_STRING:
        break;
    }
    return false;
}

double shortest(double x) {
    char text[40];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        double y = strtod(text, NULL);
        if ((float)y == (float)x && (double)(float)x == x) {
            return y;
        }
    }
    return x;
}

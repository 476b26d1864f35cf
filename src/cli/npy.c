#include "npy.h"
#include "options.h"
#include "report.h"

#include <stdio.h>
#include <string.h>
#include <varve.h>

/*
 * Version 1.0 of the format: magic, version, length of the rest of the header (16 bits, little
 * endian), a Python dictionary, blanks and a line feed up to a multiple of 64 bytes.
 */
static size_t write_header(char header[256], const uint64_t *shape, size_t dimensions) {
    char list[120] = "";
    size_t used = 0;
    for (size_t i = 0; i < dimensions; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%llu%s", i ? ", " : "",
                                 (unsigned long long)shape[i], dimensions == 1 ? "," : "");
    }
    size_t length = 10 + (size_t)snprintf(header + 10, 246,
                                          "{'descr': '<f4', 'fortran_order': False, "
                                          "'shape': (%s), }",
                                          list);
    size_t total = (length + 1 + 63) / 64 * 64;
    memset(header + length, ' ', total - length);
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((total - 10) & 255);
    header[9] = (char)((total - 10) >> 8);
    return total;
}

int npy_open(const char *path, const uint64_t *shape, size_t dimensions,
             struct varve_output **out) {
    struct varve_error error;
    char header[256];
    if (varve_output_open(path, out, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    if (varve_output_write(*out, header, write_header(header, shape, dimensions), &error) !=
        VARVE_OK) {
        varve_output_abandon(*out);
        return fail("%s", error.message);
    }
    return EXIT_DONE;
}

int npy_write(struct varve_output *output, const float *values, size_t count) {
    struct varve_error error;
    return varve_output_write(output, values, count * sizeof *values, &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

int npy_finish(struct varve_output *output) {
    struct varve_error error;
    return varve_output_finish(output, &error) == VARVE_OK ? EXIT_DONE : fail("%s", error.message);
}

/* Tensors of a container of golden data. */
#include "golden_internal.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

static int find(const struct varve_file *container, const char *sequence, const char *name,
                size_t *index, struct golden_table *table, uint64_t *elements) {
    struct varve_error error;
    struct varve_tensor tensor;
    char full[100];
    *table = (struct golden_table){0};
    snprintf(full, sizeof full, "%s.%s", sequence, name);
    if (varve_file_find(container, full, index, &error) != VARVE_OK) {
        return VARVE_ERROR_INVALID;
    }
    varve_file_tensor(container, *index, &tensor);
    table->width = 1; /* all dimensions but the last one */
    for (unsigned i = 0; i + 1 < tensor.dimensions; i++) {
        table->width *= (size_t)tensor.ne[i];
    }
    table->rows = (size_t)tensor.elements / table->width;
    *elements = tensor.elements;
    return VARVE_OK;
}

int golden_floats(const struct varve_file *container, const char *sequence, const char *name,
                  struct golden_table *table) {
    struct varve_error error;
    size_t index;
    uint64_t elements;
    if (find(container, sequence, name, &index, table, &elements) != VARVE_OK) {
        return EXIT_DONE;
    }
    table->f32 = malloc((size_t)elements * sizeof *table->f32);
    if (!table->f32) {
        return fail("no memory for golden tensor %s", name);
    }
    return varve_file_decode(container, index, 0, elements, table->f32, &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

int golden_integers(const struct varve_file *container, const char *sequence, const char *name,
                    struct golden_table *table) {
    struct varve_error error;
    size_t index;
    uint64_t elements;
    if (find(container, sequence, name, &index, table, &elements) != VARVE_OK) {
        return EXIT_DONE;
    }
    table->i64 = malloc((size_t)elements * sizeof *table->i64);
    if (!table->i64) {
        return fail("no memory for golden tensor %s", name);
    }
    return varve_file_integers(container, index, 0, elements, table->i64, &error) == VARVE_OK
               ? EXIT_DONE
               : fail("%s", error.message);
}

int golden_numbers(size_t rows, struct golden_table *table) {
    *table = (struct golden_table){.rows = rows, .width = 1};
    table->i64 = malloc((rows + 1) * sizeof *table->i64);
    if (!table->i64) {
        return fail("no memory for %zu positions", rows);
    }
    for (size_t i = 0; i < rows; i++) {
        table->i64[i] = (int64_t)i;
    }
    return EXIT_DONE;
}

int golden_draft_rows(const struct varve_file *container, const char *sequence, bool named,
                      struct golden_table *table) {
    struct golden_table tokens;
    if (!named) {
        return golden_integers(container, sequence, "mtp.rows", table);
    }
    int code = golden_integers(container, sequence, "tokens", &tokens);
    size_t rows = tokens.rows > 0 ? tokens.rows - 1 : 0;
    golden_free(&tokens);
    return code == EXIT_DONE ? golden_numbers(rows, table) : code;
}

void golden_free(struct golden_table *table) {
    free(table->f32);
    free(table->i64);
    *table = (struct golden_table){0};
}

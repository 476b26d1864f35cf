/* How far rows of logits are from golden ones, in standard deviations of all golden logits. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct golden_rows {
    double max, square; /* largest difference; sum of squared differences */
    double kl;          /* sum over rows of the divergence of the session's from the golden one */
    size_t rows, values, top1;
    double *errors; /* [untied] root mean square of each row without a tie */
    size_t untied;
};

/* Room for `rows` rows; false if there is no memory. */
bool golden_rows_open(struct golden_rows *rows, size_t count);
void golden_rows_close(struct golden_rows *rows);

void golden_rows_add(struct golden_rows *rows, const float *golden, const float *logits,
                     size_t vocabulary, double deviation, bool tied);

double golden_rows_rms(const struct golden_rows *rows);
/* Median error of a row without a tie; sorts them. 0 if there is none. */
double golden_rows_median(struct golden_rows *rows);

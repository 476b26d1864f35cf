#include "golden_rows.h"

#include <math.h>
#include <stdlib.h>

bool golden_rows_open(struct golden_rows *rows, size_t count) {
    *rows = (struct golden_rows){.errors = malloc((count + 1) * sizeof *rows->errors)};
    return rows->errors != NULL;
}

void golden_rows_close(struct golden_rows *rows) {
    free(rows->errors);
}

static size_t best_of(const float *logits, size_t vocabulary) {
    size_t best = 0;
    for (size_t i = 1; i < vocabulary; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

/* log of the sum of exponentials */
static double log_sum(const float *logits, size_t vocabulary) {
    double most = (double)logits[best_of(logits, vocabulary)], sum = 0;
    for (size_t i = 0; i < vocabulary; i++) {
        sum += exp((double)logits[i] - most);
    }
    return most + log(sum);
}

/* sum over i of p_i (log p_i - log q_i), p golden */
static double divergence(const float *golden, const float *logits, size_t vocabulary) {
    double p = log_sum(golden, vocabulary), q = log_sum(logits, vocabulary), sum = 0;
    for (size_t i = 0; i < vocabulary; i++) {
        double log_p = (double)golden[i] - p;
        sum += exp(log_p) * (log_p - ((double)logits[i] - q));
    }
    return sum;
}

/* NaN would compare as no difference at all. */
static double far_if_not_finite(double x) {
    return isfinite(x) ? x : 1e30;
}

void golden_rows_add(struct golden_rows *rows, const float *golden, const float *logits,
                     size_t vocabulary, double deviation, bool tied) {
    double square = 0;
    for (size_t i = 0; i < vocabulary; i++) {
        double d = far_if_not_finite(fabs((double)logits[i] - (double)golden[i]) / deviation);
        square += d * d;
        rows->max = fmax(rows->max, d);
    }
    rows->square += square;
    rows->kl += far_if_not_finite(divergence(golden, logits, vocabulary));
    rows->top1 += best_of(golden, vocabulary) == best_of(logits, vocabulary);
    rows->values += vocabulary;
    rows->rows++;
    if (!tied) {
        rows->errors[rows->untied++] = sqrt(square / (double)vocabulary);
    }
}

double golden_rows_rms(const struct golden_rows *rows) {
    return rows->values ? sqrt(rows->square / (double)rows->values) : 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double golden_rows_median(struct golden_rows *rows) {
    size_t n = rows->untied;
    qsort(rows->errors, n, sizeof *rows->errors, ascending);
    return n == 0 ? 0 : (rows->errors[n / 2] + rows->errors[(n - 1) / 2]) / 2;
}

/* A drawing of the layers: a letter for each by its kind, and a line for those that are equal. */
#include "inspect.h"
#include "layers.h"
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS_LINE = 32, LETTERS_GROUP = 4 };

/* The kind; a capital has n-grams besides. */
static char letter_of(const struct layer *layer) {
    static const char letters[MIXER_COUNT] = {'?', 'd', 's', 'a'};
    char letter = layer->draft ? 'm' : letters[layer->mixer];
    return layer->ngram && letter >= 'a' ? (char)(letter - 'a' + 'A') : letter;
}

static bool equal(const struct layer *a, const struct layer *b) {
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(a->formats[i], b->formats[i]) != 0) {
            return false;
        }
    }
    return a->mixer == b->mixer && a->ngram == b->ngram && a->draft == b->draft &&
           a->experts == b->experts && a->bytes == b->bytes;
}

static void draw(const struct layer *layers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i % LETTERS_LINE == 0) {
            output_format("%s  %6zu ", i ? "\n" : "", i);
        }
        output_format("%s%c", i % LETTERS_GROUP == 0 ? " " : "",
                      layers[i].tensors ? letter_of(&layers[i]) : '-');
    }
    output_format("\n");
}

/* "0-2, 4": the layers from `first` on that are equal to it. Marks them as shown. */
static void print_equal(const struct layer *layers, size_t count, size_t first, bool *shown) {
    const char *link = "";
    for (size_t i = first; i < count; i++) {
        size_t end = i;
        while (end < count && layers[end].tensors && equal(&layers[end], &layers[first])) {
            shown[end++] = true;
        }
        if (end > i) {
            output_format("%s%zu", link, i);
            if (end > i + 1) {
                output_format("-%zu", end - 1);
            }
            link = ", ";
            i = end;
        }
    }
}

static void print_layer(const struct layer *layer) {
    char text[32], kind[64], experts[120] = "no experts";
    snprintf(kind, sizeof kind, "%s%s%s", mixer_names[layer->mixer], layer->ngram ? ", n-gram" : "",
             layer->draft ? ", draft" : "");
    if (layer->experts) {
        const char *const *f = layer->formats;
        bool same = strcmp(f[0], f[1]) == 0 && strcmp(f[1], f[2]) == 0;
        snprintf(experts, sizeof experts, same ? "%llu experts %s" : "%llu experts %s/%s/%s",
                 (unsigned long long)layer->experts, f[0], f[1], f[2]);
    }
    output_format("  %c  %-25s %-36s %10s  ", letter_of(layer), kind, experts,
                  bytes_text(layer->bytes, text));
}

void inspect_map(const struct varve_file *file) {
    size_t count;
    struct layer *layers = layers_of(file, &count);
    bool *shown = calloc(count + 1, sizeof *shown);
    if (layers && shown) {
        output_format("\nLayers: %zu (formats of gate/up/down, bytes of one layer, which layers)\n",
                      count);
        draw(layers, count);
        for (size_t i = 0; i < count; i++) {
            if (layers[i].tensors && !shown[i]) {
                print_layer(&layers[i]);
                print_equal(layers, count, i, shown);
                output_format("\n");
            }
        }
    }
    free(shown);
    free(layers);
}

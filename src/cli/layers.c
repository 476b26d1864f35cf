#include "layers.h"

#include <stdlib.h>
#include <string.h>

const char *const mixer_names[MIXER_COUNT] = {
    [MIXER_NONE] = "no mixer",
    [MIXER_DELTA] = "gated delta net",
    [MIXER_SPARSE] = "sparse attention",
    [MIXER_ATTENTION] = "attention",
};

static bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* The layer of a name, and what stands after its number; false for other names. A file has no more
 * layers than tensors, `most`. */
static bool split_name(const char *name, size_t most, size_t *layer, const char **part) {
    if (!begins(name, "blk.")) {
        return false;
    }
    char *end;
    unsigned long number = strtoul(name + 4, &end, 10);
    *layer = number;
    *part = end + 1;
    return name[4] >= '0' && name[4] <= '9' && *end == '.' && number < most;
}

/* An indexer makes attention sparse, in whichever order the two come. */
static void note_mixer(struct layer *layer, const char *part) {
    if (begins(part, "ssm_")) {
        layer->mixer = MIXER_DELTA;
    } else if (begins(part, "indexer.")) {
        layer->mixer = MIXER_SPARSE;
    } else if (begins(part, "attn_q") && layer->mixer == MIXER_NONE) {
        layer->mixer = MIXER_ATTENTION;
    }
    layer->ngram |= begins(part, "ple_");
    layer->draft |= begins(part, "nextn.");
}

static void note_experts(struct layer *layer, const char *part, const struct varve_tensor *tensor) {
    static const char *const names[3] = {"ffn_gate_exps.", "ffn_up_exps.", "ffn_down_exps."};
    for (size_t i = 0; i < 3; i++) {
        if (begins(part, names[i])) {
            layer->formats[i] = tensor->type;
            layer->experts = tensor->ne[2];
        }
    }
}

struct layer *layers_of(const struct varve_file *file, size_t *count) {
    struct varve_file_info info;
    varve_file_info(file, &info);
    struct layer *layers = calloc(info.tensors + 1, sizeof *layers);
    *count = 0;
    for (size_t i = 0; layers && i < info.tensors; i++) {
        struct varve_tensor tensor;
        const char *part;
        size_t at;
        varve_file_tensor(file, i, &tensor);
        if (split_name(tensor.name, info.tensors, &at, &part)) {
            struct layer *layer = &layers[at];
            layer->tensors++;
            layer->bytes += tensor.bytes;
            note_mixer(layer, part);
            note_experts(layer, part, &tensor);
            *count = at + 1 > *count ? at + 1 : *count;
        }
    }
    for (size_t i = 0; i < 3 * *count; i++) {
        const char **format = &layers[i / 3].formats[i % 3];
        *format = *format ? *format : "";
    }
    if (*count == 0) {
        free(layers);
        layers = NULL;
    }
    return layers;
}

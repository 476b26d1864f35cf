/* What `varve inspect` shows to a person. */
#include "inspect.h"
#include "metadata.h"
#include "output.h"
#include "utf8.h"

#include <stdio.h>
#include <string.h>

enum { STRING_MOST = 60, ARRAY_MOST = 6 };

/* A string on one line: line breaks and other control characters as escapes, `most` characters at
 * most. */
static void print_string(const char *text, size_t length, size_t most) {
    size_t at = 0;
    for (size_t shown = 0; at < length && shown < most; shown++) {
        bool well;
        unsigned char c = (unsigned char)text[at];
        size_t n = utf8_step(text + at, length - at, &well);
        if (c == '\n') {
            output_format("\\n");
        } else if (c < 0x20 || c == 0x7f || !well || (c == 0xc2 && (text[at + 1] & 0xe0) == 0x80)) {
            for (size_t i = 0; i < n; i++) {
                output_format("\\x%02x", (unsigned char)text[at + i]);
            }
        } else {
            output_write(text + at, n);
        }
        at += n;
    }
    if (at < length) {
        output_format("… (%zu bytes)", length);
    }
}

static void print_value(const struct varve_value *value, bool full) {
    switch (value->kind) {
    case VARVE_UNSIGNED:
        output_format("%llu", (unsigned long long)value->u);
        break;
    case VARVE_SIGNED:
        output_format("%lld", (long long)value->i);
        break;
    case VARVE_FLOAT:
        output_format("%.9g", shortest(value->f));
        break;
    case VARVE_BOOL:
        output_format("%s", value->u ? "true" : "false");
        break;
    case VARVE_STRING:
        print_string(value->text, value->length, full ? SIZE_MAX : STRING_MOST);
        break;
    }
}

static void print_key(const struct inspection *in, size_t index) {
    struct varve_key key;
    varve_file_key(in->file, index, &key);
    output_format("  ");
    print_string(key.name, key.name_length, SIZE_MAX);
    output_format("%*s  %s", key.name_length < 44 ? (int)(44 - key.name_length) : 0, "", key.type);
    if (key.array) {
        output_format("[%llu]", (unsigned long long)key.count);
    }
    for (uint64_t i = 0; i < key.count && (in->full || i < ARRAY_MOST); i++) {
        struct varve_value value;
        varve_file_value(in->file, index, i, &value);
        output_format(i ? ", " : "  ");
        print_value(&value, in->full);
    }
    output_format(key.count > ARRAY_MOST && !in->full ? ", …\n" : "\n");
}

static void print_tensor(const struct inspection *in, size_t index) {
    struct varve_tensor tensor;
    char shape[100] = "1", bytes[32];
    size_t used = 0;
    varve_file_tensor(in->file, index, &tensor);
    for (uint32_t d = 0; d < tensor.dimensions; d++) {
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%llu", d ? " x " : "",
                                 (unsigned long long)tensor.ne[d]);
    }
    output_format("  ");
    size_t length = strlen(tensor.name);
    print_string(tensor.name, length, SIZE_MAX);
    output_format("%*s  %-8s %-22s %10s%s\n", length < 36 ? (int)(36 - length) : 0, "", tensor.type,
                  shape, bytes_text(tensor.bytes, bytes), tensor.used ? "" : "  unused");
}

static void print_types(const struct inspection *in) {
    char bytes[32];
    output_format("\nTypes\n");
    for (size_t i = 0; i < in->type_count; i++) {
        const struct type_total *t = &in->types[i];
        output_format("  %-8s %6zu tensors %14llu values %10s  %3.0f %%\n", t->type, t->tensors,
                      (unsigned long long)t->elements, bytes_text(t->bytes, bytes),
                      in->bytes ? 100.0 * (double)t->bytes / (double)in->bytes : 0.0);
    }
    if (in->unused > 0) {
        output_format("  %zu tensors are not used by this architecture\n", in->unused);
    }
}

static void print_plan(const struct inspection *in) {
    char text[32];
    if (in->why_not[0]) {
        output_format("\nNo session can be opened: %s\n", in->why_not);
        return;
    }
    uint64_t sum = 0;
    output_format("\nMemory of a session\n");
    for (size_t i = 0; i < in->plan_count; i++) {
        const struct varve_plan_line *line = &in->plan[i];
        output_format("  %-40s %10s", line->what, bytes_text(line->bytes, text));
        if (line->per_token) {
            output_format("  %llu bytes a token", (unsigned long long)line->per_token);
        }
        output_format("\n");
        sum += line->bytes;
    }
    output_format("  %-40s %10s\n", "together", bytes_text(sum, text));
}

void inspect_as_text(const struct inspection *in) {
    char text[32];
    output_format("GGUF %u, architecture %s, %s in %u file%s\n", in->info.version,
                  in->info.architecture[0] ? in->info.architecture : "not named",
                  bytes_text(in->info.bytes, text), in->info.shards,
                  in->info.shards == 1 ? "" : "s");
    output_format("\nMetadata: %zu keys\n", in->info.keys);
    for (size_t i = 0; i < in->info.keys; i++) {
        print_key(in, i);
    }
    output_format("\nTensors: %zu with %llu values in %s\n", in->info.tensors,
                  (unsigned long long)in->elements, bytes_text(in->bytes, text));
    for (size_t i = 0; i < in->info.tensors; i++) {
        print_tensor(in, i);
    }
    print_types(in);
    inspect_map(in->file);
    print_plan(in);
}

/* Which type each tensor of a file gets. */
#include "api/quantize.h"
#include "base/file.h"
#include "quant/format.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEEP = -1 };

/* ---- types ---- */

/* Adds the names of all types that have an encoder. */
static void list_types(char *out, size_t room) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; vv_format_at(i) && used < room; i++) {
        if (vv_format_at(i)->encode) {
            int n =
                snprintf(out + used, room - used, "%s%s", used ? ", " : "", vv_format_at(i)->name);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

static int read_type(const char *name, int *type, struct vv_error *error) {
    int found = vv_type_by_name(name);
    const struct vv_format *format = vv_format(found);
    if (format && format->encode) {
        *type = found;
        return VV_OK;
    }
    char list[300];
    list_types(list, sizeof list);
    return vv_fail(error, VV_ERROR_INVALID, "%s \"%.60s\" %s; there are %s",
                   found < 0 ? "there is no type" : "the type", name,
                   found < 0 ? "of tensors" : "cannot be encoded", list);
}

/* Where a row is no whole number of 256 values, the format of 32 with as many bits or more. */
static int smaller_blocks(int type) {
    switch (type) {
    case VV_TYPE_Q2_K:
    case VV_TYPE_Q3_K:
        return VV_TYPE_Q4_0;
    case VV_TYPE_Q4_K:
        return VV_TYPE_Q5_0;
    case VV_TYPE_Q5_K:
        return VV_TYPE_Q5_1;
    case VV_TYPE_Q6_K:
        return VV_TYPE_Q8_0;
    case VV_TYPE_IQ4_XS:
        return VV_TYPE_IQ4_NL;
    default:
        return KEEP;
    }
}

static struct vv_choice choice_that_fits(const struct vv_gguf_tensor *t, int wanted) {
    int type = wanted;
    while (type != KEEP && t->ne[0] % vv_format(type)->block_values != 0) {
        type = smaller_blocks(type);
    }
    return (struct vv_choice){type == KEEP ? t->type : type, type != wanted};
}

/* ---- what can and what should be encoded ---- */

static bool is_matrix(const struct vv_gguf_tensor *t) {
    const struct vv_format *format = vv_format(t->type);
    return format && format->arithmetic != VV_ARITHMETIC_NONE && t->elements > t->ne[0];
}

/* Small matrices that steer others: published files leave them in the precision of training. */
static bool is_delicate(const char *name) {
    static const char *const patterns[] = {
        "*norm*",      "*conv1d*",   "*ffn_gate_inp*", "*indexer*", "*hc_*_inject*",
        "*ssm_alpha*", "*ssm_beta*", "*hc_*_fn*",      "*_ape*",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (fnmatch(patterns[i], name, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- rules ---- */

struct rule {
    const char *pattern;
    int type; /* or KEEP */
    bool used;
};

struct rules {
    char *text;      /* a copy that the patterns point into */
    struct rule *at; /* [count] */
    size_t count;
};

static void free_rules(struct rules *rules) {
    free(rules->text);
    free(rules->at);
}

/* Cuts blanks off both ends. */
static char *trim(char *text) {
    static const char blanks[] = " \t\r";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1])) {
        text[--length] = 0;
    }
    return text;
}

static int read_rule(char *text, struct rule *rule, struct vv_error *error) {
    char *equals = strrchr(text, '=');
    if (!equals || equals == text) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "the rule \"%.200s\" is no PATTERN=TYPE, such as "
                       "blk.*.ffn_down_exps.weight=Q8_0",
                       text);
    }
    *equals = 0;
    *rule = (struct rule){.pattern = trim(text), .type = KEEP};
    const char *type = trim(equals + 1);
    return strcmp(type, "keep") == 0 ? VV_OK : read_type(type, &rule->type, error);
}

/* Rules end at a comma or at the end of their line; # begins a comment. */
static int read_rules(const char *text, struct rules *rules, struct vv_error *error) {
    size_t most = 1;
    for (const char *c = text; *c; c++) {
        most += *c == ',' || *c == '\n';
    }
    rules->text = strdup(text);
    rules->at = calloc(most, sizeof *rules->at);
    if (!rules->text || !rules->at) {
        return vv_fail_memory(error, most * sizeof *rules->at, "the rules of quantising");
    }
    char *line_end, *rule_end;
    for (char *line = strtok_r(rules->text, "\n", &line_end); line;
         line = strtok_r(NULL, "\n", &line_end)) {
        line[strcspn(line, "#")] = 0;
        for (char *rule = strtok_r(line, ",", &rule_end); rule;
             rule = strtok_r(NULL, ",", &rule_end)) {
            rule = trim(rule);
            int code = *rule ? read_rule(rule, &rules->at[rules->count++], error) : VV_OK;
            if (code != VV_OK) {
                return code;
            }
        }
    }
    return VV_OK;
}

/* The first rule that matches, or NULL; all that match are used. */
static const struct rule *rule_of(struct rules *rules, const char *name) {
    const struct rule *first = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        if (fnmatch(rules->at[i].pattern, name, 0) == 0) {
            rules->at[i].used = true;
            first = first ? first : &rules->at[i];
        }
    }
    return first;
}

static int check_used(const struct vv_gguf *file, const struct rules *rules,
                      struct vv_error *error) {
    for (size_t i = 0; i < rules->count; i++) {
        if (!rules->at[i].used) {
            return vv_fail(error, VV_ERROR_INVALID,
                           "no matrix of %s has a name like \"%.200s\", which a rule gives (varve "
                           "inspect lists the tensors)",
                           vv_path_tail(vv_gguf_path(file, 0)), rules->at[i].pattern);
        }
    }
    return VV_OK;
}

static void choose_all(const struct vv_gguf *file, int type, struct rules *rules,
                       struct vv_choice *choices) {
    for (size_t i = 0; i < vv_gguf_tensor_count(file); i++) {
        const struct vv_gguf_tensor *t = vv_gguf_tensor_at(file, i);
        int wanted = KEEP;
        if (is_matrix(t)) {
            const struct rule *rule = rule_of(rules, t->name);
            wanted = rule ? rule->type : is_delicate(t->name) ? KEEP : type;
        }
        choices[i] = choice_that_fits(t, wanted);
    }
}

int vv_quantize_choose(const struct vv_gguf *file, const struct varve_quantize_options *options,
                       struct vv_choice *choices, struct vv_error *error) {
    struct rules rules = {0};
    int type = KEEP;
    int code = options->type ? read_type(options->type, &type, error) : VV_OK;
    if (code == VV_OK && options->rules) {
        code = read_rules(options->rules, &rules, error);
    }
    if (code == VV_OK && type == KEEP && rules.count == 0) {
        code = vv_fail(error, VV_ERROR_INVALID,
                       "say what to encode: a type for all matrices, or rules of PATTERN=TYPE");
    }
    if (code == VV_OK) {
        choose_all(file, type, &rules, choices);
        code = check_used(file, &rules, error);
    }
    free_rules(&rules);
    return code;
}

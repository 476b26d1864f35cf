#include "setting.h"
#include "drafts.h"
#include "opened.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 32 };

static int cut(char *text, char **words, int *count) {
    *count = 0;
    for (char *word = strtok(text, " \t\n"); word; word = strtok(NULL, " \t\n")) {
        if (*count == WORDS_MOST) {
            return fail_use("a setting has %d words at most", WORDS_MOST);
        }
        words[(*count)++] = word;
    }
    return EXIT_DONE;
}

static int check_own(const struct arguments *own, const char *name) {
    static const enum option_id settings[] = {OPTION_isa,
                                              OPTION_threads,
                                              OPTION_window,
                                              OPTION_kv,
                                              OPTION_cache_precision,
                                              OPTION_index_score,
                                              OPTION_tuned,
                                              OPTION_barriers,
                                              OPTION_device,
                                              OPTION_graphs,
                                              OPTION_numa,
                                              OPTION_draft,
                                              OPTION_draft_max,
                                              OPTION_draft_fixed,
                                              OPTION_draft_precision};
    for (size_t i = 0; i < own->count; i++) {
        bool known = own->values[i].environment;
        for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
            known = known || own->values[i].id == settings[k];
        }
        if (!known) {
            return fail_use("--%s takes --isa, --threads, --numa, --window, --kv, "
                            "--cache-precision, --index-score, --tuned, --barriers, --device, "
                            "--graphs and --draft…, not --%s",
                            name, option_table[own->values[i].id].name);
        }
    }
    return EXIT_DONE;
}

int setting_read(const struct arguments *arguments, enum option_id id, size_t tokens,
                 struct setting *s) {
    char *words[WORDS_MOST];
    int count;
    s->text = strdup(text_of(arguments, id));
    if (!s->text) {
        return fail("no memory for a setting");
    }
    int code = cut(s->text, words, &count);
    code = code == EXIT_DONE ? arguments_read(&s->own, COMMAND_ab, count, words) : code;
    code = code == EXIT_DONE ? check_own(&s->own, option_table[id].name) : code;
    if (code != EXIT_DONE) {
        return code;
    }
    s->all.values = calloc(arguments->count + s->own.count + 1, sizeof *s->all.values);
    if (!s->all.values) {
        return fail("no memory for a setting");
    }
    memcpy(s->all.values, arguments->values, arguments->count * sizeof *s->all.values);
    s->all.count = arguments->count;
    for (size_t i = 0; i < s->own.count; i++) {
        if (!s->own.values[i].environment) { /* they stand among the others already */
            s->all.values[s->all.count++] = s->own.values[i];
        }
    }
    s->session = session_options(&s->all, tokens);
    s->drafts = draft_options(&s->all);
    return EXIT_DONE;
}

void setting_free(struct setting *s) {
    arguments_free(&s->own);
    free(s->all.values);
    free(s->text);
}

#include "tuned.h"
#include "json.h"
#include "options.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* A file that was read, so that settings may share it. */
struct entry {
    struct entry *next;
    char *path;
    const char *device; /* one of the table's names */
    bool usable;
    json_t *json; /* owns the texts of the choices */
    struct varve_tuning_choice *choices;
    struct tuned tuned;
};

static struct entry *entries;

static bool refuse(const char *path, const char *why) {
    report("%s %s; varve goes by its own rule: same results, perhaps slower (varve tune makes a "
           "profile)",
           path, why);
    return false;
}

static bool read_choices(struct entry *e, const json_t *list) {
    size_t count = json_array_size(list);
    e->choices = calloc(count + 1, sizeof *e->choices);
    for (size_t i = 0; e->choices && i < count; i++) {
        struct varve_tuning_choice *c = &e->choices[i];
        int rows;
        if (json_unpack(json_array_get(list, i), "{s:s, s:s, s:s, s:i}", "operation", &c->operation,
                        "shape", &c->shape, "variant", &c->variant, "rows", &rows) != 0 ||
            rows < 1) {
            return false;
        }
        c->rows = (uint32_t)rows;
    }
    e->tuned.tuning = (struct varve_tuning){e->choices, count};
    return e->choices != NULL;
}

static bool read_profile(struct entry *e) {
    char machine[VARVE_MACHINE_TEXT];
    const char *version, *made_on, *numa = "auto", *made_for = "cpu";
    json_error_t error;
    json_t *choices;
    int threads;
    varve_machine(machine);
    e->json = json_load_file(e->path, 0, &error);
    if (!e->json) {
        return refuse(e->path, "can't be read as JSON");
    }
    if (json_unpack(e->json, "{s:s, s:s, s:i, s?s, s?s, s:o}", "varve", &version, "machine",
                    &made_on, "threads", &threads, "numa", &numa, "device", &made_for, "choices",
                    &choices) != 0 ||
        threads < 0 || threads > 1024 || choice_named(OPTION_numa, numa) < 0 ||
        !json_is_array(choices)) {
        return refuse(e->path, "is no profile of varve tune");
    }
    if (strcmp(version, varve_version()) != 0) {
        return refuse(e->path, "was made by another version of varve");
    }
    if (strcmp(made_on, machine) != 0) {
        return refuse(e->path, "was made on another machine");
    }
    if (strcmp(made_for, e->device) != 0) {
        return refuse(e->path, "was made for another device");
    }
    e->tuned.threads = (struct varve_tune_threads){
        (uint32_t)threads, (enum varve_numa)choice_named(OPTION_numa, numa)};
    return read_choices(e, choices) || refuse(e->path, "has a choice that is none");
}

const struct tuned *tuned_read(const char *path, const char *device) {
    for (struct entry *e = entries; e; e = e->next) {
        if (strcmp(e->path, path) == 0 && strcmp(e->device, device) == 0) {
            return e->usable ? &e->tuned : NULL;
        }
    }
    struct entry *e = calloc(1, sizeof *e);
    if (!e || !(e->path = strdup(path))) {
        free(e);
        return NULL;
    }
    e->next = entries;
    entries = e;
    e->device = device;
    e->usable = read_profile(e);
    return e->usable ? &e->tuned : NULL;
}

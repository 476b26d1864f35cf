/* How many threads, and on which machine. */
#include "registry/operation.h"
#include "sample/random.h"
#include "tune/ab.h"
#include "tune/tune.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 64, GENERATE = 16, ROUNDS = 8, CPUS_MOST = 4096 };
static const double chance_most = 0.05, gain_least = 0.02;

/* CPUs that this process may run on, siblings of one core counted each. */
static unsigned all_cpus(void) {
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MOST);
    cpu_set_t *allowed = CPU_ALLOC(CPUS_MOST);
    int count = 0;
    if (allowed && sched_getaffinity(0, bytes, allowed) == 0) {
        count = CPU_COUNT_S(bytes, allowed);
    }
    CPU_FREE(allowed);
    return count > 0 ? (unsigned)count : 1;
}

/* Whether `threads` generate faster than `now` do; then it is the number to beat. */
static int try_threads(const struct vv_gguf *file, const struct vv_family *family,
                       const void *geometry, const struct vv_tune_options *options,
                       const int32_t *prompt, unsigned threads, unsigned *now,
                       struct vv_error *error) {
    struct vv_session_options a = *options->session, b = a;
    struct vv_ab_result r;
    a.threads = *now;
    b.threads = threads;
    const struct vv_ab_options ab = {
        .sides = {&a, &b},
        .prompt = prompt,
        .prompt_count = PROMPT,
        .generate = GENERATE,
        .rounds = ROUNDS,
        .progress = options->progress,
        .context = options->context,
    };
    int code = vv_ab(file, family, geometry, &ab, &r, error);
    if (code == VV_OK && r.equal && r.generate_p <= chance_most) {
        double was = vv_series_of(r.sides[0].generate_ms, ROUNDS).median;
        double is = vv_series_of(r.sides[1].generate_ms, ROUNDS).median;
        *now = is < was * (1 - gain_least) ? threads : *now;
    }
    return code;
}

int vv_tune_threads(const struct vv_gguf *file, const struct vv_family *family,
                    const void *geometry, const struct vv_tune_options *options, uint32_t *threads,
                    struct vv_error *error) {
    unsigned physical = vv_cpu_default_threads(), best = physical;
    const unsigned others[] = {all_cpus(), physical / 2};
    struct vv_model_facts facts;
    int32_t prompt[PROMPT];
    int code = VV_OK;
    family->facts(geometry, &facts);
    for (size_t i = 0; i < PROMPT; i++) {
        prompt[i] = (int32_t)vv_high_product(vv_random_at(options->seed, i), facts.vocabulary);
    }
    for (size_t i = 0; code == VV_OK && i < 2; i++) {
        if (others[i] > 0 && others[i] != physical && facts.context > PROMPT + GENERATE) {
            code = try_threads(file, family, geometry, options, prompt, others[i], &best, error);
        }
    }
    *threads = code == VV_OK && best != physical ? best : 0;
    return code;
}

/* The CPU's name where the system tells one. */
static void cpu_name(char *out, size_t room) {
    char line[300];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(out, room, "unknown CPU");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            const char *name = strchr(line, ':') + 1;
            name += strspn(name, " \t");
            snprintf(out, room, "%.*s", (int)strcspn(name, "\n"), name);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
}

void vv_machine_text(char out[VV_MACHINE_TEXT]) {
    char name[150];
    cpu_name(name, sizeof name);
    snprintf(out, VV_MACHINE_TEXT, "%s, features %x, %u threads", name, vv_cpu_features(),
             vv_cpu_default_threads());
}

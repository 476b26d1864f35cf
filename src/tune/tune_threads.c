/* How many threads, and on which machine. */
#include "base/random.h"
#include "registry/operation.h"
#include "tune/ab.h"
#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 64, GENERATE = 16, ROUNDS = 8 };
static const double chance_most = 0.05, gain_least = 0.02;

size_t vv_tune_teams(const struct vv_topology *topology,
                     struct vv_tune_team teams[VV_TUNE_TEAMS_MOST]) {
    unsigned usual = vv_topology_threads(topology), fast = 0;
    size_t count = 0;
    while (fast < topology->cores && topology->core[fast].speed == topology->core[0].speed) {
        fast++;
    }
    bool nodes = (topology->nodes & (topology->nodes - 1)) != 0, kinds = fast < topology->cores;
    if (topology->cpus > topology->cores && topology->cpus <= topology->quota) {
        teams[count++] = (struct vv_tune_team){topology->cpus, VV_NUMA_AUTO};
    }
    if (usual / 2 > 0) {
        teams[count++] = (struct vv_tune_team){usual / 2, VV_NUMA_AUTO};
    }
    if (nodes) {
        teams[count++] = (struct vv_tune_team){0, VV_NUMA_NODE};
    }
    if (kinds && fast < usual) {
        teams[count++] = (struct vv_tune_team){fast, VV_NUMA_AUTO};
    }
    if (nodes || kinds) {
        teams[count++] = (struct vv_tune_team){0, VV_NUMA_OFF};
    }
    return count;
}

/* Whether `team` generates faster than `now` does; then it is the one to beat. */
static int try_team(const struct vv_gguf *file, const struct vv_family *family,
                    const void *geometry, const struct vv_tune_options *options,
                    const int32_t *prompt, const struct vv_tune_team *team,
                    struct vv_tune_team *now, struct vv_error *error) {
    struct vv_session_options a = *options->session, b = a;
    struct vv_ab_result r;
    a.threads = now->threads;
    a.numa = now->numa;
    b.threads = team->threads;
    b.numa = team->numa;
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
        *now = is < was * (1 - gain_least) ? *team : *now;
    }
    return code;
}

int vv_tune_threads(const struct vv_gguf *file, const struct vv_family *family,
                    const void *geometry, const struct vv_tune_options *options,
                    struct vv_tune_team *team, struct vv_error *error) {
    struct vv_tune_team teams[VV_TUNE_TEAMS_MOST], best = {0};
    struct vv_topology topology;
    struct vv_model_facts facts;
    int32_t prompt[PROMPT];
    if (!vv_topology_here(&topology)) {
        return vv_fail_memory(error, VV_CPUS_MAX, "the list of this machine's cores");
    }
    size_t count = vv_tune_teams(&topology, teams);
    vv_topology_free(&topology);
    family->facts(geometry, &facts);
    for (size_t i = 0; i < PROMPT; i++) {
        prompt[i] = (int32_t)vv_high_product(vv_random_at(options->seed, i), facts.vocabulary);
    }
    count = facts.context > PROMPT + GENERATE ? count : 0;
    int code = VV_OK;
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        code = try_team(file, family, geometry, options, prompt, &teams[i], &best, error);
    }
    if (code == VV_OK) {
        *team = best;
    }
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

/* Models whose weights are made up: opened as far as there is memory, and the plan of it said
 * first. */
#include "bench.h"
#include "output.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

enum { LINES_MOST = 8 };
static const double share_most = 0.9; /* of the free memory; the rest is for all that no plan has */

bool bench_is_synthetic(const struct arguments *arguments) {
    return given(arguments, OPTION_geometry) || given(arguments, OPTION_synthetic);
}

int bench_check_synthetic(const struct arguments *arguments) {
    static const enum option_id of_geometries[] = {OPTION_types, OPTION_layers, OPTION_room,
                                                   OPTION_COUNT};
    static const enum option_id sources[] = {OPTION_model, OPTION_COUNT};
    if (!bench_is_synthetic(arguments)) {
        return refuse_given(
            arguments, of_geometries,
            "belongs to models without weights: --geometry, or -m with --synthetic");
    }
    if (!given(arguments, OPTION_geometry) && !given(arguments, OPTION_model)) {
        return fail_use("--synthetic needs the shapes of a model: -m FILE, or --geometry NAME");
    }
    return given(arguments, OPTION_geometry)
               ? refuse_given(arguments, sources, "and --geometry are two models: choose one")
               : EXIT_DONE;
}

static int open_with_room(const struct arguments *arguments, uint32_t layers, uint64_t room,
                          struct opened *opened) {
    bool named = given(arguments, OPTION_geometry);
    const char *what = text_of(arguments, named ? OPTION_geometry : OPTION_model);
    const struct varve_geometry_options options = {
        .types = given(arguments, OPTION_types) ? text_of(arguments, OPTION_types) : NULL,
        .layers = given(arguments, OPTION_layers) ? (uint32_t)integer_of(arguments, OPTION_layers)
                                                  : layers,
        .room = room,
    };
    return open_geometry(what, &options, opened);
}

static void tell(const struct varve_plan_line *lines, size_t count, uint64_t whole,
                 uint64_t memory) {
    char text[32], from[32];
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "%12s  %s", bytes_text(lines[i].bytes, text), lines[i].what);
        if (i == 0 && whole > lines[i].bytes) {
            fprintf(stderr, ", the n-gram table cut down: %s with all of it",
                    bytes_text(whole, from));
        }
        fputc('\n', stderr);
    }
    if (memory) {
        fprintf(stderr, "%12s  are free\n", bytes_text(memory, text));
    }
}

/* Weights are the plan's first line. */
static uint64_t others(const struct varve_plan_line *lines, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 1; i < count; i++) {
        sum += lines[i].bytes;
    }
    return sum;
}

int bench_open_synthetic(const struct arguments *arguments, uint32_t layers, bench_plan *plan,
                         struct opened *opened) {
    struct varve_plan_line lines[LINES_MOST];
    struct varve_error error;
    uint64_t memory;
    int code = open_with_room(arguments, layers, 0, opened);
    if (code != EXIT_DONE) {
        return code;
    }
    size_t count = plan(arguments, opened, lines, LINES_MOST);
    uint64_t whole = opened->info.weight_bytes, rest = others(lines, count);
    close_model(opened);
    const struct varve_session_options session = session_options(arguments, 0);
    if (varve_device_memory(session.device, &memory, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    if (given(arguments, OPTION_room)) {
        uint64_t said = (uint64_t)integer_of(arguments, OPTION_room) * 1000000000;
        memory = memory == 0 || said < memory ? said : memory;
    }
    uint64_t most = (uint64_t)(share_most * (double)memory);
    uint64_t room = memory == 0 ? 0 : most > rest ? most - rest : 1;
    code = open_with_room(arguments, layers, room, opened);
    if (code == EXIT_DONE) {
        count = plan(arguments, opened, lines, LINES_MOST);
        tell(lines, count, whole, memory);
    }
    return code;
}

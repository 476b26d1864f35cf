/* Where the time of a session went, by class of step. */
#include "profile.h"
#include "opened.h"
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 1 << 17 }; /* a thread: some hundred tokens of a small model, ten of a large one */

void profile_options(const struct arguments *arguments, struct varve_session_options *options) {
    options->profile_events = given(arguments, OPTION_profile_trace) ? EVENTS : 0;
    options->profile = given(arguments, OPTION_profile) || given(arguments, OPTION_profile_json) ||
                       options->profile_events > 0;
}

static int longest_first(const void *a, const void *b) {
    const struct profile_class *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void add(struct profile *p, const struct varve_profile_step *step) {
    size_t i = 0;
    while (i < p->class_count && strcmp(p->classes[i].name, step->step_class) != 0) {
        i++;
    }
    if (i == PROFILE_CLASSES_MOST) {
        return;
    }
    p->class_count += i == p->class_count;
    p->classes[i].name = step->step_class;
    p->classes[i].steps++;
    p->classes[i].seconds += step->seconds;
    p->classes[i].bytes += step->bytes;
}

int profile_report(const struct arguments *arguments, const struct varve_session *session) {
    struct profile p = {.session = session};
    struct varve_profile_step step;
    int code = EXIT_DONE;
    varve_session_profile(session, &p.all);
    if (p.all.runs == 0) {
        return EXIT_DONE;
    }
    struct varve_session_options same = session_options(arguments, 0);
    same.threads = p.all.threads;
    struct varve_ceilings ceilings;
    struct varve_error error;
    if (varve_measure_ceilings(&same, &ceilings, &error) != VARVE_OK ||
        varve_places(same.numa, same.threads, p.places, &error) != VARVE_OK) {
        return fail("%s", error.message);
    }
    p.read_rate = ceilings.read;
    for (size_t i = 0; varve_session_profile_step(session, i, &step); i++) {
        add(&p, &step);
    }
    qsort(p.classes, p.class_count, sizeof p.classes[0], longest_first);
    if (given(arguments, OPTION_profile)) {
        profile_table(&p);
        profile_barriers(&p);
    }
    if (given(arguments, OPTION_profile_json)) {
        code = profile_json(&p, text_of(arguments, OPTION_profile_json));
    }
    if (code == EXIT_DONE && given(arguments, OPTION_profile_trace)) {
        code = profile_trace(&p, text_of(arguments, OPTION_profile_trace));
    }
    return code;
}

/* ---- the table ---- */

static void line(const struct profile *p, const char *name, double seconds) {
    fprintf(stderr, "%-16s %12.3f ms %5.1f %%", name, seconds * 1e3, 100 * seconds / p->all.wall);
}

void profile_table(const struct profile *p) {
    double sum = p->all.barrier + p->all.idle;
    fprintf(stderr, "\n%llu windows, %llu rows; %s, read at %.1f GB/s\n",
            (unsigned long long)p->all.runs, (unsigned long long)p->all.rows, p->places,
            p->read_rate * 1e-9);
    for (size_t i = 0; i < p->class_count; i++) {
        const struct profile_class *c = &p->classes[i];
        double rate = c->seconds > 0 ? (double)c->bytes / c->seconds : 0;
        sum += c->seconds;
        line(p, c->name, c->seconds);
        fprintf(stderr, "%6zu steps %10.1f MB %7.2f GB/s", c->steps, (double)c->bytes * 1e-6,
                rate * 1e-9);
        fprintf(stderr, " %4.0f %% of it\n", 100 * rate / p->read_rate);
    }
    line(p, "(idle)", p->all.idle);
    fprintf(stderr, "  waiting for other threads\n");
    line(p, "(barriers)", p->all.barrier);
    fprintf(stderr, "  opened, not yet passed\n");
    line(p, "(all)", sum);
    fprintf(stderr, "  of %.3f ms\n", p->all.wall * 1e3);
    line(p, "(looking)", p->all.looking);
    fprintf(stderr, "  at clocks, part of the above; without it %.3f ms\n",
            (p->all.wall - p->all.looking) * 1e3);
}

/* ---- why threads meet ---- */

/* The layer that a step names ("blk.7.…"), or -1. `rest` is what follows. */
static long layer_of(const char *what, const char **rest) {
    char *end;
    *rest = what;
    if (strncmp(what, "blk.", 4) != 0) {
        return -1;
    }
    long layer = strtol(what + 4, &end, 10);
    if (end == what + 4 || *end != '.') {
        return -1;
    }
    *rest = end + 1;
    return layer;
}

struct page {
    char text[8192];
    size_t used, barriers;
};

static void write_line(struct page *page, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));

static void write_line(struct page *page, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(page->text + page->used, sizeof page->text - page->used, format, list);
    va_end(list);
    page->used += n > 0 && (size_t)n < sizeof page->text - page->used ? (size_t)n : 0;
}

/* "attn_qkv", or with the layer's number where that is another one. */
static const char *short_name(const char *what, long layer) {
    const char *rest;
    return layer_of(what, &rest) == layer ? rest : what;
}

static void write_barrier(struct page *page, const struct varve_profile_step *s, long layer) {
    const char *touches = s->reads ? "reads what" : s->writes ? "writes what" : "writes over what";
    page->barriers++;
    write_line(page, "%s  %s (%s)", page->used ? "\n" : "", short_name(s->what, layer),
               s->step_class);
    if (s->after) {
        write_line(page, " %s %s (%s) %s, %.1f KB", touches, short_name(s->after, layer),
                   s->after_class, s->writes ? "reads" : "writes", (double)s->hazard_bytes * 1e-3);
    } else {
        write_line(page, ": every step has one");
    }
}

/* The barriers of a layer of the first pass. */
static void write_layer(const struct profile *p, long layer, struct page *page) {
    struct varve_profile_step s;
    const char *rest, *alone = NULL;
    *page = (struct page){0};
    for (size_t i = 0; varve_session_profile_step(p->session, i, &s) && s.pass == 0; i++) {
        if (layer_of(s.what, &rest) != layer) {
            alone = NULL;
            continue;
        }
        if (s.barrier) {
            write_barrier(page, &s, layer);
            alone = NULL;
        }
        if (s.alone && page->barriers > 0 && (!alone || strcmp(alone, s.step_class) != 0)) {
            write_line(page, "%s %s", alone ? "," : "; one thread:", s.step_class);
            alone = s.step_class;
        }
    }
    write_line(page, "\n");
}

/* Layers with the same barriers are listed once. */
void profile_barriers(const struct profile *p) {
    static struct page pages[8], next;
    long layers[8];
    size_t count = 0;
    for (long layer = 0; count < 8; layer++) {
        size_t i = 0;
        write_layer(p, layer, &next);
        if (next.barriers == 0) {
            break;
        }
        while (i < count && strcmp(pages[i].text, next.text) != 0) {
            i++;
        }
        if (i == count) {
            pages[count] = next;
            layers[count++] = layer;
        }
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr,
                "\nblk.%ld: threads meet %zu times, before (sizes at the largest window)\n%s",
                layers[i], pages[i].barriers, pages[i].text);
    }
}

/* A profile for programs: JSON, and events in the form that Perfetto and Chrome open. */
#include "json.h"
#include "options.h"
#include "profile.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *json_number(uint64_t n) {
    return json_integer((json_int_t)n);
}

static json_t *class_json(const struct profile_class *c) {
    return json_pack("{s:s,s:o,s:f,s:o}", "class", c->name, "steps", json_number(c->steps),
                     "seconds", c->seconds, "bytes", json_number(c->bytes));
}

static json_t *step_json(const struct varve_profile_step *s) {
    json_t *step =
        json_pack("{s:o,s:s,s:s,s:s,s:b,s:b,s:f,s:o}", "pass", json_number(s->pass), "what",
                  s->what, "class", s->step_class, "variant", s->variant, "barrier", s->barrier,
                  "alone", s->alone, "seconds", s->seconds, "bytes", json_number(s->bytes));
    if (s->barrier && s->after) {
        json_object_set_new(step, "hazard",
                            json_pack("{s:s,s:s,s:o,s:s}", "after", s->after, "class",
                                      s->after_class, "bytes", json_number(s->hazard_bytes), "kind",
                                      s->reads    ? "read after write"
                                      : s->writes ? "write after read"
                                                  : "write after write"));
    }
    return step;
}

static json_t *whole_json(const struct profile *p) {
    struct varve_profile_step step;
    json_t *classes = json_array(), *steps = json_array();
    for (size_t i = 0; i < p->class_count; i++) {
        json_array_append_new(classes, class_json(&p->classes[i]));
    }
    for (size_t i = 0; varve_session_profile_step(p->session, i, &step); i++) {
        json_array_append_new(steps, step_json(&step));
    }
    return json_pack("{s:o,s:o,s:o,s:f,s:f,s:f,s:f,s:f,s:o,s:o}", "threads",
                     json_number(p->all.threads), "windows", json_number(p->all.runs), "rows",
                     json_number(p->all.rows), "wall_seconds", p->all.wall, "idle_seconds",
                     p->all.idle, "barrier_seconds", p->all.barrier, "looking_seconds",
                     p->all.looking, "read_bytes_per_second", p->read_rate, "classes", classes,
                     "steps", steps);
}

/* ---- files ---- */

/* A file being written; nothing more is done after the first failure. */
struct file {
    struct varve_output *output;
    struct varve_error error;
    int code;
};

static void file_open(struct file *file, const char *path) {
    file->code = varve_output_open(path, &file->output, &file->error);
}

static void file_write(struct file *file, const char *text, size_t length) {
    if (file->code == VARVE_OK) {
        file->code = varve_output_write(file->output, text, length, &file->error);
    }
}

static int file_finish(struct file *file) {
    if (file->code == VARVE_OK) {
        file->code = varve_output_finish(file->output, &file->error);
    } else {
        varve_output_abandon(file->output);
    }
    return file->code == VARVE_OK ? EXIT_DONE : fail("%s", file->error.message);
}

int profile_json(const struct profile *p, const char *path) {
    struct file file = {0};
    json_t *whole = whole_json(p);
    char *text = whole ? json_dumps(whole, JSON_INDENT(1)) : NULL;
    json_decref(whole);
    if (!text) {
        return fail("no memory for the profile");
    }
    file_open(&file, path);
    file_write(&file, text, strlen(text));
    file_write(&file, "\n", 1);
    free(text);
    return file_finish(&file);
}

/* ---- the trace ---- */

static void write_event(const struct profile *p, struct file *file, unsigned thread,
                        const struct varve_profile_event *e, int64_t start) {
    struct varve_profile_step step = {.what = "wait", .step_class = "wait"};
    char text[512];
    if (e->step != VARVE_PROFILE_WAIT) {
        varve_session_profile_step(p->session, e->step, &step);
    }
    int n = snprintf(text, sizeof text,
                     ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,\"dur\":%.3f,"
                     "\"pid\":1,\"tid\":%u}",
                     step.what, step.step_class, (double)(e->begin - start) * 1e-3,
                     (double)(e->end - e->begin) * 1e-3, thread);
    file_write(file, text, (size_t)n);
}

static void write_thread(const struct profile *p, struct file *file, unsigned thread,
                         const struct varve_profile_event *events, size_t count, int64_t start) {
    char text[128];
    int n = snprintf(text, sizeof text,
                     "%s\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"args\":"
                     "{\"name\":\"thread %u\"}}",
                     thread ? "," : "", thread, thread);
    file_write(file, text, (size_t)n);
    for (size_t i = 0; i < count; i++) {
        write_event(p, file, thread, &events[i], start);
    }
}

static int64_t earliest(const struct varve_profile_event *events, size_t count) {
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        start = events[i].begin < start ? events[i].begin : start;
    }
    return start;
}

int profile_trace(const struct profile *p, const char *path) {
    static const char begin[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    struct file file = {0};
    int64_t start = 0;
    file_open(&file, path);
    file_write(&file, begin, sizeof begin - 1);
    for (unsigned t = 0; t < p->all.threads && file.code == VARVE_OK; t++) {
        size_t n = varve_session_profile_events(p->session, t, NULL, 0);
        struct varve_profile_event *events = calloc(n + 1, sizeof *events);
        if (!events) {
            varve_output_abandon(file.output);
            return fail("no memory for the trace");
        }
        varve_session_profile_events(p->session, t, events, n);
        start = t == 0 ? earliest(events, n) : start;
        write_thread(p, &file, t, events, n, start);
        free(events);
    }
    file_write(&file, "\n]}\n", 4);
    return file_finish(&file);
}

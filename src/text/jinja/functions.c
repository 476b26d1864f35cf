#include "text/jinja/builtins.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_RANGE = 100000 }; /* items, as in Jinja's sandbox */

int vv_jinja_range(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    int64_t bounds[3] = {0, 0, 1};
    if (call->count < 1 || call->count > 3 || call->named_count > 0) {
        return vv_jinja_refuse(run, "'range' takes one to three integers");
    }
    int status = VV_OK;
    for (size_t i = 0; status == VV_OK && i < call->count; i++) {
        status = vv_jinja_want_integer(run, &call->values[i], 0, &bounds[i]);
    }
    int64_t start = call->count > 1 ? bounds[0] : 0, step = bounds[2];
    int64_t stop = call->count > 1 ? bounds[1] : bounds[0], distance;
    if (status == VV_OK && step == 0) {
        return vv_jinja_refuse(run, "'range' cannot go on in steps of 0");
    }
    bool over = step > 0 ? __builtin_sub_overflow(stop, start, &distance)
                         : __builtin_sub_overflow(start, stop, &distance);
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t count = distance > 0 ? ((uint64_t)distance - 1) / stride + 1 : 0;
    if (status == VV_OK && (over || count > LONGEST_RANGE)) {
        return vv_jinja_refuse(run, "a range has at most %d items", LONGEST_RANGE);
    }
    struct vv_value *items;
    status = status == VV_OK ? vv_jinja_new_list(run, VV_VALUE_RANGE, count, &items, out) : status;
    for (uint64_t i = 0; status == VV_OK && i < count; i++) {
        items[i] = vv_value_integer(start + (int64_t)i * step, false);
    }
    return status;
}

/* ---- dict, namespace ---- */

/* The pairs of a dict, or of a list of pairs. */
static int add_pairs(struct vv_jinja_run *run, const struct vv_value *value, struct vv_pair **pairs,
                     size_t *count, size_t more) {
    const struct vv_value *items = NULL;
    size_t given = value->type == VV_VALUE_DICT ? value->of.dict->count : 0;
    int status = VV_OK;
    if (value->type != VV_VALUE_DICT) {
        status = vv_jinja_items(run, value, &items, &given);
    }
    *pairs = status == VV_OK ? vv_arena_take(&run->arena, given + more, sizeof **pairs, run->error)
                             : NULL;
    status = *pairs ? VV_OK : run->error->code;
    for (size_t i = 0; status == VV_OK && i < given; i++) {
        if (!items) {
            (*pairs)[(*count)++] = value->of.dict->pairs[i];
            continue;
        }
        const struct vv_value *two;
        size_t length;
        status = vv_jinja_items(run, &items[i], &two, &length);
        if (status == VV_OK && length != 2) {
            return vv_jinja_refuse(run, "a dict is made of pairs, not of %zu values", length);
        }
        if (status == VV_OK) {
            (*pairs)[(*count)++] = (struct vv_pair){two[0], two[1]};
        }
    }
    return status;
}

int vv_jinja_make_dict(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    struct vv_value nothing = {.type = VV_VALUE_UNDEFINED};
    struct vv_pair *pairs;
    size_t count = 0;
    if (call->count > 1) {
        return vv_jinja_refuse(run, "this takes one plain argument at most");
    }
    if (call->count == 1 && call->values[0].type == VV_VALUE_UNDEFINED) {
        return vv_jinja_refuse_undefined(run, &call->values[0]);
    }
    int status = add_pairs(run, call->count ? &call->values[0] : &nothing, &pairs, &count,
                           call->named_count);
    for (size_t i = 0; status == VV_OK && i < call->named_count; i++) {
        status = vv_jinja_named_pair(run, &call->named[i], &pairs[count++]);
    }
    return status == VV_OK ? vv_value_dict(&run->arena, pairs, count, false, out, run->error)
                           : status;
}

int vv_jinja_make_namespace(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                            struct vv_value *out) {
    struct vv_value dict;
    int status = vv_jinja_make_dict(run, call, &dict);
    struct vv_jinja_namespace *space =
        status == VV_OK ? vv_arena_take(&run->arena, 1, sizeof *space, run->error) : NULL;
    if (!space) {
        return run->error->code;
    }
    *space = (struct vv_jinja_namespace){.data = false};
    for (size_t i = 0; status == VV_OK && i < dict.of.dict->count; i++) {
        const struct vv_pair *pair = &dict.of.dict->pairs[i];
        struct vv_text name = {"", 0};
        if (pair->key.type == VV_VALUE_STRING) {
            name = vv_marked_text(pair->key.of.text);
        }
        if (name.length == 0 || name.at[0] == '_') {
            return vv_jinja_refuse(run, "a name in a namespace cannot begin with '_'");
        }
        space->data = space->data || vv_marked_any_data(pair->key.of.text);
        status = vv_jinja_set_in(run, &space->members, name, &pair->value);
    }
    *out = (struct vv_value){.type = VV_VALUE_NAMESPACE, .of.space = space};
    return status;
}

/* ---- raise_exception ---- */

int vv_jinja_raise_exception(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                             struct vv_value *out) {
    const struct vv_marked *text;
    (void)out;
    if (call->count + call->named_count != 1) {
        return vv_jinja_refuse(run, "'raise_exception' takes one message");
    }
    int status = vv_jinja_text(run, call->count ? &call->values[0] : &call->named[0].value, &text);
    return status == VV_OK
               ? vv_jinja_refuse(run, "%.*s", (int)text->length & 0xffff, vv_marked_bytes(text))
               : status;
}

/* ---- strftime_now ---- */

/* The two halves of a day have 12 hours, the first of which is called 12. */
static int half_day(int hour) {
    return hour % 12 == 0 ? 12 : hour % 12;
}

/* What stands for the letter behind a '%', in English whatever the locale; nothing if unknown. */
static void write_time(char letter, const struct tm *t, char out[64]) {
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    const char *month = months[(unsigned)t->tm_mon % 12], *day = days[(unsigned)t->tm_wday % 7];
    const struct {
        char letter;
        const char *format;
        int number;
        const char *text;
    } parts[] = {
        {'Y', "%d", t->tm_year + 1900, NULL},
        {'y', "%02d", t->tm_year % 100, NULL},
        {'m', "%02d", t->tm_mon + 1, NULL},
        {'d', "%02d", t->tm_mday, NULL},
        {'e', "%2d", t->tm_mday, NULL},
        {'j', "%03d", t->tm_yday + 1, NULL},
        {'H', "%02d", t->tm_hour, NULL},
        {'I', "%02d", half_day(t->tm_hour), NULL},
        {'M', "%02d", t->tm_min, NULL},
        {'S', "%02d", t->tm_sec, NULL},
        {'f', "%06d", 0, NULL}, /* times are given in seconds */
        {'w', "%d", t->tm_wday, NULL},
        {'u', "%d", (t->tm_wday + 6) % 7 + 1, NULL},
        {'p', NULL, 2, t->tm_hour < 12 ? "AM" : "PM"},
        {'B', NULL, 20, month},
        {'b', NULL, 3, month},
        {'h', NULL, 3, month},
        {'A', NULL, 20, day},
        {'a', NULL, 3, day},
        {'%', NULL, 1, "%"},
    };
    out[0] = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].letter == letter && parts[i].text) {
            snprintf(out, 64, "%.*s", parts[i].number, parts[i].text);
        } else if (parts[i].letter == letter) {
            snprintf(out, 64, parts[i].format, parts[i].number);
        }
    }
}

/* What some letters stand for, in letters. */
static const char *letters_of(char letter) {
    switch (letter) {
    case 'F':
        return "Y-m-d";
    case 'T':
    case 'X':
        return "H:M:S";
    case 'R':
        return "H:M";
    case 'D':
    case 'x':
        return "m/d/y";
    case 'c':
        return "a b e H:M:S Y";
    }
    return NULL;
}

static void write_times(char letter, const struct tm *t, char out[64]) {
    const char *letters = letters_of(letter);
    if (!letters) {
        write_time(letter, t, out);
        return;
    }
    for (size_t used = 0; *letters; letters++) {
        char part[64] = {*letters};
        if (!strchr(" -:/", *letters)) {
            write_time(*letters, t, part);
        }
        used += (size_t)snprintf(out + used, 64 - used, "%s", part);
    }
}

/* The same behind "%-": without zeros and blanks in front. */
static void write_time_bare(char letter, const struct tm *t, char out[64]) {
    write_time(letter, t, out);
    size_t skip = strspn(out, " 0");
    skip -= skip > 0 && !out[skip];
    memmove(out, out + skip, strlen(out + skip) + 1);
}

int vv_jinja_strftime_now(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                          struct vv_value *out) {
    const struct tm *now = run->options->now;
    const struct vv_marked *format;
    if (!now) {
        return vv_jinja_refuse(run, "'strftime_now' is not there, as no time is given");
    }
    if (call->count != 1 || call->named_count > 0) {
        return vv_jinja_refuse(run, "'strftime_now' takes one format");
    }
    int status = vv_jinja_want_text(run, &call->values[0], &format);
    struct vv_buffer *buffer = status == VV_OK ? vv_jinja_buffer(run, format->length) : NULL;
    status = buffer ? VV_OK : run->error->code;
    for (size_t at = 0; status == VV_OK && at < format->length;) {
        const char *bytes = vv_marked_bytes(format);
        char text[64];
        if (bytes[at] != '%') {
            status = vv_buffer_add_part(buffer, format, at, 1, run->error);
            at++;
            continue;
        }
        bool bare = at + 1 < format->length && bytes[at + 1] == '-';
        char letter = at + 1 + bare < format->length ? bytes[at + 1 + bare] : 0;
        (bare ? write_time_bare : write_times)(letter, now, text);
        if (!text[0]) {
            return vv_jinja_refuse(run, "'strftime_now' does not know '%%%c'", letter);
        }
        status = vv_buffer_add(buffer, text, strlen(text), false, run->error);
        at += 2 + (size_t)bare;
    }
    return status == VV_OK ? vv_jinja_finish(run, buffer, out) : status;
}

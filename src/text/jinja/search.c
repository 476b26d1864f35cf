#include "text/jinja/builtins.h"
#include "text/letter.h"
#include "text/utf8.h"

#include <string.h>

/* ---- find, index, count ---- */

/* A text, the part of it that is searched (as bytes), and what is looked for. */
struct search {
    const struct vv_marked *text, *part;
    size_t begin, end;
};

/* Behind the first value: what is looked for, and perhaps from where to where, as in a slice. */
static int begin_search(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct search *out) {
    const struct vv_marked *text = call->values[0].of.text;
    int64_t bounds[2] = {0, (int64_t)text->characters}, count = (int64_t)text->characters;
    int status = vv_jinja_want_text(run, &call->values[1], &out->part);
    for (int i = 0; status == VV_OK && i < 2; i++) {
        const struct vv_value *bound = &call->values[2 + i];
        if (bound->type != VV_VALUE_NONE) {
            status = vv_jinja_want_integer(run, bound, bounds[i], &bounds[i]);
        }
        bounds[i] += bounds[i] < 0 ? count : 0;
        bounds[i] = bounds[i] < 0 ? 0 : bounds[i];
    }
    bounds[1] = bounds[1] > count ? count : bounds[1];
    bool outside = bounds[0] > bounds[1]; /* then not even an empty text is found */
    out->text = text;
    out->begin = outside ? SIZE_MAX : vv_marked_offset(text, (size_t)bounds[0]);
    out->end = outside ? 0 : vv_marked_offset(text, (size_t)bounds[1]);
    return status == VV_OK ? vv_jinja_charge_bytes(run, text->length) : status;
}

/* The first place from `at` on, or SIZE_MAX. */
static size_t find_from(const struct search *s, size_t at) {
    const char *bytes = vv_marked_bytes(s->text);
    if (s->begin == SIZE_MAX) {
        return SIZE_MAX;
    }
    if (s->part->length == 0) {
        return at <= s->end ? at : SIZE_MAX;
    }
    const char *found =
        at < s->end ? memmem(bytes + at, s->end - at, vv_marked_bytes(s->part), s->part->length)
                    : NULL;
    return found ? (size_t)(found - bytes) : SIZE_MAX;
}

static size_t find_last(const struct search *s) {
    const char *bytes = vv_marked_bytes(s->text);
    size_t length = s->part->length;
    if (s->begin == SIZE_MAX || s->end - s->begin < length) {
        return SIZE_MAX;
    }
    for (size_t at = s->end - length;; at--) {
        if (memcmp(bytes + at, vv_marked_bytes(s->part), length) == 0) {
            return at;
        }
        if (at == s->begin) {
            return SIZE_MAX;
        }
    }
}

/* A place in bytes as one in characters; -1 for none. */
static void set_place(const struct search *s, size_t place, struct vv_value *out) {
    *out = vv_value_integer(
        place == SIZE_MAX ? -1 : (int64_t)vv_count_characters(vv_marked_bytes(s->text), place),
        false);
}

int vv_jinja_find(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                  struct vv_value *out) {
    struct search s;
    int status = begin_search(run, call, &s);
    if (status == VV_OK) {
        set_place(&s, find_from(&s, s.begin), out);
    }
    return status;
}

int vv_jinja_find_right(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                        struct vv_value *out) {
    struct search s;
    int status = begin_search(run, call, &s);
    if (status == VV_OK) {
        set_place(&s, find_last(&s), out);
    }
    return status;
}

int vv_jinja_index_of(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    int status = vv_jinja_find(run, call, out);
    return status == VV_OK && out->of.integer < 0
               ? vv_jinja_refuse(run, "the text that 'index' looks for is not there")
               : status;
}

int vv_jinja_count_of(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    struct search s;
    int status = begin_search(run, call, &s);
    int64_t count = 0;
    if (status == VV_OK && s.begin != SIZE_MAX && s.part->length == 0) {
        count =
            1 + (int64_t)vv_count_characters(vv_marked_bytes(s.text) + s.begin, s.end - s.begin);
    } else if (status == VV_OK) {
        for (size_t at = s.begin; (at = find_from(&s, at)) != SIZE_MAX; at += s.part->length) {
            count++;
        }
    }
    *out = vv_value_integer(count, false);
    return status;
}

/* ---- startswith, endswith, removeprefix, removesuffix ---- */

static bool is_at_edge(const struct vv_marked *text, const struct vv_marked *part, bool end) {
    size_t at = end ? text->length - part->length : 0;
    return part->length <= text->length &&
           memcmp(vv_marked_bytes(text) + at, vv_marked_bytes(part), part->length) == 0;
}

/* Whether the text begins or ends with a text, or with one of a tuple. */
static int test_edge(struct vv_jinja_run *run, const struct vv_jinja_call *call, bool end,
                     struct vv_value *out) {
    const struct vv_value *wanted = &call->values[1];
    bool tuple = wanted->type == VV_VALUE_TUPLE, found = false;
    size_t count = tuple ? wanted->of.list->count : 1;
    int status = VV_OK;
    for (size_t i = 0; status == VV_OK && !found && i < count; i++) {
        const struct vv_marked *part;
        status =
            vv_jinja_want_text(run, tuple ? &vv_list_items(wanted->of.list)[i] : wanted, &part);
        found = status == VV_OK && is_at_edge(call->values[0].of.text, part, end);
    }
    *out = vv_value_bool(found, false);
    return status;
}

int vv_jinja_starts_with(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    return test_edge(run, call, false, out);
}

int vv_jinja_ends_with(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    return test_edge(run, call, true, out);
}

static int remove_edge(struct vv_jinja_run *run, const struct vv_jinja_call *call, bool end,
                       struct vv_value *out) {
    const struct vv_marked *text = call->values[0].of.text, *part;
    int status = vv_jinja_want_text(run, &call->values[1], &part);
    if (status != VV_OK || !is_at_edge(text, part, end)) {
        *out = call->values[0];
        return status;
    }
    return vv_jinja_part(run, text, end ? 0 : part->length, text->length - part->length, out);
}

int vv_jinja_remove_prefix(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                           struct vv_value *out) {
    return remove_edge(run, call, false, out);
}

int vv_jinja_remove_suffix(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                           struct vv_value *out) {
    return remove_edge(run, call, true, out);
}

/* ---- isalpha and its relatives: all characters are so, and there is one ---- */

static int test_all(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                    bool (*test)(uint32_t character), struct vv_value *out) {
    const struct vv_marked *text = call->values[0].of.text;
    bool holds = text->length > 0;
    for (size_t at = 0; holds && at < text->length;) {
        holds = test(vv_utf8_next(vv_marked_bytes(text), &at));
    }
    *out = vv_value_bool(holds, false);
    return vv_jinja_charge(run, text->length / 4);
}

static bool is_alnum(uint32_t character) {
    return vv_is_letter(character) || vv_is_number(character);
}

int vv_jinja_is_alpha(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    return test_all(run, call, vv_is_letter, out);
}

int vv_jinja_is_digit(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    return test_all(run, call, vv_is_digit, out);
}

int vv_jinja_is_alnum(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    return test_all(run, call, is_alnum, out);
}

int vv_jinja_is_space(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    return test_all(run, call, vv_is_space, out);
}

/* All characters that have case are in this one, and there is one. */
static int test_case(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                     bool (*test)(uint32_t character), struct vv_value *out) {
    const struct vv_marked *text;
    int status = vv_jinja_text(run, &call->values[0], &text);
    bool holds = true, any = false;
    status = status == VV_OK ? vv_jinja_charge(run, text->length / 4) : status;
    for (size_t at = 0; status == VV_OK && holds && at < text->length;) {
        uint32_t character = vv_utf8_next(vv_marked_bytes(text), &at);
        any = any || test(character);
        holds = test(character) || !vv_is_cased(character);
    }
    *out = vv_value_bool(holds && any, false);
    return status;
}

int vv_jinja_is_upper(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    return test_case(run, call, vv_is_upper, out);
}

int vv_jinja_is_lower(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                      struct vv_value *out) {
    return test_case(run, call, vv_is_lower, out);
}

#include "text/jinja/builtins.h"
#include "text/letter.h"
#include "text/utf8.h"

#include <string.h>

/* Parts of a text, in order or, for rsplit, from the last to the first. */
struct parts {
    struct vv_jinja_run *run;
    const struct vv_marked *text;
    struct vv_value *at;
    size_t count, capacity;
};

static int add_part(struct parts *parts, size_t begin, size_t end) {
    struct vv_jinja_run *run = parts->run;
    int status = vv_arena_grow(&run->arena, &parts->at, parts->count, &parts->capacity,
                               parts->count + 1, sizeof *parts->at, run->error);
    if (status != VV_OK) {
        return status;
    }
    return vv_jinja_part(run, parts->text, begin, end - begin, &parts->at[parts->count++]);
}

static int finish(struct parts *parts, bool backwards, struct vv_value *out) {
    struct vv_value *items;
    int status = vv_jinja_new_list(parts->run, VV_VALUE_LIST, parts->count, &items, out);
    for (size_t i = 0; status == VV_OK && i < parts->count; i++) {
        items[i] = parts->at[backwards ? parts->count - 1 - i : i];
    }
    return status == VV_OK ? vv_jinja_charge_bytes(parts->run, parts->text->length) : status;
}

/* ---- By white space ---- */

/* Where white space (or, not `space`, something else) from `at` on ends. */
static size_t skip(const struct vv_marked *text, size_t at, bool space) {
    while (at < text->length) {
        size_t next = at;
        if (vv_is_space(vv_utf8_next(vv_marked_bytes(text), &next)) != space) {
            break;
        }
        at = next;
    }
    return at;
}

/* The same to the left of `end`. */
static size_t skip_back(const struct vv_marked *text, size_t end, bool space) {
    const char *bytes = vv_marked_bytes(text);
    while (end > 0) {
        size_t begin = end - 1;
        while ((bytes[begin] & 0xc0) == 0x80) {
            begin--;
        }
        size_t at = begin;
        if (vv_is_space(vv_utf8_next(bytes, &at)) != space) {
            break;
        }
        end = begin;
    }
    return end;
}

static int split_words(struct parts *parts, uint64_t most) {
    size_t length = parts->text->length;
    int status = VV_OK;
    for (size_t at = skip(parts->text, 0, true); status == VV_OK && at < length;) {
        size_t end = parts->count < most ? skip(parts->text, at, false) : length;
        status = add_part(parts, at, end);
        at = skip(parts->text, end, true);
    }
    return status;
}

static int split_words_back(struct parts *parts, uint64_t most) {
    int status = VV_OK;
    for (size_t end = skip_back(parts->text, parts->text->length, true);
         status == VV_OK && end > 0;) {
        size_t begin = parts->count < most ? skip_back(parts->text, end, false) : 0;
        status = add_part(parts, begin, end);
        end = skip_back(parts->text, begin, true);
    }
    return status;
}

/* ---- By a separator ---- */

static int split_at(struct parts *parts, const struct vv_marked *by, uint64_t most) {
    const char *bytes = vv_marked_bytes(parts->text);
    size_t length = parts->text->length, at = 0;
    int status = VV_OK;
    while (status == VV_OK && parts->count < most) {
        const char *found = memmem(bytes + at, length - at, vv_marked_bytes(by), by->length);
        if (!found) {
            break;
        }
        status = add_part(parts, at, (size_t)(found - bytes));
        at = (size_t)(found - bytes) + by->length;
    }
    return status == VV_OK ? add_part(parts, at, length) : status;
}

/* The last place before `end` where `part` ends, as its beginning; SIZE_MAX if there is none. */
static size_t find_back(const struct vv_marked *text, size_t end, const struct vv_marked *part) {
    const char *bytes = vv_marked_bytes(text);
    for (size_t at = end >= part->length ? end - part->length + 1 : 0; at > 0; at--) {
        if (memcmp(bytes + at - 1, vv_marked_bytes(part), part->length) == 0) {
            return at - 1;
        }
    }
    return SIZE_MAX;
}

static int split_at_back(struct parts *parts, const struct vv_marked *by, uint64_t most) {
    size_t end = parts->text->length;
    int status = VV_OK;
    while (status == VV_OK && parts->count < most) {
        size_t found = find_back(parts->text, end, by);
        if (found == SIZE_MAX) {
            break;
        }
        status = add_part(parts, found + by->length, end);
        end = found;
    }
    return status == VV_OK ? add_part(parts, 0, end) : status;
}

static int split(struct vv_jinja_run *run, const struct vv_jinja_call *call, bool backwards,
                 struct vv_value *out) {
    struct parts parts = {.run = run, .text = call->values[0].of.text};
    const struct vv_value *by = &call->values[1];
    const struct vv_marked *separator;
    int64_t count;
    int status = vv_jinja_want_integer(run, &call->values[2], -1, &count);
    uint64_t most = count < 0 ? UINT64_MAX : (uint64_t)count;
    if (status != VV_OK) {
        return status;
    }
    if (!vv_is_given(by) || by->type == VV_VALUE_NONE) {
        status = backwards ? split_words_back(&parts, most) : split_words(&parts, most);
        return status == VV_OK ? finish(&parts, backwards, out) : status;
    }
    status = vv_jinja_want_text(run, by, &separator);
    if (status == VV_OK && separator->length == 0) {
        return vv_jinja_refuse(run, "a text cannot be split by an empty one");
    }
    if (status == VV_OK) {
        status =
            backwards ? split_at_back(&parts, separator, most) : split_at(&parts, separator, most);
    }
    return status == VV_OK ? finish(&parts, backwards, out) : status;
}

int vv_jinja_split(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                   struct vv_value *out) {
    return split(run, call, false, out);
}

int vv_jinja_split_right(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    return split(run, call, true, out);
}

/* Text before, separator, text after; where there is none, all of the text first (or last). */
static int partition(struct vv_jinja_run *run, const struct vv_jinja_call *call, bool backwards,
                     struct vv_value *out) {
    const struct vv_marked *text = call->values[0].of.text, *by;
    int status = vv_jinja_want_text(run, &call->values[1], &by);
    if (status == VV_OK && by->length == 0) {
        return vv_jinja_refuse(run, "a text cannot be parted by an empty one");
    }
    struct vv_value *items;
    status = status == VV_OK ? vv_jinja_new_list(run, VV_VALUE_TUPLE, 3, &items, out) : status;
    if (status != VV_OK) {
        return status;
    }
    const char *bytes = vv_marked_bytes(text);
    const char *first = memmem(bytes, text->length, vv_marked_bytes(by), by->length);
    size_t length = text->length, begin = first ? (size_t)(first - bytes) : SIZE_MAX;
    begin = backwards && first ? find_back(text, length, by) : begin;
    size_t end = first ? begin + by->length : backwards ? 0 : length;
    begin = first ? begin : end;
    status = vv_jinja_part(run, text, 0, begin, &items[0]);
    status = status == VV_OK ? vv_jinja_part(run, text, begin, end - begin, &items[1]) : status;
    status = status == VV_OK ? vv_jinja_part(run, text, end, length - end, &items[2]) : status;
    return status == VV_OK ? vv_jinja_charge_bytes(run, length) : status;
}

int vv_jinja_partition(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                       struct vv_value *out) {
    return partition(run, call, false, out);
}

int vv_jinja_partition_right(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                             struct vv_value *out) {
    return partition(run, call, true, out);
}

/* ---- By lines ---- */

/* The length of the line end at `at`, or 0. */
static size_t line_end(const struct vv_marked *text, size_t at) {
    size_t next = at;
    uint32_t c = vv_utf8_next(vv_marked_bytes(text), &next);
    if (c == '\r' && next < text->length && vv_marked_bytes(text)[next] == '\n') {
        return 2;
    }
    bool ends = (c >= '\n' && c <= '\r') || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
                c == 0x2029;
    return ends ? next - at : 0;
}

int vv_jinja_split_lines(struct vv_jinja_run *run, const struct vv_jinja_call *call,
                         struct vv_value *out) {
    struct parts parts = {.run = run, .text = call->values[0].of.text};
    const struct vv_value *keep = &call->values[1];
    bool keeps = vv_is_given(keep) && vv_jinja_truth(keep);
    size_t length = parts.text->length, begin = 0;
    int status = VV_OK;
    for (size_t at = 0; status == VV_OK && at < length;) {
        size_t end = line_end(parts.text, at);
        if (end > 0) {
            status = add_part(&parts, begin, keeps ? at + end : at);
            begin = at + end;
        }
        at += end > 0 ? end : vv_utf8_length(vv_marked_bytes(parts.text) + at, length - at);
    }
    if (status == VV_OK && begin < length) {
        status = add_part(&parts, begin, length);
    }
    return status == VV_OK ? finish(&parts, false, out) : status;
}

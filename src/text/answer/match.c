#include "text/answer/match.h"

#include <string.h>

struct cursor {
    const char *at, *end;
    bool ran_out; /* a part that had begun well was cut off by the end of the text */
};

static struct cursor cursor_of(struct vv_text text) {
    return (struct cursor){text.at, text.at + text.length, false};
}

static bool literal(struct cursor *c, struct vv_text word) {
    size_t left = (size_t)(c->end - c->at);
    if (memcmp(c->at, word.at, left < word.length ? left : word.length) != 0) {
        return false;
    }
    if (left < word.length) {
        c->ran_out = true;
        return false;
    }
    c->at += word.length;
    return true;
}

static void newlines(struct cursor *c, unsigned most) {
    while (most > 0 && c->at < c->end && *c->at == '\n') {
        c->at++;
        most--;
    }
}

static void space(struct cursor *c) {
    for (int i = 0; i < VV_ANSWER_SPACE && c->at < c->end &&
                    (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r');
         i++) {
        c->at++;
    }
}

/* A name that ends before the byte `stop`, or is as long as one may be. */
static bool name(struct cursor *c, char stop, struct vv_text *out) {
    size_t length = 0, left = (size_t)(c->end - c->at);
    while (length < left && length < VV_ANSWER_NAME && c->at[length] != stop) {
        unsigned char byte = (unsigned char)c->at[length];
        if (byte < ' ' || byte == '<') {
            return false;
        }
        length++;
    }
    c->ran_out = c->ran_out || length == left;
    *out = (struct vv_text){c->at, length};
    c->at += length;
    return length > 0 && length < left;
}

static bool parameter(struct cursor *c, const struct vv_answer_syntax *s, struct vv_markup *m) {
    if (!literal(c, s->parameter) || !name(c, s->tails[0].text.at[0], &m->key)) {
        return false;
    }
    for (int i = 0; i < VV_ANSWER_TAILS && s->tails[i].text.length > 0; i++) {
        if (literal(c, s->tails[i].text)) {
            m->types = s->tails[i].types;
            return true;
        }
    }
    return false;
}

/* The next parameter, or the end of the call. */
static bool following(struct cursor *c, const struct vv_answer_syntax *s, struct vv_markup *m) {
    space(c);
    m->parameter = !literal(c, s->call_end);
    return !m->parameter || parameter(c, s, m);
}

static enum vv_match verdict(const struct cursor *c, bool found, struct vv_text text,
                             struct vv_markup *m) {
    m->length = (size_t)(c->at - text.at);
    return found ? VV_MATCH_YES : c->ran_out ? VV_MATCH_MORE : VV_MATCH_NO;
}

enum vv_match vv_match_think(const struct vv_answer_syntax *syntax, struct vv_text text,
                             struct vv_markup *markup) {
    struct cursor c = cursor_of(text);
    return verdict(&c, literal(&c, syntax->think), text, markup);
}

enum vv_match vv_match_think_end(const struct vv_answer_syntax *syntax, struct vv_text text,
                                 struct vv_markup *markup) {
    struct cursor c = cursor_of(text);
    newlines(&c, syntax->think_newlines);
    return verdict(&c, literal(&c, syntax->think_end), text, markup);
}

static bool opening(struct cursor *c, const struct vv_answer_syntax *s, enum vv_call_place place) {
    if (place == VV_CALL_IN_TEXT) {
        newlines(c, s->block_newlines);
    } else {
        space(c);
    }
    if (place != VV_CALL_IN_BLOCK && !literal(c, s->block)) {
        return false;
    }
    space(c);
    return literal(c, s->call);
}

enum vv_match vv_match_call(const struct vv_answer_syntax *syntax, struct vv_text text,
                            enum vv_call_place place, struct vv_markup *markup) {
    struct cursor c = cursor_of(text);
    markup->begun = opening(&c, syntax, place);
    bool found = markup->begun && name(&c, syntax->call_tail.at[0], &markup->name) &&
                 literal(&c, syntax->call_tail);
    markup->name_end = found ? (size_t)(c.at - text.at) : 0;
    return verdict(&c, found && following(&c, syntax, markup), text, markup);
}

enum vv_match vv_match_value_end(const struct vv_answer_syntax *syntax, struct vv_text text,
                                 struct vv_markup *markup) {
    struct cursor c = cursor_of(text);
    newlines(&c, syntax->value_newlines);
    if (!literal(&c, syntax->parameter_end)) {
        return verdict(&c, false, text, markup);
    }
    const char *once = c.at;
    space(&c);
    if (!literal(&c, syntax->parameter_end)) {
        c.at = once;
    }
    return verdict(&c, following(&c, syntax, markup), text, markup);
}

enum vv_match vv_match_block_end(const struct vv_answer_syntax *syntax, struct vv_text text,
                                 struct vv_markup *markup) {
    struct cursor c = cursor_of(text);
    space(&c);
    return verdict(&c, literal(&c, syntax->block_end), text, markup);
}

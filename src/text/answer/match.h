/*
 * Whether markup begins at a place of an answer. A verdict other than MORE holds whatever text
 * follows, so the way an answer is cut into pieces can't change what is found. The text looked at
 * is of bounded length: names and the white space between tags are.
 */
#pragma once
#include "text/answer/syntax.h"

enum {
    VV_ANSWER_NAME = 256, /* bytes of a call's name or a parameter's key, at most */
    VV_ANSWER_SPACE = 32, /* blanks, tabs, newlines between two tags, at most */
};

enum vv_match {
    VV_MATCH_NO,
    VV_MATCH_MORE, /* it may be: the text is too short to tell */
    VV_MATCH_YES,
};

/* Begin with {0}. */
struct vv_markup {
    size_t length; /* of all that is described here */
    /* of a call: */
    bool begun;          /* its tag is there up to the name; also where the verdict is MORE */
    struct vv_text name; /* in the text looked at, as is `key` */
    size_t name_end; /* bytes up to the end of its tag, 0 if that is not complete; also at MORE */
    /* what follows a call's tag or a value: a parameter, or else the end of the call */
    bool parameter;
    struct vv_text key;
    unsigned types; /* of its value; 0: its schema's */
};

/* What may lie before a call. */
enum vv_call_place {
    VV_CALL_IN_TEXT,     /* the newlines that the template puts between text and the block */
    VV_CALL_AFTER_BLOCK, /* white space */
    VV_CALL_IN_BLOCK,    /* white space; the block is open already */
};

/* The beginning of the answer: the tag that opens the thoughts. */
enum vv_match vv_match_think(const struct vv_answer_syntax *syntax, struct vv_text text,
                             struct vv_markup *markup);
/* The end of the thoughts, with the newlines before it. */
enum vv_match vv_match_think_end(const struct vv_answer_syntax *syntax, struct vv_text text,
                                 struct vv_markup *markup);
/* A call up to its first parameter's value, or to its end if it has none. */
enum vv_match vv_match_call(const struct vv_answer_syntax *syntax, struct vv_text text,
                            enum vv_call_place place, struct vv_markup *markup);
/*
 * The end of a value, up to the next parameter's value or to the end of the call: a closing tag
 * that neither follows belongs to the value. A tag written twice closes once.
 */
enum vv_match vv_match_value_end(const struct vv_answer_syntax *syntax, struct vv_text text,
                                 struct vv_markup *markup);
/* The end of a block of calls. */
enum vv_match vv_match_block_end(const struct vv_answer_syntax *syntax, struct vv_text text,
                                 struct vv_markup *markup);

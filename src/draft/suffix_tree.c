#include "draft/suffix_tree.h"

#include <stdbool.h>
#include <stdlib.h>

enum { ROOT = 0, FIRST_ROOM = 256 };
#define OPEN UINT32_MAX /* the end of a leaf's edge: it grows with the text */

/* A node, and the edge that leads to it: text [start, end). */
struct node {
    uint32_t start, end;
    uint32_t link;   /* the node of this one's text without its first token */
    uint32_t recent; /* the child that was come by last; ROOT: none */
};

/* (parent, first token of the edge) → child; a child of ROOT is an empty place. */
struct edge {
    uint32_t parent;
    int32_t token;
    uint32_t child;
};

struct vv_suffix_tree {
    int32_t *text;
    size_t count, room;
    struct node *nodes;
    size_t node_count, node_room;
    struct edge *edges; /* [edge_room], a power of two; at most half are taken */
    size_t edge_count, edge_room;
    /* The active point: `length` tokens below a node, on the edge of text[edge]. */
    uint32_t node, edge, length;
    uint32_t remainder; /* tokens of the longest end that has no leaf of its own yet */
};

struct vv_suffix_tree *vv_suffix_tree_new(void) {
    return calloc(1, sizeof(struct vv_suffix_tree));
}

void vv_suffix_tree_free(struct vv_suffix_tree *tree) {
    if (tree) {
        free(tree->text);
        free(tree->nodes);
        free(tree->edges);
        free(tree);
    }
}

/* ---- edges ---- */

static struct edge *place_of(struct edge *edges, size_t room, uint32_t parent, int32_t token) {
    uint64_t hash = ((uint64_t)parent << 32 | (uint32_t)token) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 20) & (room - 1);
    while (edges[at].child != ROOT && (edges[at].parent != parent || edges[at].token != token)) {
        at = (at + 1) & (room - 1);
    }
    return &edges[at];
}

static uint32_t child_of(const struct vv_suffix_tree *t, uint32_t parent, int32_t token) {
    return place_of(t->edges, t->edge_room, parent, token)->child;
}

static void set_child(struct vv_suffix_tree *t, uint32_t parent, int32_t token, uint32_t child) {
    struct edge *place = place_of(t->edges, t->edge_room, parent, token);
    t->edge_count += place->child == ROOT;
    *place = (struct edge){parent, token, child};
    t->nodes[parent].recent = child;
}

/* ---- memory ---- */

/* Makes room for a token. The tree of n tokens has at most 2n nodes, and an edge to each. */
static bool reserve(struct vv_suffix_tree *t) {
    if (t->count < t->room) {
        return true;
    }
    size_t room = t->room ? 2 * t->room : FIRST_ROOM, edge_room = 4 * room;
    int32_t *text = room < OPEN / 8 ? realloc(t->text, room * sizeof *text) : NULL;
    t->text = text ? text : t->text;
    struct node *nodes = text ? realloc(t->nodes, 2 * room * sizeof *nodes) : NULL;
    t->nodes = nodes ? nodes : t->nodes;
    struct edge *edges = nodes ? calloc(edge_room, sizeof *edges) : NULL;
    if (!edges) {
        return false;
    }
    for (size_t i = 0; i < t->edge_room; i++) {
        const struct edge *e = &t->edges[i];
        if (e->child != ROOT) {
            *place_of(edges, edge_room, e->parent, e->token) = *e;
        }
    }
    free(t->edges);
    t->edges = edges;
    t->edge_room = edge_room;
    t->node_room = 2 * room;
    t->room = room;
    if (t->node_count == 0) {
        t->nodes[t->node_count++] = (struct node){0};
    }
    return true;
}

static uint32_t add_node(struct vv_suffix_tree *t, uint32_t start, uint32_t end) {
    t->nodes[t->node_count] = (struct node){start, end, ROOT, ROOT};
    return (uint32_t)t->node_count++;
}

/* ---- growing ---- */

/* The active point stands at or beyond the end of the edge to `child`: moves it past, and lets the
 * edge be the part of the text where it was met now. */
static bool walk_down(struct vv_suffix_tree *t, uint32_t child) {
    struct node *n = &t->nodes[child];
    uint32_t length = n->end - n->start;
    if (n->end == OPEN || t->length < length) {
        return false;
    }
    n->start = t->edge;
    n->end = t->edge + length;
    t->nodes[t->node].recent = child;
    t->node = child;
    t->edge += length;
    t->length -= length;
    return true;
}

/* Cuts the edge to `child` at the active point; a leaf for the token at `at` begins there. */
static uint32_t split(struct vv_suffix_tree *t, uint32_t child, uint32_t at) {
    uint32_t start = t->nodes[child].start;
    uint32_t middle = add_node(t, start, start + t->length), leaf = add_node(t, at, OPEN);
    t->nodes[child].start += t->length;
    set_child(t, t->node, t->text[start], middle);
    set_child(t, middle, t->text[t->nodes[child].start], child);
    set_child(t, middle, t->text[at], leaf);
    return middle;
}

/* To the active point of the next shorter end. */
static void shorten(struct vv_suffix_tree *t, uint32_t at) {
    t->remainder--;
    if (t->node != ROOT) {
        t->node = t->nodes[t->node].link;
    } else if (t->length > 0) {
        t->length--;
        t->edge = at - t->remainder + 1;
    }
}

/* Gives every end of the text that can't go on by its last token a leaf, the longest first. */
static void extend(struct vv_suffix_tree *t, uint32_t at) {
    uint32_t unlinked = ROOT; /* a node made for this token, whose link is the next one's place */
    t->remainder++;
    while (t->remainder > 0) {
        if (t->length == 0) {
            t->edge = at;
        }
        uint32_t child = child_of(t, t->node, t->text[t->edge]), made = ROOT;
        if (child != ROOT && walk_down(t, child)) {
            continue;
        }
        bool goes_on = child != ROOT && t->text[t->nodes[child].start + t->length] == t->text[at];
        if (child == ROOT) {
            set_child(t, t->node, t->text[at], add_node(t, at, OPEN));
        } else if (!goes_on) {
            made = split(t, child, at);
        }
        if (unlinked != ROOT) {
            t->nodes[unlinked].link = made != ROOT ? made : t->node;
        }
        if (goes_on) { /* so do all shorter ends */
            t->nodes[t->node].recent = child;
            t->length++;
            return;
        }
        unlinked = made;
        shorten(t, at);
    }
}

int vv_suffix_tree_append(struct vv_suffix_tree *tree, int32_t token, struct vv_error *error) {
    if (!reserve(tree)) {
        return vv_fail_memory(error, 8 * tree->room * sizeof(struct node),
                              "the text to draft from");
    }
    tree->text[tree->count] = token;
    extend(tree, (uint32_t)tree->count);
    tree->count++;
    return VV_OK;
}

/* ---- asking ---- */

const int32_t *vv_suffix_tree_text(const struct vv_suffix_tree *tree, size_t *count) {
    *count = tree->count;
    return tree->text;
}

size_t vv_suffix_tree_match(const struct vv_suffix_tree *t, size_t *after) {
    uint32_t node = t->node, edge = t->edge, length = t->length;
    if (t->remainder == 0) {
        return 0;
    }
    while (length > 0) {
        uint32_t child = child_of(t, node, t->text[edge]);
        const struct node *n = &t->nodes[child];
        if (n->end == OPEN || length < n->end - n->start) {
            *after = n->start + length;
            return t->remainder;
        }
        edge += n->end - n->start;
        length -= n->end - n->start;
        node = child;
    }
    *after = t->nodes[t->nodes[node].recent].start;
    return t->remainder;
}

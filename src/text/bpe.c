#include "text/bpe.h"

#include <stdbool.h>
#include <stdlib.h>

struct vv_bpe_pair {
    uint64_t key; /* left << 32 | right */
    uint32_t rank;
    uint32_t used;
};

/* One token of the piece so far; the live ones form a list. */
struct vv_bpe_symbol {
    int32_t id;
    uint32_t rank; /* of the merge with the next one; NO_RANK if there is none */
    uint32_t previous, next;
};

enum { NO_RANK = 0x7fffffff, NO_SYMBOL = 0x7fffffff };

static uint64_t key_of(int32_t left, int32_t right) {
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The slot of the pair, or the empty one where it would go (Fibonacci hashing, linear probing). */
static struct vv_bpe_pair *find(const struct vv_bpe *bpe, uint64_t key) {
    size_t mask = ((size_t)1 << bpe->pair_bits) - 1;
    uint64_t mixed = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(mixed >> (64 - bpe->pair_bits));
    while (bpe->pairs[slot].used && bpe->pairs[slot].key != key) {
        slot = (slot + 1) & mask;
    }
    return &bpe->pairs[slot];
}

int vv_bpe_index(struct vv_bpe *bpe, struct vv_error *error) {
    bpe->pair_bits = 1;
    while ((size_t)1 << bpe->pair_bits < 2 * bpe->merge_count) { /* at most half full */
        bpe->pair_bits++;
    }
    size_t slots = (size_t)1 << bpe->pair_bits;
    bpe->pairs = calloc(slots, sizeof *bpe->pairs);
    if (!bpe->pairs) {
        return vv_fail_memory(error, slots * sizeof *bpe->pairs, "the tokenizer's merges");
    }
    for (size_t rank = 0; rank < bpe->merge_count; rank++) {
        uint64_t key = key_of(bpe->merges[rank].left, bpe->merges[rank].right);
        struct vv_bpe_pair *pair = find(bpe, key);
        if (!pair->used) {
            *pair = (struct vv_bpe_pair){key, (uint32_t)rank, 1};
        }
    }
    return VV_OK;
}

void vv_bpe_free(struct vv_bpe *bpe) {
    free(bpe->merges);
    free(bpe->pairs);
}

void vv_bpe_work_free(struct vv_bpe_work *work) {
    free(work->symbols);
    free(work->heap);
    *work = (struct vv_bpe_work){0};
}

/*
 * Possible merges wait in a binary heap of rank << 32 | place, so the lowest rank comes first and
 * the leftmost of a rank. An entry whose symbol has another rank by now is out of date and skipped.
 */
struct heap {
    uint64_t *at;
    size_t count;
};

static void push(struct heap *heap, uint64_t entry) {
    size_t i = heap->count++;
    for (; i > 0 && heap->at[(i - 1) / 2] > entry; i = (i - 1) / 2) {
        heap->at[i] = heap->at[(i - 1) / 2];
    }
    heap->at[i] = entry;
}

static uint64_t pop(struct heap *heap) {
    uint64_t top = heap->at[0], last = heap->at[--heap->count];
    size_t i = 0;
    for (size_t child = 1; child < heap->count; child = 2 * i + 1) {
        if (child + 1 < heap->count && heap->at[child + 1] < heap->at[child]) {
            child++;
        }
        if (heap->at[child] >= last) {
            break;
        }
        heap->at[i] = heap->at[child];
        i = child;
    }
    heap->at[i] = last;
    return top;
}

/* Looks up the merge of symbol `i` with its next one, and queues it. */
static void consider(const struct vv_bpe *bpe, struct vv_bpe_symbol *symbols, struct heap *heap,
                     uint32_t i) {
    struct vv_bpe_symbol *symbol = &symbols[i];
    symbol->rank = NO_RANK;
    if (symbol->next != NO_SYMBOL) {
        const struct vv_bpe_pair *pair = find(bpe, key_of(symbol->id, symbols[symbol->next].id));
        if (pair->used) {
            symbol->rank = pair->rank;
            push(heap, (uint64_t)pair->rank << 32 | i);
        }
    }
}

/* Joins symbol `i` with its next one, which leaves the list. */
static void join(const struct vv_bpe *bpe, struct vv_bpe_symbol *symbols, struct heap *heap,
                 uint32_t i) {
    struct vv_bpe_symbol *symbol = &symbols[i], *gone = &symbols[symbol->next];
    symbol->id = bpe->merges[symbol->rank].whole;
    symbol->next = gone->next;
    gone->rank = NO_RANK;
    if (symbol->next != NO_SYMBOL) {
        symbols[symbol->next].previous = i;
    }
    consider(bpe, symbols, heap, i);
    if (symbol->previous != NO_SYMBOL) {
        consider(bpe, symbols, heap, symbol->previous);
    }
}

/*
 * The heap holds at most one entry per neighbours at first, and one more after each merge (one out,
 * two in): never 2 n.
 */
static int reserve(struct vv_bpe_work *work, size_t length, struct vv_error *error) {
    int status = vv_grow(&work->symbols, &work->symbol_capacity, length, sizeof *work->symbols,
                         "a piece of text", error);
    return status == VV_OK ? vv_grow(&work->heap, &work->heap_capacity, 2 * length,
                                     sizeof *work->heap, "a piece of text", error)
                           : status;
}

int vv_bpe_encode(const struct vv_bpe *bpe, struct vv_bpe_work *work, const char *piece,
                  size_t length, struct vv_ids *out, struct vv_error *error) {
    int status = reserve(work, length, error);
    if (status != VV_OK || length == 0) {
        return status;
    }
    struct vv_bpe_symbol *symbols = work->symbols;
    struct heap heap = {work->heap, 0};
    uint32_t count = (uint32_t)length;
    for (uint32_t i = 0; i < count; i++) {
        symbols[i] =
            (struct vv_bpe_symbol){bpe->bytes[(unsigned char)piece[i]], NO_RANK,
                                   i == 0 ? NO_SYMBOL : i - 1, i + 1 == count ? NO_SYMBOL : i + 1};
    }
    for (uint32_t i = 0; i < count; i++) {
        consider(bpe, symbols, &heap, i);
    }
    while (heap.count > 0) {
        uint64_t top = pop(&heap);
        uint32_t i = (uint32_t)top;
        if (symbols[i].rank == top >> 32) {
            join(bpe, symbols, &heap, i);
        }
    }
    for (uint32_t i = 0; i != NO_SYMBOL && status == VV_OK; i = symbols[i].next) {
        status = vv_ids_append(out, symbols[i].id, error);
    }
    return status;
}

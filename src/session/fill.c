/* State that nobody computed, for measurements. */
#include "base/half.h"
#include "base/random.h"
#include "gguf/types.h"
#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

/* Random elements of one type; an entry takes some of them from anywhere on. */
enum { POOL = 1 << 16, STARTS = 1 << 15, ROOM = 1 << 20 };
static const float growing = 1.0f, fixed = 0.05f; /* largest values: of keys, of matrices */

static void fill_pool(const struct vv_session *s, const struct vv_state_part *part, uint64_t seed,
                      void *pool, size_t elements) {
    float most = part->kind == VV_STATE_FIXED ? fixed : growing;
    for (size_t i = 0; i < elements; i++) {
        uint64_t drawn = vv_random_at(seed, i);
        float x = ((float)(drawn >> 40) * 0x1p-23f - 1.0f) * most;
        if (part->type == VV_TYPE_I32) { /* the tokens before */
            ((int32_t *)pool)[i] = (int32_t)vv_high_product(drawn, s->facts.vocabulary);
        } else if (part->type == VV_TYPE_F16) {
            ((uint16_t *)pool)[i] = vv_to_f16(x);
        } else if (part->type == VV_TYPE_MXFP4) { /* scales of 1, random codes */
            ((uint8_t *)pool)[i] = i % 17 == 0 ? 127 : (uint8_t)drawn;
        } else {
            ((float *)pool)[i] = x;
        }
    }
}

static void fill_part(const struct vv_session *s, size_t index, uint32_t slot, uint32_t tokens,
                      uint64_t seed, const uint8_t *pool, uint8_t *room) {
    const struct vv_state_part *part = &s->parts[index];
    const struct vv_state_view *view = &s->views[index];
    const struct vv_type_info *type = vv_type_info(part->type);
    size_t last = tokens, first = 0;
    if (part->kind == VV_STATE_FIXED) {
        last = 1;
    } else if (part->kind == VV_STATE_ROWS) {
        last = tokens / part->every;
    } else {
        first = tokens > view->ring ? tokens - view->ring : 0;
    }
    const size_t bytes = vv_state_entry_bytes(part->type, part->width);
    const size_t most = bytes < ROOM ? ROOM / bytes : 1;
    for (size_t e = first; e < last;) { /* as many as lie evenly: a ring begins again */
        size_t left = view->ring ? view->ring - e % view->ring : last - e, count = 0;
        left = left < last - e ? left : last - e;
        for (; count < left && count < most; count++) {
            size_t start = (size_t)(vv_random_at(seed, e + count) % STARTS) / type->block_values;
            memcpy(room + count * bytes, pool + start * type->block_bytes, bytes);
        }
        s->device->calls->copy(s->device, vv_state_at(view, (int32_t)slot, (int64_t)e),
                               view->entry_stride, room, bytes, bytes, count);
        vv_device_settle(s->device);
        e += count;
    }
}

int vv_session_fill(struct vv_session *s, uint32_t slot, uint32_t tokens, uint64_t seed,
                    struct vv_error *error) {
    size_t widest = 0;
    if (slot >= s->options.slots || tokens > s->options.context) {
        return vv_fail(error, VV_ERROR_INVALID,
                       "slot %u can't hold %u tokens: there are %u slots of %u", slot, tokens,
                       s->options.slots, s->options.context);
    }
    for (size_t i = 0; i < s->part_count; i++) {
        widest = s->parts[i].width > widest ? s->parts[i].width : widest;
    }
    size_t elements = POOL > widest + STARTS ? POOL : widest + STARTS;
    float *pool = malloc(elements * sizeof *pool);
    size_t entry = widest * sizeof *pool;
    uint8_t *room = malloc(entry > ROOM ? entry : ROOM); /* entries that are copied at once */
    if (!pool || !room) {
        free(pool);
        free(room);
        return vv_fail_memory(error, elements * sizeof *pool, "the state to measure with");
    }
    for (size_t i = 0; tokens > 0 && i < s->part_count; i++) {
        fill_pool(s, &s->parts[i], seed + i, pool, elements);
        fill_part(s, i, slot, tokens, seed + i, (const uint8_t *)pool, room);
    }
    free(pool);
    free(room);
    vv_session_clear(s, slot);
    s->slots[slot].has.length = tokens;
    for (uint32_t i = 0; i < tokens; i++) { /* no text that is ever asked for begins so */
        s->slots[slot].has.tokens[i] = -1;
    }
    return VV_OK;
}

/* Stop strings in a stream. */
#include "api/internal.h"
#include "text/stop.h"

#include <stdlib.h>
#include <string.h>

struct varve_stopper {
    struct vv_stop *stop;
    struct vv_bytes out;
};

int varve_stopper_new(const char *const *stops, size_t count, struct varve_stopper **stopper,
                      struct varve_error *error) {
    struct varve_stopper *s = calloc(1, sizeof *s);
    struct vv_text *strings = calloc(count + 1, sizeof *strings);
    int code = VV_OK;
    if (!s || !strings) {
        code = vv_fail_memory(vv_internal(error), count * sizeof *strings, "stop texts");
    }
    for (size_t i = 0; code == VV_OK && i < count; i++) {
        strings[i] = (struct vv_text){stops[i], strlen(stops[i])};
    }
    if (code == VV_OK) {
        code = vv_stop_new(strings, count, &s->stop, vv_internal(error));
    }
    free(strings);
    if (code != VV_OK) {
        free(s);
        return code;
    }
    *stopper = s;
    return VARVE_OK;
}

void varve_stopper_free(struct varve_stopper *stopper) {
    if (stopper) {
        vv_stop_free(stopper->stop);
        vv_bytes_free(&stopper->out);
        free(stopper);
    }
}

int varve_stopper_push(struct varve_stopper *stopper, const char *text, size_t length, bool end,
                       const char **out, size_t *out_length, bool *stopped,
                       struct varve_error *error) {
    int found = -1;
    stopper->out.length = 0;
    int code = vv_stop_feed(stopper->stop, (struct vv_text){text, length}, &stopper->out, &found,
                            vv_internal(error));
    if (code == VV_OK && end && found < 0) {
        code = vv_stop_end(stopper->stop, &stopper->out, vv_internal(error));
    }
    if (code == VV_OK) {
        *out = stopper->out.length ? stopper->out.at : "";
        *out_length = stopper->out.length;
        *stopped = found >= 0;
    }
    return code;
}

#include "text/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Bytes of the character that `lead` begins; 0 if it begins none. */
static unsigned length_of(unsigned char lead) {
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0;
    }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/*
 * Whether `byte` can follow the bytes held. The second byte's range is narrower after four leads:
 * no overlong forms (E0, F0), no surrogates (ED), nothing above U+10FFFF (F4).
 */
static bool continues(const struct vv_utf8_stream *stream, unsigned char byte) {
    unsigned char low = 0x80, high = 0xbf, lead = stream->held[0];
    if (stream->count == 1) {
        low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : low;
        high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : high;
    }
    return byte >= low && byte <= high;
}

uint32_t vv_utf8_next(const char *text, size_t *at) {
    const unsigned char *s = (const unsigned char *)text + *at;
    unsigned length = length_of(s[0]);
    *at += length;
    switch (length) {
    case 2:
        return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
    case 3:
        return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    case 4:
        return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
    default:
        return s[0];
    }
}

size_t vv_utf8_length(const char *text, size_t length) {
    struct vv_utf8_stream stream = {0};
    unsigned wanted = length > 0 ? length_of((unsigned char)text[0]) : 0;
    for (unsigned i = 0; i < wanted; i++) {
        if (i == length || (i > 0 && !continues(&stream, (unsigned char)text[i]))) {
            return 0;
        }
        stream.held[stream.count++] = (unsigned char)text[i];
    }
    return wanted;
}

size_t vv_utf8_write(uint32_t character, char out[4]) {
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    out[0] = (char)(lead[length] | character);
    return length;
}

int vv_utf8_append(struct vv_bytes *out, uint32_t character, struct vv_error *error) {
    char bytes[4];
    size_t length = vv_utf8_write(character, bytes);
    return vv_bytes_append(out, bytes, length, error);
}

/* How many bytes from `at` on are ASCII. */
static size_t ascii_run(const char *bytes, size_t at, size_t length) {
    size_t end = at;
    while (end < length && (unsigned char)bytes[end] < 0x80) {
        end++;
    }
    return end - at;
}

int vv_utf8_feed(struct vv_utf8_stream *stream, const char *bytes, size_t length,
                 struct vv_bytes *out, struct vv_error *error) {
    int status = VV_OK;
    for (size_t i = 0; i < length && status == VV_OK;) {
        unsigned char byte = (unsigned char)bytes[i];
        if (stream->count > 0 && !continues(stream, byte)) {
            status = vv_utf8_end(stream, out, error); /* and `byte` begins anew */
        } else if (stream->count > 0 || length_of(byte) > 1) {
            stream->held[stream->count++] = byte;
            i++;
            if (stream->count == length_of(stream->held[0])) {
                status = vv_bytes_append(out, stream->held, stream->count, error);
                stream->count = 0;
            }
        } else if (byte < 0x80) {
            size_t run = ascii_run(bytes, i, length);
            status = vv_bytes_append(out, bytes + i, run, error);
            i += run;
        } else {
            status = vv_bytes_append(out, replacement, 3, error);
            i++;
        }
    }
    return status;
}

int vv_utf8_end(struct vv_utf8_stream *stream, struct vv_bytes *out, struct vv_error *error) {
    int status = stream->count > 0 ? vv_bytes_append(out, replacement, 3, error) : VV_OK;
    stream->count = 0;
    return status;
}

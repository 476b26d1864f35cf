/*
 * Any bytes as a request: the first one chooses the template, the rest is what `varve render`
 * reads. Nothing may crash or leak, a failure has a sentence, a rendering is well-formed and comes
 * a second time. Of the templates,
 *   - one writes the request anew: read again it is the same, and no control token is in it;
 *   - one is a layout of conversations: as many turns begin and end as there are messages;
 *   - and without one there is the layout of the family.
 */
#include "../tests/support/small_vocabulary.h"
#include "api/common.h"
#include "text/utf8.h"

#include <stdlib.h>

enum { ANEW, TURNS, FAMILY };

static const char *const templates[] = {
    [ANEW] = "{\"messages\": {{ messages | tojson }}, \"tools\": {{ tools | tojson }}}",
    [TURNS] = "{{ messages | length }}{% for m in messages %}<|im_start|>{{ m.role }}\n"
              "{{ m.reasoning_content }}{{ m.content }}{% for c in m.tool_calls or [] %}"
              "{{ (c.function or c).name }}{{ (c.function or c).arguments }}{% endfor %}"
              "<|im_end|>{% endfor %}{{ tools }}{{ strftime_now('%F') if clock }}",
    [FAMILY] = NULL,
};

static struct varve_error error;

static void must(bool holds) {
    if (!holds) {
        abort();
    }
}

/* A file of the family without a template, and without anything else. */
static const struct varve_file *empty_file(void) {
    static const char bytes[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                                "\24\0\0\0\0\0\0\0general.architecture\10\0\0\0"
                                "\10\0\0\0\0\0\0\0qwen4exp";
    static struct varve_file file;
    if (!file.gguf) {
        must(vv_gguf_open_memory(bytes, sizeof bytes - 1, "empty.gguf", &file.gguf,
                                 vv_internal(&error)) == VV_OK);
    }
    return &file;
}

static const struct varve_tokenizer *tokenizer(void) {
    static struct small_vocabulary small;
    static struct vv_tokenizer *made;
    if (!made) {
        small_vocabulary_make(&small, "qwen35");
        must(vv_tokenizer_new(&small.vocabulary, &made, vv_internal(&error)) == VV_OK);
    }
    return (const struct varve_tokenizer *)made;
}

/* The rendering, or NULL. */
static struct varve_prompt *render(int which, const char *request, size_t length) {
    const char *template = templates[which];
    struct varve_prompt *prompt = NULL;
    error.message[0] = 0;
    int code = varve_prompt_new(empty_file(), template, template ? strlen(template) : 0, request,
                                length, &prompt, &error);
    must(code == VV_OK ? prompt != NULL : prompt == NULL && error.message[0] != 0);
    return prompt;
}

static void check_text(const char *text, size_t length) {
    for (size_t at = 0, n; at < length; at += n) {
        n = vv_utf8_length(text + at, length - at);
        must(n > 0);
    }
}

static void check_again(int which, const char *request, size_t length, const char *text,
                        size_t text_length) {
    struct varve_prompt *again = render(which, request, length);
    size_t again_length;
    must(again != NULL);
    const char *other = varve_prompt_text(again, &again_length);
    must(again_length == text_length && memcmp(other, text, text_length) == 0);
    varve_prompt_free(again);
}

static size_t count_of(const struct varve_ids *ids, int32_t id) {
    size_t count = 0;
    for (size_t i = 0; i < ids->count; i++) {
        count += ids->at[i] == id;
    }
    return count;
}

static void check_tokens(int which, const struct varve_prompt *prompt, size_t turns) {
    struct varve_ids ids = {0};
    must(varve_prompt_tokens(prompt, tokenizer(), &ids, &error) == VV_OK);
    size_t begins = count_of(&ids, SMALL_IM_START), ends = count_of(&ids, SMALL_IM_END);
    size_t special = 0;
    for (size_t i = 0; i < ids.count; i++) {
        special += ids.at[i] >= SMALL_FIRST_SPECIAL;
    }
    must(which != ANEW || special == 0);
    must(which != TURNS || (begins == turns && ends == turns && special == 2 * turns));
    must(begins == ends || (which == FAMILY && begins == ends + 1));
    varve_ids_free(&ids);
}

/* What was written anew is read as it was written, but for reals beyond all bounds, which JSON has
 * no words for, and for the depth that arguments had as a text of their own. */
static void check_anew(const char *text, size_t length) {
    if (memmem(text, length, "Infinity", 8)) {
        return;
    }
    struct varve_prompt *anew = render(ANEW, text, length);
    must(anew || strstr(error.message, "deep"));
    if (anew) {
        check_again(ANEW, text, length, text, length);
    }
    varve_prompt_free(anew);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    int which = data[0] % 3;
    const char *request = (const char *)data + 1;
    struct varve_prompt *prompt = render(which, request, size - 1);
    if (prompt) {
        size_t length;
        const char *text = varve_prompt_text(prompt, &length);
        check_text(text, length);
        check_again(which, request, size - 1, text, length);
        if (which == ANEW) {
            check_anew(text, length);
        }
        check_tokens(which, prompt, which == TURNS ? strtoul(text, NULL, 10) : 0);
    }
    varve_prompt_free(prompt);
    return 0;
}

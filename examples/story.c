/* The library on one page: `story MODEL PROMPT [TOKENS]` answers a message, token by token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <varve.h>

static struct varve_error error;

/* Ends the program with the library's sentence if something failed. */
static void need(int code) {
    if (code != VARVE_OK) {
        fprintf(stderr, "story: %s\n", error.message);
        exit(EXIT_FAILURE);
    }
}

/* Evaluates tokens, which follow those that the session holds. Gives the logits after the last.
 * (Many rows in one call are faster.) */
static const float *evaluate(struct varve_session *session, const int32_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct varve_row row = {.token = ids[i], .logits = i + 1 == count};
        need(varve_session_evaluate(session, &row, 1, VARVE_ADVANCE, NULL, NULL, &error));
    }
    return varve_session_logits(session, 0);
}

static bool ends_answer(const struct varve_model_info *info, int32_t id) {
    size_t i = 0;
    while (i < info->stop_count && info->stop_ids[i] != id) {
        i++;
    }
    return i < info->stop_count;
}

static void tell(const struct varve_model *model, const char *prompt, int most) {
    struct varve_message message = {"user", prompt, strlen(prompt)};
    struct varve_session_options options = {.context = 4096}; /* the rest as it is usual */
    struct varve_session *session;
    struct varve_detokenizer *text;
    struct varve_sampler *sampler;
    struct varve_sampling sampling;
    struct varve_model_info info;
    struct varve_ids ids = {0};
    varve_model_info(model, &info);
    varve_sampling_defaults(&sampling);
    sampling.temperature = 0.7f;
    sampling.seed = 1; /* the same story on every machine */
    need(varve_chat_tokens(model, &message, 1, false, &ids, &error));
    need(varve_session_open(model, &options, &session, &error));
    need(varve_detokenizer_new(varve_model_tokenizer(model), false, &text, &error));
    need(varve_sampler_new(info.vocabulary, &sampling, &sampler, &error));

    const float *logits = evaluate(session, ids.at, ids.count);
    for (int i = 0; i < most; i++) {
        const char *piece;
        size_t length;
        int32_t id;
        need(varve_sampler_draw(sampler, logits, ids.at, ids.count, ids.count, &id, &error));
        if (ends_answer(&info, id)) {
            break;
        }
        need(varve_ids_append(&ids, id, &error));
        need(varve_detokenizer_push(text, id, &piece, &length, &error));
        fwrite(piece, 1, length, stdout); /* whole characters: perhaps none yet */
        fflush(stdout);
        logits = evaluate(session, &id, 1);
    }
    putchar('\n');
    varve_sampler_free(sampler);
    varve_detokenizer_free(text);
    varve_session_close(session);
    varve_ids_free(&ids);
}

int main(int count, char **arguments) {
    struct varve_file *file;
    struct varve_model *model;
    if (count < 3) {
        fprintf(stderr, "story MODEL PROMPT [TOKENS]\n");
        return EXIT_FAILURE;
    }
    need(varve_file_open(arguments[1], false, &file, &error));
    need(varve_model_open(file, NULL, NULL, &model, &error));
    tell(model, arguments[2], count > 3 ? atoi(arguments[3]) : 400);
    varve_model_close(model);
    varve_file_close(file);
}

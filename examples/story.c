/* The library on one page: `story MODEL PROMPT` answers a message, token by token. */
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

int main(int count, char **arguments) {
    const char *path = count > 1 ? arguments[1] : "models/varve-tiny.gguf";
    const char *prompt = count > 2 ? arguments[2] : "Tell me a story about a fox.";
    struct varve_message message = {"user", prompt, strlen(prompt)};
    struct varve_session_options options = {0}; /* all as it is usual */
    struct varve_sampling sampling;
    struct varve_file *file;
    struct varve_model *model;
    struct varve_model_info info;
    struct varve_session *session;
    struct varve_sampler *sampler;
    struct varve_detokenizer *stream;
    struct varve_ids ids = {0};
    need(varve_file_open(path, false, &file, &error));
    need(varve_model_open(file, NULL, NULL, &model, &error));
    need(varve_chat_tokens(model, &message, 1, false, &ids, &error));
    need(varve_session_open(model, &options, &session, &error));
    need(varve_detokenizer_new(varve_model_tokenizer(model), false, &stream, &error));
    varve_model_info(model, &info);
    varve_sampling_defaults(&sampling); /* always the likeliest token */
    need(varve_sampler_new(info.vocabulary, &sampling, &sampler, &error));

    bool ended = false;
    for (size_t i = 0; !ended; i++) { /* every token is evaluated; many in one call are faster */
        struct varve_row row = {.token = ids.at[i], .logits = i + 1 == ids.count};
        need(varve_session_evaluate(session, &row, 1, VARVE_ADVANCE, NULL, NULL, &error));
        if (row.logits) { /* behind the last one: they tell which may follow */
            const float *logits = varve_session_logits(session, 0);
            const char *piece; /* whole characters: perhaps none yet */
            size_t length;
            int32_t id;
            need(varve_sampler_draw(sampler, logits, ids.at, ids.count, ids.count, &id, &error));
            need(varve_ids_append(&ids, id, &error));
            need(varve_detokenizer_push(stream, id, &piece, &length, &error));
            fwrite(piece, 1, length, stdout);
            fflush(stdout);
            for (size_t k = 0; k < info.stop_count; k++) {
                ended |= id == info.stop_ids[k];
            }
        }
    }
    puts("");
    varve_ids_free(&ids);
    varve_detokenizer_free(stream);
    varve_sampler_free(sampler);
    varve_session_close(session);
    varve_model_close(model);
    varve_file_close(file);
}

/*
 * Times llama.cpp on a GGUF file as `varve bench model` times varve: prompts, tokens one after
 * another, windows of several tokens with the logits of all. The same lines of JSON come out.
 *
 *   llama_window FILE [--threads N] [--rounds N] [--prompt N,N] [--gen N] [--depth N,N]
 *                     [--rows N,N] [--same-experts] [--load none|mmap|...]
 *                     [--plain-weights]
 *
 * Differences that the interface asks for: depths are read as prompts, and windows stay in the
 * sequence. The first window after another size pays for a new graph; it is run and not counted.
 * --load none has the weights in memory of their own, --plain-weights as they lie in the file, not
 * in an order for some instruction set (with AMX's it ends with an error on deepseek4).
 */
#include "ggml-backend.h"
#include "llama.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIST = 32, ROUNDS = 1024, WINDOWS_A_ROUND = 4, BATCH = 2048, PHYSICAL_BATCH = 512 };

struct list {
    int at[LIST];
    int count;
};

static struct {
    const char *file, *load;
    int threads, rounds, generate;
    struct list prompts, depths, rows;
    bool same, plain;
} want = {NULL, "mmap", 2, 5, 32, {{512}, 1}, {{0}, 1}, {{1, 2, 3, 4, 8}, 5}, false, false};

static struct llama_context *context;
static struct llama_batch batch;
static int vocabulary, length; /* tokens of the sequence */
static uint64_t drawn;

static void fail(const char *what) {
    fprintf(stderr, "llama_window: %s\n", what);
    exit(1);
}

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- arguments ---- */

static struct list read_list(const char *text) {
    struct list list = {{0}, 0};
    if (strcmp(text, "none") == 0) {
        return list;
    }
    for (char *end;; text = end + 1) {
        long n = strtol(text, &end, 10);
        if (end == text || n < 0 || n > 1 << 20 || list.count == LIST) {
            fail("a list is whole numbers with commas between, or none");
        }
        list.at[list.count++] = (int)n;
        if (*end != ',') {
            return list;
        }
    }
}

static void read_option(const char *name, const char *value) {
    if (strcmp(name, "--threads") == 0) {
        want.threads = atoi(value);
    } else if (strcmp(name, "--rounds") == 0) {
        want.rounds = atoi(value);
    } else if (strcmp(name, "--gen") == 0) {
        want.generate = atoi(value);
    } else if (strcmp(name, "--prompt") == 0) {
        want.prompts = read_list(value);
    } else if (strcmp(name, "--depth") == 0) {
        want.depths = read_list(value);
    } else if (strcmp(name, "--rows") == 0) {
        want.rows = read_list(value);
    } else if (strcmp(name, "--load") == 0) {
        want.load = value;
    } else {
        fail("unknown option: the head of the source has them all");
    }
}

static void read_arguments(int count, char **words) {
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--same-experts") == 0) {
            want.same = true;
        } else if (strcmp(words[i], "--plain-weights") == 0) {
            want.plain = true;
        } else if (words[i][0] != '-') {
            want.file = words[i];
        } else if (i + 1 < count) {
            read_option(words[i], words[i + 1]);
            i++;
        } else {
            fail("an option lacks its value");
        }
    }
    if (!want.file || want.rounds < 1 || want.rounds > ROUNDS) {
        fail("give a file, and 1 to 1024 rounds");
    }
}

/* ---- work ---- */

/* Multiplied hash of a counter; the last ids of a vocabulary are special ones. */
static llama_token next_token(bool same) {
    uint64_t x = (same ? 1 : ++drawn) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return (llama_token)((x >> 33) % (uint64_t)(vocabulary - 600));
}

/* Appends tokens to the sequence; returns how long it took, the logits read too. */
static double append(int count, bool all_logits, bool same) {
    batch.n_tokens = count;
    for (int i = 0; i < count; i++) {
        batch.token[i] = next_token(same);
        batch.pos[i] = length + i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = all_logits || i == count - 1;
    }
    double began = milliseconds();
    if (llama_decode(context, batch) != 0) {
        fail("llama_decode fails");
    }
    llama_synchronize(context);
    float sum = 0;
    for (int i = all_logits ? 0 : count - 1; i < count; i++) {
        sum += llama_get_logits_ith(context, i)[0];
    }
    double took = milliseconds() - began;
    if (!isfinite(sum)) {
        fail("a logit is not finite");
    }
    length += count;
    return took;
}

static double append_prompt(int count) {
    double took = 0;
    for (int left = count; left > 0; left -= BATCH) {
        took += append(left < BATCH ? left : BATCH, false, false);
    }
    return took;
}

static void empty(void) {
    llama_memory_clear(llama_get_memory(context), true);
    length = 0;
}

static double windows(int rows) {
    double took = 0;
    append(rows, true, want.same);
    for (int i = 0; i < WINDOWS_A_ROUND; i++) {
        took += append(rows, true, want.same);
    }
    return took / WINDOWS_A_ROUND;
}

static double generate(int count) {
    double took = 0;
    append(1, true, want.same);
    for (int i = 0; i < count; i++) {
        took += append(1, true, want.same);
    }
    return took;
}

/* ---- rounds ---- */

static double prompt_ms[LIST][ROUNDS], generate_ms[LIST][ROUNDS], window_ms[LIST][LIST][ROUNDS];

static void run_round(int round) {
    for (int i = 0; i < want.prompts.count; i++) {
        empty();
        prompt_ms[i][round] = append_prompt(want.prompts.at[i]);
    }
    for (int d = 0; d < want.depths.count; d++) {
        empty();
        append_prompt(want.depths.at[d]);
        for (int i = 0; i < want.rows.count; i++) {
            window_ms[d][i][round] = windows(want.rows.at[i]);
        }
        if (want.generate > 0) {
            generate_ms[d][round] = generate(want.generate);
        }
    }
}

static void print(const char *test, int n, int depth, const double *ms) {
    printf("{\"test\": \"%s\", \"n\": %d, \"depth\": %d, \"ms\": [", test, n, depth);
    for (int i = 0; i < want.rounds; i++) {
        printf("%s%.4f", i ? ", " : "", ms[i]);
    }
    printf("]}\n");
}

static void print_all(void) {
    for (int i = 0; i < want.prompts.count; i++) {
        print("prompt", want.prompts.at[i], 0, prompt_ms[i]);
    }
    for (int d = 0; d < want.depths.count; d++) {
        for (int i = 0; i < want.rows.count; i++) {
            print("window", want.rows.at[i], want.depths.at[d], window_ms[d][i]);
        }
        if (want.generate > 0) {
            print("generate", want.generate, want.depths.at[d], generate_ms[d]);
        }
    }
}

/* ---- opening ---- */

static void only_errors(enum ggml_log_level level, const char *text, void *user) {
    (void)user;
    if (level == GGML_LOG_LEVEL_ERROR) {
        fputs(text, stderr);
    }
}

static int tokens_needed(void) {
    int most = 64, rows = 0;
    for (int i = 0; i < want.rows.count; i++) {
        rows += want.rows.at[i] * (WINDOWS_A_ROUND + 1);
    }
    for (int i = 0; i < want.prompts.count; i++) {
        most = want.prompts.at[i] > most ? want.prompts.at[i] : most;
    }
    for (int i = 0; i < want.depths.count; i++) {
        int deep = want.depths.at[i] + rows + want.generate + 1;
        most = deep > most ? deep : most;
    }
    return most;
}

static struct llama_model *open_model(void) {
    struct llama_model_params params = llama_model_default_params();
    params.load_mode = llama_load_mode_from_str(want.load);
    params.use_extra_bufts = !want.plain;
    struct llama_model *model = llama_model_load_from_file(want.file, params);
    if (!model) {
        fail("the file can't be loaded");
    }
    vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    return model;
}

static void open_context(struct llama_model *model) {
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = (uint32_t)tokens_needed();
    params.n_batch = BATCH;
    params.n_ubatch = PHYSICAL_BATCH;
    params.n_threads = params.n_threads_batch = want.threads;
    context = llama_init_from_model(model, params);
    if (!context) {
        fail("no context can be made");
    }
    batch = llama_batch_init(BATCH, 0, 1);
}

int main(int count, char **words) {
    read_arguments(count, words);
    llama_log_set(only_errors, NULL);
    ggml_backend_load_all();
    llama_backend_init();
    struct llama_model *model = open_model();
    open_context(model);
    append_prompt(tokens_needed() < PHYSICAL_BATCH ? tokens_needed() : PHYSICAL_BATCH);
    for (int round = 0; round < want.rounds; round++) {
        run_round(round);
    }
    print_all();
    llama_batch_free(batch);
    llama_free(context);
    llama_model_free(model);
    llama_backend_free();
    return 0;
}

/*
 * varve: runs sparse mixture-of-experts language models from GGUF files, with the same bits
 * whatever the window, the thread count or the instruction set.
 *
 * Conventions
 *   - A function that can fail returns 0 or a negative VARVE_ERROR_… and fills `error` (never NULL)
 *     with one sentence that says what, where, and what to do. On failure output arguments are
 *     untouched unless said otherwise.
 *   - Handles are opaque; close functions accept NULL. A handle keeps what it was made from in use:
 *     close in the reverse order.
 *   - Text is bytes with a length; it may hold zeros. Strings given as `const char *` end with
 * zero.
 *   - One handle may be used by one thread at a time; different handles by different threads. A
 * model is read-only once open and may serve many sessions.
 *   - Nothing here prints, exits, or reads the environment.
 */
#ifndef VARVE_H
#define VARVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char *varve_version(void);

/* ---- errors -------------------------------------------------------------------------------- */

enum {
    VARVE_OK = 0,
    VARVE_ERROR_NOT_FINITE = -1,  /* the model computed a NaN or an infinity: the layer is named */
    VARVE_ERROR_INVALID = -2,     /* an argument or a file breaks a rule */
    VARVE_ERROR_IO = -3,          /* the system refused to read or write */
    VARVE_ERROR_MEMORY = -4,      /* no memory left */
    VARVE_ERROR_UNSUPPORTED = -5, /* understood, and not available here */
    VARVE_ERROR_CANCELLED = -6,   /* a progress callback asked to stop */
    VARVE_ERROR_DEVICE = -7,      /* a GPU was lost, or refused to run what it was given */
};

struct varve_error {
    int code;
    char message[1000]; /* printable UTF-8, one line */
};

/* Progress of long work: `done` of `total` in units of `what` ("loading", bytes). Return false to
 * cancel. May be NULL. */
typedef bool (*varve_progress)(void *context, const char *what, uint64_t done, uint64_t total);

/* ---- files: any GGUF, of a known architecture or not --------------------------------------- */

struct varve_file;

/* Opens a GGUF file, or all shards of a split one by any of them, and checks everything that its
 * header says. `read`: plain reads instead of a memory mapping. */
int varve_file_open(const char *path, bool read, struct varve_file **file,
                    struct varve_error *error);
void varve_file_close(struct varve_file *file);

/* Adds the draft block that another file holds, before a model is opened from `file`, which has
 * none. One of another kind or model is refused by its name. On an error `file` is as before. */
int varve_file_add_drafts(struct varve_file *file, const char *path, struct varve_error *error);

/* A mapped file that is cut short raises SIGBUS when it is read. After this call it reads as zeros
 * there instead, and evaluation then fails with a sentence. Takes the process's SIGBUS handler for
 * good: a program decides, once, at its start. */
int varve_guard_mappings(struct varve_error *error);

struct varve_file_info {
    uint32_t version, shards;
    uint64_t bytes; /* of all shards */
    size_t keys, tensors;
    const char *architecture; /* "" if the file names none; ends with zero, made printable */
};
void varve_file_info(const struct varve_file *file, struct varve_file_info *info);

/* A metadata value. Arrays have `count` elements of `type`; scalars count 1. */
struct varve_key {
    const char *name;
    size_t name_length;
    const char *type; /* "uint32", "float32", "bool", "string", …; of an array's elements */
    bool array;
    uint64_t count;
};
void varve_file_key(const struct varve_file *file, size_t index, struct varve_key *key);

enum varve_kind { VARVE_UNSIGNED, VARVE_SIGNED, VARVE_FLOAT, VARVE_BOOL, VARVE_STRING };
struct varve_value {
    enum varve_kind kind;
    uint64_t u;
    int64_t i;
    double f;
    const char *text; /* not ended by zero */
    size_t length;
};
/* Element `element` of key `index`; both must be in range. */
void varve_file_value(const struct varve_file *file, size_t index, uint64_t element,
                      struct varve_value *value);

struct varve_tensor {
    const char *name;
    const char *type; /* "Q4_K" */
    uint32_t dimensions;
    uint64_t ne[4]; /* fastest first; 1 beyond `dimensions` */
    uint64_t elements, bytes, offset;
    uint32_t shard;
    bool used; /* by the family's forward pass; true for files of unknown architecture */
};
void varve_file_tensor(const struct varve_file *file, size_t index, struct varve_tensor *tensor);
/* VARVE_ERROR_INVALID: no tensor of that name. */
int varve_file_find(const struct varve_file *file, const char *name, size_t *index,
                    struct varve_error *error);
/* Elements [first, first + count) as float32, decoded exactly; first and count are multiples of the
 * format's block (or reach the end). Integers are converted. */
int varve_file_decode(const struct varve_file *file, size_t tensor, uint64_t first, uint64_t count,
                      float *out, struct varve_error *error);
/* Elements of an integer tensor (I8, I16, I32, I64). */
int varve_file_integers(const struct varve_file *file, size_t tensor, uint64_t first,
                        uint64_t count, int64_t *out, struct varve_error *error);
/* Reads every block of every tensor; the error names the first bad one: tensor, block, why. */
int varve_file_verify(const struct varve_file *file, varve_progress progress, void *context,
                      struct varve_error *error);

/*
 * A model that is only described: metadata and shapes without weights. Sessions of it make them up,
 * random ones of the size that trained ones have, the same on every machine: what it computes is
 * noise, at the speed of the model. For measuring.
 */
struct varve_geometry_options {
    const char *types; /* the mix of formats of a released model: "q2" … "q8"; NULL: "q4" */
    uint32_t layers;   /* only the first ones, without a draft block; 0: all */
    uint64_t room;     /* bytes that weights may take; 0: any number */
};
/*
 * `what`: a released model by name ("qwen3.8-flash-next", "deepseek-v4-flash"), or the path of a
 * GGUF file, of which the header is read and which keeps its types (options->types NULL). An n-gram
 * table that is too large for the room is cut; MEMORY: the rest is, and the sentence says how many
 * layers would fit.
 */
int varve_geometry_open(const char *what, const struct varve_geometry_options *options,
                        struct varve_file **file, struct varve_error *error);

/*
 * A file being written: until varve_output_finish it exists under another name, which is removed on
 * failure; an existing file of that name stays whole until then.
 */
struct varve_output;
int varve_output_open(const char *path, struct varve_output **output, struct varve_error *error);
/* Appends. After a failure only varve_output_abandon may follow. */
int varve_output_write(struct varve_output *output, const void *bytes, size_t size,
                       struct varve_error *error);
/* Gives the file its name once it is on the disk; frees `output`, on failure too. */
int varve_output_finish(struct varve_output *output, struct varve_error *error);
/* Leaves nothing behind. NULL is let be. */
void varve_output_abandon(struct varve_output *output);

/* ---- tensors in other types ------------------------------------------------------------------ */

/* What became of a tensor. */
struct varve_quantized {
    const char *name, *from, *to; /* types */
    uint64_t elements, bytes_before, bytes;
    bool encoded;     /* else its bytes were copied */
    bool requantised; /* encoded from a type that is no float: its error adds to the old one */
    bool fell_back;   /* the type that was asked for has blocks that don't fit the tensor's rows */
    double left, all; /* sums of squares: of what encoding changed, and of the values before it */
};

struct varve_quantize_options {
    const char *type; /* "Q4_K": for all matrices but those below; NULL: they keep theirs */
    /*
     * "PATTERN=TYPE", one a line or separated by commas, with # before a comment: matrices whose
     * name the pattern matches (*, ?, [abc] as in a shell) get that type; "keep": their own. The
     * first rule that matches counts, before `type`. NULL: none.
     */
    const char *rules;
    uint32_t threads; /* 0: physical cores this process may use; results don't depend on it */
    varve_progress progress;
    void (*tensor)(void *context, const struct varve_quantized *tensor); /* done; may be NULL */
    void *context;
};

/*
 * Writes the model of `file` (of all its shards) to `path` with its matrices in other types:
 * metadata are kept, general.file_type and general.quantization_version set. Types: F32, F16, BF16,
 * Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K … Q6_K, IQ4_NL, IQ4_XS, MXFP4.
 *
 * Always kept: tensors of one dimension and of integers. Kept unless a rule names them: norms,
 * routers (ffn_gate_inp), convolutions (conv1d), indexers, and the small matrices hc_*_inject,
 * ssm_alpha, ssm_beta, hc_*_fn, *_ape. Where rows are no multiple of 256, Q2_K and Q3_K become
 * Q4_0, Q4_K Q5_0, Q5_K Q5_1, Q6_K Q8_0, IQ4_XS IQ4_NL; where they are none of 32, the tensor keeps
 * its type.
 *
 * Errors: a rule that matches no matrix; a value that is NaN, infinite, or larger than the type
 * holds; a path that is one of the file's own. On failure there is no file of that name, or still
 * the old one.
 */
int varve_quantize(const struct varve_file *file, const char *path,
                   const struct varve_quantize_options *options, struct varve_error *error);

/* ---- tokens -------------------------------------------------------------------------------- */

struct varve_tokenizer;
int varve_tokenizer_open(const struct varve_file *file, struct varve_tokenizer **tokenizer,
                         struct varve_error *error);
void varve_tokenizer_close(struct varve_tokenizer *tokenizer);
size_t varve_tokenizer_size(const struct varve_tokenizer *tokenizer);

/* What becomes of special tokens that are spelt in a text. */
enum varve_special {
    VARVE_SPECIAL_ALL,  /* recognised: text that the program rendered itself */
    VARVE_SPECIAL_USER, /* only those that the vocabulary calls user-defined */
    VARVE_SPECIAL_NONE, /* none: a person's own text */
};

struct varve_span {
    const char *text;
    size_t length;
    enum varve_special special;
};

/* Ids that the library allocated; free with varve_ids_free. Start from {0}. */
struct varve_ids {
    int32_t *at;
    size_t count, room;
};
int varve_ids_append(struct varve_ids *ids, int32_t id, struct varve_error *error);
void varve_ids_free(struct varve_ids *ids);

/* Appends the ids of the spans, tokenised as one text. Ill-formed UTF-8 becomes U+FFFD. */
int varve_tokenize(const struct varve_tokenizer *tokenizer, const struct varve_span *spans,
                   size_t span_count, struct varve_ids *ids, struct varve_error *error);

/* Ids back to text, as a stream: whole characters only. */
struct varve_detokenizer;
int varve_detokenizer_new(const struct varve_tokenizer *tokenizer, bool control_tokens,
                          struct varve_detokenizer **stream, struct varve_error *error);
void varve_detokenizer_free(struct varve_detokenizer *stream);
/* The text that is complete now; valid until the next call. An id outside the vocabulary: INVALID.
 */
int varve_detokenizer_push(struct varve_detokenizer *stream, int32_t id, const char **text,
                           size_t *length, struct varve_error *error);
/* What is left at the end: an unfinished character becomes U+FFFD. */
int varve_detokenizer_end(struct varve_detokenizer *stream, const char **text, size_t *length,
                          struct varve_error *error);

/* Stop strings in a stream: nothing of a stop is ever delivered, everything else is. */
struct varve_stopper;
int varve_stopper_new(const char *const *stops, size_t count, struct varve_stopper **stopper,
                      struct varve_error *error);
void varve_stopper_free(struct varve_stopper *stopper);
/* Adds text; gives what can be delivered now (valid until the next call); true once a stop is
 * complete. `end`: the stream is over, deliver what was held. */
int varve_stopper_push(struct varve_stopper *stopper, const char *text, size_t length, bool end,
                       const char **out, size_t *out_length, bool *stopped,
                       struct varve_error *error);

/* ---- conversations: the text that a model was trained on ------------------------------------- */

struct varve_prompt;
/*
 * Renders a conversation by the chat template of the file; a file without one has its family's
 * layout. `template` [template_length]: a template to take instead, or NULL. `request` [length] is
 * a JSON object: "messages", a list as in the chat API of OpenAI (role, content, reasoning_content,
 * tool_calls …); "tools", a list, null or absent; "now", seconds since 1970, the time (UTC) that
 * the template may ask for. All else, and the members of an object "options", are the template's
 * own options: add_generation_prompt, enable_thinking … INVALID: no such object, or the template
 * refuses; the sentence has the template's line and column.
 */
int varve_prompt_new(const struct varve_file *file, const char *template, size_t template_length,
                     const char *request, size_t length, struct varve_prompt **prompt,
                     struct varve_error *error);
void varve_prompt_free(struct varve_prompt *prompt);
/* All of its text, not ended by zero; valid until varve_prompt_free. */
const char *varve_prompt_text(const struct varve_prompt *prompt, size_t *length);
/* Appends its ids. Special tokens are recognised in what the template itself wrote, and never in
 * what came with the request. */
int varve_prompt_tokens(const struct varve_prompt *prompt, const struct varve_tokenizer *tokenizer,
                        struct varve_ids *ids, struct varve_error *error);

/* ---- answers: thoughts, text and calls of tools out of a model's text (docs/answers.md) -------
 */

/* What the rendered prompt ended with, and so where the answer begins. */
enum varve_thinking {
    VARVE_THINKING_NONE,   /* neither: the answer may open its thoughts itself */
    VARVE_THINKING_OPEN,   /* the tag that opens the thoughts */
    VARVE_THINKING_CLOSED, /* the tag that closes them */
};
/* By the last tag of a rendered prompt. */
enum varve_thinking varve_prompt_thinking(const char *prompt, size_t length);

enum varve_answer_kind {
    VARVE_ANSWER_REASONING, /* text of the thoughts */
    VARVE_ANSWER_CONTENT,   /* text of the answer */
    VARVE_ANSWER_MARKUP,    /* no text, only `raw` */
    VARVE_ANSWER_CALL,      /* a call begins; `text` is the tool's name */
    VARVE_ANSWER_ARGUMENTS, /* of this call: the next piece of a JSON object's text */
    VARVE_ANSWER_CALL_END,  /* the call is complete, and so is that object */
    /* The answer ended within a call, whose arguments are left incomplete so that nobody runs it;
     * where the name wasn't complete there was no VARVE_ANSWER_CALL. */
    VARVE_ANSWER_UNFINISHED,
    VARVE_ANSWER_END, /* of the answer; always the last */
};
struct varve_answer_event {
    enum varve_answer_kind kind;
    size_t call;      /* of the events of calls: 0, 1, … */
    const char *text; /* valid during the call of the sink, as is `raw` */
    size_t length;
    const char *raw; /* the bytes of the answer that this is for; all of them, joined, are it */
    size_t raw_length;
};
/* Takes an event. A code other than 0 ends the work and is returned. */
typedef int (*varve_answer_sink)(void *context, const struct varve_answer_event *event,
                                 struct varve_error *error);

struct varve_answer;
/*
 * `architecture`: "qwen4exp" or "deepseek4"; others are UNSUPPORTED. `tools` [tools_length]: the
 * JSON array of tools that the template was given, by whose schemas arguments are typed; NULL: not
 * known, any call is recognised; an empty array: nothing is a call.
 */
int varve_answer_new(const char *architecture, enum varve_thinking thinking, const char *tools,
                     size_t tools_length, struct varve_answer **answer, struct varve_error *error);
void varve_answer_free(struct varve_answer *answer);
/*
 * The next piece of the answer, cut anywhere; and its end, which decides on what was held back. The
 * events' texts, joined, don't depend on the cuts. After an error the answer can only be freed.
 */
int varve_answer_push(struct varve_answer *answer, const char *text, size_t length,
                      varve_answer_sink sink, void *context, struct varve_error *error);
int varve_answer_end(struct varve_answer *answer, varve_answer_sink sink, void *context,
                     struct varve_error *error);

/* ---- models -------------------------------------------------------------------------------- */

struct varve_model;

/* Opens the model of a file: its geometry, its weights, its vocabulary (if it has one). The file
 * must stay open. */
int varve_model_open(const struct varve_file *file, varve_progress progress, void *context,
                     struct varve_model **model, struct varve_error *error);
void varve_model_close(struct varve_model *model);

struct varve_model_info {
    const char *architecture;
    const char *name; /* general.name or "" */
    size_t layers, mtp_layers, vocabulary, context, width;
    uint64_t parameters;
    uint64_t weight_bytes;
    const int32_t *stop_ids; /* tokens that end an answer */
    size_t stop_count;
    float temperature; /* that the family's publisher advises; 0: none */
};
void varve_model_info(const struct varve_model *model, struct varve_model_info *info);
/* NULL if the file has no vocabulary. */
const struct varve_tokenizer *varve_model_tokenizer(const struct varve_model *model);

struct varve_message {
    const char *role; /* "system", "user", "assistant" */
    const char *text;
    size_t length;
};
/* Appends the ids of a conversation, rendered as by varve_prompt_new and ready for an answer. A
 * person's text can never become a control token. */
int varve_chat_tokens(const struct varve_model *model, const struct varve_message *messages,
                      size_t count, bool thinking, struct varve_ids *ids,
                      struct varve_error *error);

/* ---- sessions: state of sequences, evaluation ---------------------------------------------- */

struct varve_session;

/* Which variants run a model's operations, as varve_tune found it: another speed, the same results.
 * A choice that doesn't fit (an unknown name, a shape that the model hasn't) is let be. */
struct varve_tuning_choice {
    const char *operation, *shape, *variant;
    uint32_t rows; /* 1, 2, 4, 8, 32 or 256, which stand for 1, 2, up to 4, 8, 32, and more rows */
};
struct varve_tuning {
    const struct varve_tuning_choice *choices;
    size_t count;
};

/* Where threads run and memory lies. A process that was started with a policy for its memory
 * (numactl) keeps that. */
enum varve_numa {
    VARVE_NUMA_AUTO,   /* spread on several NUMA nodes, or cores of several speeds; else off */
    VARVE_NUMA_OFF,    /* where the system puts them */
    VARVE_NUMA_SPREAD, /* threads on cores of their own, on all nodes; memory on all nodes */
    VARVE_NUMA_NODE,   /* threads and memory on one node */
};

/* Where a session's weights and state lie, and what computes. All give the same bits. */
enum varve_device {
    VARVE_DEVICE_CPU,
    VARVE_DEVICE_MOCK, /* tests: separate, locked memory and another weight order */
    VARVE_DEVICE_CUDA, /* the first NVIDIA GPU; needs the module that a build with CUDA makes */
    VARVE_DEVICE_CUDA_EMULATED, /* tests: that module's kernels on the CPU, slowly */
};

/* How index vectors that choose what is attended are multiplied: three results, each the same
 * everywhere. */
enum varve_index_score {
    VARVE_INDEX_AUTO, /* integer where the cache keeps them in four bits, else float */
    VARVE_INDEX_INTEGER,
    VARVE_INDEX_HALF, /* values rounded to half precision first */
    VARVE_INDEX_FLOAT,
};

/* Where tables lie of which a token reads few rows (the n-gram table), on a GPU. */
enum varve_tables {
    VARVE_TABLES_AUTO,   /* in the host's memory if not all of the session fits the GPU's */
    VARVE_TABLES_DEVICE, /* in the GPU's */
    VARVE_TABLES_HOST, /* in the host's, page-locked: the GPU reads the rows that it needs there */
};

struct varve_session_options {
    uint32_t slots;   /* sequences held at once; 0: 1 */
    uint32_t context; /* tokens a sequence may have; 0: the model's, at most 4096 */
    uint32_t window;  /* rows evaluated together at most; 0: 512, on a GPU 2048 */
    uint32_t logits;  /* rows of a window whose logits can be wanted at most; 0: 16 */
    uint32_t threads; /* 0: physical cores this process may use */
    enum varve_numa numa;
    bool kv_f16;      /* keys and values in half precision: half the memory, other results */
    bool exact_cache; /* don't round what a cache keeps to the few bits that the model was
                       * trained with, where it was */
    enum varve_index_score index_score;
    bool float_activations; /* validation: weights decoded exactly, float32 activations */
    bool all_barriers;      /* debugging: a barrier after every step; same results */
    enum varve_device device;
    enum varve_tables tables;
    bool no_recordings;    /* a GPU's kernels are started one by one: for tests */
    bool observe;          /* keep inner tensors of the last window for varve_session_observed */
    bool mtp;              /* evaluate the MTP block beside the trunk */
    bool mtp_q8_0;         /* keep that block's BF16, F16 and F32 matrices as Q8_0: other drafts,
                            * perhaps, made faster; never another text */
    bool profile;          /* time every step for varve_session_profile */
    size_t profile_events; /* of each thread that a profile keeps, the latest ones */
    /* Host memory for checkpoints of slots and for kept sequences; 0: 1 GiB, taken as it is needed.
     * With too little there are none, and texts are read again. */
    uint64_t keep_bytes;
    uint32_t checkpoint_every;         /* tokens; 0: as far apart as keep_bytes asks for */
    const struct varve_tuning *tuning; /* or NULL; must stay as long as the session is open */
    varve_progress progress;           /* while weights are placed, in bytes; or NULL */
    void *progress_context;
    const char *isa; /* NULL: the best here; "portable"; "avx2", "avxvnni", "avx512", "vnni",
                      * "amx"; "neon", "dotprod", "i8mm" */
};

int varve_session_open(const struct varve_model *model, const struct varve_session_options *options,
                       struct varve_session **session, struct varve_error *error);
void varve_session_close(struct varve_session *session);

/* Bytes of the device's memory that are free now; 0: not known. */
int varve_device_memory(enum varve_device device, uint64_t *bytes, struct varve_error *error);

/* One line of the memory plan. */
struct varve_plan_line {
    const char *what; /* "weights (mapped)", "keys and values", … */
    uint64_t bytes, per_token;
};
/* The plan of a session with these options, without opening it: up to `room` lines; returns how
 * many there are. */
size_t varve_session_plan(const struct varve_model *model,
                          const struct varve_session_options *options,
                          struct varve_plan_line *lines, size_t room);

/* Bytes of tables that lie in the host's memory although a GPU has the other weights. */
uint64_t varve_session_host_tables(const struct varve_session *session);

/* Tokens that a slot holds. */
size_t varve_session_length(const struct varve_session *session, uint32_t slot);
/* Empties a slot. */
void varve_session_clear(struct varve_session *session, uint32_t slot);

enum varve_mode {
    VARVE_ADVANCE, /* the tokens become part of their sequences */
    VARVE_VERIFY,  /* logits as if they did; varve_session_commit decides how many do */
};

/* One token of one sequence, at the sequence's next free position. */
struct varve_row {
    uint32_t slot;
    int32_t token;
    bool logits; /* wanted for this row */
};

/*
 * Evaluates rows (tokens of any sequences in any order; a sequence's own in theirs) in windows of
 * the session's size. Every row whose logits are wanted is handed to `sink` in row order, if there
 * is one; a sink's failure ends the evaluation and is returned. Verify takes one window of at most
 * 16 rows a sequence. On an error the sequences touched are left empty.
 *
 * The caller is one of the threads that compute: here and in commit and draft it needs 1 MB of
 * stack, which is more than some systems give a thread that isn't asked for with more.
 */
typedef int (*varve_sink)(void *context, size_t row, const float *logits,
                          struct varve_error *error);
int varve_session_evaluate(struct varve_session *session, const struct varve_row *rows,
                           size_t count, enum varve_mode mode, varve_sink sink, void *context,
                           struct varve_error *error);
/* After a verify: slot's first `keep` rows become part of it, the others never were. Call it for
 * every slot of the window before the next evaluation. */
int varve_session_commit(struct varve_session *session, uint32_t slot, uint32_t keep,
                         struct varve_error *error);
/* Logits [vocabulary] of the i-th wanted row of the last window; NULL beyond them. */
const float *varve_session_logits(const struct varve_session *session, size_t i);

/*
 * Drafts the tokens that follow `token`, which itself follows the slot's last one, greedily with
 * the model's MTP block (a session opened with `mtp`). The sequence does not change. `logits` NULL
 * or [steps][vocabulary].
 */
int varve_session_draft(struct varve_session *session, uint32_t slot, int32_t token, uint32_t steps,
                        int32_t *drafts /* [steps] */, float *logits, struct varve_error *error);

/* An inner tensor of the last window: [rows][width]. Names: "hidden.3", "experts.0", "selected.2" …
 * (docs/architecture.md lists them). */
struct varve_observed {
    size_t rows, width;
    const float *f32; /* one of the two */
    const int32_t *i32;
};
int varve_session_observed(const struct varve_session *session, const char *name,
                           struct varve_observed *observed, struct varve_error *error);

/*
 * Where the time of all evaluations so far went, in a session opened with `profile`. Seconds of
 * steps, barriers and idling are the mean of all threads, so that together they are the wall time.
 */
struct varve_profile {
    unsigned threads;
    uint64_t runs; /* windows, of the trunk and of other passes */
    uint64_t rows; /* of all windows */
    double wall;
    double barrier; /* from a barrier's opening until a thread goes on */
    double idle;    /* waiting for other threads, or for one that works alone */
    double looking; /* at clocks: what profiling itself costs, part of all other times */
};
void varve_session_profile(const struct varve_session *session, struct varve_profile *profile);

/* One step of a pass as it was last run, and what all runs cost. Of a hazard: this step touches
 * memory that the earlier step `after` touches, and one of them writes it. */
struct varve_profile_step {
    size_t pass;            /* steps of the trunk, of verification … have equal numbers */
    const char *what;       /* "blk.3.attn_qkv" */
    const char *step_class; /* "gemv" */
    const char *variant;
    bool barrier; /* all threads meet before it */
    bool alone;   /* the thread that came last to the barrier before it does it */
    const char *after, *after_class; /* NULL: no hazard */
    uint64_t hazard_bytes;           /* of the memory that both touch */
    bool reads,
        writes; /* what the earlier one writes; what the earlier one reads; else both write */
    double seconds;
    uint64_t bytes; /* read and written */
};
/* False beyond the last step. Texts live as long as the session. */
bool varve_session_profile_step(const struct varve_session *session, size_t index,
                                struct varve_profile_step *step);

/* What a thread did and when: a step by its index, or VARVE_PROFILE_WAIT. */
enum { VARVE_PROFILE_WAIT = INT32_MAX };
struct varve_profile_event {
    size_t step;
    int64_t begin, end; /* nanoseconds of a clock that all threads share */
};
/* A thread's latest events in the order of each pass, up to `room`; returns how many there are. */
size_t varve_session_profile_events(const struct varve_session *session, unsigned thread,
                                    struct varve_profile_event *events, size_t room);

/* Bytes of the state of a slot in its serial form, the same for every device and window. */
int varve_session_state(const struct varve_session *session, uint32_t slot, void *out, size_t room,
                        size_t *bytes, struct varve_error *error);

/* ---- sessions: state that is kept (docs/sessions.md) ----------------------------------------- */

/*
 * A slot can be taken back to its checkpoints, which are copies in host memory of the state that
 * moves with a sequence's end. They are made while it reads, where a window ends that is as far
 * from the last one as varve_kept tells, or further; and where the caller asks. All that is done
 * here leaves the bits that reading the tokens afresh would give.
 */
int varve_session_checkpoint(struct varve_session *session, uint32_t slot,
                             struct varve_error *error);
/* Takes a slot back to its last checkpoint at or before `length` tokens; where there is none,
 * empties it. varve_session_length tells. Rows that wait for a commit are let go. */
int varve_session_truncate(struct varve_session *session, uint32_t slot, size_t length,
                           struct varve_error *error);
/* Copies a slot's sequence into slot `to`, within the device. */
int varve_session_fork(struct varve_session *session, uint32_t slot, uint32_t to,
                       struct varve_error *error);
/* Keeps a copy of a slot's sequence in host memory, for varve_session_resume. Those used longest
 * ago make room for it. VARVE_ERROR_MEMORY: there is not enough; the slot is as it was. */
int varve_session_keep(struct varve_session *session, uint32_t slot, struct varve_error *error);

struct varve_resumed {
    size_t held;   /* tokens that the slot holds now; the others are to be evaluated */
    size_t shared; /* tokens at the text's beginning that were found in what is most alike */
};
/*
 * Makes a slot hold as much of the beginning of a text as can be had, though never all of it (the
 * last token's logits will be wanted): from itself, from another slot, or from a kept sequence.
 * What the slot held is kept first, if more than one spacing of it would be lost.
 */
int varve_session_resume(struct varve_session *session, uint32_t slot, const int32_t *tokens,
                         size_t count, struct varve_resumed *resumed, struct varve_error *error);

/* The tokens that a slot holds: as many as varve_session_length tells. */
const int32_t *varve_session_tokens(const struct varve_session *session, uint32_t slot);

/* A text of whoever saves a file; `text` ends with a zero that doesn't count. */
struct varve_note {
    char *text;
    size_t length;
};
/*
 * Writes a slot's sequence, and a note of up to 16 MiB, to a file that appears when it is whole; an
 * old one of its name stays until then. It can be loaded by sessions of the same model and the same
 * settings of what changes results, on any device and machine, and goes on with the same bits. Its
 * checkpoints are in it.
 */
int varve_session_save(struct varve_session *session, uint32_t slot, const char *path,
                       const void *note, size_t note_length, struct varve_error *error);
/*
 * Replaces what a slot holds by what a file has. Where the file can't be opened, or isn't one for
 * this session, which the sentence says why, the slot is as it was; where it is damaged, empty.
 */
int varve_session_load(struct varve_session *session, uint32_t slot, const char *path,
                       struct varve_note *note, struct varve_error *error);
void varve_note_free(struct varve_note *note);

struct varve_kept {
    uint64_t bytes, budget; /* of checkpoints and kept sequences; what they share counts once */
    size_t sequences;
    size_t checkpoint_bytes;
    size_t spacing; /* tokens between checkpoints; 0: none are made by themselves */
};
void varve_session_kept(const struct varve_session *session, struct varve_kept *kept);

/* ---- sampling ------------------------------------------------------------------------------ */

struct varve_logit_bias {
    int32_t token;
    float bias; /* added to the logit; -INFINITY bans */
};

struct varve_sampling {
    float temperature;                                             /* 0: greedy */
    int32_t top_k;                                                 /* 0: off */
    float top_p;                                                   /* 1: off */
    float min_p;                                                   /* 0: off */
    float repetition_penalty, presence_penalty, frequency_penalty; /* 1, 0, 0: off */
    int32_t penalty_last_n; /* tokens of history that penalties see; -1: all, 0: none */
    bool temperature_last;  /* filters see the untempered distribution */
    const struct varve_logit_bias *bias;
    size_t bias_count;
    uint64_t seed;
};
/* Greedy, everything off. */
void varve_sampling_defaults(struct varve_sampling *sampling);

struct varve_sampler;
int varve_sampler_new(size_t vocabulary, const struct varve_sampling *sampling,
                      struct varve_sampler **sampler, struct varve_error *error);
void varve_sampler_free(struct varve_sampler *sampler);
/* Draws the token at `position` of a sequence; the draw depends on seed and position alone. */
int varve_sampler_draw(struct varve_sampler *sampler, const float *logits, const int32_t *history,
                       size_t history_length, uint64_t position, int32_t *token,
                       struct varve_error *error);

/* ---- writing with drafts (docs/speculation.md) ----------------------------------------------- */

/* Who proposes tokens, which the model then checks several at a time. */
enum varve_draft {
    VARVE_DRAFT_OFF,    /* nobody: one token at a time */
    VARVE_DRAFT_MTP,    /* the model's MTP block */
    VARVE_DRAFT_SUFFIX, /* the text: its end stood earlier in it, and what followed may follow again
                         */
    VARVE_DRAFT_BOTH,   /* the text where many tokens agree, else the MTP block */
};
enum { VARVE_DRAFTS_MAX = 15 };

struct varve_decoder_options {
    uint32_t slot;
    enum varve_draft draft;
    uint32_t most; /* drafts at a time at most, 1 to VARVE_DRAFTS_MAX; 0: 8 */
    bool fixed;    /* always as many as possible, not as many as pay here and now */
};

/*
 * Writes a sequence token by token, with drafts that change speed and nothing else: for each
 * position it gives the same logits as one token after another would, to the bit. Whoever calls it
 * draws the tokens, by any rule.
 *
 *     varve_decoder_begin(decoder, ids.at, ids.count, &error);
 *     for (;;) {
 *         varve_decoder_sample(decoder, sampler, ids.at, ids.count, ids.count, &id, &error);
 *         varve_ids_append(&ids, id, &error);
 *         if (the text is complete) break;
 *         varve_decoder_take(decoder, id, limit - ids.count, &error);
 *     }
 *     varve_decoder_settle(decoder, &error);
 */
struct varve_decoder;

/* The session must outlive it, with windows of `most` + 1 rows or more, and, for MTP and BOTH,
 * opened with `mtp`; else VARVE_ERROR_INVALID. */
int varve_decoder_open(struct varve_session *session, const struct varve_decoder_options *options,
                       struct varve_decoder **decoder, struct varve_error *error);
void varve_decoder_close(struct varve_decoder *decoder);

/* The slot holds exactly these tokens, and the session's last window had the last one's logits and
 * no others. A decoder may begin as often as it likes: what it knows of an earlier text is kept if
 * this one begins with it. */
int varve_decoder_begin(struct varve_decoder *decoder, const int32_t *tokens, size_t count,
                        struct varve_error *error);

/* Logits [vocabulary] of the next token, until varve_decoder_take. */
const float *varve_decoder_logits(const struct varve_decoder *decoder);

/* As varve_sampler_draw from these logits. From then on windows draw such tokens where they are
 * computed, if the device can (it can't where there are biases or penalties): on a GPU a few bytes
 * are copied for a token, in place of all logits. The bits are the same. */
int varve_decoder_sample(struct varve_decoder *decoder, struct varve_sampler *sampler,
                         const int32_t *history, size_t history_length, uint64_t position,
                         int32_t *token, struct varve_error *error);

/* The token that was drawn is the next one. Of those behind it `more` are wanted at most, 1 or
 * more: a hint, which saves drafts that nobody reads. After an error the slot is as
 * varve_session_evaluate leaves it, and the decoder has to begin anew. */
int varve_decoder_take(struct varve_decoder *decoder, int32_t token, uint64_t more,
                       struct varve_error *error);

/* At the end of a text, before anything else is done with the slot: it then holds every token that
 * was taken, and no draft. */
int varve_decoder_settle(struct varve_decoder *decoder, struct varve_error *error);

/* Of one kind of drafts: how many were offered as the first of a window, as the second … [0], [1]
 * …, and how many of these were right. */
struct varve_draft_count {
    const char *kind; /* "mtp", "suffix 3+": at least three tokens agreed */
    uint64_t offered[VARVE_DRAFTS_MAX], accepted[VARVE_DRAFTS_MAX];
};
enum { VARVE_DRAFT_COUNTS_MAX = 8 };
struct varve_decoder_report {
    struct varve_draft_count counts[VARVE_DRAFT_COUNTS_MAX];
    size_t count_count;
    uint64_t tokens, windows; /* taken, and evaluated for them */
    double seconds;           /* in varve_decoder_take and varve_decoder_settle */
    double draft_seconds;     /* of these: making drafts */
    double plain_seconds;     /* of a window of one token, as measured lately; 0: there was none */
};
void varve_decoder_report(const struct varve_decoder *decoder, struct varve_decoder_report *report);

/* ---- many requests at once (docs/sessions.md) ------------------------------------------------ */

/* What comes next in an answer. */
enum { VARVE_NEXT_MAX = 16 };
struct varve_next {
    int32_t tokens[VARVE_NEXT_MAX]; /* the next token, and drafts of those that may follow */
    uint32_t count;                 /* 0: the answer has ended */
};

struct varve_request {
    const int32_t *prompt; /* [count], copied */
    size_t count;          /* 1 or more */
    int priority;          /* higher goes first */
    /* A later prompt will begin with so many tokens, so there will be a checkpoint; 0: not known */
    size_t stable;
    /* Draws the answer's tokens, on the device where that can be; NULL: `next` does it. The draw's
     * position is the text's length. Must outlive the request; several may have the same one. */
    struct varve_sampler *sampler;
    /* Chooses from the logits of the text's last token; with a sampler these are NULL, and `next`
     * has the token that was drawn. Called once for every token of the answer, in order; drafts
     * change nothing but the time. A code other than 0 ends the request. */
    int (*next)(void *context, const float *logits, struct varve_next *next,
                struct varve_error *error);
    /* Who proposes tokens where windows can verify them, beside what `next` does; slot: 0. */
    struct varve_decoder_options drafts;
    /* The request is over: 0, VARVE_ERROR_CANCELLED, or what went wrong. `text` [count] is its
     * prompt and answer. May be NULL. */
    void (*ended)(void *context, const int32_t *text, size_t count, int code,
                  const struct varve_error *error);
    void *context; /* of both */
};

/*
 * Answers requests with the slots of a session, and merges what they need evaluated into windows.
 * What each gets is what it would get alone. One token of an answer goes before any prompt; of
 * prompts, those of the highest priority go first, and among them whoever has read least. If a
 * window fails, its sequences are tried again one by one, and only what fails alone ends with the
 * error.
 */
struct varve_schedule;
/* `latency`: seconds that a window should take at most, so that a long prompt holds up nobody for
 * longer; 0: no limit. The session must outlive it, and is used by nobody else meanwhile. */
int varve_schedule_open(struct varve_session *session, double latency,
                        struct varve_schedule **schedule, struct varve_error *error);
/* Requests that are not over end as if they were cancelled. */
void varve_schedule_close(struct varve_schedule *schedule);
/* May be called by `next` and `ended`, too. `*id`: for varve_schedule_cancel. */
int varve_schedule_add(struct varve_schedule *schedule, const struct varve_request *request,
                       uint64_t *id, struct varve_error *error);
/* Ends a request before the next window, and `next` is not called for it any more; one that is over
 * is let be. */
void varve_schedule_cancel(struct varve_schedule *schedule, uint64_t id);

struct varve_schedule_step {
    bool idle;        /* there was nothing to do */
    size_t rows;      /* of the window */
    size_t sequences; /* in it */
    size_t waiting;   /* requests without a slot */
    size_t offered;   /* drafts in it */
    size_t accepted;  /* of these */
    double seconds;
};
/* Evaluates one window. */
int varve_schedule_step(struct varve_schedule *schedule, struct varve_schedule_step *step,
                        struct varve_error *error);

/* ---- checks of the operations --------------------------------------------------------------- */

struct varve_check_options {
    enum varve_device device; /* whose variants are checked; the mock has the CPU's */
    const char *operation;    /* NULL: all */
    const char *variant;      /* only names that contain this; NULL: all */
    uint64_t seed;
    bool quick;
    size_t cases; /* of a kind at most: a variant with weights of the same formats; 0: all */
    void (*folder_done)(void *context, const char *operation, size_t passed, size_t failed);
    void (*failure)(void *context, const char *line);
    void *context;
};
int varve_check(const struct varve_check_options *options, size_t *passed, size_t *failed,
                struct varve_error *error);
/* Calls `each` for every variant for a device (the mock has the CPU's); `here`: this one can run
 * it.
 */
int varve_check_list(enum varve_device device,
                     void (*each)(void *context, const char *variant, bool here), void *context,
                     struct varve_error *error);

/* ---- threads --------------------------------------------------------------------------------- */

/* Whether this process can't run `threads` threads at once on cores of their own, for want of CPUs
 * or by a container's limit; `why` then has a sentence for the user. */
bool varve_threads_are_many(uint32_t threads, struct varve_error *why);

/* Where `threads` (0: the default) would run, and where memory would lie: a line for the user. */
enum { VARVE_PLACES_TEXT = 400 };
int varve_places(enum varve_numa numa, uint32_t threads, char text[VARVE_PLACES_TEXT],
                 struct varve_error *error);

/* ---- measurements ---------------------------------------------------------------------------- */

/* What a row of repeated figures says; low and high are the quartiles. */
struct varve_series {
    double least, low, median, high, most;
};
/* Of 1 to VARVE_SAMPLES_MAX samples. */
enum { VARVE_SAMPLES_MAX = 1024 };
struct varve_series varve_series_of(const double *samples, size_t count);

/* What this machine can do at most, by loops that do nothing else. */
struct varve_ceilings {
    double read;      /* bytes a second, of memory far larger than the caches */
    double copy;      /* bytes read and written a second */
    double int8, f32; /* operations a second: a product and its addition are two */
    uint32_t threads;
};
/* Threads, isa and numa of `session` count. Takes about a second. */
int varve_measure_ceilings(const struct varve_session_options *session,
                           struct varve_ceilings *ceilings, struct varve_error *error);

/* What exact products with weights of a kind of format reach at most on a device: the matrix
 * instruction with what the arithmetic does to its integers (docs/arithmetic.md, 3.3), and nothing
 * else. */
struct varve_roof {
    const char *kind; /* "a scale for each 32 values" */
    const char *form; /* the instruction, and what comes after it */
    double rate;      /* operations a second */
};
enum { VARVE_ROOFS = 7 };
/* VARVE_ERROR_UNSUPPORTED: on a device that isn't a GPU. */
int varve_measure_roofs(const struct varve_session_options *session,
                        struct varve_roof roofs[VARVE_ROOFS], struct varve_error *error);
/* Seconds of a product of BF16 matrices [outputs][inputs] and [rows][inputs] by the library of the
 * device's maker, for comparison. VARVE_ERROR_UNSUPPORTED: there is none on this machine. */
int varve_measure_bf16(const struct varve_session_options *session, size_t inputs, size_t outputs,
                       size_t rows, double *seconds, struct varve_error *error);

enum varve_bench_kind {
    VARVE_BENCH_PROMPT,   /* n tokens are read into an empty sequence */
    VARVE_BENCH_GENERATE, /* n tokens one after another, from a depth on */
    VARVE_BENCH_WINDOW,   /* n rows verified together at a depth, with the logits of all */
    VARVE_BENCH_BATCH,    /* a token of each of n sequences decoded together, from a depth on */
};
struct varve_bench_result {
    enum varve_bench_kind kind;
    uint32_t n, depth;
    const double *ms; /* [rounds] */
    size_t rounds;
    double bytes; /* of windows and batches: that one reads and writes, the mean of all; else 0 */
};
struct varve_bench_options {
    /* What is measured; an empty list or a 0 leaves the test out. `depths`, tokens that a sequence
     * has, are those of the other tests than prompts; `windows` and `batches` are sizes. */
    const uint32_t *prompts, *depths, *windows, *batches;
    size_t prompt_count, depth_count, window_count, batch_count;
    uint32_t generate;
    uint32_t rounds;   /* 1 to VARVE_SAMPLES_MAX */
    bool same_experts; /* all but prompts: one token over and over, which takes the same experts */
    uint64_t seed;     /* of the tokens, which are random and new in each round */
    varve_progress progress;
    void (*result)(void *context, const struct varve_bench_result *result);
    /* Shows the session when all is measured: for its profile alone. Or NULL. */
    void (*measured)(void *context, const struct varve_session *session);
    void *context; /* of all */
};
struct varve_bench_facts {
    double load_ms;       /* opening the session */
    double cold_ms;       /* the first window, whose weights may have come from the disk */
    uint32_t cold_rows;   /* its tokens */
    uint64_t token_bytes; /* of weights that decoding one token reads; 0: not known */
};
/*
 * Times a model. Every round runs every test once, so that a slow spell of the machine meets all
 * alike; results come at the end. A depth is reached without reading a text: its state is made of
 * random numbers. A window's time is the mean of four in a row, and leaves the sequence as it was;
 * a batch's is the mean of `generate` steps (0: four), each with a token of every sequence.
 * Of `session` only what changes speed counts; slots, context and logits are set by the tests.
 */
int varve_bench_model(const struct varve_model *model, const struct varve_session_options *session,
                      const struct varve_bench_options *options, struct varve_bench_facts *facts,
                      struct varve_error *error);

/* The plan of varve_bench_model with these options, as varve_session_plan gives it. */
size_t varve_bench_plan(const struct varve_model *model,
                        const struct varve_session_options *session,
                        const struct varve_bench_options *options, struct varve_plan_line *lines,
                        size_t room);

/* What one way to draft came to, with drafts that are right with chance `accept`. */
struct varve_bench_draft_result {
    double accept;
    const char *way;    /* "plain", "mtp 1" … "mtp 4", "adaptive", "suffix", "both" */
    const double *rate; /* [rounds] tokens a second */
    size_t rounds;
    double window_tokens; /* tokens a window, in the mean */
    double model;         /* tokens a second by the cost model; of both: 0, it has none */
    uint32_t drafts;      /* with so many drafts a window */
};
struct varve_bench_draft_options {
    const double *accept; /* [accept_count] chances, 0 to 1 */
    size_t accept_count;
    uint32_t depth;  /* tokens that the sequence has at first */
    uint32_t tokens; /* of a text, 1 or more */
    uint32_t most;   /* drafts at a time at most, 4 to VARVE_DRAFTS_MAX; 0: 8 */
    uint32_t rounds; /* 1 to VARVE_SAMPLES_MAX */
    uint64_t seed;
    varve_progress progress;
    void (*result)(void *context, const struct varve_bench_draft_result *result);
    void *context; /* of both */
};
/*
 * What drafts gain on this machine: windows, commits and the drafts of the MTP block are real;
 * which drafts are right is drawn, and the text's own drafts are made up, cost nothing and are at
 * hand always (suffix) or at every other window (both). Every round writes a text in every way for
 * every chance. The cost model is that of docs/speculation.md, over windows that were measured
 * apart. Of `session` only what changes speed counts.
 */
int varve_bench_draft(const struct varve_model *model, const struct varve_session_options *session,
                      const struct varve_bench_draft_options *options, struct varve_error *error);

/* One variant of an operation on one shape. */
struct varve_bench_line {
    const char *operation, *variant, *shape;
    uint32_t rows;
    const double *seconds; /* [rounds] of a call */
    size_t rounds;
    double bytes;      /* that a call reads and writes */
    double operations; /* that it computes, a product and its addition being two; 0: not told */
    bool int8;         /* they are on 8-bit integers, else on floats */
    bool rule;         /* this variant is the one that varve takes by itself */
    int roof;          /* of varve_measure_roofs, by the first weight's type; -1: none */
    size_t inputs, outputs; /* of that weight; 0: there is none */
};
struct varve_bench_lines_options {
    const char *const *names; /* [name_count] operations or their folders; none: all */
    size_t name_count;
    const char *variant, *shape; /* only names that contain this; NULL: all but the references */
    const uint32_t *rows;        /* [row_count] rows of a window */
    size_t row_count;
    uint32_t rounds;  /* 1 to VARVE_SAMPLES_MAX */
    uint32_t threads; /* these four as in struct varve_session_options */
    enum varve_numa numa;
    enum varve_device device;
    const char *isa;
    uint64_t seed;
    bool (*going_on)(void *context); /* asked before each round: false ends; or NULL */
    void (*line)(void *context, const struct varve_bench_line *line);
    void *context; /* of both */
};
/*
 * Times operations on shapes of released models, with random weights of more bytes than the caches
 * hold. In every round all variants of a case run one after another, each as many calls as take
 * some milliseconds, on all threads; then `line` gets one of each.
 */
int varve_bench_operations(const struct varve_bench_lines_options *options,
                           struct varve_error *error);

/*
 * The same for steps as a program runs them, layer after layer, each with weights and state of its
 * own; names are of folders that have such: hyper_read (all of a read of residual streams),
 * gdn_step (its modes), gemv (products of the same activations, started together and one after
 * another). A line's times are those of a layer, `operation` and `variant` say what and how; the
 * options' `variant` doesn't count. In every round the programs of all numbers of rows run one
 * after another.
 */
int varve_bench_layers(const struct varve_bench_lines_options *options, struct varve_error *error);

/* The same for the operations of a model, in its shapes and with its weights; only variants that
 * read weights in the order in which they lie. */
int varve_bench_steps(const struct varve_model *model,
                      const struct varve_bench_lines_options *options, struct varve_error *error);

struct varve_sweep_times {
    double prompt_ms, generate_ms;
};
struct varve_sweep_result {
    uint32_t depth, read,
        generated;                 /* tokens: at the depth; read to reach it; decoded from there */
    struct varve_sweep_times a, b; /* b: 0 with one setting */
    uint32_t compared, different;  /* rows of logits that both settings computed */
};
struct varve_sweep_options {
    /* Only what a session computes and how counts: context, slots and logits are set by the depths.
     * `b` NULL: one setting. */
    const struct varve_session_options *a, *b;
    const uint32_t *depths; /* ascending, more than `generate` apart */
    size_t depth_count;
    uint32_t generate; /* tokens; 0: only reading is measured */
    uint64_t seed;     /* of the tokens, which are random */
    varve_progress progress;
    void (*result)(void *context, const struct varve_sweep_result *result); /* after each depth */
    void *context;                                                          /* of both */
};
/*
 * Times a model as its context grows: one sequence is read from depth to depth, and at each tokens
 * are decoded one after another, which stay in it. Two settings take turns on the same tokens (a b,
 * then b a), and their logits of every decoded token, and of the last one read, are compared by
 * their bytes.
 */
int varve_sweep(const struct varve_model *model, const struct varve_sweep_options *options,
                struct varve_error *error);

enum { VARVE_PAIRS_MAX = 24 };
struct varve_ab_options {
    /* What is compared. Only what a session computes and how counts: context, slots and logits are
     * set by the prompt. */
    const struct varve_session_options *a, *b;
    const struct varve_decoder_options *a_drafts, *b_drafts; /* how they generate; NULL: without */
    const int32_t *prompt;                                   /* [prompt_count], 1 or more */
    size_t prompt_count;
    uint32_t generate; /* tokens, greedily */
    uint32_t rounds;   /* 1 to VARVE_PAIRS_MAX */
    varve_progress progress;
    void *context;
};
struct varve_ab_times {
    double prompt_ms[VARVE_PAIRS_MAX]; /* [rounds] */
    double generate_ms[VARVE_PAIRS_MAX];
};
struct varve_ab_result {
    struct varve_ab_times a, b;
    /* How often chance alone would make sums of times as different: of all ways to swap a and b
     * within rounds the share that does (exact permutation test). */
    double prompt_p, generate_p;
    bool equal;     /* the same tokens came in every round */
    size_t differs; /* else the first that was another, from 0; nothing was measured after it */
};
/*
 * Alternates two settings on one prompt in one process: each reads it and generates, in every
 * round, the one first and then the other. A round that isn't counted comes before.
 */
int varve_ab(const struct varve_model *model, const struct varve_ab_options *options,
             struct varve_ab_result *result, struct varve_error *error);

struct varve_tune_line {
    const char *operation, *shape; /* valid during the call, as the other texts */
    uint32_t rows;
    const char *rule, *variant; /* what varve takes by itself, and the fastest one */
    double rule_us, us;         /* median times of a call */
    double p;                   /* of the second measurement; 1: there was none */
    bool kept;                  /* `variant` is worth a choice: faster twice, and beyond chance */
};
struct varve_tune_options {
    const struct varve_session_options *session; /* isa, threads, kv_f16 and device count */
    uint32_t rounds;                             /* of the first measurement */
    uint64_t seed;                               /* of the tokens */
    varve_progress progress;
    void (*line)(void *context, const struct varve_tune_line *line);
    void *context; /* of both */
};
/* The threads that are fastest: how many, 0 being the default, and where. */
struct varve_tune_threads {
    uint32_t threads;
    enum varve_numa numa;
};
/*
 * Measures which variants of a model's operations are fastest, on its own shapes and weights, for
 * each class of rows, and which threads are. Only where session->threads and numa are 0 threads are
 * tried.
 */
int varve_tune(const struct varve_model *model, const struct varve_tune_options *options,
               struct varve_tune_threads *threads, struct varve_error *error);

/* What tells this machine from others, for whoever keeps a tuning. */
enum { VARVE_MACHINE_TEXT = 200 };
void varve_machine(char text[VARVE_MACHINE_TEXT]);

#ifdef __cplusplus
}
#endif
#endif

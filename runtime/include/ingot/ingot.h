/* SPDX-License-Identifier: Apache-2.0
 * Ingot's C interface: open an engine file, submit requests, pump steps, take tokens and text.
 * Stable within a version of the interface: structures only grow at their end, and begin with their
 * size. The library reads and writes no more of a structure than that, and refuses a size that none
 * of its layouts has (INGOT-E6050): one that was not set, or that of another header. */
#ifndef INGOT_INGOT_H
#define INGOT_INGOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define INGOT_API __attribute__((visibility("default")))
#define INGOT_CHECK __attribute__((visibility("default"), warn_unused_result))
#else
#define INGOT_API
#define INGOT_CHECK
#endif

/** Version of this interface; ingot_api_version() is that of the library found at run time. */
#define INGOT_API_VERSION 2

/* What takes other parameters or structures than in version 1 has symbols of its own, so that a
 * program of that version fails when it is loaded. */
#define ingot_options_init ingot_options_init_v2
#define ingot_open ingot_open_v2
#define ingot_plan ingot_plan_v2
#define ingot_get_memory_plan ingot_get_memory_plan_v2
#define ingot_get_info ingot_get_info_v2
#define ingot_sampling_init ingot_sampling_init_v2
#define ingot_request_init ingot_request_init_v2
#define ingot_submit ingot_submit_v2
#define ingot_next_event ingot_next_event_v2
#define ingot_next_event_of ingot_next_event_of_v2
#define ingot_generate ingot_generate_v2
#define ingot_get_counters ingot_get_counters_v2

/** An opened engine with its requests. Calls on one engine come from one thread at a time. */
typedef struct ingot_engine ingot_engine;

/** A failure. Functions return NULL on success and otherwise an error the caller frees. */
typedef struct ingot_error ingot_error;

/** "INGOT-Ennnn", documented under docs/errors. Lives as long as the error. */
INGOT_API const char *ingot_error_code(const ingot_error *error);
/** What was wrong, where, and what to change. Lives as long as the error. */
INGOT_API const char *ingot_error_message(const ingot_error *error);
INGOT_API void ingot_error_free(ingot_error *error);

INGOT_API int ingot_api_version(void);
/** "0.1.0" */
INGOT_API const char *ingot_version(void);

/* ---- Opening -------------------------------------------------------------------------------- */

/** Limits of a session. 0 (or NULL) leaves a choice to the engine and the machine. */
typedef struct ingot_options {
  size_t size;              /**< set by ingot_options_init */
  uint64_t memory;          /**< bytes for weights, activations and KV cache together */
  int64_t max_sequences;    /**< sequences in one step */
  int64_t max_context;      /**< positions of one sequence */
  int64_t max_batch_tokens; /**< tokens of one step; prompts are cut into chunks of it */
  int64_t max_logit_rows;   /**< logit rows of one step */
  int64_t threads;          /**< 0: as many as this process may use */
  const char *target;       /**< name of the target to run; NULL: the best that runs here */
  bool verify_weights;      /**< compare the digests of all weights (reads the whole file) */
  const char *simulate;     /**< GPU architecture to simulate on the CPU ("sm_90a"); NULL: none */
  uint32_t simulated_sms;   /**< multiprocessors of the simulated GPU; 0: the usual number */
  bool simulate_strictly;   /**< with the checks for races, missing waits, uninitialised memory */
  bool guaranteed_no_evict; /**< begin an answer only when there are KV blocks to its end; otherwise
                             *   they take blocks as they grow, and the newest gives way when there
                             *   are none, to be computed again */
  double memory_fraction;   /**< of the free memory, where `memory` is 0; 0: 0.5 on CPUs, where
                             *   mapped weights do not count, 0.9 on GPUs */
  int64_t kv_blocks;        /**< blocks of the first KV group: layers whose cache has one form */
  int64_t max_step_ms; /**< milliseconds of a step that computes prompts beside running answers;
                        *   0: 200 on CPUs, 50 on GPUs */
} ingot_options;

/** Sets everything to 0 and the size; `size`: sizeof(ingot_options), as with the functions of this
 *  kind below. No more than that is written. */
INGOT_CHECK ingot_error *ingot_options_init(ingot_options *options, size_t size);

/** Maps, verifies and loads an engine file; allocates everything it will ever use for steps.
 *  `options` may be NULL. On success *engine is to be closed. */
INGOT_CHECK ingot_error *ingot_open(const char *path, const ingot_options *options,
                                    ingot_engine **engine);
/** Ends all requests and frees everything. NULL is allowed. */
INGOT_API void ingot_close(ingot_engine *engine);

/** Exact bytes and limits of a session. */
typedef struct ingot_memory_plan {
  size_t size; /**< set by the caller to sizeof(ingot_memory_plan) */
  uint64_t total_bytes;
  uint64_t weight_bytes;
  uint64_t made_bytes; /**< of weight_bytes: random numbers, in place of a checkpoint's */
  uint64_t arena_bytes;
  uint64_t state_bytes;
  uint64_t scratch_bytes;
  uint64_t kv_bytes;
  int64_t kv_blocks;       /**< of the first KV group */
  int64_t kv_block_tokens; /**< positions per block of the first KV group */
  int64_t max_sequences;
  int64_t max_context;
  int64_t max_batch_tokens;
  int64_t max_logit_rows;
  int64_t threads;
} ingot_memory_plan;

/** What ingot_open would allocate with these options; allocates nothing. */
INGOT_CHECK ingot_error *ingot_plan(const char *path, const ingot_options *options,
                                    ingot_memory_plan *plan);
/** What was allocated. */
INGOT_CHECK ingot_error *ingot_get_memory_plan(const ingot_engine *engine, ingot_memory_plan *plan);

/** Properties of an engine; the strings live as long as the engine. */
typedef struct ingot_info {
  size_t size; /**< set by the caller to sizeof(ingot_info) */
  const char *name;
  const char *architecture;
  const char *target;
  const char *compiler; /**< what built the engine */
  int32_t vocabulary;
  int32_t bos; /**< -1: none */
  bool has_tokenizer;
  const int32_t *eos; /**< the model's end tokens */
  size_t eos_count;
} ingot_info;

INGOT_CHECK ingot_error *ingot_get_info(const ingot_engine *engine, ingot_info *info);

/* ---- Tokens and text ------------------------------------------------------------------------ */

/** Writes the ids of `text` (UTF-8, `bytes` long) to `tokens` and their number to *count. When
 *  there are more than `capacity`, only that many are written; call again with more room.
 *  `add_special`: put the model's prefix before them. `parse_special`: recognise special tokens
 *  spelled out in the text. */
INGOT_CHECK ingot_error *ingot_tokenize(const ingot_engine *engine, const char *text, size_t bytes,
                                        bool add_special, bool parse_special, int32_t *tokens,
                                        size_t capacity, size_t *count);
/** The other way round: UTF-8 without a terminating zero, its length in *bytes. An id that stands
 *  for no text is an error. */
INGOT_CHECK ingot_error *ingot_detokenize(const ingot_engine *engine, const int32_t *tokens,
                                          size_t count, bool skip_special, char *text,
                                          size_t capacity, size_t *bytes);

/* ---- Conversations -------------------------------------------------------------------------- */

/** Writes the prompt that a conversation becomes by the engine's chat template to `text`, without a
 *  terminating zero, and its length to *bytes; when there are more than `capacity`, only that many
 *  are written. `body`: the body of a chat request, a JSON object with "messages" and maybe
 * "tools", "documents", "add_generation_prompt", "continue_final_message", "chat_template_kwargs",
 *  "reasoning_effort"; beside these "now", as in "2024-07-26 12:34:56", is what templates are told
 *  of the time in place of the clock's. `name`: which template; NULL: "tool_use" where tools are
 *  given and it exists, else "default". Pictures are `data:` URLs; nothing is fetched. */
INGOT_CHECK ingot_error *ingot_apply_chat_template(const ingot_engine *engine, const char *body,
                                                   size_t body_bytes, const char *name, char *text,
                                                   size_t capacity, size_t *bytes);
/** The ids of that prompt. Special tokens are the template's alone: spelled out in what the
 *  conversation says, they are text. */
INGOT_CHECK ingot_error *ingot_tokenize_chat(const ingot_engine *engine, const char *body,
                                             size_t body_bytes, const char *name, int32_t *tokens,
                                             size_t capacity, size_t *count);
/** A picture, decoded and resized as one model reads it. Threads may share it, and it may outlive
 *  its engine. */
typedef struct ingot_picture ingot_picture;

/** `bytes`: a file in PNG, JPEG or WebP, which the program ingot-images decodes. On success
 *  *picture is to be closed; requests that have it keep it. */
INGOT_CHECK ingot_error *ingot_picture_read(const ingot_engine *engine, const void *bytes,
                                            size_t size, ingot_picture **picture);
/** NULL is allowed. */
INGOT_API void ingot_picture_close(ingot_picture *picture);
/** How many tokens of a prompt stand for it, without those around them. */
INGOT_API int64_t ingot_picture_tokens(const ingot_picture *picture);

/** Success where a chat template (UTF-8, `bytes` long) can be rendered at all; else what is wrong
 *  with it, and where. `name` stands in the error. */
INGOT_CHECK ingot_error *ingot_check_chat_template(const char *name, const char *text,
                                                   size_t bytes);

/** The next turn of a conversation: its prompt, and how answers to it are read. Threads may share
 *  one; it needs the engine only to begin. */
typedef struct ingot_turn ingot_turn;

/** Takes what ingot_tokenize_chat takes. Where `body` has "tools", answers are read for calls of
 *  them, unless its "tool_choice" is "none"; with "parallel_tool_calls": false for one alone. On
 *  success *turn is to be closed, once requests of it were submitted and answers begun. */
INGOT_CHECK ingot_error *ingot_turn_begin(const ingot_engine *engine, const char *body,
                                          size_t body_bytes, const char *name, ingot_turn **turn);
/** NULL is allowed. */
INGOT_API void ingot_turn_close(ingot_turn *turn);
/** Tokens of the prompt, and their number; they live as long as the turn. */
INGOT_API const int32_t *ingot_turn_tokens(const ingot_turn *turn, size_t *count);

/** Its pictures, which live as long as the turn. */
INGOT_API const ingot_picture *const *ingot_turn_pictures(const ingot_turn *turn, size_t *count);

/** Takes one answer to a turn apart while it comes. For one thread at a time. */
typedef struct ingot_answer ingot_answer;

typedef enum ingot_part_kind {
  INGOT_PART_TEXT = 0,
  INGOT_PART_REASONING,
  INGOT_PART_CALL,      /**< begins; `text` is the function's name */
  INGOT_PART_ARGUMENTS, /**< a piece of the call's, which are JSON */
  INGOT_PART_CALL_END
} ingot_part_kind;

/** What became certain of an answer. */
typedef struct ingot_part {
  size_t size; /**< set by the caller to sizeof(ingot_part) */
  ingot_part_kind kind;
  int32_t call;     /**< which of the answer's calls, from 0; -1: none */
  const char *text; /**< complete UTF-8, zero-terminated */
  size_t text_bytes;
  const char *id; /**< of INGOT_PART_CALL: the model's, or one that was made; otherwise NULL */
  bool whole;     /**< of INGOT_PART_CALL_END: the arguments are a JSON object. An answer that ends
                   *   within a call has one that is not */
} ingot_part;

/** `streamed`: arguments come as they are written; otherwise a call comes when it is whole, and a
 *  malformed one is text. On success *answer is to be closed. */
INGOT_CHECK ingot_error *ingot_answer_begin(const ingot_turn *turn, bool streamed,
                                            ingot_answer **answer);
/** Takes the next piece of the answer's text (UTF-8); after the one that `ends` it comes none. */
INGOT_CHECK ingot_error *ingot_answer_feed(ingot_answer *answer, const char *text, size_t bytes,
                                           bool ends);
/** Takes the oldest part. *taken: there was one. What `part` points to lives until the next call
 *  for this answer. */
INGOT_CHECK ingot_error *ingot_answer_next(ingot_answer *answer, ingot_part *part, bool *taken);
/** Whether the answer has ended within a call, whatever became of it. */
INGOT_API bool ingot_answer_is_cut(const ingot_answer *answer);
/** NULL is allowed. */
INGOT_API void ingot_answer_close(ingot_answer *answer);

/* ---- Requests ------------------------------------------------------------------------------- */

typedef struct ingot_bias {
  int32_t token;
  float value; /**< added to the token's logit */
} ingot_bias;

/** A list of token ids. */
typedef struct ingot_tokens {
  const int32_t *tokens;
  size_t count;
} ingot_tokens;

/** How tokens are drawn and when a text ends. Set by ingot_sampling_init, then changed. */
typedef struct ingot_sampling {
  size_t size;
  float temperature;        /**< 0: greedy */
  int32_t top_k;            /**< 0: off */
  float top_p;              /**< 1: off */
  float min_p;              /**< 0: off */
  float typical_p;          /**< 1: off */
  float repetition_penalty; /**< 1: off; over prompt and generated tokens */
  float presence_penalty;   /**< over generated tokens */
  float frequency_penalty;  /**< over generated tokens */
  uint64_t seed;           /**< random stream; ingot_sampling_init draws one that nobody foresees */
  int32_t logprobs;        /**< -1: none; otherwise how many alternatives, at most 20 */
  int32_t prompt_logprobs; /**< the same for the prompt's tokens */
  int64_t max_tokens;      /**< generated tokens; 0: up to the context */
  int64_t min_tokens;      /**< before so many nothing ends the text */
  bool ignore_eos;
  bool include_stop;      /**< what ends the text, stop string or token, is part of it */
  const ingot_bias *bias; /**< at most 304 */
  size_t bias_count;
  const int32_t *allowed; /**< when not empty, the only tokens that may be drawn */
  size_t allowed_count;
  const char *const *bad_words; /**< zero-terminated UTF-8: texts that may not come */
  size_t bad_word_count;
  const ingot_tokens *bad_sequences; /**< the same as tokens */
  size_t bad_sequence_count;
  int32_t no_repeat_ngram_size; /**< above 0: no run of so many tokens comes twice */
  const int32_t *stop_tokens;
  size_t stop_token_count;
  const char *const *stop_strings; /**< zero-terminated UTF-8 (INGOT-E6006) */
  size_t stop_string_count;
} ingot_sampling;

/** The engine's own defaults, or greedy without limits when `engine` is NULL, and a random seed:
 *  equal requests with equal seeds get equal answers, so keep it to ask the same again. */
INGOT_CHECK ingot_error *ingot_sampling_init(const ingot_engine *engine, ingot_sampling *sampling,
                                             size_t size);

/** A prompt, as text or as ids, and what is wanted of it. Everything is copied. */
typedef struct ingot_request {
  size_t size;
  const char *text; /**< UTF-8; used when token_count is 0 */
  size_t text_bytes;
  const int32_t *tokens;
  size_t token_count;
  bool add_special;               /**< put the model's prefix before a text */
  bool parse_special;             /**< recognise special tokens spelled out in a text */
  bool skip_special;              /**< leave special tokens out of the generated text */
  const ingot_sampling *sampling; /**< NULL: as ingot_sampling_init sets it for the engine */
  int32_t choices;                /**< answers, at most 128; each has a seed of its own */
  int32_t priority;       /**< lower ones are served first, equal ones in the order they came */
  double deadline;        /**< seconds from ingot_submit until it is ended; 0: none */
  const char *cache_salt; /**< prompts share cached work with those of an equal one; NULL: none */
  const char *adapter;    /**< NULL: none. No engine has adapters yet (INGOT-E6051) */
  /* What the answer looks like: one of these at most (INGOT-E6006). Zero-terminated UTF-8. */
  const char *json_schema; /**< it is a JSON text of this schema: draft 7 or 2020-12; or NULL */
  const char *regex;       /**< all of it matches this expression of ECMA-262; or NULL */
  const char *const *choice_texts; /**< it is one of these; none: any text */
  size_t choice_text_count;
  const ingot_turn *turn; /**< the prompt is that of this turn, whose answers take a form only
                           *   behind thoughts and beside calls; NULL: as above */
  const char *grammar;    /**< the answer is a text of this grammar, in GBNF or Lark; or NULL.
                           *   One of the forms above */
  /** In the order of their places: a text has the model's own placeholder for each, ids have those
   *  that stand for it. A turn has its own. */
  const ingot_picture *const *pictures;
  size_t picture_count;
} ingot_request;

/** No prompt; add_special and skip_special set; one choice. */
INGOT_CHECK ingot_error *ingot_request_init(ingot_request *request, size_t size);

typedef enum ingot_finish {
  INGOT_FINISH_NONE = 0,  /**< goes on */
  INGOT_FINISH_END_TOKEN, /**< end of text, or a stop token of the request */
  INGOT_FINISH_STOP_STRING,
  INGOT_FINISH_LENGTH,  /**< max_tokens of the request */
  INGOT_FINISH_CONTEXT, /**< the context is full */
  INGOT_FINISH_CANCELLED,
  INGOT_FINISH_FAILED,  /**< see error_code; requests beside it go on */
  INGOT_FINISH_DEADLINE /**< its time was over */
} ingot_finish;

typedef struct ingot_logprob {
  int32_t token;
  float logprob;
} ingot_logprob;

/** A token of a prompt. */
typedef struct ingot_prompt_logprob {
  int32_t token;
  float logprob;            /**< given those before it; 0 for the first, which has none before */
  const ingot_logprob *top; /**< best first */
  size_t top_count;
} ingot_prompt_logprob;

/** One generated token, or the end of an answer, or both; or the prompt's log-probabilities. */
typedef struct ingot_event {
  size_t size; /**< set by the caller to sizeof(ingot_event) */
  uint64_t request;
  int32_t choice;   /**< which of the request's answers; a request ends with the last of them */
  int32_t token;    /**< -1: none */
  const char *text; /**< what became certain; complete UTF-8, zero-terminated */
  size_t text_bytes;
  float logprob;            /**< when asked for */
  const ingot_logprob *top; /**< best first */
  size_t top_count;
  int64_t prompt_tokens;
  ingot_finish finish;
  const char *error_code;    /**< "INGOT-Ennnn" of a request that failed; otherwise NULL */
  const char *error_message; /**< which request it was, why, and what to change */
  /** When asked for: of each token of the prompt, before the first token of choice 0. */
  const ingot_prompt_logprob *prompt_logprobs;
  size_t prompt_logprob_count;
} ingot_event;

/** Writes the ids of a request's prompt as ingot_tokenize does, with those of its pictures. */
INGOT_CHECK ingot_error *ingot_tokenize_request(const ingot_engine *engine,
                                                const ingot_request *request, int32_t *tokens,
                                                size_t capacity, size_t *count);
/** Queues a request; it starts as soon as there is room, beside those already running. */
INGOT_CHECK ingot_error *ingot_submit(ingot_engine *engine, const ingot_request *request,
                                      uint64_t *id);
/** Ends a request at once. Its last event says so. */
INGOT_CHECK ingot_error *ingot_cancel(ingot_engine *engine, uint64_t id);
/** Runs one step for all requests that have work. *active: requests are waiting or running. */
INGOT_CHECK ingot_error *ingot_step(ingot_engine *engine, bool *active);
/** Takes the oldest event. *taken: there was one. What `event` points to lives until the next call
 *  of these functions or ingot_close. Nothing is taken when event->size is not set. */
INGOT_CHECK ingot_error *ingot_next_event(ingot_engine *engine, ingot_event *event, bool *taken);
/** The same of one request. The events of others wait for whoever asks for them. */
INGOT_CHECK ingot_error *ingot_next_event_of(ingot_engine *engine, uint64_t id, ingot_event *event,
                                             bool *taken);

/** Sees every event of one request; false cancels it. */
typedef bool (*ingot_callback)(void *user, const ingot_event *event);
/** Submits a request and pumps until all its answers have ended; that one failed is an error of
 *  this function too. Other requests go on meanwhile, and their events wait. `event_size`:
 *  sizeof(ingot_event), as `callback` knows it. */
INGOT_CHECK ingot_error *ingot_generate(ingot_engine *engine, const ingot_request *request,
                                        ingot_callback callback, void *user, size_t event_size);

/* ---- A loop, for many threads --------------------------------------------------------------- */

/** An engine that a thread of the library steps. Its functions may be called from any thread. */
typedef struct ingot_loop ingot_loop;

typedef struct ingot_loop_options {
  size_t size;
  int64_t queue_limit; /**< answers that may wait beside those of one step */
} ingot_loop_options;

/** A queue of 1,024. */
INGOT_CHECK ingot_error *ingot_loop_options_init(ingot_loop_options *options, size_t size);

/** Starts the loop, which takes the engine over: ingot_loop_close closes both. Until then the
 *  engine still tells its properties, tokenizes and detokenizes, for any thread; what would change
 *  it is INGOT-E6017. `options` may be NULL. The engine must have no request. */
INGOT_CHECK ingot_error *ingot_loop_start(ingot_engine *engine, const ingot_loop_options *options,
                                          ingot_loop **loop);
/** Cancels what is left, whose sinks hear of it, and waits for the thread. NULL is allowed. */
INGOT_API void ingot_loop_close(ingot_loop *loop);

/** What the reader of a request wants after an event. */
typedef enum ingot_demand {
  INGOT_DEMAND_MORE = 0,
  INGOT_DEMAND_HOLD, /**< compute nothing more of it until ingot_loop_resume; more may come still */
  INGOT_DEMAND_CANCEL /**< end it, and give it no more events */
} ingot_demand;

/** Takes the events of one request in their order, on the loop's thread. It must be quick, as no
 *  step runs meanwhile; what `event` points to lives until it returns. It may call the loop, but
 *  not close it. */
typedef ingot_demand (*ingot_sink)(void *user, const ingot_event *event);

/** Queues a request. Its events, which have the id that this gives, go to `sink`, perhaps before
 *  this returns; with a NULL sink to the loop's queue (ingot_loop_next_event). A refused request
 *  has no events: INGOT-E6030 (too many wait), E6031 (draining), E6032 (the device failed).
 *  `event_size`: sizeof(ingot_event), as `sink` knows it. */
INGOT_CHECK ingot_error *ingot_loop_submit(ingot_loop *loop, const ingot_request *request,
                                           ingot_sink sink, void *user, size_t event_size,
                                           uint64_t *id);
/** Ends a request within a step; the last event of each answer says so. */
INGOT_CHECK ingot_error *ingot_loop_cancel(ingot_loop *loop, uint64_t id);
/** Computes a request again that its sink has put on hold. */
INGOT_CHECK ingot_error *ingot_loop_resume(ingot_loop *loop, uint64_t id);

/** Takes the oldest event of the loop's queue, waiting for one for at most so many seconds. What
 *  `event` points to lives until the next call by this thread. A request with 256 events that
 *  nobody has taken is on hold until one is. */
INGOT_CHECK ingot_error *ingot_loop_next_event(ingot_loop *loop, double seconds, ingot_event *event,
                                               bool *taken);
/** The same of all events that are there, at most `capacity` of them: `events` is an array of
 *  structures of `event_size` bytes, sizeof(ingot_event), which need not be set. *count: how many
 *  were taken. */
INGOT_CHECK ingot_error *ingot_loop_next_events(ingot_loop *loop, double seconds,
                                                ingot_event *events, size_t event_size,
                                                size_t capacity, size_t *count);

/** Takes no more requests from now on; accepted ones go on. */
INGOT_CHECK ingot_error *ingot_loop_drain(ingot_loop *loop);
/** Waits for at most so many seconds until no accepted request is left. */
INGOT_CHECK ingot_error *ingot_loop_wait_idle(ingot_loop *loop, double seconds, bool *idle);

typedef struct ingot_loop_statistics {
  size_t size;                       /**< set by the caller to sizeof(ingot_loop_statistics) */
  int64_t waiting, running;          /**< answers, now */
  int64_t kv_blocks, kv_blocks_used; /**< of the first KV group */
  int64_t answer_limit;              /**< what waits and runs is at most this */
  int64_t prompt_tokens, generated_tokens;
  int64_t prefix_queries, prefix_hits, preemptions; /**< as in ingot_counters */
  bool draining;
  bool broken; /**< the device failed; for good */
} ingot_loop_statistics;

INGOT_CHECK ingot_error *ingot_loop_get_statistics(const ingot_loop *loop,
                                                   ingot_loop_statistics *statistics);

/* ---- Measuring ------------------------------------------------------------------------------ */

/** Writes to logprobs[i] the natural logarithm of the probability of tokens[i] given those before
 *  it; logprobs[0] is 0. At most max_context tokens. */
INGOT_CHECK ingot_error *ingot_score(ingot_engine *engine, const int32_t *tokens, size_t count,
                                     float *logprobs);

/** Number of taps, named values between layers that can be read, and the name of one; NULL when
 *  `index` is too large. */
INGOT_API size_t ingot_tap_count(const ingot_engine *engine);
INGOT_API const char *ingot_tap_name(const ingot_engine *engine, size_t index);
/** Runs `tokens` as one sequence and writes the tap's values as f32, the rows of all tokens after
 *  one another; *values: how many there are. When there are more than `capacity`, only that many
 *  are written. */
INGOT_CHECK ingot_error *ingot_read_tap(ingot_engine *engine, const int32_t *tokens, size_t count,
                                        const char *tap, float *output, size_t capacity,
                                        size_t *values);
/** Gets `count` values of the tap `tap`, counted as in `taps`: rows of the tokens of a step, the
 *  first of which stands at `position`. They are valid until it returns. */
typedef void (*ingot_tap_callback)(void *user, size_t tap, int64_t position, const float *values,
                                   size_t count);
/** Runs `tokens` as one sequence, once, and hands over the values of all `taps`; "logits" is one of
 *  every engine, whether it is counted or not. `embeddings`: for
 *  an engine of a part of a model, which reads rows of f32 in place of tokens, those of each token;
 *  else NULL. `embedding_count`: of numbers. */
INGOT_CHECK ingot_error *ingot_record(ingot_engine *engine, const int32_t *tokens, size_t count,
                                      const float *embeddings, size_t embedding_count,
                                      const char *const *taps, size_t tap_count,
                                      ingot_tap_callback callback, void *user);

typedef struct ingot_counters {
  size_t size; /**< set by the caller to sizeof(ingot_counters) */
  int64_t steps;
  int64_t prompt_tokens;
  int64_t generated_tokens;
  int64_t launches;       /**< kernels started */
  int64_t prefix_queries; /**< tokens of prompts that were looked for in the KV cache */
  int64_t prefix_hits;    /**< of them, found there and not computed again */
  int64_t preemptions;    /**< sequences that gave their memory to others and computed anew */
} ingot_counters;

/** Work done since the engine was opened. */
INGOT_CHECK ingot_error *ingot_get_counters(const ingot_engine *engine, ingot_counters *counters);

#ifdef __cplusplus
}
#endif

#endif

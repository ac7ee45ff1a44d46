/* SPDX-License-Identifier: Apache-2.0
 * ingot.h as it was in version 1 of the interface.
 *
 * Ingot's C interface: open an engine file, submit requests, pump steps, take tokens and text.
 * Stable within a major version: structures only grow at their end, and begin with their size. */
#pragma once
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
#define INGOT_API_VERSION 1

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
  size_t size;            /**< sizeof(ingot_options); set by ingot_options_init */
  uint64_t memory;        /**< bytes for weights, activations and KV cache together */
  int64_t max_sequences;  /**< sequences in one step */
  int64_t max_context;    /**< positions of one sequence */
  int64_t max_tokens;     /**< tokens of one step; prompts are cut into chunks of it */
  int64_t max_logit_rows; /**< logit rows of one step */
  int64_t threads;        /**< 0: as many as this process may use */
  const char *target;     /**< name of the target to run; NULL: the best that runs here */
  bool verify_weights;    /**< compare the digests of all weights (reads the whole file) */
  const char *simulate;   /**< GPU architecture to simulate on the CPU ("sm_90a"); NULL: none */
} ingot_options;

INGOT_API void ingot_options_init(ingot_options *options);

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
  uint64_t arena_bytes;
  uint64_t state_bytes;
  uint64_t scratch_bytes;
  uint64_t kv_bytes;
  int64_t kv_blocks;       /**< of the first KV group */
  int64_t kv_block_tokens; /**< positions per block of the first KV group */
  int64_t max_sequences;
  int64_t max_context;
  int64_t max_tokens;
  int64_t max_logit_rows;
  int64_t threads;
} ingot_memory_plan;

/** What ingot_open would allocate with these options; allocates nothing. */
INGOT_CHECK ingot_error *ingot_plan(const char *path, const ingot_options *options,
                                    ingot_memory_plan *plan);
/** What was allocated. */
INGOT_CHECK ingot_error *ingot_get_memory_plan(const ingot_engine *engine, ingot_memory_plan *plan);

/** Facts of an engine; the strings live as long as the engine. */
typedef struct ingot_info {
  size_t size; /**< set by the caller to sizeof(ingot_info) */
  const char *name;
  const char *architecture;
  const char *target;
  const char *compiler; /**< what built the engine */
  int32_t vocabulary;
  int32_t bos; /**< -1: none */
  bool has_tokenizer;
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
/** The other way round: UTF-8 without a terminating zero, its length in *bytes. */
INGOT_CHECK ingot_error *ingot_detokenize(const ingot_engine *engine, const int32_t *tokens,
                                          size_t count, bool skip_special, char *text,
                                          size_t capacity, size_t *bytes);

/* ---- Requests ------------------------------------------------------------------------------- */

typedef struct ingot_bias {
  int32_t token;
  float value; /**< added to the token's logit */
} ingot_bias;

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
  uint64_t seed;      /**< random stream; ingot_sampling_init draws one that nobody foresees */
  int32_t logprobs;   /**< -1: none; otherwise how many alternatives, at most 20 */
  int64_t max_tokens; /**< generated tokens; 0: up to the context */
  bool ignore_eos;
  const ingot_bias *bias; /**< at most 304 */
  size_t bias_count;
  const int32_t *allowed; /**< when not empty, the only tokens that may be drawn */
  size_t allowed_count;
  const int32_t *stop_tokens;
  size_t stop_token_count;
  const char *const
      *stop_strings; /**< zero-terminated UTF-8 (INGOT-E6006); never part of the text */
  size_t stop_string_count;
} ingot_sampling;

/** The engine's own defaults, or greedy without limits when `engine` is NULL, and a random seed:
 *  equal requests with equal seeds get equal answers, so keep it to ask the same again. */
INGOT_API void ingot_sampling_init(const ingot_engine *engine, ingot_sampling *sampling);

/** A prompt, as text or as ids. Everything is copied. */
typedef struct ingot_request {
  size_t size;
  const char *text; /**< UTF-8; used when token_count is 0 */
  size_t text_bytes;
  const int32_t *tokens;
  size_t token_count;
  bool add_special;   /**< put the model's prefix before a text */
  bool parse_special; /**< recognise special tokens spelled out in a text */
  bool skip_special;  /**< leave special tokens out of the generated text */
  ingot_sampling sampling;
} ingot_request;

/** No prompt; add_special and skip_special set; sampling as ingot_sampling_init. */
INGOT_API void ingot_request_init(const ingot_engine *engine, ingot_request *request);

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

/** One generated token, or the end of a request, or both. */
typedef struct ingot_event {
  size_t size; /**< set by the caller to sizeof(ingot_event) */
  uint64_t request;
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
} ingot_event;

/** Queues a request; it starts as soon as there is room, beside those already running. */
INGOT_CHECK ingot_error *ingot_submit(ingot_engine *engine, const ingot_request *request,
                                      uint64_t *id);
/** Ends a request at once. Its last event says so. */
INGOT_CHECK ingot_error *ingot_cancel(ingot_engine *engine, uint64_t id);
/** Runs one step for all requests that have work. *active: requests are waiting or running. */
INGOT_CHECK ingot_error *ingot_step(ingot_engine *engine, bool *active);
/** Takes the oldest event. False when there is none. What `event` points to lives until the next
 *  call of this function or ingot_close. */
INGOT_API bool ingot_next_event(ingot_engine *engine, ingot_event *event);
/** The same of one request. The events of others wait for whoever asks for them. */
INGOT_API bool ingot_next_event_of(ingot_engine *engine, uint64_t id, ingot_event *event);

/** Sees every event of one request; false cancels it. */
typedef bool (*ingot_callback)(void *user, const ingot_event *event);
/** Submits a request and pumps until it ends; that it failed is an error of this function too.
 *  Other requests go on meanwhile, and their events wait. */
INGOT_CHECK ingot_error *ingot_generate(ingot_engine *engine, const ingot_request *request,
                                        ingot_callback callback, void *user);

/* ---- Measuring ------------------------------------------------------------------------------ */

/** Writes to logprobs[i] the natural logarithm of the probability of tokens[i] given those before
 *  it; logprobs[0] is 0. At most max_context tokens. */
INGOT_CHECK ingot_error *ingot_score(ingot_engine *engine, const int32_t *tokens, size_t count,
                                     float *logprobs);

/** Number of named boundary values, and the name of one; NULL when `index` is too large. */
INGOT_API size_t ingot_tap_count(const ingot_engine *engine);
INGOT_API const char *ingot_tap_name(const ingot_engine *engine, size_t index);
/** Runs `tokens` as one sequence and writes the tap's values as f32, the rows of all tokens after
 *  one another; *values: how many there are. When there are more than `capacity`, only that many
 *  are written. */
INGOT_CHECK ingot_error *ingot_read_tap(ingot_engine *engine, const int32_t *tokens, size_t count,
                                        const char *tap, float *output, size_t capacity,
                                        size_t *values);

typedef struct ingot_counters {
  size_t size; /**< set by the caller to sizeof(ingot_counters) */
  int64_t steps;
  int64_t prompt_tokens;
  int64_t generated_tokens;
  int64_t launches; /**< kernels started */
} ingot_counters;

/** Work done since the engine was opened. */
INGOT_CHECK ingot_error *ingot_get_counters(const ingot_engine *engine, ingot_counters *counters);

#ifdef __cplusplus
}
#endif

#endif

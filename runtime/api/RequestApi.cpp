// SPDX-License-Identifier: Apache-2.0
// The part of ingot.h about requests: sampling, submitting, stepping, events.
#include "runtime/api/Boundary.h"

using namespace ingot::runtime;

namespace {

Status readSampling(const ingot_sampling *given, SamplingParameters &sampling) {
  ingot_sampling full;
  ingot_sampling_init(nullptr, &full);
  if (Status status = readSized(given, full); !status.ok())
    return status;
  if ((full.bias_count && !full.bias) || (full.allowed_count && !full.allowed) ||
      (full.stop_token_count && !full.stop_tokens) ||
      (full.stop_string_count && !full.stop_strings))
    return misuse("a list of the sampling parameters is NULL");
  sampling.temperature = full.temperature;
  sampling.topK = full.top_k;
  sampling.topP = full.top_p;
  sampling.minP = full.min_p;
  sampling.typicalP = full.typical_p;
  sampling.repetitionPenalty = full.repetition_penalty;
  sampling.presencePenalty = full.presence_penalty;
  sampling.frequencyPenalty = full.frequency_penalty;
  sampling.seed = full.seed;
  sampling.logprobs = full.logprobs;
  sampling.maxTokens = full.max_tokens;
  sampling.ignoreEos = full.ignore_eos;
  for (size_t i = 0; i < full.bias_count; ++i)
    sampling.bias.push_back({full.bias[i].token, full.bias[i].value});
  sampling.allowed.assign(full.allowed, full.allowed + full.allowed_count);
  sampling.stopTokens.assign(full.stop_tokens, full.stop_tokens + full.stop_token_count);
  for (size_t i = 0; i < full.stop_string_count; ++i) {
    if (!full.stop_strings[i])
      return misuse("a stop string is NULL");
    sampling.stopStrings.push_back(full.stop_strings[i]);
  }
  return {};
}

Status readRequest(const ingot_request *given, Request &request) {
  ingot_request full;
  ingot_request_init(nullptr, &full);
  if (Status status = readSized(given, full); !status.ok())
    return status;
  if ((full.text_bytes && !full.text) || (full.token_count && !full.tokens))
    return misuse("the prompt is NULL");
  if (full.text)
    request.text.assign(full.text, full.text_bytes);
  request.tokens.assign(full.tokens, full.tokens + full.token_count);
  request.addSpecial = full.add_special;
  request.parseSpecial = full.parse_special;
  request.skipSpecial = full.skip_special;
  return readSampling(&full.sampling, request.sampling);
}

} // namespace

void ingot_sampling_init(const ingot_engine *engine, ingot_sampling *sampling) {
  SamplingParameters defaults;
  if (engine)
    defaults = engine->session->defaultSampling();
  *sampling = {};
  sampling->size = sizeof *sampling;
  sampling->temperature = defaults.temperature;
  sampling->top_k = defaults.topK;
  sampling->top_p = defaults.topP;
  sampling->min_p = defaults.minP;
  sampling->typical_p = defaults.typicalP;
  sampling->repetition_penalty = defaults.repetitionPenalty;
  sampling->logprobs = defaults.logprobs;
  sampling->seed = SamplingParameters::randomSeed();
}

void ingot_request_init(const ingot_engine *engine, ingot_request *request) {
  *request = {};
  request->size = sizeof *request;
  request->add_special = true;
  request->skip_special = true;
  ingot_sampling_init(engine, &request->sampling);
}

ingot_error *ingot_submit(ingot_engine *engine, const ingot_request *request, uint64_t *id) {
  return guarded([&]() -> Status {
    if (!engine || !id)
      return misuse("the engine or the result pointer is NULL");
    Request read;
    if (Status status = readRequest(request, read); !status.ok())
      return status;
    Result<uint64_t> submitted = engine->session->submit(read);
    if (!submitted.ok())
      return std::move(submitted).status();
    *id = *submitted;
    return {};
  });
}

ingot_error *ingot_cancel(ingot_engine *engine, uint64_t id) {
  return guarded([&]() -> Status {
    return engine ? engine->session->cancel(id) : misuse("the engine is NULL");
  });
}

ingot_error *ingot_step(ingot_engine *engine, bool *active) {
  return guarded([&]() -> Status {
    if (!engine)
      return misuse("the engine is NULL");
    Result<bool> more = engine->session->step();
    if (!more.ok())
      return std::move(more).status();
    if (active)
      *active = *more;
    return {};
  });
}

/// Hands `next` out, if it is one.
static bool giveEvent(ingot_engine *engine, std::optional<Event> next, ingot_event *event) {
  if (!next)
    return false;
  engine->event = std::move(*next);
  engine->top.clear();
  for (const TokenLogprob &entry : engine->event.top)
    engine->top.push_back({entry.token, entry.logprob});
  ingot_event full = {};
  full.request = engine->event.request;
  full.token = engine->event.token;
  full.text = engine->event.text.c_str();
  full.text_bytes = engine->event.text.size();
  full.logprob = engine->event.logprob;
  full.top = engine->top.data();
  full.top_count = engine->top.size();
  full.prompt_tokens = engine->event.promptTokens;
  full.finish = ingot_finish(engine->event.finish);
  if (const Status &error = engine->event.error; !error.ok()) {
    engine->errorCode = error.code();
    engine->errorMessage = error.message();
    full.error_code = engine->errorCode.c_str();
    full.error_message = engine->errorMessage.c_str();
  }
  return writeSized(full, event).ok();
}

bool ingot_next_event(ingot_engine *engine, ingot_event *event) {
  return engine && giveEvent(engine, engine->session->nextEvent(), event);
}

bool ingot_next_event_of(ingot_engine *engine, uint64_t id, ingot_event *event) {
  return engine && giveEvent(engine, engine->session->nextEvent(id), event);
}

namespace {

/// Whatever a callback throws: a request whose end nobody has seen goes on no longer.
struct Pumped {
  ingot_engine *engine;
  uint64_t id;
  bool ended = false;

  ~Pumped() {
    if (ended)
      return;
    ingot_error_free(ingot_cancel(engine, id));
    while (engine->session->nextEvent(id))
      ;
  }
};

} // namespace

ingot_error *ingot_generate(ingot_engine *engine, const ingot_request *request,
                            ingot_callback callback, void *user) {
  if (!callback)
    return guarded([] { return misuse("the callback is NULL"); });
  uint64_t id = 0;
  if (ingot_error *error = ingot_submit(engine, request, &id))
    return error;
  Pumped pumped = {engine, id};
  for (bool active = true; active && !pumped.ended;) {
    if (ingot_error *error = ingot_step(engine, &active))
      return error;
    ingot_event event = {};
    event.size = sizeof event;
    while (!pumped.ended && ingot_next_event_of(engine, id, &event)) {
      pumped.ended = event.finish != INGOT_FINISH_NONE;
      Status failure = engine->event.error;
      bool goesOn = callback(user, &event);
      if (!failure.ok())
        return toError(failure);
      if (goesOn || pumped.ended)
        continue;
      if (ingot_error *error = ingot_cancel(engine, id))
        return error;
    }
  }
  return nullptr;
}

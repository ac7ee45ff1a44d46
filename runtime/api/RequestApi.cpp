// SPDX-License-Identifier: Apache-2.0
// The part of ingot.h about requests: sampling, submitting, stepping, events.
#include "runtime/api/Boundary.h"

using namespace ingot::runtime;

namespace {

constexpr double longestDeadline = 1e9; ///< seconds

ingot_sampling samplingOf(const ingot_engine *engine) {
  SamplingParameters defaults;
  if (engine)
    defaults = engine->session->defaultSampling();
  ingot_sampling sampling = {};
  sampling.temperature = defaults.temperature;
  sampling.top_k = defaults.topK;
  sampling.top_p = defaults.topP;
  sampling.min_p = defaults.minP;
  sampling.typical_p = defaults.typicalP;
  sampling.repetition_penalty = defaults.repetitionPenalty;
  sampling.logprobs = defaults.logprobs;
  sampling.prompt_logprobs = defaults.promptLogprobs;
  sampling.seed = SamplingParameters::randomSeed();
  return sampling;
}

ingot_request defaultRequest() {
  ingot_request request = {};
  request.add_special = true;
  request.skip_special = true;
  request.choices = 1;
  return request;
}

Status readTexts(const char *const *texts, size_t count, std::vector<std::string> &out) {
  if (count && !texts)
    return misuse("a list of the request is NULL");
  for (size_t i = 0; i < count; ++i) {
    if (!texts[i])
      return misuse("a text of the request is NULL");
    out.push_back(texts[i]);
  }
  return {};
}

Status readTokens(const int32_t *tokens, size_t count, std::vector<int32_t> &out) {
  if (count && !tokens)
    return misuse("a list of the request is NULL");
  out.assign(tokens, tokens + count);
  return {};
}

/// The lists of `full`.
Status readLists(const ingot_sampling &full, SamplingParameters &sampling) {
  if ((full.bias_count && !full.bias) || (full.bad_sequence_count && !full.bad_sequences))
    return misuse("a list of the request is NULL");
  for (size_t i = 0; i < full.bias_count; ++i)
    sampling.bias.push_back({full.bias[i].token, full.bias[i].value});
  Status status = readTokens(full.allowed, full.allowed_count, sampling.allowed);
  if (status.ok())
    status = readTokens(full.stop_tokens, full.stop_token_count, sampling.stopTokens);
  if (status.ok())
    status = readTexts(full.stop_strings, full.stop_string_count, sampling.stopStrings);
  if (status.ok())
    status = readTexts(full.bad_words, full.bad_word_count, sampling.badWords);
  for (size_t i = 0; status.ok() && i < full.bad_sequence_count; ++i)
    status = readTokens(full.bad_sequences[i].tokens, full.bad_sequences[i].count,
                        sampling.badSequences.emplace_back());
  return status;
}

/// `given` may be NULL: the engine's defaults.
Status readSampling(const ingot_engine *engine, const ingot_sampling *given,
                    SamplingParameters &sampling) {
  ingot_sampling full = samplingOf(engine);
  if (given)
    if (Status status = readSized(given, full); !status.ok())
      return status;
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
  sampling.promptLogprobs = full.prompt_logprobs;
  sampling.maxTokens = full.max_tokens;
  sampling.minTokens = full.min_tokens;
  sampling.ignoreEos = full.ignore_eos;
  sampling.includeStop = full.include_stop;
  sampling.noRepeatNgramSize = full.no_repeat_ngram_size;
  return readLists(full, sampling);
}

/// What the answer is to look like.
Status readForm(const ingot_request &full, AnswerForm &form) {
  const int given = (full.json_schema != nullptr) + (full.regex != nullptr) +
                    (full.grammar != nullptr) + (full.choice_text_count != 0);
  if (given > 1)
    return Status::error("INGOT-E6006", "a request has more than one form of its answer",
                         "set one of json_schema, regex, grammar and choice_texts");
  if (full.json_schema)
    form = {AnswerForm::Kind::JsonSchema, full.json_schema, {}};
  if (full.regex)
    form = {AnswerForm::Kind::Regex, full.regex, {}};
  if (full.grammar)
    form = AnswerForm::ofGrammar(full.grammar);
  if (full.choice_text_count != 0)
    form.kind = AnswerForm::Kind::Choice;
  return readTexts(full.choice_texts, full.choice_text_count, form.choices);
}

} // namespace

Status ingot::runtime::readRequest(const ingot_engine *engine, const ingot_request *given,
                                   Request &request) {
  ingot_request full = defaultRequest();
  if (Status status = readSized(given, full); !status.ok())
    return status;
  if ((full.text_bytes && !full.text) || (full.token_count && !full.tokens) ||
      (full.picture_count && !full.pictures))
    return misuse("the prompt is NULL");
  for (size_t i = 0; i < full.picture_count; ++i) {
    if (!full.pictures[i])
      return misuse("a picture of the request is NULL");
    request.pictures.push_back(full.pictures[i]->picture);
    if (engine->pictures && !engine->pictures->isAlike(*request.pictures.back()))
      return misuse("a picture of the request was read for another model");
  }
  if (!(full.deadline >= 0 && full.deadline <= longestDeadline))
    return Status::error("INGOT-E6053", "the deadline is no time from now",
                         "choose 0 (none) or up to 1e9 seconds");
  if (full.text)
    request.text.assign(full.text, full.text_bytes);
  request.tokens.assign(full.tokens, full.tokens + full.token_count);
  request.addSpecial = full.add_special;
  request.parseSpecial = full.parse_special;
  request.skipSpecial = full.skip_special;
  request.choices = full.choices;
  request.priority = full.priority;
  if (full.deadline > 0)
    request.deadline = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                           std::chrono::duration<double>(full.deadline));
  request.cacheSalt = full.cache_salt ? full.cache_salt : "";
  request.adapter = full.adapter ? full.adapter : "";
  if (Status status = readForm(full, request.form); !status.ok())
    return status;
  if (full.turn) {
    if (full.text_bytes || full.token_count || full.picture_count)
      return misuse("a request has a turn and another prompt");
    if (Status status = takeTurn(*full.turn, request); !status.ok())
      return status;
  }
  return readSampling(engine, full.sampling, request.sampling);
}

ingot_error *ingot_sampling_init(const ingot_engine *engine, ingot_sampling *sampling,
                                 size_t size) {
  return guarded([&] { return initSized(samplingOf(engine), sampling, size); });
}

ingot_error *ingot_request_init(ingot_request *request, size_t size) {
  return guarded([&] { return initSized(defaultRequest(), request, size); });
}

ingot_error *ingot_tokenize_request(const ingot_engine *engine, const ingot_request *request,
                                    int32_t *tokens, size_t capacity, size_t *count) {
  return guarded([&]() -> Status {
    if (!engine || (!tokens && capacity) || !count)
      return misuse("a pointer is NULL");
    Request read;
    if (Status status = readRequest(engine, request, read); !status.ok())
      return status;
    const Result<std::vector<int32_t>> ids = engine->session->promptTokens(read);
    if (!ids.ok())
      return ids.status();
    writeUpTo(*ids, capacity, tokens, count);
    return {};
  });
}

ingot_error *ingot_submit(ingot_engine *engine, const ingot_request *request, uint64_t *id) {
  return guarded([&]() -> Status {
    if (!id)
      return misuse("the result pointer is NULL");
    if (Status status = checkOwned(engine); !status.ok())
      return status;
    Request read;
    if (Status status = readRequest(engine, request, read); !status.ok())
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
    Status status = checkOwned(engine);
    return status.ok() ? engine->session->cancel(id) : status;
  });
}

ingot_error *ingot_step(ingot_engine *engine, bool *active) {
  return guarded([&]() -> Status {
    if (Status status = checkOwned(engine); !status.ok())
      return status;
    Result<bool> more = engine->session->step();
    if (!more.ok())
      return std::move(more).status();
    if (active)
      *active = *more;
    return {};
  });
}

namespace {

/// Hands out what `next` takes from the session, if the caller has room for it.
template <class Next>
Status takeEvent(ingot_engine *engine, ingot_event *event, bool *taken, Next next) {
  if (!taken)
    return misuse("the result pointer is NULL");
  *taken = false;
  if (Status status = checkOwned(engine); !status.ok())
    return status;
  if (Status status = checkSize(event); !status.ok())
    return status;
  std::optional<Event> found = next();
  *taken = found.has_value();
  return found ? writeSized(engine->handed.hand(std::move(*found)), event) : Status();
}

} // namespace

ingot_error *ingot_next_event(ingot_engine *engine, ingot_event *event, bool *taken) {
  return guarded([&] {
    return takeEvent(engine, event, taken, [&] { return engine->session->nextEvent(); });
  });
}

ingot_error *ingot_next_event_of(ingot_engine *engine, uint64_t id, ingot_event *event,
                                 bool *taken) {
  return guarded([&] {
    return takeEvent(engine, event, taken, [&] { return engine->session->nextEvent(id); });
  });
}

namespace {

/// Whatever a callback throws: a request whose end nobody has seen goes on no longer.
struct Pumped {
  ingot_engine *engine;
  uint64_t id;
  int32_t unended; ///< its answers that go on

  ~Pumped() {
    if (unended == 0)
      return;
    ingot_error_free(ingot_cancel(engine, id));
    while (engine->session->nextEvent(id))
      ;
  }
};

} // namespace

ingot_error *ingot_generate(ingot_engine *engine, const ingot_request *request,
                            ingot_callback callback, void *user, size_t event_size) {
  ingot_event event = {};
  if (ingot_error *error = guarded([&] {
        return callback ? checkSize(&event, event_size) : misuse("the callback is NULL");
      }))
    return error;
  uint64_t id = 0;
  if (ingot_error *error = ingot_submit(engine, request, &id))
    return error;
  Pumped pumped = {engine, id, request->choices};
  bool cancelled = false;
  for (bool active = true; active && pumped.unended > 0;) {
    if (ingot_error *error = ingot_step(engine, &active))
      return error;
    for (bool taken = true; pumped.unended > 0;) {
      event.size = sizeof event;
      if (ingot_error *error = ingot_next_event_of(engine, id, &event, &taken))
        return error;
      if (!taken)
        break;
      event.size = event_size;
      pumped.unended -= event.finish != INGOT_FINISH_NONE;
      Status failure = engine->handed.error();
      bool goesOn = callback(user, &event);
      if (!failure.ok())
        return toError(failure);
      if (goesOn || cancelled || pumped.unended == 0)
        continue;
      cancelled = true;
      if (ingot_error *error = ingot_cancel(engine, id))
        return error;
    }
  }
  return nullptr;
}

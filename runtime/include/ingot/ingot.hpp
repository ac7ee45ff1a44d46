// SPDX-License-Identifier: Apache-2.0
// Ingot's C++ interface: ownership, spans and exceptions over ingot.h, in this header (C++20).
#pragma once

#include "ingot/ingot.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A failure of the library; `code()` is "INGOT-Ennnn".
class Error : public std::runtime_error {
public:
  Error(std::string code, const std::string &message)
      : std::runtime_error(code + ": " + message), errorCode(std::move(code)) {}
  const std::string &code() const { return errorCode; }

private:
  std::string errorCode;
};

/// Throws what a C function returned, if it is an error.
inline void check(ingot_error *error) {
  if (!error)
    return;
  Error copy(ingot_error_code(error), ingot_error_message(error));
  ingot_error_free(error);
  throw copy;
}

/// What is wrong with a chat template; nothing where it can be rendered.
inline std::optional<Error> chatTemplateError(const std::string &name, std::string_view text) {
  try {
    check(ingot_check_chat_template(name.c_str(), text.data(), text.size()));
  } catch (const Error &error) {
    return error;
  }
  return std::nullopt;
}

/// ingot_options with its defaults.
struct Options : ingot_options {
  Options() { check(ingot_options_init(this, sizeof(ingot_options))); }
};

/// The sampling parameters of an engine, or greedy ones without limits, and a random seed.
inline ingot_sampling defaultSampling(const ingot_engine *engine = nullptr) {
  ingot_sampling sampling;
  check(ingot_sampling_init(engine, &sampling, sizeof sampling));
  return sampling;
}

/// A request that holds its sampling parameters; a copy holds its own. What else it points to must
/// live until it is submitted.
struct Request : ingot_request {
  explicit Request(const ingot_sampling &parameters = defaultSampling()) : sampling(parameters) {
    check(ingot_request_init(this, sizeof(ingot_request)));
    ingot_request::sampling = &sampling;
  }
  Request(const Request &other) : ingot_request(other), sampling(other.sampling) {
    ingot_request::sampling = &sampling;
  }
  Request &operator=(const Request &other) {
    ingot_request::operator=(other);
    sampling = other.sampling;
    ingot_request::sampling = &sampling;
    return *this;
  }

  ingot_sampling sampling; ///< what the pointer of that name points to
};

/// A token of a prompt; the first one has no log-probability.
struct PromptLogprob {
  int32_t token = -1;
  float logprob = 0;
  std::vector<ingot_logprob> top;
};

/// A generated token, the end of an answer, or the prompt's log-probabilities; owns its text.
struct Event {
  uint64_t request = 0;
  int32_t choice = 0;
  int32_t token = -1;
  std::string text;
  float logprob = 0;
  std::vector<ingot_logprob> top;
  ingot_finish finish = INGOT_FINISH_NONE;
  std::string errorCode, errorMessage; ///< of a request that failed
  std::vector<PromptLogprob> promptLogprobs;

  /// The same as an exception.
  Error error() const { return {errorCode, errorMessage}; }
};

/// An empty event of this header's layout.
inline ingot_event sizedEvent() {
  ingot_event event = {};
  event.size = sizeof event;
  return event;
}
/// What an event points to lives no longer than it is handed out.
inline Event copyOf(const ingot_event &event) {
  Event copy = {event.request,
                event.choice,
                event.token,
                std::string(event.text, event.text_bytes),
                event.logprob,
                std::vector<ingot_logprob>(event.top, event.top + event.top_count),
                event.finish,
                event.error_code ? event.error_code : "",
                event.error_message ? event.error_message : "",
                {}};
  for (size_t i = 0; i < event.prompt_logprob_count; ++i) {
    const ingot_prompt_logprob &one = event.prompt_logprobs[i];
    copy.promptLogprobs.push_back(
        {one.token, one.logprob, std::vector<ingot_logprob>(one.top, one.top + one.top_count)});
  }
  return copy;
}

/// An opened engine. Move-only; one thread at a time.
class Engine {
public:
  explicit Engine(const std::string &path, const Options &options = {}) {
    ingot_engine *opened = nullptr;
    check(ingot_open(path.c_str(), &options, &opened));
    handle.reset(opened);
  }

  ingot_engine *get() const { return handle.get(); }
  /// Gives the engine to the caller; this object can only be destroyed.
  ingot_engine *release() { return handle.release(); }

  ingot_info info() const {
    ingot_info found = {};
    found.size = sizeof found;
    check(ingot_get_info(get(), &found));
    return found;
  }

  ingot_memory_plan memoryPlan() const {
    ingot_memory_plan plan = {};
    plan.size = sizeof plan;
    check(ingot_get_memory_plan(get(), &plan));
    return plan;
  }

  ingot_counters counters() const {
    ingot_counters totals = {};
    totals.size = sizeof totals;
    check(ingot_get_counters(get(), &totals));
    return totals;
  }

  /// A request with the engine's defaults; `text` must live until it is submitted.
  Request request(std::string_view text) const {
    Request request(defaultSampling(get()));
    request.text = text.data();
    request.text_bytes = text.size();
    return request;
  }

  std::vector<int32_t> tokenize(std::string_view text, bool addSpecial = true,
                                bool parseSpecial = false) const {
    std::vector<int32_t> tokens(text.size() + 8);
    size_t count = 0;
    check(ingot_tokenize(get(), text.data(), text.size(), addSpecial, parseSpecial, tokens.data(),
                         tokens.size(), &count));
    if (count > tokens.size()) {
      tokens.resize(count);
      check(ingot_tokenize(get(), text.data(), text.size(), addSpecial, parseSpecial, tokens.data(),
                           tokens.size(), &count));
    }
    tokens.resize(count);
    return tokens;
  }

  std::string detokenize(std::span<const int32_t> tokens, bool skipSpecial = true) const {
    size_t bytes = 0;
    check(ingot_detokenize(get(), tokens.data(), tokens.size(), skipSpecial, nullptr, 0, &bytes));
    std::string text(bytes, '\0');
    check(ingot_detokenize(get(), tokens.data(), tokens.size(), skipSpecial, text.data(), bytes,
                           &bytes));
    return text;
  }

  /// The prompt of a conversation: see ingot_apply_chat_template. `name` empty: the usual template.
  std::string applyChatTemplate(std::string_view body, const std::string &name = {}) const {
    const char *chosen = name.empty() ? nullptr : name.c_str();
    size_t bytes = 0;
    check(ingot_apply_chat_template(get(), body.data(), body.size(), chosen, nullptr, 0, &bytes));
    std::string text(bytes, '\0');
    check(ingot_apply_chat_template(get(), body.data(), body.size(), chosen, text.data(), bytes,
                                    &bytes));
    text.resize(std::min(text.size(), bytes)); // a clock in it may have gone on
    return text;
  }

  /// Its ids, in which special tokens are the template's alone.
  std::vector<int32_t> tokenizeChat(std::string_view body, const std::string &name = {}) const {
    const char *chosen = name.empty() ? nullptr : name.c_str();
    size_t count = 0;
    check(ingot_tokenize_chat(get(), body.data(), body.size(), chosen, nullptr, 0, &count));
    std::vector<int32_t> tokens(count);
    check(
        ingot_tokenize_chat(get(), body.data(), body.size(), chosen, tokens.data(), count, &count));
    tokens.resize(std::min(tokens.size(), count));
    return tokens;
  }

  uint64_t submit(const Request &request) {
    uint64_t id = 0;
    check(ingot_submit(get(), &request, &id));
    return id;
  }

  /// The ids of a request's prompt, with those of its pictures.
  std::vector<int32_t> tokenize(const Request &request) const {
    size_t count = 0;
    check(ingot_tokenize_request(get(), &request, nullptr, 0, &count));
    std::vector<int32_t> tokens(count);
    check(ingot_tokenize_request(get(), &request, tokens.data(), count, &count));
    return tokens;
  }

  void cancel(uint64_t id) { check(ingot_cancel(get(), id)); }

  /// Runs one step; true while requests are in flight.
  bool step() {
    bool active = false;
    check(ingot_step(get(), &active));
    return active;
  }

  /// The oldest event that nobody has taken yet.
  std::optional<Event> nextEvent() {
    ingot_event event = sizedEvent();
    bool taken = false;
    check(ingot_next_event(get(), &event, &taken));
    return taken ? std::optional(copyOf(event)) : std::nullopt;
  }
  /// The same of one request; the events of others wait.
  std::optional<Event> nextEvent(uint64_t id) {
    ingot_event event = sizedEvent();
    bool taken = false;
    check(ingot_next_event_of(get(), id, &event, &taken));
    return taken ? std::optional(copyOf(event)) : std::nullopt;
  }

  /// The whole text of a request's only answer; `onText` sees it as it comes. Other requests go on
  /// meanwhile, and their events wait. Throws what `onText` throws, and where the request failed;
  /// it has then ended. INGOT-E6006 when it has several answers: submit it and take its events.
  std::string generate(const Request &request,
                       const std::function<void(std::string_view)> &onText = {}) {
    if (request.choices != 1)
      throw Error("INGOT-E6006", "generate gives one answer, not " +
                                     std::to_string(request.choices) + "; use submit");
    Pumped pumped = {*this, submit(request)};
    std::string text;
    for (bool active = true; active && !pumped.ended;) {
      active = step();
      while (std::optional<Event> event = pumped.ended ? std::nullopt : nextEvent(pumped.id)) {
        pumped.ended = event->finish != INGOT_FINISH_NONE;
        text += event->text;
        if (onText && !event->text.empty())
          onText(event->text);
        if (event->finish == INGOT_FINISH_FAILED)
          throw event->error();
      }
    }
    return text;
  }

  /// Log-probability of each token given those before it; the first is 0.
  std::vector<float> score(std::span<const int32_t> tokens) {
    std::vector<float> logprobs(tokens.size());
    check(ingot_score(get(), tokens.data(), tokens.size(), logprobs.data()));
    return logprobs;
  }

  /// `tap`: its place in `taps`; `position`: of the first token of the step.
  using TapVisitor =
      std::function<void(size_t tap, int64_t position, std::span<const float> values)>;
  /// ingot_record. An exception of `visit` ends the process.
  void record(std::span<const int32_t> tokens, std::span<const float> embeddings,
              std::span<const std::string> taps, const TapVisitor &visit) {
    std::vector<const char *> names;
    for (const std::string &tap : taps)
      names.push_back(tap.c_str());
    auto callback = [](void *user, size_t tap, int64_t position, const float *values,
                       size_t count) noexcept {
      (*static_cast<const TapVisitor *>(user))(tap, position, {values, count});
    };
    check(ingot_record(get(), tokens.data(), tokens.size(), embeddings.data(), embeddings.size(),
                       names.data(), names.size(), callback, const_cast<TapVisitor *>(&visit)));
  }

private:
  /// Ends a request whose end nobody has seen, and forgets its events.
  struct Pumped {
    Engine &engine;
    uint64_t id;
    bool ended = false;

    ~Pumped() {
      if (ended)
        return;
      ingot_error_free(ingot_cancel(engine.get(), id));
      ingot_event event = sizedEvent();
      for (bool taken = true; taken;)
        ingot_error_free(ingot_next_event_of(engine.get(), id, &event, &taken));
    }
  };

  struct Closer {
    void operator()(ingot_engine *engine) const { ingot_close(engine); }
  };
  std::unique_ptr<ingot_engine, Closer> handle;
};

/// A picture as an engine's model reads it: see ingot_picture_read. Move-only.
class Picture {
public:
  Picture(const ingot_engine *engine, std::span<const uint8_t> file) {
    ingot_picture *read = nullptr;
    check(ingot_picture_read(engine, file.data(), file.size(), &read));
    handle.reset(read);
  }
  ingot_picture *get() const { return handle.get(); }
  int64_t tokens() const { return ingot_picture_tokens(get()); }

private:
  struct Closer {
    void operator()(ingot_picture *picture) const { ingot_picture_close(picture); }
  };
  std::unique_ptr<ingot_picture, Closer> handle;
};

/// The next turn of a conversation: see ingot_turn_begin. Move-only; requests of it point to it.
class Turn {
public:
  Turn(const ingot_engine *engine, std::string_view body, const std::string &name = {}) {
    ingot_turn *begun = nullptr;
    check(ingot_turn_begin(engine, body.data(), body.size(), name.empty() ? nullptr : name.c_str(),
                           &begun));
    handle.reset(begun);
  }
  ingot_turn *get() const { return handle.get(); }
  std::vector<int32_t> tokens() const {
    size_t count = 0;
    const int32_t *ids = ingot_turn_tokens(get(), &count);
    return {ids, ids + count};
  }
  /// They live as long as the turn.
  std::span<const ingot_picture *const> pictures() const {
    size_t count = 0;
    const ingot_picture *const *found = ingot_turn_pictures(get(), &count);
    return {found, count};
  }

private:
  struct Closer {
    void operator()(ingot_turn *turn) const { ingot_turn_close(turn); }
  };
  std::unique_ptr<ingot_turn, Closer> handle;
};

/// What became certain of an answer; owns its text.
struct Part {
  ingot_part_kind kind = INGOT_PART_TEXT;
  int32_t call = -1;
  std::string text;
  std::string id;
  bool whole = false;
};

/// Takes one answer to a turn apart: see ingot_answer_begin. Move-only; one thread at a time.
class Answer {
public:
  explicit Answer(const Turn &turn, bool streamed = true) {
    ingot_answer *begun = nullptr;
    check(ingot_answer_begin(turn.get(), streamed, &begun));
    handle.reset(begun);
  }
  /// What the next piece of the text makes certain; `ends`: it is the last.
  std::vector<Part> take(std::string_view text, bool ends) {
    check(ingot_answer_feed(handle.get(), text.data(), text.size(), ends));
    std::vector<Part> parts;
    ingot_part part = {};
    part.size = sizeof part;
    for (bool taken = true;;) {
      check(ingot_answer_next(handle.get(), &part, &taken));
      if (!taken)
        return parts;
      parts.push_back({part.kind, part.call, std::string(part.text, part.text_bytes),
                       part.id ? part.id : "", part.whole});
    }
  }

  /// Whether the answer has ended within a call.
  bool isCut() const { return ingot_answer_is_cut(handle.get()); }

private:
  struct Closer {
    void operator()(ingot_answer *answer) const { ingot_answer_close(answer); }
  };
  std::unique_ptr<ingot_answer, Closer> handle;
};

/// An engine that a thread of the library steps; all functions may be called from any thread.
class Loop {
public:
  /// Takes an event on the loop's thread; one that throws has said INGOT_DEMAND_CANCEL.
  using Sink = std::function<ingot_demand(Event)>;

  /// Takes the engine, which must have no request.
  explicit Loop(Engine engine, int64_t queueLimit = 1024) : stepped(engine.get()) {
    ingot_loop_options options;
    check(ingot_loop_options_init(&options, sizeof options));
    options.queue_limit = queueLimit;
    ingot_loop *started = nullptr;
    check(ingot_loop_start(engine.get(), &options, &started));
    handle.reset(started);
    engine.release();
  }

  ingot_loop *get() const { return handle.get(); }
  /// The engine, for its properties, tokens and text.
  const ingot_engine *engine() const { return stepped; }

  /// A request with the engine's defaults; `text` must live until it is submitted.
  Request request(std::string_view text) const {
    Request request(defaultSampling(stepped));
    request.text = text.data();
    request.text_bytes = text.size();
    return request;
  }

  /// Queues a request; its events go to `sink`, perhaps before this returns.
  uint64_t submit(const Request &request, Sink sink) {
    auto taker = std::make_unique<Taker>(Taker{std::move(sink), request.choices});
    uint64_t id = 0;
    check(ingot_loop_submit(get(), &request, &take, taker.get(), sizeof(ingot_event), &id));
    taker.release(); // It deletes itself behind the last event.
    return id;
  }

  void cancel(uint64_t id) { check(ingot_loop_cancel(get(), id)); }
  void resume(uint64_t id) { check(ingot_loop_resume(get(), id)); }
  void drain() { check(ingot_loop_drain(get())); }
  /// Whether no request was left within so many seconds.
  bool waitIdle(double seconds) {
    bool idle = false;
    check(ingot_loop_wait_idle(get(), seconds, &idle));
    return idle;
  }

  ingot_loop_statistics statistics() const {
    ingot_loop_statistics found = {};
    found.size = sizeof found;
    check(ingot_loop_get_statistics(get(), &found));
    return found;
  }

private:
  struct Taker {
    Sink sink;
    int32_t open; ///< answers
  };

  static ingot_demand take(void *user, const ingot_event *event) {
    auto *taker = static_cast<Taker *>(user);
    ingot_demand demand = INGOT_DEMAND_CANCEL;
    try {
      demand = taker->sink(copyOf(*event));
    } catch (...) {
    }
    taker->open -= event->finish != INGOT_FINISH_NONE;
    if (taker->open == 0 || demand == INGOT_DEMAND_CANCEL)
      delete taker;
    return demand;
  }

  struct Closer {
    void operator()(ingot_loop *loop) const { ingot_loop_close(loop); }
  };
  const ingot_engine *stepped;
  std::unique_ptr<ingot_loop, Closer> handle;
};

} // namespace ingot

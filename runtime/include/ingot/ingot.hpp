// SPDX-License-Identifier: Apache-2.0
// Ingot's C++ interface: ownership, spans and exceptions over ingot.h, in this header (C++20).
#pragma once

#include "ingot/ingot.h"

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

/// ingot_options with its defaults.
struct Options : ingot_options {
  Options() { ingot_options_init(this); }
};

/// A generated token or the end of a request; owns its text.
struct Event {
  uint64_t request = 0;
  int32_t token = -1;
  std::string text;
  float logprob = 0;
  std::vector<ingot_logprob> top;
  ingot_finish finish = INGOT_FINISH_NONE;
};

/// An opened engine. Move-only; one thread at a time.
class Engine {
public:
  explicit Engine(const std::string &path, const Options &options = {}) {
    ingot_engine *opened = nullptr;
    check(ingot_open(path.c_str(), &options, &opened));
    handle.reset(opened);
  }

  ingot_engine *get() const { return handle.get(); }

  ingot_info info() const {
    ingot_info facts = {};
    facts.size = sizeof facts;
    check(ingot_get_info(get(), &facts));
    return facts;
  }

  ingot_memory_plan memoryPlan() const {
    ingot_memory_plan plan = {};
    plan.size = sizeof plan;
    check(ingot_get_memory_plan(get(), &plan));
    return plan;
  }

  /// A request with the engine's defaults; `text` must live until it is submitted.
  ingot_request request(std::string_view text) const {
    ingot_request request;
    ingot_request_init(get(), &request);
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

  uint64_t submit(const ingot_request &request) {
    uint64_t id = 0;
    check(ingot_submit(get(), &request, &id));
    return id;
  }

  void cancel(uint64_t id) { check(ingot_cancel(get(), id)); }

  /// Runs one step; true while requests are in flight.
  bool step() {
    bool active = false;
    check(ingot_step(get(), &active));
    return active;
  }

  std::optional<Event> nextEvent() {
    ingot_event event = {};
    event.size = sizeof event;
    if (!ingot_next_event(get(), &event))
      return std::nullopt;
    return Event{event.request,
                 event.token,
                 std::string(event.text, event.text_bytes),
                 event.logprob,
                 std::vector<ingot_logprob>(event.top, event.top + event.top_count),
                 event.finish};
  }

  /// The whole text of one request; `onText` sees it as it comes.
  std::string generate(const ingot_request &request,
                       const std::function<void(std::string_view)> &onText = {}) {
    uint64_t id = submit(request);
    std::string text;
    for (bool finished = false; !finished;) {
      step();
      while (std::optional<Event> event = nextEvent()) {
        if (event->request != id)
          continue;
        text += event->text;
        if (onText && !event->text.empty())
          onText(event->text);
        finished = event->finish != INGOT_FINISH_NONE;
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

private:
  struct Closer {
    void operator()(ingot_engine *engine) const { ingot_close(engine); }
  };
  std::unique_ptr<ingot_engine, Closer> handle;
};

} // namespace ingot

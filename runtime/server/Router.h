// SPDX-License-Identifier: Apache-2.0
// Which handler answers which path; who may ask, and under which name; pages of other origins.
#pragma once

#include "runtime/server/AllowedHosts.h"
#include "runtime/server/ApiKeys.h"
#include "runtime/server/Exchange.h"
#include "runtime/server/JsonBody.h"
#include "runtime/server/Metrics.h"
#include "runtime/server/Options.h"
#include "runtime/server/ServedModel.h"

#include <atomic>
#include <optional>
#include <span>

namespace ingot::runtime {

class AnswerWriter;

/// Thread-safe. What it is given must outlive the exchanges it handles.
class Router {
public:
  Router(const ServerOptions &options, ApiKeys keys, Metrics &metrics);

  /// The engine is there. Once.
  void serve(ServedModel &model) { served.store(&model, std::memory_order_release); }

  /// Answers at once or later, whatever happens on the way; never waits for the engine. Text is
  /// turned into tokens here.
  void handle(std::shared_ptr<Exchange> exchange);

  /// Whether the engine is there, and takes pictures.
  bool takesPictures() const { return model() && model()->loop->images(); }
  /// Bytes of the largest body that is taken now.
  uint64_t mostBody() const;

  /// The headers that responses to a request of this origin have.
  std::vector<HttpHeader> originHeaders(std::string_view origin) const;

private:
  using Handler = void (Router::*)(std::shared_ptr<Exchange> exchange);
  struct Route {
    std::string_view method, path;
    Handler handler;
    bool needsKey;
  };
  static std::span<const Route> routes();

  void route(std::shared_ptr<Exchange> exchange);
  const Route *find(std::string_view path) const;
  ServedModel *model() const { return served.load(std::memory_order_acquire); }
  ServedModel *modelFor(Exchange &exchange) const;
  std::optional<ApiError> unknownModel(const std::string &name) const;
  std::optional<Json> bodyOf(Exchange &exchange) const;
  struct Asked {
    ServedModel &model;
    Json body;
  };
  std::optional<Asked> asked(Exchange &exchange) const;
  static const Tokenizer *tokenizerFor(Exchange &exchange, const ServedModel &model);
  static void refuseMethod(Exchange &exchange, const Route &route);
  static std::string methodsOf(const Route &route);

  void complete(std::shared_ptr<Exchange> exchange);
  // Of RouterChat.cpp:
  void chat(std::shared_ptr<Exchange> exchange);
  void respondTo(std::shared_ptr<Exchange> exchange);
  void message(std::shared_ptr<Exchange> exchange);
  void countTokens(std::shared_ptr<Exchange> exchange);
  void applyTemplate(std::shared_ptr<Exchange> exchange);
  template <class Asking>
  const Asking *accepted(Exchange &exchange, const OrError<Asking> &read) const;
  template <class Writer, class Asking>
  void converse(std::shared_ptr<Exchange> exchange, ServedModel &model, OrError<Asking> read);
  void listModels(std::shared_ptr<Exchange> exchange);
  void showModel(std::shared_ptr<Exchange> exchange);
  void tokenize(std::shared_ptr<Exchange> exchange);
  void detokenize(std::shared_ptr<Exchange> exchange);
  void showTokenizer(std::shared_ptr<Exchange> exchange);
  void showPage(std::shared_ptr<Exchange> exchange);
  void showEngine(std::shared_ptr<Exchange> exchange);
  void showVersion(std::shared_ptr<Exchange> exchange);
  void showMetrics(std::shared_ptr<Exchange> exchange);
  void showHealth(std::shared_ptr<Exchange> exchange);
  void notServed(std::shared_ptr<Exchange> exchange);
  void preflight(std::shared_ptr<Exchange> exchange);

  void answer(std::shared_ptr<Exchange> exchange, ServedModel &found,
              std::unique_ptr<AnswerWriter> writer, bool streamed, std::vector<Request> requests);
  Json modelJson(const ServedModel &model, const std::string &name) const;

  const ServerOptions &options;
  const AllowedHosts hosts;
  const ApiKeys keys;
  Metrics &metrics;
  const HttpResponse page;
  std::atomic<ServedModel *> served = nullptr;
};

} // namespace ingot::runtime

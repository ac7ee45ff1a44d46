// SPDX-License-Identifier: Apache-2.0
// The table of paths, and the handlers that answer at once.
#include "runtime/server/Router.h"

#include "runtime/api/Version.h"
#include "runtime/server/AnswerStream.h"
#include "runtime/server/CompletionWriter.h"
#include "runtime/server/HeaderValues.h"
#include "runtime/server/Page.h"

#include <algorithm>
#include <array>

namespace ingot::runtime {

constexpr std::string_view modelsPath = "/v1/models/";

Router::Router(const ServerOptions &options, ApiKeys keys, Metrics &metrics)
    : options(options), hosts(options), keys(std::move(keys)), metrics(metrics),
      page(pageResponse()) {}

std::span<const Router::Route> Router::routes() {
  static constexpr Route table[] = {
      {"GET", "/", &Router::showPage, false}, // which asks for a key itself
      {"POST", "/v1/completions", &Router::complete, true},
      {"GET", "/v1/models", &Router::listModels, true},
      {"GET", modelsPath, &Router::showModel, true}, // and what follows it
      {"POST", "/tokenize", &Router::tokenize, true},
      {"POST", "/detokenize", &Router::detokenize, true},
      {"GET", "/tokenizer_info", &Router::showTokenizer, true},
      {"GET", "/engine", &Router::showEngine, true},
      {"GET", "/version", &Router::showVersion, false},
      {"GET", "/metrics", &Router::showMetrics, false},
      {"GET", "/health", &Router::showHealth, false},
      {"GET", "/ready", &Router::showHealth, false},
      {"POST", "/v1/chat/completions", &Router::chat, true},
      {"POST", "/v1/responses", &Router::respondTo, true},
      {"POST", "/v1/messages", &Router::message, true},
      {"POST", "/v1/messages/count_tokens", &Router::countTokens, true},
      {"POST", "/apply-template", &Router::applyTemplate, true},
      {"POST", "/v1/embeddings", &Router::notServed, true},
      {"POST", "/rerank", &Router::notServed, true},
      {"POST", "/v1/rerank", &Router::notServed, true},
      {"POST", "/v2/rerank", &Router::notServed, true},
  };
  return table;
}

uint64_t Router::mostBody() const {
  if (options.maxBody > 0)
    return options.maxBody;
  return uint64_t(takesPictures() ? 32 : 4) << 20;
}

std::vector<HttpHeader> Router::originHeaders(std::string_view origin) const {
  if (origin.empty())
    return {};
  for (const std::string &allowed : options.corsOrigins)
    if (allowed == "*" || allowed == origin)
      return {{"Access-Control-Allow-Origin", allowed == "*" ? "*" : allowed},
              {"Access-Control-Expose-Headers", "x-request-id"},
              {"Vary", "Origin"}};
  return {};
}

/// Null when there is nothing at that path.
const Router::Route *Router::find(std::string_view path) const {
  for (const Route &route : routes())
    if (route.path == modelsPath ? path.starts_with(modelsPath) : path == route.path)
      return &route;
  return nullptr;
}

void Router::handle(std::shared_ptr<Exchange> exchange) {
  try {
    route(exchange);
  } catch (const std::exception &error) {
    exchange->refuse(exceptionError(error));
  }
}

/// Whether some path might take it; others need no look at the path (RFC 9110 9.1).
static bool isMethod(std::string_view method) {
  constexpr std::string_view methods[] = {"GET", "HEAD",   "POST",  "OPTIONS",
                                          "PUT", "DELETE", "PATCH", "TRACE"};
  return std::find(std::begin(methods), std::end(methods), method) != std::end(methods);
}

void Router::route(std::shared_ptr<Exchange> exchange) {
  const HttpRequest &request = exchange->request;
  if (std::optional<ApiError> error = hosts.refuse(request.host))
    return exchange->refuse(*error);
  if (!isMethod(request.method))
    return exchange->refuse(
        {501,
         "INGOT-E7207",
         "the method " + request.method + " is none of HTTP's; use GET or POST, in capitals",
         {}});
  if (request.method == "OPTIONS")
    return preflight(std::move(exchange));
  const Route *route = find(request.path);
  if (!route)
    return exchange->refuse({404,
                             "INGOT-E7206",
                             "there is nothing at " + request.path +
                                 "; /v1/completions and /v1/models are the usual paths",
                             {}});
  bool isHead = request.method == "HEAD" && route->method == "GET";
  if (request.method != route->method && !isHead)
    return refuseMethod(*exchange, *route);
  if (route->needsKey && !keys.admits(request.header("authorization"), request.header("x-api-key")))
    return exchange->refuse({401,
                             "INGOT-E7205",
                             "the request has no key of this server; send one in the header "
                             "Authorization, as in 'Bearer KEY', or in x-api-key",
                             {}});
  (this->*route->handler)(std::move(exchange));
}

/// As the header Allow lists them.
std::string Router::methodsOf(const Route &route) {
  return std::string(route.method) + (route.method == "GET" ? ", HEAD" : "") + ", OPTIONS";
}

void Router::refuseMethod(Exchange &exchange, const Route &route) {
  ApiError error = {405, "INGOT-E7207", exchange.request.path + " does not take ", {}};
  error.message.append(exchange.request.method).append("; use ").append(route.method);
  HttpResponse response = errorResponse(error);
  response.headers.push_back({"Allow", methodsOf(route)});
  exchange.record.error = error.code;
  exchange.respond(std::move(response));
}

/// What a browser asks before a page of another origin may. Which origins may is told by the
/// options; clients' own headers change with each of their releases, so all are allowed.
void Router::preflight(std::shared_ptr<Exchange> exchange) {
  HttpResponse response;
  response.status = 204;
  response.contentType.clear();
  const HttpRequest &request = exchange->request;
  if (!originHeaders(request.header("origin")).empty()) {
    response.headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                        {"Access-Control-Max-Age", "600"}};
    if (std::string_view asked = request.header("access-control-request-headers"); !asked.empty())
      response.headers.push_back({"Access-Control-Allow-Headers", std::string(asked)});
    // Of a page on the network, for a server on the user's own machine.
    if (request.header("access-control-request-private-network") == "true")
      response.headers.push_back({"Access-Control-Allow-Private-Network", "true"});
  }
  if (const Route *route = find(request.path))
    response.headers.push_back({"Allow", methodsOf(*route)});
  exchange->respond(std::move(response));
}

/// The engine, or null when there is none yet, which the client then knows.
ServedModel *Router::modelFor(Exchange &exchange) const {
  ServedModel *found = model();
  if (!found)
    exchange.refuse(
        {503, "INGOT-E7214", "the engine is still being loaded; try again in a moment", {}});
  return found;
}

std::optional<ApiError> Router::unknownModel(const std::string &name) const {
  if (name.empty() || model()->isCalled(name))
    return std::nullopt;
  return ApiError{404, "INGOT-E7204",
                  "the model '" + name + "' does not exist; this server has '" +
                      model()->names.front() + "'",
                  "model"};
}

/// Whether a body says the same in its character set as in UTF-8, which JSON has (RFC 8259).
static bool isReadable(std::string_view charset, std::string_view body) {
  if (charset.empty() || charset == "utf-8" || charset == "utf8")
    return true;
  return std::all_of(body.begin(), body.end(), [](char c) { return c != 0 && !(c & 0x80); });
}

/// The body as JSON; nothing when it is none, which the client then knows.
std::optional<Json> Router::bodyOf(Exchange &exchange) const {
  // A page of another origin may send other types without asking first.
  MediaType type = mediaTypeOf(exchange.request.header("content-type"));
  if (type.name != "application/json") {
    exchange.refuse({415,
                     "INGOT-E7213",
                     "the body's type is not application/json; send the header Content-Type: "
                     "application/json",
                     {}});
    return std::nullopt;
  }
  if (!isReadable(type.charset, exchange.request.body)) {
    exchange.refuse(
        {415, "INGOT-E7213", "the body is in " + type.charset + "; send JSON in UTF-8", {}});
    return std::nullopt;
  }
  OrError<Json> body = parseBody(exchange.request.body);
  if (const ApiError *error = std::get_if<ApiError>(&body)) {
    exchange.refuse(*error);
    return std::nullopt;
  }
  return std::move(std::get<Json>(body));
}

/// The engine and the body; nothing where one is missing, which the client then knows.
std::optional<Router::Asked> Router::asked(Exchange &exchange) const {
  ServedModel *found = modelFor(exchange);
  if (!found)
    return std::nullopt;
  std::optional<Json> body = bodyOf(exchange);
  if (!body)
    return std::nullopt;
  return Asked{*found, std::move(*body)};
}

void Router::complete(std::shared_ptr<Exchange> exchange) {
  std::optional<Asked> ask = asked(*exchange);
  if (!ask)
    return;
  exchange->request.body = {};
  OrError<CompletionRequest> read =
      readCompletionRequest(ask->body, ask->model.loop->defaultSampling());
  if (ApiError *refused = std::get_if<ApiError>(&read))
    return exchange->refuse(*refused);
  auto &request = std::get<CompletionRequest>(read);
  if (std::optional<ApiError> error = unknownModel(request.model))
    return exchange->refuse(*error);
  std::vector<Request> requests = request.requests();
  bool streamed = request.stream;
  auto writer =
      std::make_unique<CompletionWriter>(ask->model, std::move(request), exchange->record.id);
  answer(std::move(exchange), ask->model, std::move(writer), streamed, std::move(requests));
}

/// Computes requests for a writer.
void Router::answer(std::shared_ptr<Exchange> exchange, ServedModel &found,
                    std::unique_ptr<AnswerWriter> writer, bool streamed,
                    std::vector<Request> requests) {
  OrError<std::vector<Request>> prepared =
      prepareAll(*found.loop, std::move(requests), exchange->record.start, options.requestSeconds);
  if (const ApiError *error = std::get_if<ApiError>(&prepared))
    return exchange->refuse(*error);
  auto stream = std::make_shared<AnswerStream>(std::move(exchange), *found.loop, metrics,
                                               std::move(writer), streamed);
  stream->start(std::move(std::get<std::vector<Request>>(prepared)));
}

Json Router::modelJson(const ServedModel &found, const std::string &name) const {
  return {{"id", name},
          {"object", "model"},
          {"created", found.created},
          {"owned_by", "ingot"},
          {"root", found.names.front()},
          {"max_model_len", found.loop->memoryPlan().maxContext},
          {"meta",
           {{"images", found.loop->images() != nullptr},
            {"n_vocab", found.loop->file().metadata().serving()->vocabulary()},
            {"n_ctx", found.loop->memoryPlan().maxContext}}}};
}

void Router::listModels(std::shared_ptr<Exchange> exchange) {
  ServedModel *found = modelFor(*exchange);
  if (!found)
    return;
  Json list = Json::array();
  for (const std::string &name : found->names)
    list.push_back(modelJson(*found, name));
  exchange->respond({.body = textOf(Json{{"object", "list"}, {"data", std::move(list)}})});
}

void Router::showModel(std::shared_ptr<Exchange> exchange) {
  ServedModel *found = modelFor(*exchange);
  if (!found)
    return;
  std::string name = exchange->request.path.substr(modelsPath.size());
  if (std::optional<ApiError> error = unknownModel(name.empty() ? "?" : name))
    return exchange->refuse(*error);
  exchange->respond({.body = textOf(modelJson(*found, name))});
}

/// Null when the engine has none, which the client then knows.
const Tokenizer *Router::tokenizerFor(Exchange &exchange, const ServedModel &found) {
  const Tokenizer *tokenizer = found.loop->tokenizer();
  if (!tokenizer)
    exchange.refuse(apiError(
        Status::error("INGOT-E6008", "the engine has no tokenizer", "work with token ids")));
  return tokenizer;
}

void Router::tokenize(std::shared_ptr<Exchange> exchange) {
  std::optional<Asked> ask = asked(*exchange);
  if (!ask)
    return;
  std::string prompt, name;
  bool addSpecial = true, strings = false;
  for (const auto &[field, value] : ask->body.items()) {
    bool known = field == "prompt"               ? take(value, prompt)
                 : field == "model"              ? take(value, name)
                 : field == "add_special_tokens" ? take(value, addSpecial)
                 : field == "return_token_strs"  ? take(value, strings)
                                                 : false;
    if (!known)
      return exchange->refuse(fieldError(field, "prompt or model (texts), or add_special_tokens "
                                                "or return_token_strs (true or false)"));
  }
  if (!ask->body.contains("prompt"))
    return exchange->refuse(fieldError("prompt", "given"));
  if (std::optional<ApiError> error = unknownModel(name))
    return exchange->refuse(*error);
  const Tokenizer *tokenizer = tokenizerFor(*exchange, ask->model);
  if (!tokenizer)
    return;
  Result<std::vector<int32_t>> tokens = tokenizer->encode(prompt, addSpecial, true);
  if (!tokens.ok())
    return exchange->refuse(apiError(tokens.status()));
  Json answer = {{"count", tokens->size()},
                 {"max_model_len", ask->model.loop->memoryPlan().maxContext},
                 {"tokens", *tokens}};
  if (strings) {
    Json names = Json::array();
    for (int32_t token : *tokens)
      names.push_back(ask->model.tokenNames.nameOf(token));
    answer["token_strs"] = std::move(names);
  }
  exchange->respond({.body = textOf(answer)});
}

void Router::detokenize(std::shared_ptr<Exchange> exchange) {
  std::optional<Asked> ask = asked(*exchange);
  if (!ask)
    return;
  std::vector<int32_t> tokens;
  std::string name;
  for (const auto &[field, value] : ask->body.items()) {
    bool known = field == "tokens"  ? take(value, tokens)
                 : field == "model" ? take(value, name)
                                    : false;
    if (!known)
      return exchange->refuse(fieldError(field, "tokens (a list of ids) or model (a text)"));
  }
  if (!ask->body.contains("tokens"))
    return exchange->refuse(fieldError("tokens", "given"));
  if (std::optional<ApiError> error = unknownModel(name))
    return exchange->refuse(*error);
  const Tokenizer *tokenizer = tokenizerFor(*exchange, ask->model);
  if (!tokenizer)
    return;
  if (Status status = tokenizer->checkIds(tokens); !status.ok()) {
    ApiError error = apiError(status);
    error.field = "tokens";
    return exchange->refuse(error);
  }
  exchange->respond(
      {.body = textOf(Json{{"prompt", tokenizer->decode(tokens, {.skipSpecial = false})}})});
}

/// The texts of the tokens that begin and end what the model reads; null where it has none.
void Router::showTokenizer(std::shared_ptr<Exchange> exchange) {
  ServedModel *found = modelFor(*exchange);
  if (!found)
    return;
  const Tokenizer *tokenizer = tokenizerFor(*exchange, *found);
  if (!tokenizer)
    return;
  auto textOfToken = [&](int32_t token) {
    return token < 0 ? Json() : Json(tokenizer->decode(std::array{token}, {.skipSpecial = false}));
  };
  const auto &serving = *found->loop->file().metadata().serving();
  bool ends = serving.eos() && serving.eos()->size() > 0;
  exchange->respond(
      {.body = textOf(Json{{"bos_token", textOfToken(serving.bos())},
                           {"eos_token", textOfToken(ends ? serving.eos()->Get(0) : -1)}})});
}

void Router::showPage(std::shared_ptr<Exchange> exchange) { exchange->respond(page); }

void Router::showEngine(std::shared_ptr<Exchange> exchange) {
  if (ServedModel *found = modelFor(*exchange))
    exchange->respond({.body = found->report.text(*found->loop)});
}

void Router::showVersion(std::shared_ptr<Exchange> exchange) {
  exchange->respond({.body = textOf(Json{{"version", versionText}})});
}

void Router::showMetrics(std::shared_ptr<Exchange> exchange) {
  ServedModel *found = model();
  exchange->respond({.contentType = "text/plain; version=0.0.4; charset=utf-8",
                     .body = metrics.text(found ? found->loop.get() : nullptr,
                                          found ? found->names.front() : "")});
}

/// 200 only when a request would be taken.
void Router::showHealth(std::shared_ptr<Exchange> exchange) {
  ServedModel *found = model();
  HttpResponse response{.status = 503};
  if (!found) {
    response.body = textOf(Json{{"status", "loading"}});
  } else if (found->loop->state() == LoopState::Serving) {
    response.status = 200;
    response.body = textOf(Json{{"status", "ok"}});
  } else if (found->loop->state() == LoopState::Draining) {
    response.body = textOf(Json{{"status", "draining"}});
  } else {
    response.body =
        textOf(Json{{"status", "broken"}, {"error", found->loop->failure().toString()}});
  }
  exchange->respond(std::move(response));
}

void Router::notServed(std::shared_ptr<Exchange> exchange) {
  exchange->refuse({501,
                    "INGOT-E7208",
                    "an engine computes tokens that follow a text, neither embeddings nor ranks; "
                    "use an engine made for them",
                    {}});
}

} // namespace ingot::runtime

// SPDX-License-Identifier: Apache-2.0
// The handlers of conversations.
#include "runtime/chat/CallFormat.h"
#include "runtime/chat/FormMarkers.h"
#include "runtime/server/ChatWriter.h"
#include "runtime/server/MessagesRequest.h"
#include "runtime/server/MessagesWriter.h"
#include "runtime/server/ResponsesWriter.h"
#include "runtime/server/Router.h"

namespace ingot::runtime {

static const ChatRequest &chatOf(const ChatRequest &request) { return request; }
static const ChatRequest &chatOf(const ResponsesRequest &request) { return request.chat; }
static const ChatRequest &chatOf(const MessagesRequest &request) { return request.chat; }

static AnswerSettings settingsOf(const ChatRequest &chat) {
  AnswerSettings settings;
  settings.tools = chat.tools;
  settings.parallel = chat.parallelCalls;
  settings.mustCall = chat.mustCall;
  settings.onlyTool = chat.onlyTool;
  settings.streamed = chat.stream;
  return settings;
}

static Result<Dialogue::Turn> begin(const ServedModel &model, const ChatRequest &chat) {
  return model.dialogue.begin(chat.conversation, settingsOf(chat), {}, {}, model.pictureReader());
}

/// What a client is told of a prompt that cannot be made. The log learns whose template it was: a
/// path is no matter of clients.
static ApiError promptError(Exchange &exchange, const Dialogue &dialogue, const Status &status) {
  if (isOfTemplates(status.code()))
    exchange.record.chatTemplate = dialogue.templateName();
  return apiError(status);
}

/// The request that was read, of a model that there is; null otherwise, which the client then
/// knows.
template <class Asking>
const Asking *Router::accepted(Exchange &exchange, const OrError<Asking> &read) const {
  std::optional<ApiError> error;
  if (const ApiError *refused = std::get_if<ApiError>(&read))
    error = *refused;
  else
    error = unknownModel(chatOf(std::get<Asking>(read)).model);
  if (!error)
    return &std::get<Asking>(read);
  exchange.refuse(*error);
  return nullptr;
}

/// Answers the next turn of a conversation in the form of `Writer`.
template <class Writer, class Asking>
void Router::converse(std::shared_ptr<Exchange> exchange, ServedModel &found,
                      OrError<Asking> read) {
  exchange->request.body = {};
  const Asking *request = accepted(*exchange, read);
  if (!request)
    return;
  const ChatRequest &chat = chatOf(*request);
  Result<Dialogue::Turn> turn = begin(found, chat);
  if (!turn.ok())
    return exchange->refuse(promptError(*exchange, found.dialogue, turn.status()));
  Request prompt = chat.each;
  prompt.tokens = std::move(turn->tokens);
  prompt.pictures = std::move(turn->pictures);
  prompt.keptSpecial = std::move(turn->keptSpecial);
  if (Status status = bindCalls(turn->families, turn->settings, prompt.form); !status.ok())
    return exchange->refuse(apiError(status));
  if (!prompt.form.isFree()) {
    Result<guided::AnswerMarkers> markers = formMarkers(turn->families, turn->settings);
    if (!markers.ok())
      return exchange->refuse(apiError(markers.status()));
    prompt.markers = *std::move(markers);
  } else {
    prompt.markers = thoughtMarkers(turn->families, turn->settings);
  }
  prompt.markers.mostThought =
      std::min(options.mostThought(), mostThought(chat, found.dialogue.knowsEffort()));
  auto writer = std::make_unique<Writer>(found, *request, turn->families, turn->settings,
                                         exchange->record.id);
  answer(std::move(exchange), found, std::move(writer), chat.stream, {std::move(prompt)});
}

void Router::chat(std::shared_ptr<Exchange> exchange) {
  if (std::optional<Asked> ask = asked(*exchange))
    converse<ChatWriter>(exchange, ask->model,
                         readChatRequest(ask->body, ask->model.loop->defaultSampling()));
}

void Router::respondTo(std::shared_ptr<Exchange> exchange) {
  if (std::optional<Asked> ask = asked(*exchange))
    converse<ResponsesWriter>(exchange, ask->model,
                              readResponsesRequest(ask->body, ask->model.loop->defaultSampling()));
}

/// Counts the tokens of prompts of a model, for an exchange.
static PromptCounter counterOf(Exchange &exchange, const ServedModel &model) {
  return [&exchange, &model](const ChatRequest &chat) -> OrError<int64_t> {
    Result<Dialogue::Turn> turn = begin(model, chat);
    if (!turn.ok())
      return promptError(exchange, model.dialogue, turn.status());
    return int64_t(turn->tokens.size());
  };
}

void Router::message(std::shared_ptr<Exchange> exchange) {
  if (std::optional<Asked> ask = asked(*exchange))
    converse<MessagesWriter>(exchange, ask->model,
                             readMessagesRequest(ask->body, ask->model.loop->defaultSampling(),
                                                 counterOf(*exchange, ask->model)));
}

void Router::countTokens(std::shared_ptr<Exchange> exchange) {
  std::optional<Asked> ask = asked(*exchange);
  if (!ask)
    return;
  PromptCounter count = counterOf(*exchange, ask->model);
  auto read = [&] {
    return readMessagesRequest(ask->body, ask->model.loop->defaultSampling(), count, true);
  };
  auto tokensOf = [&](const OrError<MessagesRequest> &request) -> std::optional<int64_t> {
    const MessagesRequest *messages = accepted(*exchange, request);
    if (!messages)
      return std::nullopt;
    OrError<int64_t> tokens = count(messages->chat);
    if (const ApiError *error = std::get_if<ApiError>(&tokens)) {
      exchange->refuse(*error);
      return std::nullopt;
    }
    return std::get<int64_t>(tokens);
  };
  OrError<MessagesRequest> request = read();
  std::optional<int64_t> tokens = tokensOf(request);
  if (!tokens)
    return;
  Json answer = {{"input_tokens", *tokens}};
  if (!std::get<MessagesRequest>(request).appliedEdits.is_null()) {
    ask->body.erase("context_management");
    std::optional<int64_t> original = tokensOf(read());
    if (!original)
      return;
    answer["context_management"] = {{"original_input_tokens", *original}};
  }
  exchange->respond({.body = textOf(answer)});
}

void Router::applyTemplate(std::shared_ptr<Exchange> exchange) {
  std::optional<Asked> ask = asked(*exchange);
  if (!ask)
    return;
  OrError<ChatRequest> read = readChatRequest(ask->body, ask->model.loop->defaultSampling());
  const ChatRequest *chat = accepted(*exchange, read);
  if (!chat)
    return;
  Result<RenderedPrompt> prompt = ask->model.dialogue.render(chat->conversation);
  if (!prompt.ok())
    return exchange->refuse(promptError(*exchange, ask->model.dialogue, prompt.status()));
  exchange->respond({.body = textOf(Json{{"prompt", prompt->text}})});
}

} // namespace ingot::runtime

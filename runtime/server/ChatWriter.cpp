// SPDX-License-Identifier: Apache-2.0
// Messages of an assistant, whole or as deltas.
#include "runtime/server/ChatWriter.h"

namespace ingot::runtime {

using Kind = AnswerEvent::Kind;
using Change = AnswerBlocks::Change;

ChatWriter::ChatWriter(const ServedModel &model, const ChatRequest &request,
                       const AnswerFamilies &families, const AnswerSettings &settings,
                       const std::string &id)
    : model(model), streamed(request.stream), includeUsage(request.includeUsage),
      includeReasoning(request.includeReasoning), logprobs(request.logprobs),
      head("chatcmpl-" + id, streamed ? "chat.completion.chunk" : "chat.completion", model,
           request.model) {
  for (int32_t i = 0; i < request.n; ++i)
    answers.push_back({AnswerBlocks(families, settings)});
}

std::string ChatWriter::take(size_t, const Event &event) {
  Answer &answer = answers[size_t(event.choice)];
  if (logprobs && event.token >= 0)
    answer.logprobs.push_back(chatLogprobJson(event, model.tokenNames));
  std::vector<Change> changes = answer.blocks.take(event.text, event.finish != FinishReason::None);
  answer.thought += event.token >= 0 && answer.blocks.inReasoning();
  answer.finish = event.finish;
  if (event.finish == FinishReason::Failed)
    answer.failure = failureJson(event);
  return streamed ? chunks(answer, event.choice, changes) : std::string();
}

/// Members that a change gives to a message; null: none.
Json ChatWriter::deltaOf(const AnswerBlocks &blocks, const Change &change) const {
  const AnswerBlocks::Block &block = blocks.blocks()[change.block];
  if (change.kind == Change::Kind::Closed)
    return {};
  if (!block.isCall()) {
    if (change.kind == Change::Kind::Opened)
      return {};
    if (block.kind == Kind::Text)
      return {{"content", change.piece}};
    // Clients know it by either name.
    return includeReasoning ? Json{{"reasoning", change.piece}, {"reasoning_content", change.piece}}
                            : Json();
  }
  int64_t index = -1;
  for (size_t i = 0; i <= change.block; ++i)
    index += blocks.blocks()[i].isCall();
  Json call = {{"index", index}};
  if (change.kind == Change::Kind::Opened) {
    call["id"] = block.id;
    call["type"] = "function";
    call["function"] = {{"name", block.name}, {"arguments", ""}};
  } else {
    call["function"] = {{"arguments", change.piece}};
  }
  return {{"tool_calls", Json::array({std::move(call)})}};
}

std::string ChatWriter::chunk(Answer &answer, int64_t index, Json delta, Json finish) {
  Json chunk = head.json();
  Json choice = {{"index", index}, {"delta", std::move(delta)}};
  // They go with the text that they are of, not with the role before it.
  choice["logprobs"] =
      answer.logprobs.empty() || choice["delta"].contains("role")
          ? Json()
          : Json{{"content", std::exchange(answer.logprobs, Json::array())}, {"refusal", nullptr}};
  choice["finish_reason"] = std::move(finish);
  if (!answer.failure.is_null())
    choice["error"] = answer.failure;
  chunk["choices"] = Json::array({std::move(choice)});
  if (includeUsage)
    chunk["usage"] = nullptr;
  return eventText(chunk);
}

std::string ChatWriter::chunks(Answer &answer, int64_t index, const std::vector<Change> &changes) {
  std::string text;
  bool ends = answer.finish != FinishReason::None;
  if (!std::exchange(answer.begun, true))
    text = chunk(answer, index, {{"role", "assistant"}, {"content", ""}});
  for (const Change &change : changes)
    if (Json delta = deltaOf(answer.blocks, change); !delta.is_null())
      text += chunk(answer, index, std::move(delta));
  if (ends)
    text += chunk(answer, index, Json::object(), reasonOf(answer));
  return text;
}

const char *ChatWriter::reasonOf(const Answer &answer) const {
  const char *reason = finishReason(answer.finish);
  if (reason != std::string_view("stop"))
    return reason;
  // Whatever ended it: a call that is cut must not be taken for all that the model had to say.
  return answer.blocks.endedInCall() ? "length" : answer.blocks.calls() ? "tool_calls" : reason;
}

Json ChatWriter::counts(const Usage &usage) const {
  Json counts = usageJson(usage);
  int64_t thought = 0;
  for (const Answer &answer : answers)
    thought += answer.thought;
  counts["completion_tokens_details"] = {{"reasoning_tokens", thought}};
  return counts;
}

std::string ChatWriter::finish(const Usage &usage) {
  if (!streamed)
    return whole(usage);
  std::string text;
  if (includeUsage) {
    Json chunk = head.json();
    chunk["choices"] = Json::array();
    chunk["usage"] = counts(usage);
    text = eventText(chunk);
  }
  return text + lastEvent;
}

std::string ChatWriter::fail(const ApiError &error) { return "data: " + errorJson(error) + "\n\n"; }

Json ChatWriter::message(const Answer &answer) const {
  std::string content = answer.blocks.textOf(Kind::Text);
  Json calls = Json::array();
  for (const AnswerBlocks::Block &block : answer.blocks.blocks())
    if (block.isCall())
      calls.push_back({{"id", block.id},
                       {"type", "function"},
                       {"function", {{"name", block.name}, {"arguments", block.text}}}});
  Json message = {{"role", "assistant"},
                  {"content", content.empty() && !calls.empty() ? Json() : Json(content)},
                  {"refusal", nullptr}};
  std::string reasoning = answer.blocks.textOf(Kind::Reasoning);
  if (includeReasoning && !reasoning.empty()) {
    message["reasoning"] = reasoning;
    message["reasoning_content"] = reasoning;
  }
  if (!calls.empty())
    message["tool_calls"] = std::move(calls);
  return message;
}

std::string ChatWriter::whole(const Usage &usage) {
  Json body = head.json();
  Json &choices = body["choices"] = Json::array();
  for (Answer &answer : answers) {
    choices.push_back(
        {{"index", choices.size()},
         {"message", message(answer)},
         {"logprobs",
          logprobs ? Json{{"content", std::move(answer.logprobs)}, {"refusal", nullptr}} : Json()},
         {"finish_reason", reasonOf(answer)}});
    if (!answer.failure.is_null())
      choices.back()["error"] = std::move(answer.failure);
  }
  body["usage"] = counts(usage);
  return textOf(body);
}

} // namespace ingot::runtime

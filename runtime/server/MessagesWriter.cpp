// SPDX-License-Identifier: Apache-2.0
// Content in blocks, each begun, extended and ended by events of their own.
#include "runtime/server/MessagesWriter.h"

namespace ingot::runtime {

using Kind = AnswerEvent::Kind;

static std::string named(const char *type, Json body) {
  Json event = {{"type", type}};
  event.update(body);
  return std::string("event: ") + type + "\ndata: " + textOf(event) + "\n\n";
}

static Json counts(const Usage &usage) {
  return {{"input_tokens", usage.promptTokens - usage.cachedTokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cachedTokens},
          {"output_tokens", usage.completionTokens}};
}

MessagesWriter::MessagesWriter(const ServedModel &model, const MessagesRequest &request,
                               const AnswerFamilies &families, AnswerSettings settings,
                               const std::string &id)
    : streamed(request.chat.stream),
      message({{"id", "msg_" + id},
               {"type", "message"},
               {"role", "assistant"},
               {"model", request.chat.model.empty() ? model.names.front() : request.chat.model}}),
      management(request.appliedEdits.is_null() ? Json()
                                                : Json{{"applied_edits", request.appliedEdits}}),
      blocks(families, std::move(settings)) {}

std::string MessagesWriter::begin(const Usage &usage) {
  Json start = message;
  start["content"] = Json::array();
  start["stop_reason"] = nullptr;
  start["stop_sequence"] = nullptr;
  start["usage"] = counts(usage);
  return named("message_start", {{"message", std::move(start)}});
}

Json MessagesWriter::blockJson(const AnswerBlocks::Block &block, bool empty) const {
  std::string text = empty ? std::string() : block.text;
  if (block.kind == Kind::Text)
    return {{"type", "text"}, {"text", text}};
  // The signature proves nothing here; clients want the member.
  if (block.kind == Kind::Reasoning)
    return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
  Json input = Json::parse(text, nullptr, false);
  return {{"type", "tool_use"},
          {"id", block.id},
          {"name", block.name},
          {"input", input.is_object() ? std::move(input) : Json::object()}};
}

std::string MessagesWriter::changed(const AnswerBlocks::Change &change) {
  const AnswerBlocks::Block &block = blocks.blocks()[change.block];
  switch (change.kind) {
  case AnswerBlocks::Change::Kind::Opened:
    return named("content_block_start",
                 {{"index", change.block}, {"content_block", blockJson(block, true)}});
  case AnswerBlocks::Change::Kind::Closed:
    return named("content_block_stop", {{"index", change.block}});
  case AnswerBlocks::Change::Kind::Extended:
    break;
  }
  Json delta;
  if (block.kind == Kind::Text)
    delta = {{"type", "text_delta"}, {"text", change.piece}};
  else if (block.kind == Kind::Reasoning)
    delta = {{"type", "thinking_delta"}, {"thinking", change.piece}};
  else
    delta = {{"type", "input_json_delta"}, {"partial_json", change.piece}};
  return named("content_block_delta", {{"index", change.block}, {"delta", std::move(delta)}});
}

std::string MessagesWriter::take(size_t, const Event &event) {
  std::string text;
  for (const AnswerBlocks::Change &change :
       blocks.take(event.text, event.finish != FinishReason::None))
    if (streamed)
      text += changed(change);
  reason = event.finish;
  stop = event.stop;
  return text;
}

/// Why and where the answer ended.
Json MessagesWriter::ends() const {
  const char *why = "end_turn";
  const bool isCut = reason != FinishReason::StopString && blocks.endedInCall();
  if (reason == FinishReason::Length || reason == FinishReason::Context || isCut)
    why = "max_tokens";
  else if (blocks.calls())
    why = "tool_use";
  else if (reason == FinishReason::StopString)
    why = "stop_sequence";
  return {{"stop_reason", why},
          {"stop_sequence", reason == FinishReason::StopString ? Json(stop) : Json()}};
}

std::string MessagesWriter::finish(const Usage &usage) {
  if (streamed) {
    Json last = {{"delta", ends()}, {"usage", counts(usage)}};
    if (!management.is_null())
      last["context_management"] = management;
    return named("message_delta", std::move(last)) + named("message_stop", Json::object());
  }
  Json whole = message;
  Json &content = whole["content"] = Json::array();
  for (const AnswerBlocks::Block &block : blocks.blocks())
    content.push_back(blockJson(block, false));
  whole.update(ends());
  whole["usage"] = counts(usage);
  if (!management.is_null())
    whole["context_management"] = management;
  return textOf(whole);
}

std::string MessagesWriter::fail(const ApiError &error) {
  return "event: error\ndata: " + errorJson(error, ErrorForm::Anthropic) + "\n\n";
}

} // namespace ingot::runtime

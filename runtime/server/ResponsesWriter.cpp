// SPDX-License-Identifier: Apache-2.0
// Items of the output, each with the events that let a client follow it.
#include "runtime/server/ResponsesWriter.h"

#include "runtime/server/CompletionText.h"

namespace ingot::runtime {

using Kind = AnswerEvent::Kind;
using Change = AnswerBlocks::Change;

static Json headOf(const ServedModel &model, const ResponsesRequest &request,
                   const std::string &id) {
  using namespace std::chrono;
  Json head = {
      {"id", "resp_" + id},
      {"object", "response"},
      {"created_at", duration_cast<seconds>(system_clock::now().time_since_epoch()).count()},
      {"model", request.chat.model.empty() ? model.names.front() : request.chat.model},
      {"instructions", nullptr},
      {"max_output_tokens", nullptr},
      {"metadata", Json::object()},
      {"parallel_tool_calls", request.chat.parallelCalls},
      {"previous_response_id", nullptr},
      {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
      {"store", false},
      {"temperature", request.chat.each.sampling.temperature},
      {"text", {{"format", {{"type", "text"}}}}},
      {"tool_choice", "auto"},
      {"tools", Json::array()},
      {"top_p", request.chat.each.sampling.topP},
      {"truncation", "disabled"},
      {"user", nullptr}};
  head.update(request.told);
  return head;
}

ResponsesWriter::ResponsesWriter(const ServedModel &model, const ResponsesRequest &request,
                                 const AnswerFamilies &families, AnswerSettings settings,
                                 const std::string &id)
    : model(model), streamed(request.chat.stream), logprobs(request.chat.logprobs), id(id),
      offered(request.offered), head(headOf(model, request, id)),
      blocks(families, std::move(settings)) {}

std::string ResponsesWriter::named(const char *type, Json body) {
  Json event = {{"type", type}, {"sequence_number", number++}};
  event.update(body);
  return std::string("event: ") + type + "\ndata: " + textOf(event) + "\n\n";
}

/// `usage`: null while it is not known.
Json ResponsesWriter::response(const char *status, const Usage *usage) const {
  Json whole = head;
  whole["status"] = status;
  whole["error"] = nullptr;
  whole["incomplete_details"] =
      std::string_view(status) == "incomplete" ? Json{{"reason", "max_output_tokens"}} : Json();
  Json &output = whole["output"] = Json::array();
  if (!usage) {
    whole["usage"] = nullptr;
    return whole;
  }
  for (size_t i = 0; i < blocks.blocks().size(); ++i)
    output.push_back(item(i, false));
  whole["usage"] = {{"input_tokens", usage->promptTokens},
                    {"input_tokens_details", {{"cached_tokens", usage->cachedTokens}}},
                    {"output_tokens", usage->completionTokens},
                    {"output_tokens_details", {{"reasoning_tokens", thought}}},
                    {"total_tokens", usage->promptTokens + usage->completionTokens}};
  return whole;
}

std::string ResponsesWriter::itemId(size_t block) const {
  Kind kind = blocks.blocks()[block].kind;
  const OfferedTool *tool = offeredAs(block);
  const char *prefix = kind == Kind::Text         ? "msg_"
                       : kind == Kind::Reasoning  ? "rs_"
                       : (tool && tool->isCustom) ? "ctc_"
                                                  : "fc_";
  return prefix + id + '_' + std::to_string(block);
}

/// How the tool of a call was offered; null where it was as a function, or not at all.
const OfferedTool *ResponsesWriter::offeredAs(size_t block) const {
  auto found = offered.find(blocks.blocks()[block].name);
  return found == offered.end() ? nullptr : &found->second;
}

Json ResponsesWriter::part(size_t index, bool empty) const {
  const AnswerBlocks::Block &block = blocks.blocks()[index];
  std::string text = empty ? std::string() : block.text;
  if (block.kind == Kind::Reasoning)
    return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", Json::array()},
          {"logprobs", empty || index >= scores.size() ? Json::array() : scores[index]}};
}

Json ResponsesWriter::item(size_t index, bool empty) const {
  const AnswerBlocks::Block &block = blocks.blocks()[index];
  const char *status = empty ? "in_progress" : block.whole ? "completed" : "incomplete";
  if (block.isCall()) {
    const OfferedTool *tool = offeredAs(index);
    bool isCustom = tool && tool->isCustom;
    std::string given = empty ? std::string() : block.text;
    Json call = {
        {"id", itemId(index)},
        {"type", isCustom ? "custom_tool_call" : "function_call"},
        {"status", status},
        {"call_id", block.id},
        {"name", tool ? tool->name : block.name},
        {isCustom ? "input" : "arguments", isCustom && !empty ? inputOfArguments(given) : given}};
    if (tool && !tool->space.empty())
      call["namespace"] = tool->space;
    return call;
  }
  Json content = empty ? Json::array() : Json::array({part(index, false)});
  if (block.kind == Kind::Reasoning)
    return {{"id", itemId(index)},
            {"type", "reasoning"},
            {"status", status},
            {"summary", Json::array()},
            {"content", std::move(content)}};
  return {{"id", itemId(index)},
          {"type", "message"},
          {"status", status},
          {"role", "assistant"},
          {"content", std::move(content)}};
}

/// An event about the only part of an item.
std::string ResponsesWriter::partEvent(const char *type, size_t block, Json more) {
  Json body = {{"item_id", itemId(block)}, {"output_index", block}};
  if (!blocks.blocks()[block].isCall())
    body["content_index"] = 0;
  body.update(more);
  return named(type, std::move(body));
}

std::string ResponsesWriter::changed(const Change &change) {
  size_t index = change.block;
  const AnswerBlocks::Block &block = blocks.blocks()[index];
  bool isText = block.kind == Kind::Text;
  if (change.kind == Change::Kind::Opened) {
    std::string text =
        named("response.output_item.added", {{"output_index", index}, {"item", item(index, true)}});
    if (!block.isCall())
      text += partEvent("response.content_part.added", index, {{"part", part(index, true)}});
    return text;
  }
  if (change.kind == Change::Kind::Extended) {
    const char *type = isText           ? "response.output_text.delta"
                       : block.isCall() ? "response.function_call_arguments.delta"
                                        : "response.reasoning_text.delta";
    // The text that a custom tool takes is known when its call is whole.
    if (block.isCall() && offeredAs(index) && offeredAs(index)->isCustom)
      return {};
    Json delta = {{"delta", change.piece}};
    if (isText)
      delta["logprobs"] =
          index < unsent.size() ? std::exchange(unsent[index], Json::array()) : Json::array();
    return partEvent(type, index, std::move(delta));
  }
  std::string text;
  if (block.isCall()) {
    text = callDone(index);
  } else {
    Json done = {{"text", block.text}};
    if (isText)
      done["logprobs"] = part(index, false)["logprobs"];
    text = partEvent(isText ? "response.output_text.done" : "response.reasoning_text.done", index,
                     std::move(done));
    text += partEvent("response.content_part.done", index, {{"part", part(index, false)}});
  }
  return text + named("response.output_item.done",
                      {{"output_index", index}, {"item", item(index, false)}});
}

/// The events at the end of a call.
std::string ResponsesWriter::callDone(size_t index) {
  const AnswerBlocks::Block &block = blocks.blocks()[index];
  const OfferedTool *tool = offeredAs(index);
  if (!tool || !tool->isCustom)
    return partEvent("response.function_call_arguments.done", index,
                     {{"name", tool ? tool->name : block.name}, {"arguments", block.text}});
  std::string input = inputOfArguments(block.text);
  std::string text = partEvent("response.custom_tool_call_input.delta", index, {{"delta", input}});
  return text + partEvent("response.custom_tool_call_input.done", index, {{"input", input}});
}

std::string ResponsesWriter::begin(const Usage &) {
  Json started = response("in_progress", nullptr);
  return named("response.created", {{"response", started}}) +
         named("response.in_progress", {{"response", started}});
}

std::string ResponsesWriter::take(size_t, const Event &event) {
  std::vector<Change> changes = blocks.take(event.text, event.finish != FinishReason::None);
  thought += event.token >= 0 && blocks.inReasoning();
  reason = event.finish;
  // A token counts to the block that it ends in.
  if (logprobs && event.token >= 0 && !blocks.blocks().empty()) {
    for (std::vector<Json> *list : {&scores, &unsent}) {
      list->resize(blocks.blocks().size(), Json::array());
      list->back().push_back(chatLogprobJson(event, model.tokenNames));
    }
  }
  std::string text;
  if (streamed)
    for (const Change &change : changes)
      text += changed(change);
  return text;
}

std::string ResponsesWriter::finish(const Usage &usage) {
  bool cut =
      reason == FinishReason::Length || reason == FinishReason::Context || blocks.endedInCall();
  Json whole = response(cut ? "incomplete" : "completed", &usage);
  if (!streamed)
    return textOf(whole);
  return named(cut ? "response.incomplete" : "response.completed",
               {{"response", std::move(whole)}});
}

std::string ResponsesWriter::fail(const ApiError &error) {
  Json whole = response("failed", nullptr);
  whole["error"] = {{"code", "server_error"}, {"message", error.message}};
  return named("response.failed", {{"response", std::move(whole)}});
}

} // namespace ingot::runtime

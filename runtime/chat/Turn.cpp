// SPDX-License-Identifier: Apache-2.0
// Turn: a message on its way from a request to a template.
#include "runtime/chat/Turn.h"

#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <utility>

namespace ingot::runtime {

using Json = nlohmann::ordered_json;

bool isBlank(std::string_view text) { return skipWhitespace(text) == text.size(); }

bool isPicture(const Json &part) { return part["type"] == "image"; }

bool hasPictures(const Json &message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_array() &&
         std::any_of(content->begin(), content->end(), isPicture);
}

std::string contentText(const Json &message) {
  std::string text;
  if (!message.contains("content"))
    return text;
  const Json &content = message["content"];
  if (content.is_string())
    return content.get<std::string>();
  if (content.is_array())
    for (bool isFirst = true; const Json &part : content)
      if (!isPicture(part))
        text += (std::exchange(isFirst, false) ? "" : "\n") + part["text"].get<std::string>();
  return text;
}

/// The parts of a content, which is a text, a list or nothing.
static Json partsOf(const Json &content) {
  if (content.is_array())
    return content;
  Json parts = Json::array();
  if (content.is_string() && content != "")
    parts.push_back({{"type", "text"}, {"text", content}});
  return parts;
}

static void appendParts(Turn &turn, const Turn &more) {
  Json parts = partsOf(turn.message["content"]);
  if (!parts.empty() && !isPicture(parts.back()))
    parts.back()["text"].get_ref<std::string &>() += '\n';
  uint32_t size = 0;
  for (const Json &part : parts)
    if (!isPicture(part))
      size += uint32_t(part["text"].get_ref<const std::string &>().size());
  for (const Span &span : more.own)
    turn.own.push_back({span.begin + size, span.end + size});
  for (Json &part : partsOf(more.message.value("content", Json())))
    parts.push_back(std::move(part));
  turn.message["content"] = std::move(parts);
}

void appendText(Turn &turn, const Turn &more) {
  if (hasPictures(turn.message) || hasPictures(more.message))
    return appendParts(turn, more);
  Json &content = turn.message["content"];
  if (!content.is_string())
    content = contentText(turn.message);
  // In place: of many messages each is copied once.
  auto &text = content.get_ref<std::string &>();
  text += '\n';
  for (const Span &span : more.own)
    turn.own.push_back({span.begin + uint32_t(text.size()), span.end + uint32_t(text.size())});
  text += contentText(more.message);
}

} // namespace ingot::runtime

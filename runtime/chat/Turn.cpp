// SPDX-License-Identifier: Apache-2.0
// Turn: a message on its way from a request to a template.
#include "runtime/chat/Turn.h"

#include "runtime/serving/Unicode.h"

namespace ingot::runtime {

using Json = nlohmann::ordered_json;

bool isBlank(std::string_view text) { return skipWhitespace(text) == text.size(); }

std::string contentText(const Json &message) {
  std::string text;
  if (!message.contains("content"))
    return text;
  const Json &content = message["content"];
  if (content.is_string())
    return content.get<std::string>();
  if (content.is_array())
    for (size_t i = 0; i < content.size(); ++i)
      text += (i > 0 ? "\n" : "") + content[i]["text"].get<std::string>();
  return text;
}

void appendText(Turn &turn, const Turn &more) {
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

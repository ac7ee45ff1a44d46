// SPDX-License-Identifier: Apache-2.0
// Goes through messages as a template gets them, and asks for each string where it came to stand.
#include "runtime/chat/PromptCheck.h"

#include "runtime/chat/Turn.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

class Check {
public:
  Check(const Provenance &provenance, size_t size, const ChatTemplate &chatTemplate,
        std::string_view thoughtsEnd)
      : provenance(provenance), size(size), source(chatTemplate.source()),
        thoughtsEnd(thoughtsEnd) {}

  std::string lostPart(const Json &message) const {
    const bool isAssistant = message["role"] == "assistant";
    if (message.contains("content") && !isThere(message["content"], isAssistant))
      return "content";
    if (!message.contains("tool_calls"))
      return {};
    for (size_t i = 0; i < message["tool_calls"].size(); ++i) {
      const Json &call = message["tool_calls"][i];
      const Json &function = call.contains("function") ? call["function"] : call;
      const std::string where = "tool_calls[" + std::to_string(i) + "].function.";
      for (const char *name : {"name", "arguments"})
        if (function.is_object() && function.contains(name) && !hasStrings(function[name]))
          return where + name;
    }
    return {};
  }

private:
  bool isThere(const std::string &text, bool mayHaveThoughts) const {
    const std::vector<Span> missing = provenance.missing(text, size);
    if (missing.empty())
      return true;
    const size_t end =
        mayHaveThoughts && !thoughtsEnd.empty() ? text.rfind(thoughtsEnd) : text.npos;
    const size_t thoughts = end == text.npos ? 0 : end + thoughtsEnd.size();
    return std::ranges::all_of(missing, [&](const Span &part) {
      return part.end <= thoughts || isSwitch(text.substr(part.begin, part.end - part.begin));
    });
  }

  /// Whether the template takes a word out of texts because it does what it says: "/no_think".
  bool isSwitch(const std::string &word) const {
    return word.starts_with('/') && word.size() <= 32 &&
           (source.find("'" + word + "'") != source.npos ||
            source.find('"' + word + '"') != source.npos);
  }

  bool isThere(const Json &content, bool mayHaveThoughts) const {
    if (content.is_string())
      return isThere(content.get_ref<const std::string &>(), mayHaveThoughts);
    if (content.is_array())
      for (const Json &part : content)
        // That a part is one shows where it is printed as it is.
        if ((!isPicture(part) &&
             !isThere(part["text"].get_ref<const std::string &>(), mayHaveThoughts)) ||
            !provenance.placesOf(part["type"].get_ref<const std::string &>()).empty())
          return false;
    return true;
  }

  /// Whether all names and texts in arguments are there; numbers have no provenance.
  bool hasStrings(const Json &value) const {
    if (value.is_string())
      return isThere(value.get_ref<const std::string &>(), false);
    if (value.is_object()) {
      for (const auto &[key, member] : value.items())
        if (!isThere(key, false) || !hasStrings(member))
          return false;
    } else if (value.is_array()) {
      for (const Json &item : value)
        if (!hasStrings(item))
          return false;
    }
    return true;
  }

  const Provenance &provenance;
  const size_t size;
  const std::string_view source, thoughtsEnd;
};

} // namespace

std::string lostPart(const Json &message, const Provenance &provenance, size_t size,
                     const ChatTemplate &chatTemplate, std::string_view thoughtsEnd) {
  return Check(provenance, size, chatTemplate, thoughtsEnd).lostPart(message);
}

} // namespace ingot::runtime

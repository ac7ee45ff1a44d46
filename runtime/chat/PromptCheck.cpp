// SPDX-License-Identifier: Apache-2.0
// Goes through messages as a template gets them, and asks for each string where it came to stand.
#include "runtime/chat/PromptCheck.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

class Check {
public:
  Check(const Provenance &provenance, size_t size, std::string_view thoughtsEnd)
      : provenance(provenance), size(size), thoughtsEnd(thoughtsEnd) {}

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
    const size_t missing = provenance.lastMissing(text, size);
    if (missing == text.npos)
      return true;
    const size_t end =
        mayHaveThoughts && !thoughtsEnd.empty() ? text.rfind(thoughtsEnd) : text.npos;
    return end != text.npos && missing < end + thoughtsEnd.size();
  }

  bool isThere(const Json &content, bool mayHaveThoughts) const {
    if (content.is_string())
      return isThere(content.get_ref<const std::string &>(), mayHaveThoughts);
    if (content.is_array())
      for (const Json &part : content)
        // That a part is one shows where it is printed as it is.
        if (!isThere(part["text"].get_ref<const std::string &>(), mayHaveThoughts) ||
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
  const std::string_view thoughtsEnd;
};

} // namespace

std::string lostPart(const Json &message, const Provenance &provenance, size_t size,
                     std::string_view thoughtsEnd) {
  return Check(provenance, size, thoughtsEnd).lostPart(message);
}

} // namespace ingot::runtime

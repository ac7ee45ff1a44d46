// SPDX-License-Identifier: Apache-2.0
// Turn: a message on its way from a request to a template.
#pragma once

#include "runtime/core/Span.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

struct Turn {
  nlohmann::ordered_json message;
  size_t index; ///< of the request's messages; of the first where several became one
  /// Parts of the content, which is a text then, that nobody wrote: markers in it are markers.
  std::vector<Span> own = {};

  bool is(const char *role) const { return message["role"] == role; }
  bool hasCalls() const { return message.contains("tool_calls"); }
};

using Turns = std::vector<Turn>;

/// Whether there is nothing but white space.
bool isBlank(std::string_view text);

/// The text of a message's content: of all its parts, a line each; empty where there is none.
std::string contentText(const nlohmann::ordered_json &message);

/// Puts the text of `more` behind that of `turn`, on a line of its own.
void appendText(Turn &turn, const Turn &more);

} // namespace ingot::runtime

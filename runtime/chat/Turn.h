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
  /// Parts of the content's texts, one behind the other, that nobody wrote: markers there are
  /// markers.
  std::vector<Span> own = {};

  bool is(const char *role) const { return message["role"] == role; }
  bool hasCalls() const { return message.contains("tool_calls"); }
};

using Turns = std::vector<Turn>;

/// Whether there is nothing but white space.
bool isBlank(std::string_view text);

/// A picture of a message on its way: {"type": "image"}, to which `pictureNumber` is added.
inline constexpr const char *pictureNumber = "picture";
bool isPicture(const nlohmann::ordered_json &part);
bool hasPictures(const nlohmann::ordered_json &message);

/// The text of a message's content: of all parts that are text, a line each; empty where there is
/// none.
std::string contentText(const nlohmann::ordered_json &message);

/// Puts the content of `more` behind that of `turn`, on a line of its own.
void appendText(Turn &turn, const Turn &more);

} // namespace ingot::runtime

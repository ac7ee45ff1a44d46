// SPDX-License-Identifier: Apache-2.0
// Fields of bodies that no reader takes: which are refused, what asks for nothing, and which change
// no token. All of it is data: a field that a client sends by itself is a line of the table.
#pragma once

#include "runtime/server/JsonBody.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace ingot::runtime {

/// The forms of requests, each of which may know a field; sets of them are sums.
enum Form : uint8_t { Completions = 1, Chats = 2, Responses = 4, Messages = 8 };

struct UnservedField {
  std::string_view name;
  uint8_t forms; ///< that know it
  /// JSON of a list: the values that ask for nothing, beside null. Empty: false, "", [] and {}.
  /// `anything`: the field changes no token.
  std::string_view neutral = {};
  static constexpr std::string_view anything = "*";

  bool isIgnored() const { return neutral == anything; }
  /// Whether `value` asks for nothing.
  bool takes(const Json &value) const;
};

std::span<const UnservedField> unservedFields();

/// Null where that form knows no such field, or serves it.
const UnservedField *unservedField(std::string_view name, Form form);

/// INGOT-E7202: a field that is not served, or that nobody knows; `meant`: what is said of the one
/// that was.
ApiError unservedError(const std::string &name, bool known, const std::string &meant = {});

/// Whether a value asks for nothing wherever nothing is the default: null, false, "", [] or {}.
bool isNeutral(const Json &value);

} // namespace ingot::runtime

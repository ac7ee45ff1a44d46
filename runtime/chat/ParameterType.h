// SPDX-License-Identifier: Apache-2.0
// What a function's schema says of the type of a parameter, for families that write values without
// quotes: whether `5` is a number or a string stands nowhere else.
#pragma once

#include "runtime/chat/LiteralScanner.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// The set of types (JsonType) that `schema`, which describes a function's arguments, allows for
/// the one of that name. AnyJson where it says nothing. References within the schema are followed
/// to a bounded depth.
uint8_t parameterTypes(const nlohmann::ordered_json &schema, std::string_view name);

/// A value as it was written, as JSON of one of `types`: what reads as JSON or as a literal of
/// Python of such a type, and otherwise a string, whatever `types` says: the words are the model's.
std::string typedValue(std::string_view text, uint8_t types);

} // namespace ingot::runtime

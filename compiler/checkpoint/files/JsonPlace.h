// SPDX-License-Identifier: Apache-2.0
// Where in a JSON text a value stands, for messages about it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::checkpoint {

/// The path, for a person to read, of a member or element of the value at `path`.
std::string memberPath(const std::string &path, std::string_view key);
std::string elementPath(const std::string &path, size_t index);

/// The byte of `text`, which is good JSON, at which the value at `path` begins. Of two values whose
/// paths look the same it is the first one.
std::optional<size_t> byteOfValue(std::string_view text, std::string_view path);

/// The keys of the object at `path` in the order in which `text` has them.
std::vector<std::string> keysInText(std::string_view text, std::string_view path);

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// A request's body as JSON, and readers of its fields that say which one is wrong.
#pragma once

#include "runtime/server/ErrorBody.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

namespace ingot::runtime {

using Json = nlohmann::ordered_json;

/// A value, or the error that the client gets.
template <class T> using OrError = std::variant<T, ApiError>;

/// Parses an object of at most 64 levels, 5,000 names in each object and 65,536 in all, with few
/// objects that have thousands. INGOT-E7201: it is none.
OrError<Json> parseBody(std::string_view body);

/// INGOT-E7203 about a field: "must be ...".
ApiError fieldError(std::string_view field, std::string_view must);

// Each takes a value of exactly the right kind; false when it is of another.
bool take(const Json &value, bool &out);
bool take(const Json &value, std::string &out);
bool take(const Json &value, double &out);
bool take(const Json &value, float &out);
bool take(const Json &value, int64_t &out, int64_t least, int64_t most);
bool take(const Json &value, int32_t &out, int64_t least = INT32_MIN, int64_t most = INT32_MAX);
bool take(const Json &value, std::vector<int32_t> &out);
bool take(const Json &value, std::vector<std::string> &out);

/// The string that a value has as a member of that name; empty where it is no object or has none.
std::string wordOf(const Json &value, const char *name);

/// UTF-8 text of a value, whatever is in its strings.
std::string textOf(const Json &value);

} // namespace ingot::runtime

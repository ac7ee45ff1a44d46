// SPDX-License-Identifier: Apache-2.0
// How the fields of a body are read: each by its own reader, unknown ones by none.
#pragma once

#include "runtime/server/JsonBody.h"
#include "runtime/serving/Session.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

namespace ingot::runtime {

/// Reads one field into `T`; false when the value is of the wrong kind.
template <class T> struct BodyField {
  bool (*read)(const Json &value, T &into);
  const char *must; ///< what a value must be
};

template <class T> using BodyFields = std::map<std::string_view, BodyField<T>>;

/// Fields that every path which generates text has: how tokens are drawn, and when an answer ends.
const BodyFields<Request> &generationFields();

// Readers that fields of several paths share.
bool readStop(const Json &value, Request &request);
/// "stream_options" of OpenAI's paths.
bool readStreamOptions(const Json &value, bool &includeUsage);
/// -1 and 0 are "off".
bool readTopK(const Json &value, Request &request);

/// Fields without a reader: all lists stand in the docs, which a test compares.
struct OtherFields {
  std::span<const std::string_view> refused; ///< would change the answer; null and false are well
  std::span<const std::string_view> ignored; ///< change no token
};
/// Fields that no path serves, beside a path's own.
std::span<const std::string_view> refusedOnAllPaths();

/// INGOT-E7202: a field that is not served, or that nobody knows.
ApiError unservedField(const std::string &name, bool known);

inline bool isIn(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Whether a field asks for nothing.
inline bool isNeutral(const Json &value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>());
}

/// Reads every field of `body`, by `own` into `body`'s request or by the generation fields into
/// `each`; null is as good as nothing. INGOT-E7202, E7203.
template <class T>
std::optional<ApiError> readFields(const Json &body, const BodyFields<T> &own,
                                   const OtherFields &others, T &request, Request &each) {
  for (const auto &[name, value] : body.items()) {
    if (value.is_null() || isIn(others.ignored, name))
      continue;
    auto field = own.find(name);
    if (field != own.end()) {
      if (!field->second.read(value, request))
        return fieldError(name, field->second.must);
      continue;
    }
    bool refused = isIn(others.refused, name) || isIn(refusedOnAllPaths(), name);
    auto common = generationFields().find(name);
    if (common != generationFields().end() && !refused) {
      if (!common->second.read(value, each))
        return fieldError(name, common->second.must);
      continue;
    }
    if (!refused || !isNeutral(value))
      return unservedField(name, refused);
  }
  return std::nullopt;
}

} // namespace ingot::runtime

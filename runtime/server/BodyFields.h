// SPDX-License-Identifier: Apache-2.0
// How the fields of a body are read: each by its own reader, unknown ones by none.
#pragma once

#include "runtime/server/UnservedFields.h"
#include "runtime/serving/Session.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Reads one field into `T`; false when the value is of the wrong kind.
template <class T> struct BodyField {
  bool (*read)(const Json &value, T &into);
  const char *must; ///< what a value must be
};

template <class T> using BodyFields = std::map<std::string_view, BodyField<T>>;

/// Fields that every path which generates text has: how tokens are drawn, and when an answer ends.
const BodyFields<Request> &generationFields();

template <class T> std::vector<std::string> namesOf(const BodyFields<T> &fields) {
  std::vector<std::string> names;
  for (const auto &[name, field] : fields)
    names.emplace_back(name);
  return names;
}
/// INGOT-E7202 of a field that neither `own` has nor the generation fields.
ApiError unknownField(const std::string &name, std::vector<std::string> own);

// Readers that fields of several paths share.
bool readStop(const Json &value, Request &request);
/// "stream_options" of OpenAI's paths.
bool readStreamOptions(const Json &value, bool &includeUsage);
/// -1 and 0 are "off".
bool readTopK(const Json &value, Request &request);

/// Reads every field of a body of that form, by `own` into `request` or by the generation fields
/// into `each`; null is as good as nothing. INGOT-E7202, E7203.
template <class T>
std::optional<ApiError> readFields(const Json &body, const BodyFields<T> &own, Form form,
                                   T &request, Request &each) {
  for (const auto &[name, value] : body.items()) {
    if (value.is_null())
      continue;
    if (auto field = own.find(name); field != own.end()) {
      if (!field->second.read(value, request))
        return fieldError(name, field->second.must);
      continue;
    }
    if (const UnservedField *unserved = unservedField(name, form)) {
      if (!unserved->takes(value))
        return unservedError(name, true);
      continue;
    }
    auto common = generationFields().find(name);
    if (common == generationFields().end())
      return unknownField(name, namesOf(own));
    if (!common->second.read(value, each))
      return fieldError(name, common->second.must);
  }
  return std::nullopt;
}

} // namespace ingot::runtime

// SPDX-License-Identifier: Apache-2.0
// JsonFields: reads many members of one JSON object and remembers the first error, so that a
// reader of thirty settings tests for failure once.
#pragma once

#include "compiler/checkpoint/files/Json.h"

#include <set>

namespace ingot::checkpoint {

/// After the first error every further read returns its fallback unread. Members that are absent
/// or null count as not given.
class JsonFields {
public:
  using Keys = std::set<std::string, std::less<>>;

  explicit JsonFields(Json object);

  bool has(std::string_view key) const;

  /// Whether `key` is there, and null.
  bool isNull(std::string_view key) const;

  /// Whether `key` is there, and this text.
  bool isText(std::string_view key, std::string_view text) const;

  /// Whether the value of `key` is absent, null, false, 0, or empty.
  bool isOff(std::string_view key) const;

  uint64_t unsignedInteger(std::string_view key, uint64_t least, uint64_t most);
  uint64_t unsignedIntegerOr(std::string_view key, uint64_t fallback, uint64_t least,
                             uint64_t most);
  double number(std::string_view key, double least, double most);
  double numberOr(std::string_view key, double fallback, double least, double most);
  bool booleanOr(std::string_view key, bool fallback);
  std::string stringOr(std::string_view key, std::string fallback);

  /// One integer or an array of them; nothing when not given.
  std::optional<std::vector<uint64_t>> unsignedIntegers(std::string_view key, uint64_t least,
                                                        uint64_t most);

  /// One number or an array of them; nothing when not given.
  std::optional<std::vector<double>> numbers(std::string_view key, double least, double most);

  /// An array of texts; nothing when not given.
  std::optional<std::vector<std::string>> texts(std::string_view key);

  /// Records an error at member `key` (at the object itself when the key is absent).
  void fail(std::string_view key, std::string code, std::string what, std::string fix);

  /// The keys that were asked for so far.
  const Keys &asked() const { return askedKeys; }

  /// The first error, if any.
  const std::optional<Error> &error() const { return firstError; }

private:
  std::optional<Json> given(std::string_view key) const;
  template <class T>
  std::optional<std::vector<T>> listed(std::string_view key, T least, T most,
                                       Expected<T> (Json::*read)(T, T) const);
  template <class T> T keep(Expected<T> value, T fallback);

  Json object;
  mutable Keys askedKeys;
  std::optional<Error> firstError;
};

} // namespace ingot::checkpoint

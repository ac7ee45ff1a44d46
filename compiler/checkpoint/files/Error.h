// SPDX-License-Identifier: Apache-2.0
// Error and Expected: how the readers report bad input. Nothing here throws; every failure carries
// a stable code, what was wrong, where, and what to change.
#pragma once

#include <cassert>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ingot::checkpoint {

/// One failure, for a person to read.
struct Error {
  std::string code;  ///< stable, "INGOT-Ennnn"; documented under docs/errors
  std::string what;  ///< what was wrong
  std::string where; ///< file, and tensor, key, line or byte inside it; may be empty
  std::string fix;   ///< what to change; may be empty

  /// "INGOT-Ennnn: what (where); fix".
  std::string str() const;
};

/// `text` made safe to print: control characters and quotes escaped, long text cut in the middle.
/// Use it for everything that came out of a file.
std::string printable(std::string_view text);

/// printable(), in double quotes.
std::string inQuotes(std::string_view text);

inline void appendPart(std::string &out, std::string_view part) { out += part; }
inline void appendPart(std::string &out, std::integral auto part) { out += std::to_string(part); }
void appendPart(std::string &out, double part);

/// Joins strings and numbers into one message.
template <class... Parts> std::string message(const Parts &...parts) {
  std::string out;
  (appendPart(out, parts), ...);
  return out;
}

/// A value, or the Error that explains its absence. Test it before use.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() & { return value(); }
  T &&operator*() && { return std::move(value()); }
  const T &operator*() const & { return const_cast<Expected *>(this)->value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &const_cast<Expected *>(this)->value(); }

  /// The failure; only when this holds no value.
  const Error &error() const {
    assert(state.index() == 1 && "this Expected holds a value");
    return *std::get_if<1>(&state);
  }

private:
  T &value() {
    assert(state.index() == 0 && "test an Expected before using its value");
    return *std::get_if<0>(&state);
  }

  std::variant<T, Error> state;
};

/// Success, or the Error that explains the failure.
template <> class [[nodiscard]] Expected<void> {
public:
  Expected() = default;
  Expected(Error error) : failure(std::move(error)), failed(true) {}

  explicit operator bool() const { return !failed; }
  const Error &error() const {
    assert(failed && "this Outcome is a success");
    return failure;
  }

private:
  Error failure;
  bool failed = false;
};

using Outcome = Expected<void>;

} // namespace ingot::checkpoint

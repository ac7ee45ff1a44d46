// SPDX-License-Identifier: Apache-2.0
// Status and Result<T>: how every fallible function of the runtime reports failure. No exceptions.
#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ingot::runtime {

/// Success, or an error with a stable code ("INGOT-E5001", listed in docs/errors) and a message
/// that says what was wrong, where, and what to change. Success costs one null pointer.
///
///     if (Status status = load(path); !status.ok())
///       return status;
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;

  Status(const Status &other) : info(other.info ? std::make_unique<Info>(*other.info) : nullptr) {}
  Status(Status &&) noexcept = default;
  Status &operator=(Status other) noexcept {
    info = std::move(other.info);
    return *this;
  }

  static Status success() { return {}; }

  /// `code` has the form "INGOT-Ennnn" and a row in docs/errors. `message` names what and where;
  /// `fix` says what the user can change and is appended as a sentence of its own.
  static Status error(std::string_view code, std::string message, std::string_view fix = {}) {
    Status status;
    if (!fix.empty()) {
      message += "; ";
      message += fix;
    }
    status.info = std::make_unique<Info>(Info{std::string(code), std::move(message)});
    return status;
  }

  bool ok() const { return !info; }

  /// Empty on success.
  std::string_view code() const { return info ? std::string_view(info->code) : std::string_view(); }
  std::string_view message() const {
    return info ? std::string_view(info->message) : std::string_view();
  }

  /// "INGOT-E5001: message", or "ok".
  std::string toString() const { return info ? info->code + ": " + info->message : "ok"; }

  /// The same error with "`where`: " put before the message; success stays success.
  Status in(std::string_view where) && {
    if (info)
      info->message = std::string(where) + ": " + info->message;
    return std::move(*this);
  }

private:
  struct Info {
    std::string code;
    std::string message;
  };
  std::unique_ptr<Info> info;
};

/// A value of type T, or the error that prevented it.
///
///     Result<Engine> engine = Engine::open(path);
///     if (!engine.ok())
///       return engine.status();
///     use(*engine);
template <class T> class [[nodiscard]] Result {
  static_assert(!std::is_same_v<std::decay_t<T>, Status>, "return a Status instead");

public:
  Result(T value) : held(std::move(value)) {}
  /// `error` must not be success.
  Result(Status error) : failure(std::move(error)) {
    assert(!failure.ok() && "a Result without a value needs an error");
  }

  bool ok() const { return held.has_value(); }

  /// The error; success when there is a value.
  const Status &status() const & { return failure; }
  Status status() && { return std::move(failure); }

  /// The value; only when ok().
  T &operator*() & { return get(); }
  const T &operator*() const & { return const_cast<Result *>(this)->get(); }
  T &&operator*() && { return std::move(get()); }
  T *operator->() { return &get(); }
  const T *operator->() const { return &const_cast<Result *>(this)->get(); }

private:
  T &get() {
    assert(held && "value of a failed Result");
    return *held;
  }

  std::optional<T> held;
  Status failure;
};

} // namespace ingot::runtime

// SPDX-License-Identifier: Apache-2.0
// What every function of the C interface needs: the opaque types, errors out, sized structures in.
#pragma once

#include "runtime/include/ingot/ingot.h"
#include "runtime/serving/Session.h"

#include <cstring>
#include <exception>
#include <new>

struct ingot_error {
  std::string code;
  std::string message;
};

struct ingot_engine {
  std::unique_ptr<ingot::runtime::Session> session;
  std::vector<std::string> taps;
  ingot::runtime::Event event;         ///< what ingot_next_event handed out last
  std::string errorCode, errorMessage; ///< of that event
  std::vector<ingot_logprob> top;      ///< its alternatives
};

namespace ingot::runtime {

/// NULL for success.
ingot_error *toError(const Status &status);

/// INGOT-E6017: the caller broke a rule of the interface.
Status misuse(const std::string &what);

/// Runs `body`, which returns a Status; nothing is thrown out of the C interface.
template <class Body> ingot_error *guarded(Body body) {
  try {
    return toError(body());
  } catch (const std::bad_alloc &) {
    return toError(Status::error("INGOT-E6010", "out of memory"));
  } catch (const std::exception &error) {
    return toError(Status::error("INGOT-E6017", std::string("unexpected: ") + error.what()));
  }
}

/// Copies a caller's structure, which may be older (shorter) than ours, over defaults.
template <class T> Status readSized(const T *given, T &full) {
  if (!given || given->size < sizeof(size_t))
    return misuse("a structure is NULL or was not initialised");
  size_t size = std::min(given->size, sizeof(T));
  std::memcpy(&full, given, size);
  full.size = sizeof(T);
  return {};
}

/// Copies as much of ours as the caller's structure holds, keeping its size field.
template <class T> Status writeSized(const T &full, T *given) {
  if (!given || given->size < sizeof(size_t))
    return misuse("a structure is NULL or its size is not set");
  size_t size = std::min(given->size, sizeof(T));
  std::memcpy(reinterpret_cast<char *>(given) + sizeof(size_t),
              reinterpret_cast<const char *>(&full) + sizeof(size_t), size - sizeof(size_t));
  return {};
}

} // namespace ingot::runtime

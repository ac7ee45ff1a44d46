// SPDX-License-Identifier: Apache-2.0
// What every function of the C interface needs: the opaque types, errors out, sized structures in.
#pragma once

#include "runtime/api/HandedEvent.h"
#include "runtime/api/Layouts.h"
#include "runtime/core/StandardFloatingPoint.h"
#include "runtime/serving/Session.h"
#include "runtime/serving/pictures/PictureReader.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

struct ingot_error {
  std::string code;
  std::string message;
};

namespace ingot::runtime {

/// What ChatApi.cpp keeps of an engine.
class ChatOfEngine;
std::shared_ptr<ChatOfEngine> makeChat();

} // namespace ingot::runtime

/// With the picture of a turn it is the turn's.
struct ingot_picture {
  std::shared_ptr<const ingot::runtime::PromptPicture> picture;
};

struct ingot_engine {
  ingot::runtime::Session *session = nullptr;     ///< of `owned`, or of the loop that took it
  std::unique_ptr<ingot::runtime::Session> owned; ///< null once a loop has it
  std::vector<std::string> taps;
  ingot::runtime::HandedEvent handed; ///< by ingot_next_event
  std::shared_ptr<ingot::runtime::ChatOfEngine> chat = ingot::runtime::makeChat();
  std::unique_ptr<ingot::runtime::PictureReader> pictures; ///< null: it takes none
};

namespace ingot::runtime {

/// Has a request take the prompt of a turn; its form is set before. Errors: formMarkers.
Status takeTurn(const ingot_turn &turn, Request &request);

/// NULL for success.
ingot_error *toError(const Status &status);

/// INGOT-E6017: the caller broke a rule of the interface.
Status misuse(const std::string &what);

/// Success when the caller may change the engine: there is one, and no loop has it. INGOT-E6017.
Status checkOwned(const ingot_engine *engine);

/// What a caller's request asks of an engine. INGOT-E6017, E6050, E6053.
Status readRequest(const ingot_engine *engine, const ingot_request *given, Request &request);

/// Runs `body`, which returns a Status; nothing is thrown out of the C interface. A host program's
/// flush-to-zero or rounding changes no number: threads that start here inherit the standard too.
template <class Body> ingot_error *guarded(Body body) {
  const StandardFloatingPoint standard;
  try {
    return toError(body());
  } catch (const std::bad_alloc &) {
    return toError(Status::error("INGOT-E6010", "out of memory"));
  } catch (const std::exception &error) {
    return toError(Status::error("INGOT-E6017", std::string("unexpected: ") + error.what()));
  }
}

/// INGOT-E6050 when a structure of that size is none that this library knows.
Status unknownLayout(const char *name, size_t size);

/// Whether a caller's structure is of a layout that this library knows, so that its size can be
/// trusted.
template <class T> Status checkSize(const T *given, size_t size) {
  using Known = Layouts<T>;
  if (!given)
    return misuse(std::string(Known::name) + " is NULL");
  bool known =
      std::find(std::begin(Known::sizes), std::end(Known::sizes), size) != std::end(Known::sizes);
  return known ? Status() : unknownLayout(Known::name, size);
}
template <class T> Status checkSize(const T *given) {
  return checkSize(given, given ? given->size : 0);
}

/// Writes as many of `values` as a caller has room for, and how many there are.
template <class Values, class T>
void writeUpTo(const Values &values, size_t capacity, T *to, size_t *count) {
  std::copy_n(values.begin(), std::min(capacity, values.size()), to);
  *count = values.size();
}

/// Writes as much of `full` as the caller's structure holds, and its size.
template <class T> void copyOut(T full, T *given, size_t size) {
  full.size = size;
  std::memcpy(given, &full, size);
}

/// Sets a caller's structure of `size` bytes to `defaults`.
template <class T> Status initSized(const T &defaults, T *given, size_t size) {
  Status status = checkSize(given, size);
  if (status.ok())
    copyOut(defaults, given, size);
  return status;
}

/// Copies a caller's structure, which may be older (shorter) than ours, over defaults.
template <class T> Status readSized(const T *given, T &full) {
  Status status = checkSize(given);
  if (status.ok())
    std::memcpy(&full, given, given->size);
  return status;
}

/// Copies as much of ours as the caller's structure holds, keeping its size.
template <class T> Status writeSized(const T &full, T *given) {
  Status status = checkSize(given);
  if (status.ok())
    copyOut(full, given, given->size);
  return status;
}

} // namespace ingot::runtime

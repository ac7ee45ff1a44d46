// SPDX-License-Identifier: Apache-2.0
// What the checker found: reports as text, each place and kind once.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace ingot::simulator {

enum class FindingKind : uint8_t {
  OutOfBounds,
  Misaligned,
  Uninitialised,
  Race,
  AsyncRace,
  Deadlock,
  Barrier,
  Divergence,
  ProgrammaticLaunch,
  AsyncProtocol,
  Descriptor,
  Livelock,
  Arithmetic
};

/// The word that begins a report of the kind.
const char *nameOf(FindingKind kind);

/// Collects reports from all threads of a launch.
class FindingLog {
public:
  /// Adds a report. The second and later ones of a kind at a place (kernel and line) are counted
  /// only. Returns whether it is kept.
  bool add(FindingKind kind, const std::string &place, const std::string &text);
  std::string text() const;
  uint64_t count() const;
  void clear();

private:
  mutable std::mutex mutex;
  std::vector<std::string> reports;
  std::set<std::string> places;
  uint64_t total = 0;
};

} // namespace ingot::simulator

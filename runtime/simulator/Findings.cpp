// SPDX-License-Identifier: Apache-2.0
// The list of findings.
#include "runtime/simulator/Findings.h"

namespace ingot::simulator {

namespace {
constexpr size_t maximumReports = 256;
}

const char *nameOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::Uninitialised:
    return "uninitialised";
  case FindingKind::Race:
    return "race";
  case FindingKind::AsyncRace:
    return "async-race";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::Barrier:
    return "barrier";
  case FindingKind::Divergence:
    return "divergence";
  case FindingKind::ProgrammaticLaunch:
    return "programmatic-launch";
  case FindingKind::AsyncProtocol:
    return "async-protocol";
  case FindingKind::Descriptor:
    return "descriptor";
  case FindingKind::Livelock:
    return "livelock";
  case FindingKind::Arithmetic:
    return "arithmetic";
  }
  return "finding";
}

bool FindingLog::add(FindingKind kind, const std::string &place, const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  ++total;
  if (reports.size() >= maximumReports || !places.insert(nameOf(kind) + place).second)
    return false;
  reports.push_back(std::string(nameOf(kind)) + ": " + text);
  return true;
}

std::string FindingLog::text() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::string all;
  for (const std::string &report : reports)
    all += report + "\n";
  return all;
}

uint64_t FindingLog::count() const {
  std::lock_guard<std::mutex> lock(mutex);
  return total;
}

void FindingLog::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  reports.clear();
  places.clear();
  total = 0;
}

} // namespace ingot::simulator

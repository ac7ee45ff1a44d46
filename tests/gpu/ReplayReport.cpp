// SPDX-License-Identifier: Apache-2.0
// Tables and JSON of a replay.
#include "tests/gpu/ReplayReport.h"

#include "runtime/tools/Table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace ingot::record {

using runtime::printable;

namespace {

std::map<std::string, Tally> byOperation(const RecordT &record,
                                         const std::vector<Outcome> &outcomes) {
  std::map<std::string, Tally> tallies;
  for (const Outcome &outcome : outcomes)
    tallies[record.launches[outcome.launch]->operation].add(outcome);
  return tallies;
}

/// Four digits: what differs is read, not computed with.
std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string longNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::vector<std::string> cells(const std::string &name, const Tally &tally) {
  auto number = [](size_t value) { return std::to_string(value); };
  return {name,
          number(tally.launches),
          number(tally.bitEqual),
          number(tally.within),
          number(tally.failed),
          shortNumber(tally.worst)};
}

std::string verdict(const Outcome &outcome) {
  return outcome.failed() ? "failed" : outcome.bitEqual ? "bit-equal" : "within";
}

/// JSON has no infinity.
nlohmann::json jsonNumber(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(longNumber(value));
}

nlohmann::json jsonTally(const Tally &tally) {
  return {{"launches", tally.launches},
          {"bit_equal", tally.bitEqual},
          {"within", tally.within},
          {"failed", tally.failed},
          {"worst", jsonNumber(tally.worst)}};
}

nlohmann::json jsonLaunch(const LaunchT &launch, const Outcome &outcome) {
  nlohmann::json json = {{"case", launch.case_name},
                         {"operation", launch.operation},
                         {"scalars", launch.scalars},
                         {"verdict", verdict(outcome)},
                         {"worst", jsonNumber(outcome.worst)}};
  if (!outcome.error.empty())
    json["error"] = outcome.error;
  if (outcome.first)
    json["first"] = {{"buffer", outcome.first->buffer},
                     {"element", outcome.first->element},
                     {"recorded", jsonNumber(outcome.first->recorded)},
                     {"found", jsonNumber(outcome.first->found)},
                     {"tolerance", jsonNumber(outcome.first->tolerance)}};
  return json;
}

} // namespace

void Tally::add(const Outcome &outcome) {
  ++launches;
  ++(outcome.failed() ? failed : outcome.bitEqual ? bitEqual : within);
  worst = std::max(worst, outcome.worst);
}

Tally total(const std::vector<Outcome> &outcomes) {
  Tally all;
  for (const Outcome &outcome : outcomes)
    all.add(outcome);
  return all;
}

void printReport(FILE *stream, const RecordT &record, const std::vector<Outcome> &outcomes) {
  runtime::Table table({"operation", ">launches", ">bit-equal", ">within", ">failed", ">worst"});
  for (const auto &[operation, tally] : byOperation(record, outcomes))
    table.add(cells(operation, tally));
  table.addTotal(cells("all", total(outcomes)));
  table.print(stream);
  for (const Outcome &outcome : outcomes) {
    if (outcome.bitEqual && !outcome.failed())
      continue;
    const LaunchT &launch = *record.launches[outcome.launch];
    std::string line = verdict(outcome) + " " + launch.case_name;
    for (int64_t scalar : launch.scalars)
      line += " " + std::to_string(scalar);
    if (outcome.first)
      line += ": argument " + std::to_string(outcome.first->buffer) + ", element " +
              std::to_string(outcome.first->element) + " is " + longNumber(outcome.first->found) +
              " instead of " + longNumber(outcome.first->recorded) + " +- " +
              shortNumber(outcome.first->tolerance);
    if (!outcome.error.empty())
      line += ": " + outcome.error;
    std::fprintf(stream, "%s\n", printable(line).c_str());
  }
}

std::string jsonReport(const RecordT &record, const std::vector<Outcome> &outcomes,
                       const std::string &device) {
  nlohmann::json json = {{"device", device},
                         {"architecture", record.architecture},
                         {"multiprocessors", record.multiprocessors},
                         {"left_out", record.left_out},
                         {"all", jsonTally(total(outcomes))}};
  for (const auto &[operation, tally] : byOperation(record, outcomes))
    json["operations"][operation] = jsonTally(tally);
  for (const Outcome &outcome : outcomes)
    if (!outcome.bitEqual || outcome.failed())
      json["different"].push_back(jsonLaunch(*record.launches[outcome.launch], outcome));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace ingot::record

// SPDX-License-Identifier: Apache-2.0
// Lines and tables of a replay.
#include "tests/gpu/ReplayReport.h"

#include "runtime/tools/Table.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ingot::record {

using nlohmann::json;
using runtime::printable;

namespace {

/// Four digits: what differs is read, not computed with.
std::string shortNumber(const json &value) {
  if (!value.is_number())
    return value.is_string() ? value.get<std::string>() : "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value.get<double>());
  return text;
}

std::string plainNumber(const json &value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// JSON has no infinity.
json jsonNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::isfinite(value) ? json(value) : json(text);
}

json axes(const Extent &extent) { return {extent.x(), extent.y(), extent.z()}; }

/// Launches of one operation, or all.
struct Tally {
  size_t launches = 0, bitEqual = 0, within = 0, failed = 0;
  double worst = 0;

  void add(const json &line) {
    ++launches;
    ++(isFailure(line) ? failed : line["verdict"] == "bit-equal" ? bitEqual : within);
    const json &own = line["worst"];
    worst = std::max(worst,
                     own.is_number() ? own.get<double>() : std::numeric_limits<double>::infinity());
  }
  std::vector<std::string> cells(const std::string &name) const {
    auto number = [](size_t value) { return std::to_string(value); };
    return {name,           number(launches), number(bitEqual),
            number(within), number(failed),   shortNumber(jsonNumber(worst))};
  }
};

} // namespace

json launchLine(const RecordT &record, size_t index, const Outcome &outcome) {
  const LaunchT &launch = *record.launches[index];
  const KernelT &kernel = *record.kernels[launch.kernel];
  json line = {{"launch", index},
               {"case", launch.case_name},
               {"operation", launch.operation},
               {"kernel", kernel.source},
               {"grid", axes(*launch.grid)},
               {"block", axes(*kernel.block)},
               {"shared_bytes", kernel.shared_bytes},
               {"scalars", launch.scalars},
               {"verdict", outcome.verdict()},
               {"worst", jsonNumber(outcome.worst)}};
  if (outcome.seconds > 0)
    line["seconds"] = outcome.seconds;
  if (!outcome.error.empty())
    line["error"] = outcome.error;
  if (outcome.first)
    line["first"] = {{"buffer", outcome.first->buffer},
                     {"element", outcome.first->element},
                     {"recorded", jsonNumber(outcome.first->recorded)},
                     {"found", jsonNumber(outcome.first->found)},
                     {"tolerance", jsonNumber(outcome.first->tolerance)}};
  return line;
}

json graphLine(const RecordT &record, std::span<const size_t> launches,
               const GraphOutcome &outcome) {
  json line = {{"graph", {launches.front(), launches.back()}},
               {"launches", launches.size()},
               {"verdict", outcome.error.empty() ? "bit-equal" : "failed"}};
  if (outcome.error.empty())
    return line;
  line["error"] = outcome.error;
  if (outcome.deviceFailed)
    return line;
  auto at = std::ranges::find(launches, outcome.launch);
  auto kernelOf = [&](size_t launch) {
    return record.kernels[record.launches[launch]->kernel]->source;
  };
  line.update({{"launch", outcome.launch},
               {"case", record.launches[outcome.launch]->case_name},
               {"kernel", kernelOf(outcome.launch)},
               {"before", at == launches.begin() ? "" : kernelOf(*std::prev(at))},
               {"pass", outcome.pass},
               {"byte", outcome.byte}});
  return line;
}

bool isFailure(const json &line) {
  auto verdict = line.find("verdict");
  return verdict != line.end() && *verdict == "failed";
}

/// As textOf; json's exception where the line is not as this file makes them.
static std::string textOfWhole(const json &line) {
  std::string text = line.value("verdict", "");
  if (line.contains("graph"))
    text += " graph of launches " + line.at("graph").at(0).dump() + " to " +
            line.at("graph").at(1).dump();
  if (line.contains("case"))
    text += " " + line.at("case").get<std::string>();
  for (const json &scalar : line.value("scalars", json::array()))
    text += " " + scalar.dump();
  if (line.contains("kernel"))
    text += " (" + line.at("kernel").get<std::string>() +
            (line.contains("before") ? ", after " + line.at("before").get<std::string>() : "") +
            ")";
  if (line.contains("first")) {
    const json &first = line.at("first");
    text += ": argument " + first.at("buffer").dump() + ", element " + first.at("element").dump() +
            " is " + plainNumber(first.at("found")) + " instead of " +
            plainNumber(first.at("recorded")) + " +- " + shortNumber(first.at("tolerance"));
  }
  if (line.contains("error"))
    text += ": " + line.at("error").get<std::string>();
  return text;
}

std::string textOf(const json &line) {
  try {
    return printable(textOfWhole(line));
  } catch (const json::exception &) {
    return printable(line.dump(-1, ' ', false, json::error_handler_t::replace));
  }
}

void printReport(FILE *stream, const std::vector<json> &lines) {
  std::map<std::string, Tally> tallies;
  Tally all, graphs;
  for (const json &line : lines) {
    if (line.contains("graph")) {
      ++graphs.launches;
      graphs.failed += isFailure(line);
      continue;
    }
    tallies[line["operation"]].add(line);
    all.add(line);
  }
  runtime::Table table({"operation", ">launches", ">bit-equal", ">within", ">failed", ">worst"});
  for (const auto &[operation, tally] : tallies)
    table.add(tally.cells(operation));
  table.addTotal(all.cells("all"));
  table.print(stream);
  if (graphs.launches)
    std::fprintf(stream, "%zu graphs of these launches, each run twice: %zu failed\n",
                 graphs.launches, graphs.failed);
  for (const json &line : lines) {
    if (line["verdict"] != "bit-equal")
      std::fprintf(stream, "%s\n", textOf(line).c_str());
    if (line.contains("untimed"))
      std::fprintf(stream, "not timed: %s: %s\n", textOf(line).c_str(),
                   printable(line["untimed"].get<std::string>()).c_str());
  }
}

} // namespace ingot::record

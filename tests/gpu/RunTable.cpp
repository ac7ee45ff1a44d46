// SPDX-License-Identifier: Apache-2.0
// Sections with a fixed share of the lines, the costliest rows first.
#include "tests/gpu/RunTable.h"

#include "runtime/tools/Table.h"
#include "tests/gpu/ReplayReport.h"

#include <algorithm>
#include <map>
#include <set>

namespace ingot::record {

using nlohmann::json;
using runtime::fixedPoint;
using runtime::printable;
using runtime::shortened;
using runtime::Table;

namespace {

/// Shares of the 60 lines.
constexpr size_t kMostFailures = 10, kMostLaunches = 5, kMostEngines = 8, kMostKernels = 22;
constexpr size_t kWidth = 150, kErrorWidth = 12;
constexpr double kMicro = 1e6, kMilli = 1e3, kGiga = 1e9, kTera = 1e12;

double number(const json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The objects of a list; what is none is left out.
std::vector<json> objects(const json &object, const char *key) {
  std::vector<json> list;
  auto found = object.find(key);
  if (found != object.end() && found->is_array())
    std::ranges::copy_if(*found, std::back_inserter(list),
                         [](const json &element) { return element.is_object(); });
  return list;
}

bool has(const json &line, const char *key) { return line.contains(key) && line[key].is_object(); }

/// Calls visit(line) for every result of every attempt.
template <class Visit> void forEachResult(const json &result, const Visit &visit) {
  for (const json &attempt : objects(result, "attempts"))
    for (const json &line : objects(attempt, "results"))
      visit(line);
}

/// "llama-3-8b-w4a16" of "/somewhere/bench-llama-3-8b-w4a16.ingot".
std::string engineOf(const json &line) {
  std::string name = text(line, "engine");
  name = name.substr(name.find_last_of('/') + 1);
  name = name.substr(0, name.find(".ingot"));
  return name.starts_with("bench-") ? name.substr(6) : name;
}

/// "qkv" of "qkv_proj".
std::string withoutProj(std::string name) {
  return name.ends_with("_proj") ? name.substr(0, name.size() - 5) : name;
}

/// "qkv" of "matmul layers.0.self_attn.qkv_proj".
std::string siteOf(const json &kernel) {
  std::string site = text(kernel, "site");
  return withoutProj(site.substr(site.find_last_of(". ") + 1));
}

//===- Attempts and launches ----------------------------------------------------------------===//

void printAttempts(FILE *stream, const json &result) {
  std::map<std::string, size_t> outcomes;
  size_t shown = 0, all = 0;
  for (const json &attempt : objects(result, "attempts")) {
    ++all;
    std::string outcome = text(attempt, "outcome");
    ++outcomes[outcome];
    if (outcome == "passed" || ++shown > kMostFailures)
      continue;
    std::string line = outcome + " " + text(attempt, "name") + ": " + text(attempt, "reason");
    std::fprintf(stream, "  %s\n", shortened(printable(line), kWidth).c_str());
  }
  if (shown > kMostFailures)
    std::fprintf(stream, "  and %zu more\n", shown - kMostFailures);
  std::fprintf(stream, "%zu attempts:", all);
  for (const auto &[outcome, count] : outcomes)
    std::fprintf(stream, " %zu %s", count, printable(outcome).c_str());
  std::fprintf(stream, "\n");
}

void printLaunches(FILE *stream, const json &result) {
  std::map<std::string, size_t> verdicts;
  std::vector<std::string> failures;
  size_t launches = 0, graphs = 0, failedGraphs = 0;
  forEachResult(result, [&](const json &line) {
    bool isGraph = line.contains("graph");
    if (!isGraph && !line.contains("launch"))
      return;
    isGraph ? ++graphs : ++launches;
    if (isGraph)
      failedGraphs += isFailure(line);
    else
      ++verdicts[text(line, "verdict")];
    if (isFailure(line))
      failures.push_back(textOf(line));
  });
  if (launches == 0)
    return;
  std::fprintf(stream,
               "%zu launches: %zu bit-equal, %zu within tolerance, %zu failed; %zu graphs, "
               "%zu failed%s\n",
               launches, verdicts["bit-equal"], verdicts["within"], verdicts["failed"], graphs,
               failedGraphs,
               result.contains("dropped") && result["dropped"] == true
                   ? " (launches that passed were dropped)"
                   : "");
  for (size_t i = 0; i < std::min(failures.size(), kMostLaunches); ++i)
    std::fprintf(stream, "  %s\n", shortened(failures[i], kWidth).c_str());
}

//===- Steps --------------------------------------------------------------------------------===//

/// Seconds of a step's kernels by `key`, all launches together; 0 if one does not state any.
double sumOf(const json &step, const char *key) {
  double sum = 0;
  for (const json &kernel : objects(step, "kernels")) {
    double seconds = number(kernel, key);
    if (seconds <= 0 && text(kernel, "kernel") != "copy")
      return 0;
    sum += seconds * number(kernel, "launches");
  }
  return sum;
}

std::string stepCell(const json &step) {
  if (step.contains("skipped"))
    return "does not fit";
  double predicted = sumOf(step, "predicted_seconds"), roofline = 0;
  for (const json &kernel : objects(step, "kernels"))
    roofline += number(kernel, "floor_seconds") * number(kernel, "launches");
  return fixedPoint(number(step, "step_seconds") * kMilli, 2) + " (" +
         (predicted > 0 ? fixedPoint(predicted * kMilli, 1) : "-") + ", " +
         fixedPoint(roofline * kMilli, 1) + ")";
}

void printSteps(FILE *stream, const json &result) {
  std::set<int64_t> sizes;
  std::map<std::string, std::map<int64_t, std::string>> cells;
  std::map<std::string, std::string> serving;
  std::string error; // of predictions
  forEachResult(result, [&](const json &line) {
    if (has(line, "step")) {
      for (const json &kernel : objects(line["step"], "kernels"))
        if (std::string stated = text(kernel, "predicted_error"); !stated.empty())
          error = " " + shortened(stated, kErrorWidth);
      auto tokens = int64_t(number(line["step"], "tokens"));
      sizes.insert(tokens);
      cells[engineOf(line)][tokens] = stepCell(line["step"]);
    } else if (has(line, "serving")) {
      const json &row = line["serving"];
      serving[engineOf(line)] = fixedPoint(number(row, "generated_tokens_per_second"), 0) + " (x" +
                                std::to_string(int64_t(number(row, "batch"))) + ")";
    }
  });
  if (cells.empty() && serving.empty())
    return;
  std::vector<std::string> titles = {"ms a step (predicted" + error + ", roofline)"};
  for (int64_t size : sizes)
    titles.push_back(">" + std::to_string(size));
  titles.push_back(">tokens/s served");
  Table table(titles);
  for (const auto &[engine, own] : serving)
    cells[engine];
  for (const auto &[engine, own] : cells) {
    if (table.rows() == kMostEngines)
      break;
    std::vector<std::string> row = {engine};
    for (int64_t size : sizes)
      row.push_back(own.contains(size) ? own.at(size) : "");
    row.push_back(serving.contains(engine) ? serving.at(engine) : "");
    table.add(row);
  }
  table.print(stream);
}

//===- Kernels beside their peers -----------------------------------------------------------===//

/// A kernel of a measured step.
struct KernelRow {
  std::string engine;
  int64_t tokens;
  json kernel;
  double perStep() const { return number(kernel, "seconds") * number(kernel, "launches"); }
};

std::vector<KernelRow> kernelRows(const json &result) {
  std::vector<KernelRow> rows;
  forEachResult(result, [&](const json &line) {
    if (!has(line, "step"))
      return;
    for (const json &kernel : objects(line["step"], "kernels"))
      if (number(kernel, "operations") > 0)
        rows.push_back({engineOf(line), int64_t(number(line["step"], "tokens")), kernel});
  });
  std::ranges::stable_sort(
      rows, [](const KernelRow &a, const KernelRow &b) { return a.perStep() > b.perStep(); });
  return rows;
}

/// The fastest peer of an operation: the same model, site and rows, whatever its numbers.
std::string peerOf(const json &result, const KernelRow &row) {
  std::string site = siteOf(row.kernel), best;
  bool isAttention = text(row.kernel, "kernel").starts_with("Attention");
  double seconds = 0;
  forEachResult(result, [&](const json &line) {
    double own = number(line, "seconds");
    bool same =
        own > 0 && row.engine.starts_with(text(line, "model") + "-") &&
        int64_t(number(line, "m")) == row.tokens &&
        (isAttention ? text(line, "kind") == "attention" : withoutProj(text(line, "name")) == site);
    if (same && line.contains("peer") && (seconds == 0 || own < seconds)) {
      seconds = own;
      best = text(line, "peer") + " " + fixedPoint(own * kMicro, 1);
    }
  });
  return best;
}

void printKernels(FILE *stream, const json &result) {
  std::vector<KernelRow> rows = kernelRows(result);
  // Every engine has its costliest rows, instead of one engine all.
  std::map<std::string, size_t> shown;
  size_t each = 0;
  std::set<std::string> engines;
  for (const KernelRow &row : rows)
    engines.insert(row.engine);
  if (engines.empty())
    return;
  each = std::max<size_t>(kMostKernels / engines.size(), 1);
  Table table({"kernel", "site", ">tokens", ">us", ">predicted", ">GB/s", ">TFLOP/s",
               ">of roofline", ">% of step", "peer, us"});
  for (const KernelRow &row : rows) {
    if (shown[row.engine] == each || table.rows() == kMostKernels)
      continue;
    ++shown[row.engine];
    double seconds = number(row.kernel, "seconds"), total = 0;
    double predicted = number(row.kernel, "predicted_seconds");
    for (const KernelRow &other : rows)
      if (other.engine == row.engine && other.tokens == row.tokens)
        total += other.perStep();
    auto rate = [&](const char *key, double unit) {
      return seconds > 0 ? fixedPoint(number(row.kernel, key) / seconds / unit, 1) : "-";
    };
    table.add({row.engine, siteOf(row.kernel), std::to_string(row.tokens),
               fixedPoint(seconds * kMicro, 1),
               predicted > 0 ? fixedPoint(predicted * kMicro, 1) : "-", rate("bytes", kGiga),
               rate("operations", kTera),
               seconds > 0 ? fixedPoint(number(row.kernel, "floor_seconds") / seconds, 2) : "-",
               fixedPoint(100 * row.perStep() / total, 0), peerOf(result, row)});
  }
  table.print(stream);
}

} // namespace

void printRunTable(FILE *stream, const json &result) {
  std::fprintf(stream, "%s, driver %s, %s, %.0f s\n", printable(text(result, "gpu")).c_str(),
               printable(text(result, "driver")).c_str(), printable(text(result, "date")).c_str(),
               number(result, "seconds"));
  printAttempts(stream, result);
  printLaunches(stream, result);
  forEachResult(result, [&](const json &line) {
    if (has(line, "smoke"))
      std::fprintf(stream, "memory: %s GB/s copied (read and written)\n",
                   fixedPoint(number(line["smoke"], "copy_bytes_per_second") / kGiga, 0).c_str());
  });
  printSteps(stream, result);
  printKernels(stream, result);
}

void printCostliest(FILE *stream, const json &result, size_t count) {
  std::set<std::string> seen;
  std::vector<KernelRow> rows = kernelRows(result);
  for (const KernelRow &row : rows) {
    std::string symbol = text(row.kernel, "symbol");
    if (seen.size() == count)
      break;
    if (!symbol.empty() && seen.insert(row.engine + symbol).second)
      std::fprintf(stream, "bench-%s.ingot %s %lld\n", row.engine.c_str(), symbol.c_str(),
                   static_cast<long long>(row.tokens));
  }
}

} // namespace ingot::record

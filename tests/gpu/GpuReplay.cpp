// SPDX-License-Identifier: Apache-2.0
// gpu-replay: runs the launches of a record on this machine's GPU, or on a simulated one; tries a
// driver; and prints the table of a whole run.
#include "runtime/core/MappedFile.h"
#include "runtime/devices/cuda/CudaDevice.h"
#include "runtime/tools/SessionArguments.h"
#include "tests/gpu/ReplayRun.h"
#include "tests/gpu/RunTable.h"
#include "tests/gpu/Smoke.h"

#include <CLI/CLI.hpp>
#include <fstream>

using namespace ingot;

namespace {

struct Options {
  std::string file, lines;
  record::ReplayOptions replay;
  bool untimed = false;
  size_t count = 0; ///< of kernels to name
  runtime::CudaOptions device;
};

int fail(const runtime::Status &status) {
  std::fflush(stdout);
  std::fprintf(stderr, "error %s\n", status.toString().c_str());
  return 1;
}

using Record = std::unique_ptr<record::RecordT>;

runtime::Result<Record> readRecord(const std::string &path) {
  auto mapped = runtime::MappedFile::open(path);
  if (!mapped.ok())
    return std::move(mapped).status();
  auto record = record::unpackRecord(mapped->bytes());
  if (!record.ok())
    return std::move(record).status().in(path);
  return record;
}

record::OpenDevice deviceFor(const record::RecordT &record, runtime::CudaOptions options) {
  if (!options.simulate.empty())
    options.simulator.multiprocessors = record.multiprocessors;
  return [options]() -> runtime::Result<std::unique_ptr<runtime::Device>> {
    auto opened = runtime::CudaDevice::open(options);
    if (!opened.ok())
      return std::move(opened).status();
    return std::unique_ptr<runtime::Device>(std::move(*opened));
  };
}

/// Appends to the file of lines, if there is one; `written` keeps the first failure.
void addLine(const Options &options, const nlohmann::json &line, runtime::Status &written) {
  if (options.lines.empty())
    return;
  if (runtime::Status status = runtime::appendLine(options.lines, line); written.ok())
    written = std::move(status);
}

int runLaunches(const Options &options) {
  auto record = readRecord(options.file);
  if (!record.ok())
    return fail(record.status());
  std::vector<nlohmann::json> lines;
  runtime::Status written;
  bool failed = false;
  auto device = record::replayAll(**record, deviceFor(**record, options.device), options.replay,
                                  [&](const nlohmann::json &line) {
                                    addLine(options, line, written);
                                    if (record::isFailure(line)) {
                                      failed = true;
                                      std::printf("%s\n", record::textOf(line).c_str());
                                      std::fflush(stdout);
                                    }
                                    lines.push_back(line);
                                  });
  if (!device.ok())
    return fail(device.status());
  std::printf("%s, recorded for %u multiprocessors\n", device->c_str(), (*record)->multiprocessors);
  record::printReport(stdout, lines);
  std::printf("%zu cases and sizes were not recorded\n", (*record)->left_out.size());
  for (const std::string &line : (*record)->left_out)
    addLine(options, {{"left_out", line}}, written);
  return written.ok() ? int(failed) : fail(written);
}

int runSmoke(const Options &options) {
  auto record = readRecord(options.file);
  if (!record.ok())
    return fail(record.status());
  auto facts = record::smokeTest(**record, deviceFor(**record, options.device));
  if (!facts.ok())
    return fail(facts.status());
  runtime::Status written;
  addLine(options, {{"smoke", *facts}}, written);
  return written.ok() ? 0 : fail(written);
}

/// Of a whole run: its table, or with a `count` its costliest kernels.
int printResult(const Options &options) {
  std::ifstream file(options.file);
  auto result = nlohmann::json::parse(file, nullptr, false);
  if (!result.is_object())
    return fail(runtime::Status::error("INGOT-E7101", options.file + ": is no result of run",
                                       "name the result.json that tests/gpu/run wrote"));
  if (options.count)
    record::printCostliest(stdout, result, options.count);
  else
    record::printRunTable(stdout, result);
  return 0;
}

void addDevice(CLI::App &app, Options &options) {
  app.add_option("record", options.file, "the record")->required();
  app.add_option("--lines", options.lines, "file that every result is appended to, as JSON");
  app.add_option("--simulate", options.device.simulate,
                 "architecture to simulate instead of using a GPU");
  app.add_option("--device", options.device.ordinal, "ordinal of the GPU")
      ->check(CLI::Range(0, 1023));
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Kernels of a record made by `conformance --record`, on a GPU.\n\nexamples:\n"
               "  gpu-replay launches launches.rec --lines launches.jsonl\n"
               "  gpu-replay smoke launches.rec\n"
               "  gpu-replay table result.json");
  app.require_subcommand(1);
  CLI::App *launches = app.add_subcommand(
      "launches", "run every launch in child processes, alone and in graphs, and compare what they "
                  "leave with what the simulator left; the exit status is 1 if any failed");
  addDevice(*launches, options);
  launches
      ->add_option("--launch-limit", options.replay.launchLimit, "seconds that one launch may take")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  launches
      ->add_option("--open-limit", options.replay.openLimit,
                   "seconds that opening the GPU may take")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  launches->add_flag("--untimed", options.untimed, "do not time the launches");
  CLI::App *smoke = app.add_subcommand("smoke", "try the driver, step by step");
  addDevice(*smoke, options);
  CLI::App *table = app.add_subcommand("table", "print the table of a run's result.json");
  table->add_option("result", options.file, "the result.json")->required();
  CLI::App *costliest = app.add_subcommand(
      "costliest", "name engine, symbol and tokens of a run's costliest kernels, a line each");
  costliest->add_option("result", options.file, "the result.json")->required();
  costliest->add_option("--count", options.count, "kernels to name")
      ->check(CLI::Range(1, 1000000))
      ->required();
  CLI11_PARSE(app, argc, argv);
  options.replay.timed = !options.untimed;
  return *launches ? runLaunches(options) : *smoke ? runSmoke(options) : printResult(options);
}

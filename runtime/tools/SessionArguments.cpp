// SPDX-License-Identifier: Apache-2.0
// Options of a session, and how commands read text and report errors.
#include "runtime/tools/SessionArguments.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ingot::runtime {

void addMemoryOptions(CLI::App &app, MemoryRequest &request) {
  const char *group = "Limits";
  app.add_option("--memory", request.memory,
                 "bytes for weights, activations and KV cache, as in 16GiB")
      ->transform(CLI::AsSizeValue(false))
      ->group(group);
  app.add_option("--max-sequences", request.maxSequences, "sequences in one step")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--max-context", request.maxContext, "positions of one sequence")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--max-tokens", request.maxTokens, "tokens of one step")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--max-logit-rows", request.maxLogitRows, "logit rows of one step")
      ->check(CLI::PositiveNumber)
      ->group(group);
}

void addTargetOption(CLI::App &app, std::string &target) {
  app.add_option("--target", target, "name of the target to run; default: the best one")
      ->group("Limits");
}

void addThreadsOption(CLI::App &app, int64_t &threads) {
  app.add_option("--threads", threads, "threads; default: as many as there are CPUs to use")
      ->check(CLI::PositiveNumber)
      ->group("Limits");
}

static void addDiagnosisOptions(CLI::App &app, LaunchDiagnosis &diagnosis) {
  const char *group = "Diagnosis, of a GPU's launches";
  app.add_flag("--no-graphs", diagnosis.noGraphs,
               "make every launch alone: record and replay no graphs")
      ->group(group);
  app.add_flag("--no-dependent-launch", diagnosis.noDependentLaunch,
               "start no kernel before the one ahead of it has ended")
      ->group(group);
  app.add_flag("--sync-each", diagnosis.syncEach,
               "wait after every launch, so that a failure names its operation and kernel; no "
               "graphs either")
      ->group(group);
}

void addGpuOptions(CLI::App &app, DeviceRequest &device) {
  CLI::Option *simulate =
      app.add_option("--simulate", device.simulate,
                     "run the target of this GPU architecture (sm_80 ... sm_120a) on the CPU, "
                     "checked")
          ->group("Limits");
  app.add_option("--simulated-sms", device.simulatedSms, "multiprocessors of the simulated GPU")
      ->check(CLI::Range(1, 1024))
      ->needs(simulate)
      ->group("Limits");
  app.add_flag("--strict", device.simulateStrictly,
               "simulate with the checks for races, missing waits and uninitialised memory")
      ->needs(simulate)
      ->group("Limits");
  addDiagnosisOptions(app, device.diagnosis);
}

void addDeviceOptions(CLI::App &app, DeviceRequest &device) {
  addThreadsOption(app, device.threads);
  addGpuOptions(app, device);
}

void addSessionOptions(CLI::App &app, SessionOptions &options) {
  addMemoryOptions(app, options.memory);
  addDeviceOptions(app, options.device);
  addTargetOption(app, options.target);
  app.add_flag("--verify-weights", options.verifyWeights, "compare the digests of all weights")
      ->group("Limits");
}

int reportError(const Status &status) {
  std::fflush(stdout);
  std::fprintf(stderr, "error %s\n", status.toString().c_str());
  return 1;
}

bool parseArguments(CLI::App &app, int argc, char **argv, int &exitStatus) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) {
      exitStatus = app.exit(error);
      return false;
    }
    std::fprintf(stderr, "error INGOT-E2103: %s; '%s --help' tells the options\n", error.what(),
                 app.get_name().c_str());
    exitStatus = 2;
    return false;
  }
}

Status flushOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return Status::error("INGOT-E7102", "standard output cannot be written");
  return {};
}

Result<std::string> readTextFile(const std::string &path, uint64_t limit) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char block[1 << 16];
  while (file && text.size() <= limit) {
    file.read(block, sizeof block);
    text.append(block, size_t(file.gcount()));
  }
  if (!file.eof())
    return Status::error("INGOT-E7101",
                         path + (text.size() > limit
                                     ? ": is larger than " + std::to_string(limit) + " bytes"
                                     : ": cannot be read"),
                         "check the path and its permissions");
  return text;
}

static Status cannotWrite(const std::string &path) {
  return Status::error("INGOT-E7103", path + ": cannot be written",
                       "choose a path in a folder that can be written");
}

Status writeTextFile(const std::string &path, const std::string &text) {
  std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return cannotWrite(path);
  }
  return {};
}

Status appendLine(const std::string &path, const nlohmann::json &line) {
  std::ofstream file(path, std::ios::app);
  file << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  return file ? Status() : cannotWrite(path);
}

} // namespace ingot::runtime

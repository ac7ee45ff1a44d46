// SPDX-License-Identifier: Apache-2.0
// Options of a session, and how commands read and write text.
#include "runtime/tools/SessionArguments.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ingot::runtime {

void addMemoryOptions(CommandLine &app, MemoryRequest &request) {
  const char *group = "Limits";
  app.addOption("--memory", request.memory,
                "bytes for weights, activations and KV cache, as in 16GiB")
      .bytes()
      .group(group)
      .frequent();
  app.addOption("--memory-fraction", request.fraction,
                "of the free memory, where --memory does not say how much; default: half on a CPU, "
                "where mapped weights do not count, 0.9 on a GPU")
      .check([](const std::string &value) -> std::string {
        double fraction = std::strtod(value.c_str(), nullptr);
        return fraction > 0 && fraction <= 1 ? "" : value + " is no part of the memory (0 to 1)";
      })
      .typeName("PART")
      .group(group);
  app.addOption("--kv-blocks", request.kvBlocks,
                "blocks of the KV cache; where layers differ in window, of the first kind of layer")
      .positive()
      .group(group);
  app.addOption("--max-sequences", request.maxSequences, "sequences in one step")
      .positive()
      .group(group);
  app.addOption("--max-context", request.maxContext, "positions of one sequence")
      .positive()
      .group(group);
  app.addOption("--max-batch-tokens", request.maxTokens, "tokens of one step")
      .positive()
      .group(group);
  app.addOption("--max-logit-rows", request.maxLogitRows,
                "tokens of one step that are drawn, or whose log-probabilities are asked for")
      .positive()
      .group(group);
}

void addTargetOption(CommandLine &app, std::string &target) {
  app.addOption("--target", target, "name of the target to run; default: the best one")
      .group("Limits");
}

void addThreadsOption(CommandLine &app, int64_t &threads) {
  app.addOption("--threads", threads, "threads; default: as many as there are CPUs to use")
      .positive()
      .group("Limits")
      .frequent();
}

static void addDiagnosisOptions(CommandLine &app, LaunchDiagnosis &diagnosis) {
  const char *group = "Diagnosis, of a GPU's launches";
  app.addFlag("--no-graphs", diagnosis.noGraphs,
              "make every launch alone: record and replay no graphs")
      .group(group);
  app.addFlag("--no-dependent-launch", diagnosis.noDependentLaunch,
              "start no kernel before the one ahead of it has ended")
      .group(group);
  app.addFlag("--sync-each", diagnosis.syncEach,
              "wait after every launch, so that a failure names its operation and kernel; no "
              "graphs either")
      .group(group);
}

void addGpuOptions(CommandLine &app, DeviceRequest &device) {
  CommandOption simulate =
      app.addOption("--simulate", device.simulate,
                    "run the target of this GPU architecture (sm_80 ... sm_120a) on the CPU, "
                    "checked")
          .group("Limits");
  app.addOption("--simulated-sms", device.simulatedSms, "multiprocessors of the simulated GPU")
      .between(1, 1024)
      .needs(simulate)
      .group("Limits");
  app.addFlag("--strict", device.simulateStrictly,
              "simulate with the checks for races, missing waits and uninitialised memory")
      .needs(simulate)
      .group("Limits");
  addDiagnosisOptions(app, device.diagnosis);
}

void addDeviceOptions(CommandLine &app, DeviceRequest &device) {
  addThreadsOption(app, device.threads);
  addGpuOptions(app, device);
}

static void addSchedulerOptions(CommandLine &app, SessionOptions &options) {
  const char *group = "Limits";
  app.addFlag("--guaranteed-no-evict", options.neverPreempt,
              "begin an answer only when there are KV blocks to its end; default: answers take "
              "blocks as they grow, and the newest gives way, to be computed again, when there are "
              "none")
      .group(group);
  app.addOption("--max-step-ms", options.maxStepMilliseconds,
                "milliseconds of a step that computes prompts beside running answers; default: "
                "200 on CPUs, 50 on GPUs")
      .positive()
      .group(group);
}

void addSessionOptions(CommandLine &app, SessionOptions &options) {
  addMemoryOptions(app, options.memory);
  addDeviceOptions(app, options.device);
  addTargetOption(app, options.target);
  addSchedulerOptions(app, options);
  app.addFlag("--verify-weights", options.verifyWeights, "compare the digests of all weights")
      .group("Limits");
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

/// Writes `text` to what `mode` opens.
static bool writeAll(const std::string &path, const char *mode, const std::string &text) {
  FILE *file = std::fopen(path.c_str(), mode);
  if (!file)
    return false;
  const bool isWritten = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && isWritten;
}

Status writeTextFile(const std::string &path, const std::string &text) {
  std::error_code unknown;
  // A link stays one; a device or pipe takes the text itself.
  const std::filesystem::path place = std::filesystem::weakly_canonical(path, unknown);
  if (std::filesystem::exists(place, unknown) && !std::filesystem::is_regular_file(place, unknown))
    return writeAll(path, "wb", text) ? Status() : cannotWrite(path);
  // A name of its own: what is called so already is somebody's.
  const std::string temporary = place.string() + ".part" + std::to_string(getpid());
  if (!writeAll(temporary, "wbx", text) || std::rename(temporary.c_str(), place.c_str()) != 0) {
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

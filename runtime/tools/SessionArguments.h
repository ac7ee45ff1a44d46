// SPDX-License-Identifier: Apache-2.0
// Command-line options shared by the commands that read or load an engine.
#pragma once

#include "runtime/serving/Session.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/Program.h"

#include <nlohmann/json_fwd.hpp>

namespace ingot::runtime {

/// Adds --memory, --max-sequences, --max-context, --max-batch-tokens and --max-logit-rows; parsing
/// fills `request`, which must outlive `app`.
void addMemoryOptions(CommandLine &app, MemoryRequest &request);

/// Adds --target and --threads.
void addTargetOption(CommandLine &app, std::string &target);
void addThreadsOption(CommandLine &app, int64_t &threads);

/// Adds --simulate, --simulated-sms, --strict, and the options that look for a launch that fails.
void addGpuOptions(CommandLine &app, DeviceRequest &device);

/// Adds --threads and the options of GPUs.
void addDeviceOptions(CommandLine &app, DeviceRequest &device);

/// Adds all of these, --guaranteed-no-evict, --max-step-ms and --verify-weights.
void addSessionOptions(CommandLine &app, SessionOptions &options);

/// Success, or INGOT-E7102 when something printed to standard output could not be written.
Status flushOutput();

/// Everything a text file holds. INGOT-E7101 when it cannot be read or has more than `limit` bytes.
Result<std::string> readTextFile(const std::string &path, uint64_t limit);
/// Writes a whole text file, or leaves what was there. INGOT-E7103.
Status writeTextFile(const std::string &path, const std::string &text);
/// Appends one line of JSON, which is in the file when this returns. INGOT-E7103.
Status appendLine(const std::string &path, const nlohmann::json &line);

} // namespace ingot::runtime

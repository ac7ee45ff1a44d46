// SPDX-License-Identifier: Apache-2.0
// The accuracy that an engine must have to be written.
#pragma once

#include "compiler/build/BuildRequest.h"
#include "compiler/quantize/CalibrationText.h"
#include "compiler/quantize/GateReport.h"

namespace ingot::quantize {

/// One limit: "kl<=0.02".
struct GateLimit {
  std::string text;
  double (*measured)(const EngineDifference &);
  bool isLeast = false; ///< the value must be at least `limit`, not at most
  double limit = 0;
};

/// Limits, with commas between them: kl, p99 (nats), ppl (such as +1.5%), top1 (such as 98%), layer
/// (relative root mean square of the worst layer). Errors: INGOT-E2118.
checkpoint::Expected<std::vector<GateLimit>> parseGate(const std::string &text);

struct GateOptions {
  std::string name;               ///< of the engine, for reports
  std::string limits;             ///< not read by measureParts()
  std::filesystem::path original; ///< the checkpoint that the engine is compared with
  std::string target = kCalibrationTarget;
  TextOptions text;
  std::filesystem::path folder; ///< for rows; made and removed
  bool describes = false;       ///< ranges of weights and inputs are measured too
  unsigned threads = 0;
  codegen::BuildCache *cache = nullptr;
};

/// What can be refused before the engine that `request` asks for is built. Errors: INGOT-E2164
/// where the original has another shape, and those of parseGate(), of readers, checkLength() and
/// checkTexts().
checkpoint::Outcome checkGate(const GateOptions &options, const compiler::BuildRequest &request);

/// Compares the engine at `engine`, which must run on this machine and is what `module` says, with
/// the original. Errors: those of parseGate(), of readers and of compareWithCheckpoint().
checkpoint::Expected<GateReport> measureGate(mlir::MLIRContext &context, mlir::ModuleOp module,
                                             const std::filesystem::path &engine,
                                             const GateOptions &options,
                                             compiler::Progress &progress);

/// The parts alone, without predictions.
checkpoint::Expected<std::vector<PartDifference>> measureParts(mlir::MLIRContext &context,
                                                               const std::filesystem::path &engine,
                                                               const GateOptions &options,
                                                               compiler::Progress &progress);

} // namespace ingot::quantize

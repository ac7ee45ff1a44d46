// SPDX-License-Identifier: Apache-2.0
// What a gate measured: for the engine, for people, and as files.
#pragma once

#include "compiler/build/BuildOptions.h"
#include "compiler/quantize/EngineComparison.h"
#include "mlir/IR/BuiltinOps.h"

namespace ingot::quantize {

/// One limit and what was measured.
struct LimitResult {
  std::string limit; ///< "kl<=0.02"
  double value = 0;
  bool isKept = false;
};

/// What an engine stores of a part, for all its targets.
struct StoredPart {
  std::string part; ///< "layers.0", or a weight outside of layers: "lm_head"
  uint64_t bytes = 0, weights = 0;
  std::set<std::string> formats{}; ///< of its matrices
  double bits() const { return weights ? 8 * double(bytes) / double(weights) : 0; }
};

struct GateReport {
  std::string engine, original; ///< names
  EngineDifference difference;
  std::vector<LimitResult> limits;
  std::vector<StoredPart> stored;

  /// Limits that are not kept, with what was measured; empty where all are.
  std::string exceeded() const;
  /// The part that differs most by itself.
  const PartDifference &worst() const;
  /// Why bounds of perplexity say nothing here; empty where they do.
  std::string doubt() const;
  std::string summary() const;                         ///< lines for people
  std::vector<compiler::OptionRecord> records() const; ///< of all limits, for the engine
  nlohmann::ordered_json json() const;
};

/// The parts of an engine, in the order of its weights; scales and offsets count as bytes alone.
std::vector<StoredPart> storedParts(mlir::ModuleOp engine);

} // namespace ingot::quantize

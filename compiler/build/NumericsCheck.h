// SPDX-License-Identifier: Apache-2.0
// Compares the named boundary values and the log probabilities of two engines.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <filesystem>
#include <vector>

namespace ingot::compiler {

struct NumericsRow {
  std::string tap;        ///< segment, or "logprobs"
  double largest = 0;     ///< largest magnitude of the second engine's values
  double difference = 0;  ///< largest magnitude of a difference
  double relativeRms = 0; ///< root mean square of differences over that of values
  double tolerance = 0;   ///< what relativeRms may be
};

/// Runs a fixed sequence of tokens on both engines and compares each tap, then the log
/// probabilities. Rounding to 16 or 8 bits turns tiny differences into steps of the narrow type, so
/// the tolerance is that of 16-bit activations. Errors: those of opening and running.
checkpoint::Expected<std::vector<NumericsRow>>
compareNumerics(const std::filesystem::path &engine, const std::filesystem::path &reference);

} // namespace ingot::compiler

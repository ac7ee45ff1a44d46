// SPDX-License-Identifier: Apache-2.0
// From one GGUF file to another, with the weights quantized as a mix says.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/quantize/ggml/ImportanceMatrix.h"
#include "compiler/quantize/ggml/WeightMix.h"

#include <functional>

namespace ingot::quantize {

struct QuantizeProgress {
  std::string_view tensor;
  uint64_t doneBytes = 0, allBytes = 0; ///< of the tensors that are read
};

struct QuantizeGgufOptions {
  const WeightMix *mix = nullptr;               ///< must be given
  const ImportanceMatrix *importance = nullptr; ///< none: all columns count alike
  std::string importanceName;                   ///< what the file says that it was read from
  unsigned threads = 1;                         ///< the result does not depend on them
  std::function<void(const QuantizeProgress &)> progress;
};

struct QuantizedTensor {
  std::string name;
  checkpoint::DType from = checkpoint::DType::F32, to = checkpoint::DType::F32;
  /// The type of the mix, where the tensor's rows are no whole number of its blocks.
  std::optional<checkpoint::DType> insteadOf;
  uint64_t readBytes = 0, bytes = 0;
  bool hasImportance = false;
  /// Sums over all numbers, each weighted by the importance of its column where there is one: of
  /// the squares of the errors, and of the numbers read. Both 0 for tensors that are copied.
  double squaredError = 0, squares = 0;
};

struct QuantizedGguf {
  std::vector<QuantizedTensor> tensors; ///< in the order of the file
  uint64_t bytes = 0;                   ///< of the file
};

/// Reads the model at `in`, in one file or in parts, and writes `out`, whole or not at all.
/// Quantized weights are quantized again; tensors that have their type already are copied. Memory
/// is bounded: a few rows for each thread.
/// Errors: those of openGguf(), encodeRows() and GgufWriter; INGOT-E1118 for a tensor that cannot
/// be read as numbers, E1133 for an importance of another size.
checkpoint::Expected<QuantizedGguf> quantizeGguf(const std::filesystem::path &in,
                                                 const std::filesystem::path &out,
                                                 const QuantizeGgufOptions &options);

} // namespace ingot::quantize

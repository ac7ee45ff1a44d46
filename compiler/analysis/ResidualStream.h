// SPDX-License-Identifier: Apache-2.0
// The stored tensors whose rows or columns are channels of a model's residual stream, or of its
// heads of values: what changes where these are rotated.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace ingot::compiler {

/// What the rows, or columns, of a tensor are.
enum class Channels : uint8_t {
  Others,
  Stream, ///< of the residual stream, or of several side by side
  Heads,  ///< of heads of values
};

/// A matrix [rows, columns], a stack of them, or a bias [rows].
struct StreamTensor {
  std::string stored; ///< by its name in the checkpoint
  std::string name;   ///< what the model calls it: that of a tied head is another
  Channels rows = Channels::Others, columns = Channels::Others;
  int64_t firstRow = 0, rowCount = 0; ///< of those that `rows` says something of
  std::string norm;     ///< numbers that the columns it reads are multiplied by, unless empty
  bool lessOne = false; ///< or by 1 + these
};

struct StreamNorm {
  std::string weight;
  bool lessOne = false;
};

struct ResidualStream {
  int64_t width = 0, headDim = 0;
  std::vector<StreamTensor> tensors;  ///< in the order of their names
  std::vector<StreamNorm> norms;      ///< those that the tensors take in
  std::vector<std::string> keptHeads; ///< places whose heads of values cannot be rotated, and why
};

/// Reads them off @step of a whole model in f32. Errors: INGOT-E2160 where the stream goes through
/// more than sums, products and norms without means, or a norm stands before it.
checkpoint::Expected<ResidualStream> readResidualStream(mlir::ModuleOp module);

} // namespace ingot::compiler

// SPDX-License-Identifier: Apache-2.0
// Weight matrices that a checkpoint stores quantized, as expressions of their stored tensors.
#pragma once

#include "compiler/importers/StoredMatrix.h"

namespace ingot::compiler {

/// The matrix that the tensor called `stored` is part of: its name as models and recipes have it.
/// Other names are returned as they are.
std::string matrixName(llvm::StringRef stored);

/// Builds the values of one matrix. Which format a matrix has is told by the names and types of the
/// tensors of its module; what these cannot say is the checkpoint's quantization().
class StoredWeights {
public:
  /// `builder` says where operations go. Both must outlive this.
  StoredWeights(mlir::OpBuilder &builder, const checkpoint::Checkpoint &checkpoint)
      : builder(builder), checkpoint(checkpoint) {}

  /// Whether the matrix called `name` ("model.layers.0.mlp.up_proj.weight") is stored quantized.
  bool isQuantized(llvm::StringRef name) const;

  /// The f32 values [shape] of a quantized matrix: an llm.dequantize. Errors: INGOT-E1038 for a
  /// missing tensor, E1054 for a format that is not supported, E1080 and E1081 for tensors of
  /// other shapes and types than the format has.
  checkpoint::Expected<mlir::Value> matrix(llvm::StringRef name, llvm::ArrayRef<int64_t> shape);

  /// Of the last matrix: which of the model's inputs its column k is for. Empty: input k. Columns
  /// that share a scale stand together in the value, whatever the model's order.
  llvm::ArrayRef<int64_t> columnOrder() const { return order; }

private:
  checkpoint::Expected<llm::EncodedWeight> take(StoredMatrix &matrix) const;

  mlir::OpBuilder &builder;
  const checkpoint::Checkpoint &checkpoint;
  llvm::SmallVector<int64_t> order; ///< columnOrder
};

} // namespace ingot::compiler

// SPDX-License-Identifier: Apache-2.0
// What the families' verifiers and text forms have in common. For `dialects/llm` alone.
#pragma once

#include "dialects/llm/EncodedWeight.h"
#include "mlir/IR/OpImplementation.h"

namespace ingot::llm {

/// The type of a value that is a ranked tensor.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Whether two activations have the same rows (static extent and encoding).
inline bool sameRows(mlir::RankedTensorType a, mlir::RankedTensorType b) {
  return a.getShape().front() == b.getShape().front() && a.getEncoding() == b.getEncoding();
}

/// What a weight has beside its values, and its encoding; both may be absent:
/// `scales(%s : tensor<8x1xf32>) <"int8", group = 0, zero_points = false>`. The encoding may be an
/// alias; its full form would take the colon after it for its own. `custom<Encoded>` of the
/// definitions.
mlir::ParseResult parseEncoded(mlir::OpAsmParser &parser,
                               llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &parts,
                               llvm::SmallVectorImpl<mlir::Type> &types, EncodingAttr &encoding);
void printEncoded(mlir::OpAsmPrinter &printer, mlir::Operation *, mlir::OperandRange parts,
                  mlir::TypeRange types, EncodingAttr encoding);

/// Checks the tensors of a weight against its encoding.
mlir::LogicalResult verifyEncoded(mlir::Operation *op, const EncodedWeight &weight);

/// The scales of `values`, an 8-bit activation: by rows, or by equal groups of their columns.
mlir::LogicalResult verifyInputScales(mlir::Operation *op, mlir::Value values, mlir::Value scales);

/// An operand of an epilogue must be addressed by row and column, by column, or by row.
mlir::LogicalResult verifyScalarOperands(mlir::Operation *op, mlir::OperandRange operands,
                                         mlir::RankedTensorType result);

/// The region must take `arguments` f32 values and hold allowed scalar operations only.
mlir::LogicalResult verifyScalarRegion(mlir::Operation *op, mlir::Region &region, size_t arguments);

} // namespace ingot::llm

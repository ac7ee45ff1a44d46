// SPDX-License-Identifier: Apache-2.0
// What the families' verifiers and text forms have in common. For `dialects/llm` alone.
#pragma once

#include "dialects/llm/LlmDialect.h"

namespace ingot::llm {

/// The type of a value that is a ranked tensor.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Whether two activations have the same rows (static extent and encoding).
inline bool sameRows(mlir::RankedTensorType a, mlir::RankedTensorType b) {
  return a.getShape().front() == b.getShape().front() && a.getEncoding() == b.getEncoding();
}

/// An encoding that may be absent, as `<"int8", group = 0, zero_points = false>` or by alias: the
/// full form would take the colon after it for its own. `custom<Encoding>` of the definitions.
mlir::ParseResult parseEncoding(mlir::OpAsmParser &parser, EncodingAttr &encoding);
void printEncoding(mlir::OpAsmPrinter &printer, mlir::Operation *, EncodingAttr encoding);

/// The scales of `values`, an 8-bit activation: by rows, or by equal groups of their columns.
mlir::LogicalResult verifyInputScales(mlir::Operation *op, mlir::Value values, mlir::Value scales);

/// An operand of an epilogue must be addressed by row and column, by column, or by row.
mlir::LogicalResult verifyScalarOperands(mlir::Operation *op, mlir::OperandRange operands,
                                         mlir::RankedTensorType result);

/// The region must take `arguments` f32 values and hold allowed scalar operations only.
mlir::LogicalResult verifyScalarRegion(mlir::Operation *op, mlir::Region &region, size_t arguments);

} // namespace ingot::llm

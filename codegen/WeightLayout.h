// SPDX-License-Identifier: Apache-2.0
// The memory order that a weight has when nothing else is said, for every target.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ingot::codegen {

/// Row-major order of a weight of one or two dimensions.
inline engine::LayoutAttr rowMajorLayout(mlir::RankedTensorType type) {
  int64_t columns = type.getRank() < 2 ? 1 : type.getShape().back();
  return engine::LayoutAttr::rowMajor(type.getContext(), type.getShape().front(), columns);
}

/// The layout on `type`; row-major where there is none.
inline engine::LayoutAttr layoutOf(mlir::RankedTensorType type) {
  auto layout = llvm::dyn_cast_or_null<engine::LayoutAttr>(type.getEncoding());
  return layout ? layout : rowMajorLayout(type);
}

/// Whether `type` is no tensor with a layout of its own, or with that of row-major order.
inline bool isRowMajor(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return !tensor || !llvm::isa_and_nonnull<engine::LayoutAttr>(tensor.getEncoding()) ||
         layoutOf(tensor) == rowMajorLayout(tensor);
}

} // namespace ingot::codegen

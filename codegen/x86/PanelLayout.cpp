// SPDX-License-Identifier: Apache-2.0
// Digits of the panel layouts.
#include "codegen/x86/PanelLayout.h"

#include "codegen/x86/kernels/MatmulBlocks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::LayoutAttr;

int64_t codegen::panelInner(Type weightElement, Type inputElement) {
  return x86::columnsTogether(engine::elementTypeOf(weightElement),
                              engine::elementTypeOf(inputElement));
}

LayoutAttr codegen::panelLayout(RankedTensorType type, int64_t inner) {
  int64_t rows = type.getShape().front(), columns = type.getShape().back();
  SmallVector<int64_t> digits = {0,
                                 x86::panelRows,
                                 int64_t(llvm::divideCeil(rows, x86::panelRows)),
                                 1,
                                 inner,
                                 int64_t(llvm::divideCeil(columns, inner)),
                                 0,
                                 1,
                                 x86::panelRows};
  if (inner == 8)
    digits.append({1, 1, 4, 1, 4, 2});
  else if (inner > 1)
    digits.append({1, 1, inner});
  return LayoutAttr::get(type.getContext(), digits);
}

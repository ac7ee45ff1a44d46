// SPDX-License-Identifier: Apache-2.0
// Digits of the layouts.
#include "codegen/cuda/MatmulLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::LayoutAttr;

/// Rows of the weight in a tensor-core product.
constexpr int64_t kTileRows = 16;
/// As kernels/Layout.cuh.
constexpr size_t kMostDigits = 12;

/// Digits of one tile's block: lanes, then what a lane holds, as kernels/MatmulFragments.cuh reads
/// it; the first number is the block's columns. Lane 4g + t starts at row g; its words are halves
/// of columns by rows g and g + 8.
static std::pair<int64_t, SmallVector<int64_t>> blockDigits(FragmentLayout layout) {
  switch (layout) {
  case FragmentLayout::Halves:
    return {16, {0, 1, 8, 1, 2, 4, 1, 8, 2, 0, 8, 2, 1, 1, 2}};
  case FragmentLayout::Bytes:
    return {32, {0, 1, 8, 1, 2, 4, 1, 16, 2, 0, 8, 2, 1, 1, 2, 1, 8, 2}};
  case FragmentLayout::Quads:
    return {32, {0, 1, 8, 1, 4, 4, 1, 16, 2, 0, 8, 2, 1, 1, 4}};
  case FragmentLayout::Nibbles:
    return {64, {0, 1, 8, 1, 2, 4, 1, 16, 4, 1, 1, 2, 1, 8, 2, 0, 8, 2}};
  case FragmentLayout::NibblePairs:
    return {64, {0, 1, 8, 1, 2, 4, 1, 16, 4, 1, 8, 2, 0, 8, 2, 1, 1, 2}};
  case FragmentLayout::NibbleQuads:
    return {64, {0, 1, 8, 1, 4, 4, 1, 32, 2, 0, 8, 2, 1, 1, 4, 1, 16, 2}};
  }
  llvm_unreachable("every layout is listed");
}

LayoutAttr codegen::fragmentLayout(RankedTensorType type, FragmentLayout layout) {
  auto [columns, inner] = blockDigits(layout);
  SmallVector<int64_t> digits = {
      0, kTileRows, int64_t(llvm::divideCeil(type.getShape().front(), kTileRows)),
      1, columns,   int64_t(llvm::divideCeil(type.getShape().back(), columns))};
  digits.append(inner);
  return LayoutAttr::get(type.getContext(), digits);
}

LayoutAttr codegen::fragmentScales(RankedTensorType type) {
  int64_t groups = type.getRank() < 2 ? 1 : type.getShape().back();
  return LayoutAttr::get(type.getContext(),
                         {0, kTileRows,
                          int64_t(llvm::divideCeil(type.getShape().front(), kTileRows)), 1, 1,
                          groups, 0, 1, 8, 0, 8, 2});
}

bool codegen::addLayout(CudaVariant &variant, llvm::StringRef name, Value weight) {
  SmallVector<LayoutAttr::Digit> digits;
  if (weight)
    digits = layoutOf(cast<RankedTensorType>(weight.getType())).digitList();
  if (digits.size() > kMostDigits)
    return false;
  for (size_t i = 0; i < kMostDigits; ++i) {
    LayoutAttr::Digit digit = i < digits.size() ? digits[i] : LayoutAttr::Digit{0, 1, 1};
    std::string index = "_" + std::to_string(i);
    variant.integer((name + "_axis" + index).str(), digit.axis);
    variant.integer((name + "_stride" + index).str(), digit.stride);
    variant.integer((name + "_radix" + index).str(), digit.radix);
  }
  return true;
}

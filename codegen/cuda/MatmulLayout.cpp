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

/// Digits of a block of planes. A lane's 32 elements lie together, a block of places has four
/// lanes. The rows' order lets eight lanes read low planes from different banks. Elements that a
/// word's bytes will have stand where kernels/MatmulPlanes.cuh finds them in the same bits of each
/// byte.
static SmallVector<int64_t> planeDigits(int64_t bits, bool quads) {
  SmallVector<int64_t> digits = {0, 1, 4, 0, 4, 2};
  if (bits == 5)
    digits = {0, 1, 2, 0, 2, 4};
  bool highPairs = bits % 4 == 2; // two words, each in four steps instead of eight
  digits.append({1, quads ? 4 : 2, 4});
  if (highPairs)
    digits.append({1, 32, 2});
  if (quads)
    digits.append({1, 1, 4});
  else
    digits.append({1, 1, 2, 1, 8, 2});
  digits.append({1, 16, highPairs ? 2 : 4, 0, 8, 2});
  return digits;
}

/// Digits of one tile's block; the first number is its columns. What is multiplied as it is stored
/// stands in matrices of eight rows of 16 bytes, which ldmatrix loads and wgmma reads. What is
/// decoded: lanes, then what a lane holds, as kernels/MatmulFragments.cuh reads it. Lane 4g + t
/// starts at row g; its words are halves of columns by rows g and g + 8.
static std::pair<int64_t, SmallVector<int64_t>> blockDigits(FragmentLayout layout, int64_t bits) {
  switch (layout) {
  case FragmentLayout::Halves:
    return {16, {1, 8, 2, 0, 8, 2, 0, 1, 8, 1, 1, 8}};
  case FragmentLayout::Bytes:
    return {32, {0, 1, 8, 1, 2, 4, 1, 16, 2, 0, 8, 2, 1, 1, 2, 1, 8, 2}};
  case FragmentLayout::Quads:
    return {32, {1, 16, 2, 0, 8, 2, 0, 1, 8, 1, 1, 16}};
  case FragmentLayout::Nibbles:
    return {64, {0, 1, 8, 1, 2, 4, 1, 16, 4, 1, 1, 2, 1, 8, 2, 0, 8, 2}};
  case FragmentLayout::NibblePairs:
    return {64, {0, 1, 8, 1, 2, 4, 1, 16, 4, 1, 8, 2, 0, 8, 2, 1, 1, 2}};
  case FragmentLayout::NibbleQuads:
    return {64, {0, 1, 8, 1, 4, 4, 1, 32, 2, 0, 8, 2, 1, 1, 4, 1, 16, 2}};
  case FragmentLayout::Planes:
    return {64, planeDigits(bits, /*quads=*/false)};
  case FragmentLayout::PlaneQuads:
    return {64, planeDigits(bits, /*quads=*/true)};
  }
  llvm_unreachable("every layout is listed");
}

LayoutAttr codegen::fragmentLayout(RankedTensorType type, FragmentLayout layout) {
  auto [columns, inner] = blockDigits(layout, engine::elementBits(type.getElementType()));
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

LayoutAttr codegen::fragmentCodes(RankedTensorType type) {
  int64_t tiles = llvm::divideCeil(type.getShape().front(), kTileRows);
  int64_t records = llvm::divideCeil(type.getShape().back(), kCodeGroups);
  return LayoutAttr::get(type.getContext(), {0, kTileRows, tiles, 1, kCodeGroups, records, 0, 1, 8,
                                             1, 1, kCodeGroups, 0, 8, 2});
}

LayoutAttr codegen::fragmentSuperScales(RankedTensorType type, int64_t parts) {
  int64_t tiles = llvm::divideCeil(type.getShape().front(), kTileRows);
  int64_t blocks = type.getShape().back() / parts;
  return LayoutAttr::get(type.getContext(),
                         {0, kTileRows, tiles, 1, parts, blocks, 0, 1, 8, 0, 8, 2, 1, 1, parts});
}

/// Digits under `name`; none of a tensor that is null.
static bool addLayout(CudaVariant &variant, llvm::StringRef name, Value tensor) {
  SmallVector<LayoutAttr::Digit> digits;
  if (tensor)
    digits = layoutOf(cast<RankedTensorType>(tensor.getType())).digitList();
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

bool codegen::addLayouts(CudaVariant &variant, const llm::EncodedWeight &weight) {
  return addLayout(variant, "weight", weight.values) &&
         addLayout(variant, "scale", weight.scales) && addLayout(variant, "zero", weight.zeros) &&
         addLayout(variant, "super", weight.superScales);
}

// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncodeTiled; sizes stand innermost first, strides without the innermost one.
#include "runtime/devices/cuda/TensorMaps.h"

#include <optional>
#include <utility>

namespace ingot::runtime {

static uint64_t bytesOf(ElementType element) {
  constexpr int bitsOfByte = 8;
  return uint64_t(elementBits(element) / bitsOfByte);
}

/// The driver's name for elements; those of 8-bit floats are bytes to it.
static cuda::TensorMapDataType typeOf(ElementType element) {
  using Type = cuda::TensorMapDataType;
  switch (element) {
  case kF16:
    return Type::Float16;
  case kBf16:
    return Type::Bfloat16;
  case kF32:
    return Type::Float32;
  case kF64:
    return Type::Float64;
  case kI16:
  case kU16:
    return Type::Uint16;
  case kI32:
    return Type::Int32;
  case kU32:
    return Type::Uint32;
  case kI64:
    return Type::Int64;
  case kU64:
    return Type::Uint64;
  default:
    return Type::Uint8;
  }
}

static std::optional<cuda::TensorMapSwizzle> swizzleOf(uint32_t bytes) {
  using Swizzle = cuda::TensorMapSwizzle;
  const std::pair<uint32_t, Swizzle> known[] = {
      {0, Swizzle::None}, {32, Swizzle::Bytes32}, {64, Swizzle::Bytes64}, {128, Swizzle::Bytes128}};
  for (auto [size, swizzle] : known)
    if (size == bytes)
      return swizzle;
  return std::nullopt;
}

std::string tensorMapFault(const TensorMapRecipe &recipe) {
  constexpr uint64_t mostElements = uint64_t{1} << 32, mostStride = uint64_t{1} << 40;
  constexpr uint64_t mostBox = 256;
  auto number = [](const char *what, uint64_t value, const std::string &limit) {
    return what + std::to_string(value) + ", which must be " + limit;
  };
  auto within = [](uint64_t value, uint64_t most) { return value > 0 && value <= most; };
  const std::string step = "a multiple of " + std::to_string(kTensorMapAlignment);
  auto upTo = [](uint64_t most) { return "1 to " + std::to_string(most); };
  uint64_t elementBytes = bytesOf(recipe.element);
  if (elementBytes == 0)
    return "elements of less than a byte";
  if (!swizzleOf(recipe.swizzle))
    return number("a swizzle: ", recipe.swizzle, "0, 32, 64 or 128");
  if (recipe.swizzle && recipe.boxBytes > recipe.swizzle)
    return number("bytes of a box's row: ", recipe.boxBytes,
                  "within the swizzle of " + std::to_string(recipe.swizzle));
  if (recipe.rowBytes % kTensorMapAlignment || recipe.rowBytes >= mostStride)
    return number("bytes of a row: ", recipe.rowBytes, step + " below 2^40");
  if (!within(recipe.rowBytes / elementBytes, mostElements))
    return number("elements of a row: ", recipe.rowBytes / elementBytes, upTo(mostElements));
  if (!within(recipe.rows, mostElements))
    return number("rows: ", recipe.rows, upTo(mostElements));
  if (recipe.boxBytes % kTensorMapAlignment)
    return number("bytes of a box's row: ", recipe.boxBytes, step);
  if (!within(recipe.boxBytes / elementBytes, mostBox))
    return number("elements of a box's row: ", recipe.boxBytes / elementBytes, upTo(mostBox));
  if (!within(recipe.boxRows, mostBox))
    return number("rows of a box: ", recipe.boxRows, upTo(mostBox));
  return {};
}

cuda::DriverResult encodeTensorMap(const Driver &driver, const TensorMapRecipe &recipe,
                                   cuda::DevicePointer address, cuda::TensorMap &map) {
  constexpr uint32_t rank = 2;
  uint64_t elementBytes = bytesOf(recipe.element);
  const uint64_t sizes[rank] = {recipe.rowBytes / elementBytes, recipe.rows};
  const uint64_t strides[rank - 1] = {recipe.rowBytes};
  const uint32_t box[rank] = {uint32_t(recipe.boxBytes / elementBytes), recipe.boxRows};
  const uint32_t steps[rank] = {1, 1};
  return driver.cuTensorMapEncodeTiled(
      &map, typeOf(recipe.element), rank, reinterpret_cast<void *>(address), sizes, strides, box,
      steps, cuda::TensorMapInterleave::None, *swizzleOf(recipe.swizzle),
      cuda::TensorMapPromotion::L2Bytes128, cuda::TensorMapFill::Zero);
}

} // namespace ingot::runtime

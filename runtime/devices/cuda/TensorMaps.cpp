// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncodeTiled; sizes stand innermost first, strides without the innermost one.
#include "runtime/devices/cuda/TensorMaps.h"

namespace ingot::runtime {

static constexpr uint32_t elementBytes = 8;

std::string tensorMapFault(const TensorMapRecipe &recipe) {
  constexpr uint64_t mostElements = uint64_t{1} << 32, mostStride = uint64_t{1} << 40;
  constexpr uint64_t mostBox = 256;
  auto number = [](const char *what, uint64_t value, const std::string &limit) {
    return what + std::to_string(value) + ", which must be " + limit;
  };
  auto within = [](uint64_t value, uint64_t most) { return value > 0 && value <= most; };
  const std::string step = "a multiple of " + std::to_string(kTensorMapAlignment);
  auto upTo = [](uint64_t most) { return "1 to " + std::to_string(most); };
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
  const uint64_t sizes[rank] = {recipe.rowBytes / elementBytes, recipe.rows};
  const uint64_t strides[rank - 1] = {recipe.rowBytes};
  const uint32_t box[rank] = {recipe.boxBytes / elementBytes, recipe.boxRows};
  const uint32_t steps[rank] = {1, 1};
  return driver.cuTensorMapEncodeTiled(
      &map, cuda::TensorMapDataType::Uint64, rank, reinterpret_cast<void *>(address), sizes,
      strides, box, steps, cuda::TensorMapInterleave::None, cuda::TensorMapSwizzle::None,
      cuda::TensorMapPromotion::L2Bytes128, cuda::TensorMapFill::Zero);
}

} // namespace ingot::runtime

// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncodeTiled; sizes stand innermost first, strides without the innermost one.
#include "runtime/devices/cuda/TensorMaps.h"

namespace ingot::runtime {

cuda::DriverResult encodeTensorMap(const Driver &driver, const TensorMapRecipe &recipe,
                                   cuda::DevicePointer address, cuda::TensorMap &map) {
  constexpr uint32_t elementBytes = 8, rank = 2;
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

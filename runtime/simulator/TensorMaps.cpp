// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncodeTiled: the recipe of a tensor copy, kept readable inside the opaque bytes.
#include "runtime/simulator/TensorMaps.h"
#include "runtime/simulator/Exports.h"

#include <cstring>

using namespace ingot::simulator;

namespace {

uint32_t elementBytes(TensorMapDataType type) {
  switch (type) {
  case TensorMapDataType::Uint8:
    return 1;
  case TensorMapDataType::Uint16:
  case TensorMapDataType::Float16:
  case TensorMapDataType::Bfloat16:
    return 2;
  case TensorMapDataType::Uint64:
  case TensorMapDataType::Int64:
  case TensorMapDataType::Float64:
    return 8;
  default:
    return 4;
  }
}

std::string check(const TensorRecipe &r, TensorMapInterleave interleave, TensorMapFill fill,
                  const uint32_t *elementStrides) {
  if (r.rank < 1 || r.rank > 5)
    return "the rank must be 1 to 5";
  if (r.address % 16)
    return "the address must be a multiple of 16";
  if (interleave != TensorMapInterleave::None)
    return "the simulator knows no interleaved layouts";
  if (fill != TensorMapFill::Zero)
    return "the simulator fills with zeros only";
  for (uint32_t i = 0; i < r.rank; ++i) {
    if (r.box[i] == 0 || r.box[i] > 256)
      return "box size " + std::to_string(i) + " must be 1 to 256";
    if (i > 0 && (r.strides[i] % 16 || r.strides[i] >= uint64_t(1) << 40))
      return "stride " + std::to_string(i) + " must be a multiple of 16 below 2^40";
    if (elementStrides[i] != 1)
      return "the simulator knows element strides of 1 only";
  }
  uint64_t inner = uint64_t(r.box[0]) * r.elementBytes;
  if (inner % 16)
    return "the inner box of " + std::to_string(inner) + " bytes is not a multiple of 16";
  uint64_t atom = r.swizzle == 0 ? 0 : 16u << r.swizzle;
  if (atom && inner > atom)
    return "the inner box of " + std::to_string(inner) + " bytes is larger than the swizzle of " +
           std::to_string(atom);
  return {};
}

} // namespace

DriverResult cuTensorMapEncodeTiled(TensorMap *map, TensorMapDataType type, uint32_t rank,
                                    void *address, const uint64_t *sizes,
                                    const uint64_t *strideBytes, const uint32_t *box,
                                    const uint32_t *elementStrides, TensorMapInterleave interleave,
                                    TensorMapSwizzle swizzle, TensorMapPromotion,
                                    TensorMapFill fill) {
  Driver &driver = Driver::get();
  TensorRecipe recipe{};
  recipe.magic = tensorRecipeMagic;
  recipe.rank = uint16_t(rank);
  recipe.elementBytes = uint8_t(elementBytes(type));
  recipe.swizzle = uint8_t(swizzle);
  recipe.address = reinterpret_cast<uint64_t>(address);
  for (uint32_t i = 0; i < rank && i < 5; ++i) {
    recipe.sizes[i] = uint32_t(sizes[i]);
    recipe.box[i] = uint16_t(box[i]);
    recipe.strides[i] = i ? strideBytes[i - 1] : recipe.elementBytes;
    if (sizes[i] == 0 || sizes[i] > 0xffffffffu)
      return driver.fail(DriverResult::InvalidValue,
                         "tensor map: size " + std::to_string(i) + " must be 1 to 2^32 - 1");
  }
  std::string problem = reinterpret_cast<uint64_t>(map) % 64
                            ? "the map must be 64-byte aligned"
                            : check(recipe, interleave, fill, elementStrides);
  if (uint32_t(swizzle) > 3)
    problem = "the simulator does not know this swizzle";
  if (!problem.empty())
    return driver.fail(DriverResult::InvalidValue, "tensor map: " + problem);
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &recipe, sizeof recipe);
  return DriverResult::Success;
}

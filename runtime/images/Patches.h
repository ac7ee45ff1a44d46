// SPDX-License-Identifier: Apache-2.0
// From the pixels of a tile to the normalised patches that an encoder takes.
#pragma once

#include "runtime/images/Geometry.h"

namespace ingot::runtime::images {

/// What each of the 256 values of each channel becomes.
using ValueTable = std::array<std::array<float, 256>, 3>;

/// (value - 255 * mean) / (255 * std), in f32.
ValueTable normalisedValues(const ImageSettings &settings);

/// The patches of `tile`, in `order`, into `to`: [patches, settings.patchValues()].
void writePatches(const Pixels &tile, const PatchOrder &order, const ImageSettings &settings,
                  const ValueTable &values, float *to);

} // namespace ingot::runtime::images

// SPDX-License-Identifier: Apache-2.0
// Which products of a layer are observed and quantized at a time, so that they fit into memory.
#pragma once

#include "compiler/quantize/LayerQuantizer.h"

namespace ingot::quantize {

/// What a part's build and run take.
inline constexpr uint64_t kProgramMemory = uint64_t{192} << 20;

using GroupBatch = std::vector<const compiler::ProductGroup *>;

/// Bytes that quantizing these groups takes at most, beside what an engine of the layer has mapped;
/// 0 for none.
uint64_t memoryFor(const LayerSettings &settings,
                   std::span<const compiler::ProductGroup *const> groups);

/// The groups that are quantized: those outside experts and each expert's stay together, in this
/// order, as many in a batch as `most` bytes hold. There is always one batch, which may be empty.
std::vector<GroupBatch> batchesOf(const LayerSettings &settings,
                                  const compiler::ProductList &products, uint64_t most);

} // namespace ingot::quantize

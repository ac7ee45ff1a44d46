// SPDX-License-Identifier: Apache-2.0
// The layouts, each of a file in this folder, and the list of them.
#pragma once

#include "compiler/quantize/StoredLayouts.h"

namespace ingot::quantize::layouts {

const StoredLayout &compressedTensors();
const StoredLayout &awq();
const StoredLayout &gptq();
const StoredLayout &bitsAndBytes();
const StoredLayout &modelOpt();

} // namespace ingot::quantize::layouts

namespace ingot::quantize {

/// The layout called `name`; null where there is none.
const StoredLayout *findLayout(std::string_view name);
/// The first layout that holds all formats of a recipe; the first of all where none does.
const StoredLayout &layoutFor(const recipe::Recipe &recipe);
/// Names of all layouts.
std::vector<std::string> layoutNames();

} // namespace ingot::quantize

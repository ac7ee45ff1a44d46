// SPDX-License-Identifier: Apache-2.0
// Reads what a checkpoint's files say of quantized weights.
#pragma once

#include "compiler/checkpoint/files/Json.h"
#include "compiler/checkpoint/quantized/QuantizationConfig.h"

namespace ingot::checkpoint {

/// From `quantization_config` of `config` (config.json), or from quant_config.json,
/// quantize_config.json or hf_quant_config.json beside it, by one of the methods that
/// methods/Methods.h lists, as their projects write them. Adds the files it read to `inputs`.
/// Errors: those of Json, and INGOT-E1054 for a method or a setting that is not supported.
Expected<QuantizationConfig> readQuantization(const Json &config,
                                              const std::filesystem::path &directory,
                                              std::vector<std::filesystem::path> &inputs);

} // namespace ingot::checkpoint

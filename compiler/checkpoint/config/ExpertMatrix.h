// SPDX-License-Identifier: Apache-2.0
// Where a matrix of an expert lies in the parameter that transformers stacks all experts in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

struct ModelConfig;

struct ExpertMatrix {
  std::string stack; ///< "model.layers.0.mlp.experts.gate_up_proj"
  int64_t expert = 0;
  int64_t first = 0; ///< row of the expert's part of the stack that the matrix begins at
  int64_t rows = 0;  ///< of that part: those of gate and up together
};

/// That of the weight which the model calls `name`; nothing where it is no matrix of an expert.
std::optional<ExpertMatrix> expertMatrixOf(const ModelConfig &config, std::string_view name);

} // namespace ingot::checkpoint

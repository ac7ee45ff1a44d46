// SPDX-License-Identifier: Apache-2.0
// Modules are called as transformers calls them, whatever the checkpoint does.
#include "compiler/checkpoint/config/ExpertMatrix.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"

#include <charconv>

namespace ingot::checkpoint {

std::optional<ExpertMatrix> expertMatrixOf(const ModelConfig &config, std::string_view name) {
  constexpr std::string_view weight = ".weight";
  const Experts *found = config.firstExperts();
  if (!found)
    return std::nullopt;
  const Experts &experts = *found;
  const std::string module = message(".", experts.path(), experts.stacks, ".");
  const size_t at = name.find(module);
  if (at == std::string_view::npos || !name.ends_with(weight))
    return std::nullopt;
  const std::string_view layer = name.substr(0, at);
  std::string_view part = name.substr(at + module.size());
  part.remove_suffix(weight.size());
  ExpertMatrix matrix;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), matrix.expert);
  part.remove_prefix(static_cast<size_t>(end - part.data()));
  if (error != std::errc() || !part.starts_with('.'))
    return std::nullopt;
  part.remove_prefix(1);
  const bool isDown = part == experts.down;
  matrix.stack = message(layer, experts.module.empty() ? ".experts." : ".mlp.experts.",
                         isDown ? "down_proj" : "gate_up_proj");
  matrix.rows = static_cast<int64_t>(isDown ? config.hiddenSize : 2 * experts.innerSize);
  matrix.first = part == experts.up ? static_cast<int64_t>(experts.innerSize) : 0;
  return matrix;
}

} // namespace ingot::checkpoint

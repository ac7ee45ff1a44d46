// SPDX-License-Identifier: Apache-2.0
// Modules: what mixers of every kind build with: norms and projections, by the names of their
// tensors.
#pragma once

#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/importers/StepBuilder.h"

namespace ingot::checkpoint {
struct AttentionTemperature;
}

namespace ingot::compiler {

/// The modules of one model under import. What it is given must outlive it.
class Modules {
public:
  Modules(StepBuilder &step, const checkpoint::ModelConfig &config, int64_t maxContext)
      : step(step), config(config), names(config.names),
        hidden(static_cast<int64_t>(config.hiddenSize)), maxContext(maxContext) {}

  /// The place in the model that tensors of `prefix` belong to.
  static mlir::StringRef siteOf(mlir::StringRef prefix) {
    return prefix.drop_front(strlen("model."));
  }

  /// The norm called `name`, of whole rows.
  mlir::Value norm(mlir::Value x, const std::string &name);
  bool isCentered() const { return config.norm != checkpoint::NormKind::Rms; }
  mlir::Value normWeight(mlir::StringRef name, int64_t columns);

  /// The projection `name` of layer-prefix `prefix` ("model.layers.0."). `ordered`: what becomes of
  /// the rows of its weight and bias; null: nothing.
  mlir::Value project(mlir::Value x, const std::string &prefix, mlir::StringRef name,
                      int64_t outputs, int64_t inputs, bool hasBias,
                      llvm::function_ref<mlir::Value(mlir::Value)> ordered = nullptr);

  /// `q`, of each token times what `temperature` has for its position.
  mlir::Value tempered(mlir::Value q, const checkpoint::AttentionTemperature &temperature);

  /// The causal convolution `name` of `taps` inputs, with a bias or without, over all columns of
  /// `x`.
  mlir::Value convolution(mlir::Value x, mlir::Value state, const std::string &name, uint64_t taps,
                          bool hasBias);

  StepBuilder &step;
  const checkpoint::ModelConfig &config;
  const checkpoint::ModuleNames &names;
  const int64_t hidden;     ///< columns of what layers read and give
  const int64_t maxContext; ///< positions the engine is declared for
  mlir::Value selection;    ///< of positions by the last layer that chose; null: none did
};

} // namespace ingot::compiler

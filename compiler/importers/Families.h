// SPDX-License-Identifier: Apache-2.0
// The only list of model families. A new one adds its file to this folder and its line here.
#pragma once

#include "compiler/importers/StepBuilder.h"

/// X(architecture as config.json names it, function that imports it)
#define INGOT_MODEL_FAMILIES(X)                                                                    \
  X("Gemma2ForCausalLM", importLlama)                                                              \
  X("Gemma3ForCausalLM", importLlama)                                                              \
  X("GptOssForCausalLM", importLlama)                                                              \
  X("GraniteForCausalLM", importLlama)                                                             \
  X("LlamaForCausalLM", importLlama)                                                               \
  X("MistralForCausalLM", importLlama)                                                             \
  X("MixtralForCausalLM", importLlama)                                                             \
  X("Olmo2ForCausalLM", importLlama)                                                               \
  X("Phi3ForCausalLM", importLlama)                                                                \
  X("Qwen2ForCausalLM", importLlama)                                                               \
  X("Qwen2MoeForCausalLM", importLlama)                                                            \
  X("Qwen3ForCausalLM", importLlama)                                                               \
  X("Qwen3MoeForCausalLM", importLlama)

namespace ingot::compiler {

#define INGOT_DECLARE(architecture, function)                                                      \
  mlir::LogicalResult function(mlir::ModuleOp module, const checkpoint::Checkpoint &checkpoint,    \
                               const ImportOptions &options);
INGOT_MODEL_FAMILIES(INGOT_DECLARE)
#undef INGOT_DECLARE

} // namespace ingot::compiler

// SPDX-License-Identifier: Apache-2.0
// The program @encode: rows of the text part's width of the patches of pictures.
#pragma once

#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/importers/StepBuilder.h"

namespace ingot::compiler {

/// Adds @encode of a model with vision. Its rows stand in place of embedded tokens, and further
/// results are added to them behind layers of @step. Missing weights are errors of step.finish().
mlir::func::FuncOp addEncodeProgram(StepBuilder &step, const checkpoint::ModelConfig &config);

} // namespace ingot::compiler

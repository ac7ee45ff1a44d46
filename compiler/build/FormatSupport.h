// SPDX-License-Identifier: Apache-2.0
// What becomes of each stored format on each target: the registries of formats, and the kernels
// that targets have for what an engine holds of them.
#pragma once

#include "codegen/Target.h"

namespace ingot::compiler {

/// A table of texts.
struct FormatTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

using FormatTarget = std::pair<const codegen::Target *, engine::TargetAttr>;

/// Quantized checkpoints, ggml's types, and the element types of safetensors files. Asks each of
/// `targets` for kernels of a product with 16-bit activations. `context` has the dialects.
std::vector<FormatTable> tabulateFormats(mlir::MLIRContext &context,
                                         llvm::ArrayRef<FormatTarget> targets);

} // namespace ingot::compiler

// SPDX-License-Identifier: Apache-2.0
// The recipe of a build that names none.
#pragma once

#include "codegen/Target.h"
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/recipe/Recipe.h"
#include "dialects/engine/EngineOps.h"

namespace ingot::compiler {

/// A target of a build, as it was asked for.
using BuildTarget = std::pair<const codegen::Target *, engine::TargetAttr>;

/// A recipe that nobody asked for, and what the report says of it.
struct DefaultRecipe {
  recipe::Recipe recipe;
  std::string name, reason;
};

/// The type, of f32, bf16 and f16, that most of the checkpoint's numbers have. What config.json
/// states is known to be wrong in places; it decides where no tensor is of such a type.
recipe::NumberFormat ownType(const checkpoint::Checkpoint &model);

/// What weights like these are usually computed in and `targets` are fast at: a function of both
/// alone, which docs/recipes.md has as a table. `isFile`: the model is one file, as GGUF is.
/// Errors: INGOT-E2104, the targets' recipes differ.
checkpoint::Expected<DefaultRecipe> defaultRecipe(const checkpoint::Checkpoint &model, bool isFile,
                                                  llvm::ArrayRef<BuildTarget> targets);

} // namespace ingot::compiler

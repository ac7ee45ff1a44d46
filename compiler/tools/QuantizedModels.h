// SPDX-License-Identifier: Apache-2.0
// Builds with a recipe whose method is a step of its own: the checkpoint is quantized first.
#pragma once

#include "compiler/build/BuildOptions.h"
#include "compiler/build/Progress.h"

namespace ingot::compiler {

/// Where `options` have a budget, searches and takes the lockfile for their recipe. Where their
/// recipe has such a method, or is a mix of ggml's blocks, quantizes their model into the cache's
/// folder, unless it is there, and lets them build that with the rest of the recipe. Without a
/// cache the result is in a folder beside the output, which `dropQuantized` removes. Errors: those
/// of searchRecipe(), quantizeCheckpoint() and quantizeToMix(); INGOT-E2115, E2130.
checkpoint::Outcome quantizeFirst(mlir::MLIRContext &context, BuildOptions &options,
                                  Progress &progress);

/// Where quantizeFirst() works for `options` without a cache.
std::filesystem::path quantizedFolder(const BuildOptions &options);

/// Removes what quantizeFirst() made and is not kept.
void dropQuantized(const BuildOptions &options);

} // namespace ingot::compiler

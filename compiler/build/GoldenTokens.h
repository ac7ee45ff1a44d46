// SPDX-License-Identifier: Apache-2.0
// Golden tokens: greedy continuations that an engine carries, for `selftest` wherever it lands.
#pragma once

#include "compiler/build/EngineAssembly.h"

namespace ingot::compiler {

/// Who makes an engine's golden tokens, or why nobody does.
struct GoldenMaker {
  std::pair<const codegen::Target *, engine::TargetAttr> target;
  /// Its stages; nothing where it is a target of the engine.
  std::optional<CompiledTarget> planned;
  int64_t tokens = 0; ///< of each prompt; 0: nobody makes any
  std::string reason;
};

/// Up to 256 million weights the target `reference`, beyond them `x86-64-v3`: a choice by the
/// inputs alone, so that all machines write the same tokens. Nobody for random weights, on a
/// machine that lacks what the maker needs, with a memory cap that leaves no room, or where
/// `options` say so. Errors: those of the stages.
checkpoint::Expected<GoldenMaker>
chooseGoldenMaker(mlir::MLIRContext &context, BuildRequest &request, const BuildOptions &options);

/// Runs a few fixed prompts through the runtime's public interface on the engine in `assembly`,
/// whose weights include the maker's, and puts them and who made them into `description`. `maker`:
/// its stages, or nothing where it is a target of the engine; they and what they have in the file
/// are gone afterwards. Margins are rounded down to multiples of 1/16, less what the recipe's
/// rounding points may change. Errors: those of compiling and running.
checkpoint::Outcome makeGoldenTokens(mlir::MLIRContext &context, BuildRequest &request,
                                     const GoldenMaker &golden,
                                     llvm::MutableArrayRef<CompiledTarget> maker,
                                     Assembly &assembly, const WeightStreamer &streamer,
                                     const BuildOptions &options, EngineDescription &description,
                                     Progress &progress);

} // namespace ingot::compiler

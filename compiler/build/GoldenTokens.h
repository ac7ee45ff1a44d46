// SPDX-License-Identifier: Apache-2.0
// Golden tokens: greedy continuations that an engine carries, for `selftest` wherever it lands.
#pragma once

#include "compiler/build/EngineAssembly.h"

namespace ingot::compiler {

struct GoldenTokens {
  std::vector<GoldenCase> cases; ///< empty: none could be afforded
  std::string reason;            ///< who made them, or why there are none
};

/// Builds the model with the request's recipe and limits for the target `reference`, in a file
/// without a name, and runs a few fixed prompts on it through the runtime's public interface. So
/// golden tokens depend on the inputs alone, not on the targets asked for or the machine. Margins
/// are rounded down to multiples of 1/16, less what the recipe's rounding points may change. A
/// model of more than 32 MiB of weights, or a memory cap that leaves no room for them, gives none,
/// nor do random weights. Errors: those of building and running.
checkpoint::Expected<GoldenTokens> makeGoldenTokens(mlir::MLIRContext &context,
                                                    BuildRequest &request,
                                                    const checkpoint::TokenizerSpec &tokenizer,
                                                    const BuildOptions &options,
                                                    const EngineDescription &description);

} // namespace ingot::compiler

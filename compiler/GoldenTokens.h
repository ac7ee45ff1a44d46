// SPDX-License-Identifier: Apache-2.0
// Golden tokens: greedy continuations that an engine carries, for `selftest` wherever it lands.
// Made by running the engine itself through the runtime's public interface.
#pragma once

#include "compiler/EngineWriter.h"

namespace ingot::compiler {

/// Runs a few fixed prompts on the engine at `path`, within `memory` bytes. Margins are rounded
/// down to multiples of 1/16, so that they do not depend on the level of the machine that made
/// them. Errors: those of opening and running the engine, for example that no target runs here.
checkpoint::Expected<std::vector<GoldenCase>> makeGoldenTokens(const std::filesystem::path &path,
                                                               uint64_t memory);

} // namespace ingot::compiler

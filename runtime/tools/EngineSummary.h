// SPDX-License-Identifier: Apache-2.0
// An engine's metadata as JSON: the one description that inspect, plan and diff show.
#pragma once

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/MemoryPlan.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {

/// Everything the metadata says, with names in place of indices and formulas as text ("T * 4").
/// Keys never change their meaning; later versions add keys. `engine` must be verified.
nlohmann::json describeEngine(const schema::Engine &engine);

/// The same with "digest" (of the metadata, which names the build), "file_bytes" and the names of
/// "chat_templates"; "tokenizer_fault" says why a tokenizer cannot be read.
nlohmann::json describeFile(const EngineFile &file);

/// What a session allocates, in bytes, and its limits.
nlohmann::json describePlan(const MemoryPlan &plan);

/// "T * 4", "ceildiv(S, 8)": the formula as people write it.
std::string formulaText(const schema::Expr &expression, const schema::Engine &engine);

/// Two spaces of indentation; bytes that are not UTF-8 are replaced.
std::string jsonText(const nlohmann::json &value);

/// The text of a JSON string, or of any other value as JSON.
std::string plainText(const nlohmann::json &value);

} // namespace ingot::runtime

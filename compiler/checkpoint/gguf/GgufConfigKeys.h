// SPDX-License-Identifier: Apache-2.0
// Writes a model's shape as the metadata of a GGUF file: the way back from readGgufConfig().
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

struct Family;
struct ModelConfig;

/// The family as which models of this one are written. Errors: INGOT-E2155 where there is none.
Expected<const Family *> ggufFamilyOf(const ModelConfig &config, const std::string &where);

/// The keys of the architecture. What scales the frequencies of each pair alone is no key, but a
/// tensor.
nlohmann::json ggufConfigKeys(const ModelConfig &config, const Family &family);

/// What of a model is otherwise in `back`, which was read from its keys; empty: nothing. Not
/// compared: how tensors are stored, and the numbers that files have with fewer digits.
std::string differenceOf(const ModelConfig &config, const ModelConfig &back);

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// Tensors of a checkpoint that no importer asked for: leftovers, or a model that is not understood.
#pragma once

#include "compiler/importers/StoredWeights.h"
#include "llvm/ADT/StringSet.h"

namespace ingot::compiler {

/// What an import asked for.
struct ReadTensors {
  const llvm::StringSet<> &stored; ///< names of tensors that were found
  const llvm::StringSet<> &asked;  ///< the model's names of its weights
  const StoredWeights &weights;
};

/// The names of tensors that an engine is built without, sorted; those that are known to hold no
/// weights of the model (masks, tables that it computes, zero biases, layers that only draft, what
/// belongs to a quantized matrix) are not among them. Errors: INGOT-E1083 for one whose absence
/// would change what the model computes, and those of reading.
checkpoint::Expected<std::vector<std::string>>
unreadTensors(const checkpoint::Checkpoint &checkpoint, const ReadTensors &read);

} // namespace ingot::compiler

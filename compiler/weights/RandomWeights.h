// SPDX-License-Identifier: Apache-2.0
// RandomWeights: what an engine says of weights that its loader shall make (Fill of Engine.fbs).
#pragma once

#include "compiler/weights/WeightGraph.h"
#include "dialects/engine/WeightFill.h"

namespace ingot::compiler {

/// Whether `value` depends on a tensor of the checkpoint.
bool dependsOnSource(const WeightGraph &graph, WeightValue value);

/// How to make `stored`, which depends on a source: numbers that follow from `seed`, the tensor's
/// name, row and column alone, so that every target, however it merges and orders its weights, has
/// the same model. Matrices keep the spread of their input: floats are uniform in +-sqrt(3 /
/// columns), scales are such that scale * code spreads alike. Norm weights lie about 1, biases
/// about 0. Errors: INGOT-E3104 for a weight that cannot be made so.
checkpoint::Expected<engine::WeightFill> fillOf(const WeightGraph &graph,
                                                const StoredWeight &stored, uint64_t seed);

} // namespace ingot::compiler

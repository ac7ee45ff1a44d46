// SPDX-License-Identifier: Apache-2.0
// Complete check of an engine's metadata, so that everything after it may follow indices blindly.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/engine/Expression.h"

#include <vector>

namespace ingot::runtime {

/// Bits of one element.
int64_t bitsOf(schema::DType type);

/// True for the roles whose buffers lie in the arena: Arena, Input and Output.
bool isInArena(schema::Role role);

/// The declared range of every dim.
std::vector<Interval> declaredRanges(const schema::Engine &engine);

/// Checks every index, enum, range, expression, segment and arena offset of a FlatBuffer that the
/// FlatBuffers verifier accepted. Needs neither the sections nor a device.
/// INGOT-E5006 (structure), E5007 (expression), E5010 (memory contract), E5011 (unknown dim).
Status verifyStructure(const schema::Engine &engine);

} // namespace ingot::runtime

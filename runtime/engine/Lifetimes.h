// SPDX-License-Identifier: Apache-2.0
// Buffers of the arena that hold values at the same time have different places.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/Engine_generated.h"

#include <string>

namespace ingot::runtime {

/// A value that another overwrites would be any index into a table or cache. Inputs, outputs and
/// zeroed buffers live throughout, others from the first to the last instruction that names them.
/// INGOT-E5010 names two buffers. Sizes and offsets of the tiers must have been checked.
Status verifyLifetimes(const schema::Engine &engine, const schema::Target &target,
                       const std::string &where);

} // namespace ingot::runtime

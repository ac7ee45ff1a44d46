// SPDX-License-Identifier: Apache-2.0
// The coverage proof, recomputed from the file alone: every launch has a kernel for every shape.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/engine/Expression.h"

#include <optional>
#include <vector>

namespace ingot::runtime {

/// A box of shapes: one interval per dim.
using ShapeBox = std::vector<Interval>;

/// A point of `declared` that lies in none of `boxes`, or nothing when they cover it: exact, by
/// cutting each box out of what is left. `tooComplex` is set, and nothing proved, when more than
/// 100,000 pieces arise.
std::optional<std::vector<int64_t>>
findUncovered(const ShapeBox &declared, const std::vector<ShapeBox> &boxes, bool &tooComplex);

/// The shapes a variant really serves: its ranges cut by its kernel's guards, over all dims of the
/// engine. Launches choose by this box. Nothing when it is empty.
std::optional<ShapeBox> variantBox(const schema::Variant &variant, const schema::Target &target,
                                   const ShapeBox &declared);

/// Proves for every launch of every target, over the whole declared range of each dim, that some
/// variant serves it. INGOT-E5013 names the op, an uncovered shape and the target; INGOT-E5014 when
/// the ranges are too fragmented to decide. Needs a structure that `verifyStructure` accepted.
Status verifyCoverage(const schema::Engine &engine);

} // namespace ingot::runtime

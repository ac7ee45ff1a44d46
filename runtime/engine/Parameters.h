// SPDX-License-Identifier: Apache-2.0
// What kernels take, held against what launches give them.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/Engine_generated.h"

#include <string>

namespace ingot::runtime {

/// A kernel's code knows its buffers, their sizes and its tiles, and cannot be asked; its `uses`
/// state them once more, beside the launches. Every launch must be a use of each of its variants'
/// kernels, so that one number changed anywhere is found. Kernels that state none are not checked.
/// INGOT-E5024 names the launch.
/// Indices of the target must have been checked.
Status verifyParameters(const schema::Target &target, const std::string &where);

} // namespace ingot::runtime

// SPDX-License-Identifier: Apache-2.0
// The target "reference": plain loops for any x86-64, the oracle that other targets are held to.
#pragma once

#include "codegen/Target.h"

namespace ingot::codegen {

/// The one instance.
const Target &referenceTarget();

/// The provider of its kernels: one per operation, every fusion declined.
std::unique_ptr<engine::KernelProvider> createReferenceProvider();

} // namespace ingot::codegen

// SPDX-License-Identifier: Apache-2.0
// The target "x86": vectorised kernels for the levels x86-64-v3 and x86-64-v4 and named features.
#pragma once

#include "codegen/Target.h"
#include "codegen/x86/MatmulKernels.h"

namespace ingot::codegen {

/// The one instance.
const Target &x86Target();

/// The provider of its kernels. `target` names the target in messages.
std::unique_ptr<engine::KernelProvider> createX86Provider(engine::TargetAttr target,
                                                          const X86Features &features);

} // namespace ingot::codegen

// SPDX-License-Identifier: Apache-2.0
// The target "cuda": NVIDIA GPUs, built for without one.
#pragma once

#include "codegen/Target.h"

namespace ingot::codegen {

/// The one instance.
const Target &cudaTarget();

/// The provider of its kernels; `target` names the architecture.
std::unique_ptr<engine::KernelProvider> createCudaProvider(engine::TargetAttr target);

} // namespace ingot::codegen

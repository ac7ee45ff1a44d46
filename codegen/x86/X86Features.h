// SPDX-License-Identifier: Apache-2.0
// What a target of x86 has.
#pragma once

#include "codegen/native/KernelTemplate.h"

namespace ingot::codegen {

/// What kernels of a target are made of: compiled templates, and instructions that they may use.
struct X86Features {
  const TemplateSet &templates;
  bool amx;  ///< the tiles of AMX, or their emulation
  bool bf16; ///< dot products of bf16
  bool vnni; ///< dot products of bytes
};

} // namespace ingot::codegen

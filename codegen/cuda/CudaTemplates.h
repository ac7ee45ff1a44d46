// SPDX-License-Identifier: Apache-2.0
// The files of kernels/, embedded when the project is built.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot::codegen {

/// One file: its name ("MatmulSimple.cu", "Ptx.cuh") and text.
struct CudaTemplate {
  llvm::StringRef name, text;
};

/// Every file, by name.
llvm::ArrayRef<CudaTemplate> cudaTemplates();

/// The text of the file `name` and of all that it includes.
std::string cudaTemplateText(llvm::StringRef name);

} // namespace ingot::codegen

// SPDX-License-Identifier: Apache-2.0
// The files of kernels/ and the tables that they include, embedded when the project is built.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace ingot::codegen {

/// One file: the name by which it is included ("Ptx.cuh", "runtime/schema/Elements.h") and text.
struct CudaTemplate {
  llvm::StringRef name, text;
};

/// Every file, by name.
llvm::ArrayRef<CudaTemplate> cudaTemplates();

/// The text of the file `name` and of all that it includes.
std::string cudaTemplateText(llvm::StringRef name);

} // namespace ingot::codegen

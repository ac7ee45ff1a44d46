// SPDX-License-Identifier: Apache-2.0
// What kernels are made from, and the machine that they are made for.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace ingot::codegen {

/// A kernel template: bitcode made from `name`.cpp when the project was built.
struct KernelTemplate {
  struct Bytes {
    const char *begin, *end;
  };
  const char *name;
  Bytes bitcode;
};

/// The SHA-256 of an embedded template, which lasts as long as the process, in hexadecimal digits;
/// worked out once.
llvm::StringRef digestOf(const KernelTemplate &which);

/// Templates that were compiled for one set of features, and the triple they were compiled for,
/// which decides the instruction set and the format of objects.
struct TemplateSet {
  const char *triple;
  llvm::ArrayRef<KernelTemplate> templates;
};

/// What kernels are compiled for. `cpu` and `features` ("+avx512vnni,+avx512bf16") are in LLVM's
/// spelling; a template that was compiled with features beyond them is refused.
struct KernelMachine {
  std::string cpu;
  std::string features;
  TemplateSet set;
};

} // namespace ingot::codegen

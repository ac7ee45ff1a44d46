// SPDX-License-Identifier: Apache-2.0
// Links object files in memory into one shared object without imports, with lld in this process.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace ingot::codegen {

/// The bytes of a position independent ELF shared object made of `objects`, in this order; symbols
/// of default visibility are exported, unreferenced hidden ones dropped. Fails on an undefined
/// symbol. One link runs at a time; the same objects give the same bytes.
llvm::Expected<std::string> linkSharedObject(llvm::ArrayRef<std::string> objects);

} // namespace ingot::codegen

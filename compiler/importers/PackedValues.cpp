// SPDX-License-Identifier: Apache-2.0
// Collects what signatures name.
#include "compiler/importers/PackedValues.h"

#include "compiler/importers/Signature.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace ingot::compiler;
using ingot::checkpoint::DType;

ArrayRef<StringRef> ingot::compiler::packedValues() {
  static const auto names = [] {
    SmallVector<StringRef> names;
    auto add = [&](std::initializer_list<Signature> signatures) {
      for (const Signature &signature : signatures) {
        StringRef part = signature.part;
        // Others have a weight under its own name.
        bool isOwn = part == ".weight" || part.starts_with(".weight.") || part.ends_with("_scale");
        if (!isOwn && !is_contained(names, part))
          names.push_back(part);
      }
    };
#define INGOT_FORMAT_READER(name, ...) add({__VA_ARGS__});
    INGOT_FORMAT_READERS(INGOT_FORMAT_READER)
#undef INGOT_FORMAT_READER
    return names;
  }();
  return names;
}

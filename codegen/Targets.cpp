// SPDX-License-Identifier: Apache-2.0
// The only list of targets. A new one adds its include and its line in `targets`.
#include "codegen/Target.h"

#include "codegen/cuda/CudaTarget.h"
#include "codegen/reference/ReferenceTarget.h"
#include "codegen/x86/X86Target.h"

using namespace ingot;
using namespace ingot::codegen;

llvm::ArrayRef<const Target *> codegen::targets() {
  static const Target *const list[] = {
      &x86Target(),
      &cudaTarget(),
      &referenceTarget(),
  };
  return list;
}

mlir::FailureOr<std::pair<const Target *, engine::TargetAttr>>
codegen::findTarget(mlir::MLIRContext *context, llvm::StringRef name, std::string &error) {
  if (name == kNativeTarget)
    for (const Target *target : targets())
      if (std::optional<std::string> host = target->hostTarget())
        return findTarget(context, *host, error);
  for (const Target *target : targets()) {
    if (!target->claims(name))
      continue;
    mlir::FailureOr<engine::TargetAttr> parsed = target->parse(context, name, error);
    if (failed(parsed))
      return mlir::failure();
    return std::pair(target, *parsed);
  }
  error = ("INGOT-E4000: no target is called '" + name + "'; known are " + kNativeTarget).str();
  for (const Target *target : targets())
    error += "; " + target->namesAccepted();
  return mlir::failure();
}

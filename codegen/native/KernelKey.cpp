// SPDX-License-Identifier: Apache-2.0
// Lists everything that KernelSpecializer reads.
#include "codegen/native/KernelKey.h"

#include "codegen/native/KernelSpecializer.h"
#include "codegen/native/SourceDigest.h"
#include "dialects/engine/EngineOps.h"

#include "mlir/IR/AsmState.h"
#include "llvm-c/Core.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

/// The library's own version: it is shared, and may be newer than the headers.
static std::string llvmVersion() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// The key's parts that all code of template `name` has.
static CacheKey keyOfTemplate(llvm::StringRef name, const KernelMachine &machine) {
  CacheKey key;
  key.add(kSourceDigest).add(llvmVersion());
  key.add(machine.set.triple).add(machine.cpu).add(machine.features).add(name);
  for (const KernelTemplate &one : machine.set.templates)
    if (one.name == name)
      key.add(digestOf(one));
  return key;
}

/// Templates read numbers; texts are for people and for tuning.
static std::string constantsText(DictionaryAttr constants) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!constants)
    return text;
  for (NamedAttribute constant : constants)
    if (!isa<StringAttr>(constant.getValue()))
      stream << constant.getName().strref() << " = " << constant.getValue() << "\n";
  return text;
}

static std::string regionText(engine::KernelOp kernel) {
  std::string text;
  if (kernel.getEpilogue().empty())
    return text;
  llvm::raw_string_ostream stream(text);
  // Numbers of values are counted from the kernel on.
  AsmState state(kernel, OpPrintingFlags().useLocalScope().printGenericOpForm());
  for (Block &block : kernel.getEpilogue()) {
    for (BlockArgument argument : block.getArguments())
      stream << argument.getType() << ", ";
    stream << "\n";
    for (Operation &op : block) {
      op.print(stream, state);
      stream << "\n";
    }
  }
  return text;
}

std::string codegen::kernelKey(engine::KernelOp kernel, const KernelMachine &machine) {
  return keyOfTemplate(kernel.getSource(), machine)
      .add(kernel.getSymName())
      .add(constantsText(kernel.getConstants()))
      .add(regionText(kernel))
      .text();
}

std::string codegen::memoryFunctionsKey(const KernelMachine &machine) {
  return keyOfTemplate(kMemoryTemplate, machine).text();
}

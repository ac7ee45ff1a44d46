// SPDX-License-Identifier: Apache-2.0
// What stays out of the program. LLD, which links kernels, registers all targets of LLVM, twice the
// size of all else, and names Polly where it would optimise bitcode while linking; kernels are
// machine code for x86-64. Here are the functions that it calls for the others.
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

// EXPAND(Name) is LINKED(Name) for X86, else OTHER(Name).
#define SECOND(First, Second, ...) Second
#define CHOOSE(...) SECOND(__VA_ARGS__, OTHER, )
#define IS_X86 0, LINKED
#define EXPAND(Name) CHOOSE(IS_##Name)(Name)
#define LINKED(Name)

extern "C" {
#define OTHER(Name)                                                                                \
  void LLVMInitialize##Name##TargetInfo() {}                                                       \
  void LLVMInitialize##Name##Target() {}                                                           \
  void LLVMInitialize##Name##TargetMC() {}
#define LLVM_TARGET(Name) EXPAND(Name)
#include "llvm/Config/Targets.def"
#undef OTHER
#define OTHER(Name)                                                                                \
  void LLVMInitialize##Name##AsmPrinter() {}
#define LLVM_ASM_PRINTER(Name) EXPAND(Name)
#include "llvm/Config/AsmPrinters.def"
#undef OTHER
#define OTHER(Name)                                                                                \
  void LLVMInitialize##Name##AsmParser() {}
#define LLVM_ASM_PARSER(Name) EXPAND(Name)
#include "llvm/Config/AsmParsers.def"
}

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", LLVM_VERSION_STRING, [](llvm::PassBuilder &) {}};
}

// SPDX-License-Identifier: Apache-2.0
// Clones a template, fills in its constants and epilogue, optimises it and emits an object.
#include "codegen/native/KernelSpecializer.h"

#include "codegen/native/RegionPrinter.h"
#include "dialects/engine/EngineOps.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/IPO/SCCP.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <mutex>
#include <set>

using namespace llvm;
using namespace ingot;
using namespace ingot::codegen;

namespace {

constexpr StringLiteral kEntry = "ingot_kernel";
constexpr StringLiteral kEpilogue = "ingot_epilogue";
constexpr StringLiteral kIntegerPrefix = "ingot_const_";
constexpr StringLiteral kRealPrefix = "ingot_real_";
constexpr StringLiteral kMemoryFunctions[] = {"memcpy", "memmove", "memset", "memcmp"};

/// One module on its way from a template to an object.
class Specializer {
public:
  explicit Specializer(const KernelMachine &machine) : machine(machine) {
    context.setDiscardValueNames(true);
  }

  Error load(StringRef name);
  Error setConstants(mlir::DictionaryAttr constants);
  Error defineEpilogue(mlir::Region &region, mlir::DictionaryAttr constants);
  /// Leaves `symbol` as the only exported name of a kernel.
  void exportKernel(StringRef symbol);
  Expected<std::string> compile();

private:
  Error createTargetMachine();
  Error checkFeatures();
  Error checkInlineAssembly();
  void optimize();
  Expected<std::string> emit();
  Error checkUndefined(StringRef object);

  const KernelMachine &machine;
  LLVMContext context;
  std::unique_ptr<Module> module;
  std::unique_ptr<TargetMachine> targetMachine;
};

} // namespace

static Error makeError(StringRef code, const Twine &message) {
  return createStringError(code + ": " + message);
}

Error Specializer::load(StringRef name) {
  const auto *found = find_if(machine.set.templates,
                              [&](const KernelTemplate &entry) { return entry.name == name; });
  if (found == machine.set.templates.end())
    return makeError("INGOT-E4001", "the target has no kernel template '" + name + "'");
  StringRef bytes(found->bitcode.begin, found->bitcode.end - found->bitcode.begin);
  Expected<std::unique_ptr<Module>> parsed =
      parseBitcodeFile(MemoryBufferRef(bytes, name), context);
  if (!parsed)
    return makeError("INGOT-E4007",
                     "kernel template '" + name + "': " + toString(parsed.takeError()));
  module = std::move(*parsed);
  module->setSourceFileName(name);
  if (Error error = createTargetMachine())
    return error;
  if (Error error = checkFeatures())
    return error;
  return checkInlineAssembly();
}

Error Specializer::createTargetMachine() {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string message;
  Triple triple(machine.set.triple);
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return makeError("INGOT-E4007", message);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  options.FunctionSections = options.DataSections = true;
  targetMachine.reset(target->createTargetMachine(triple, machine.cpu, machine.features, options,
                                                  Reloc::PIC_, CodeModel::Small,
                                                  CodeGenOptLevel::Aggressive));
  if (!targetMachine)
    return makeError("INGOT-E4007", StringRef("no code generator for ") + machine.set.triple);
  module->setTargetTriple(triple);
  module->setDataLayout(targetMachine->createDataLayout());
  return Error::success();
}

/// Compares what the template was compiled for with what the target declares, then makes the
/// target's features those of every function, so that no other instruction can be selected.
Error Specializer::checkFeatures() {
  const llvm::Target &target = targetMachine->getTarget();
  auto bitsOf = [&](StringRef cpu, StringRef features) {
    std::unique_ptr<MCSubtargetInfo> info(
        target.createMCSubtargetInfo(targetMachine->getTargetTriple(), cpu, features));
    // Features that only steer tuning must not count: the same ones for both.
    info->setDefaultFeatures(cpu, "generic", features);
    return info->getFeatureBits();
  };
  FeatureBitset allowed = bitsOf(machine.cpu, machine.features);
  // A thousand functions share a few of them, and each takes long to read.
  std::set<std::pair<StringRef, StringRef>> seen;
  for (Function &function : *module) {
    if (function.isDeclaration())
      continue;
    StringRef cpu = function.getFnAttribute("target-cpu").getValueAsString();
    StringRef features = function.getFnAttribute("target-features").getValueAsString();
    if (seen.insert({cpu, features}).second && (bitsOf(cpu, features) & ~allowed).any())
      return makeError("INGOT-E4004", "function '" + function.getName() + "' was compiled for '" +
                                          cpu + "' " + features + ", beyond '" + machine.cpu +
                                          "' " + machine.features);
    function.addFnAttr("target-cpu", machine.cpu);
    function.addFnAttr("target-features", machine.features);
    function.removeFnAttr("tune-cpu");
  }
  return Error::success();
}

/// Inline assembly would bypass the check of features.
Error Specializer::checkInlineAssembly() {
  bool found = !module->getModuleInlineAsm().empty();
  for (Function &function : *module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (auto *code = dyn_cast<InlineAsm>(call->getCalledOperand()))
          found |= !code->getAsmString().empty();
  return found ? makeError("INGOT-E4005", "the template contains inline assembly")
               : Error::success();
}

/// The initialiser that `value` gives a constant of `type`; null if the kinds do not match.
static Constant *constantOf(Type *type, mlir::Attribute value) {
  if (auto integer = dyn_cast_or_null<mlir::IntegerAttr>(value); integer && type->isIntegerTy(64)) {
    // Booleans are one bit wide and mean 0 and 1.
    bool isBool = integer.getType().isInteger(1);
    APInt bits = integer.getValue();
    return ConstantInt::get(type, isBool ? bits.zextOrTrunc(64) : bits.sextOrTrunc(64));
  }
  if (auto real = dyn_cast_or_null<mlir::FloatAttr>(value); real && type->isDoubleTy())
    return ConstantFP::get(type, real.getValueAsDouble());
  return nullptr;
}

Error Specializer::setConstants(mlir::DictionaryAttr constants) {
  for (GlobalVariable &global : module->globals()) {
    StringRef name = global.getName();
    if (!name.consume_front(kIntegerPrefix) && !name.consume_front(kRealPrefix))
      continue;
    mlir::Attribute value = constants ? constants.get(name) : mlir::Attribute();
    if (!value && !global.isDeclaration())
      continue; // what the template has for absent ones
    Constant *initializer = constantOf(global.getValueType(), value);
    if (!initializer)
      return makeError("INGOT-E4002",
                       "constant '" + name + "' is " + (value ? "of the wrong kind" : "missing"));
    global.setInitializer(initializer);
    global.setConstant(true);
  }
  return Error::success();
}

Error Specializer::defineEpilogue(mlir::Region &region, mlir::DictionaryAttr constants) {
  Function *function = module->getFunction(kEpilogue);
  if (!function || !function->isDeclaration()) {
    if (region.empty())
      return Error::success();
    return makeError("INGOT-E4003", "the kernel has a region, but its template takes none");
  }
  // Same features and vector width as the code that it is inlined into.
  function->setAttributes(AttributeList::get(
      context, AttributeList::FunctionIndex,
      AttrBuilder(context, module->getFunction(kEntry)->getAttributes().getFnAttrs())));
  function->addFnAttr(Attribute::AlwaysInline);
  function->removeFnAttr(Attribute::NoInline);
  if (!function->getReturnType()->getScalarType()->isFloatTy() ||
      any_of(function->args(),
             [&](Argument &argument) { return argument.getType() != function->getReturnType(); }))
    return makeError("INGOT-E4003",
                     "the template's epilogue does not pass vectors of floats by value");
  if (region.empty()) {
    IRBuilder<> builder(BasicBlock::Create(context, "entry", function));
    builder.CreateRet(function->getArg(0));
    return Error::success();
  }
  auto pairOffset = constants ? constants.getAs<mlir::IntegerAttr>("pair_offset") : nullptr;
  unsigned skip = pairOffset && pairOffset.getValue().isZero() ? 1 : 0;
  SmallVector<unsigned> parameters;
  for (unsigned i = 0; i < region.getNumArguments(); ++i)
    parameters.push_back(i == 0 ? 0 : i + skip);
  if (Error error = printRegion(region, *function, parameters))
    return makeError("INGOT-E4003", toString(std::move(error)));
  return Error::success();
}

void Specializer::exportKernel(StringRef symbol) {
  Function *entry = module->getFunction(kEntry);
  for (GlobalValue &value : module->global_values()) {
    if (value.isDeclaration() || value.getName().starts_with("llvm."))
      continue;
    if (auto *object = dyn_cast<GlobalObject>(&value))
      object->setComdat(nullptr);
    value.setVisibility(GlobalValue::DefaultVisibility);
    value.setLinkage(&value == entry ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage);
  }
  entry->setName(symbol);
}

Expected<std::string> Specializer::compile() {
  std::string message;
  raw_string_ostream stream(message);
  if (verifyModule(*module, &stream))
    return makeError("INGOT-E4007", "invalid code: " + message);
  optimize();
  Expected<std::string> object = emit();
  if (!object)
    return object;
  if (Error error = checkUndefined(*object))
    return std::move(error);
  return object;
}

void Specializer::optimize() {
  PipelineTuningOptions options;
  options.LoopVectorization = options.SLPVectorization = true;
  options.LoopInterleaving = options.LoopUnrolling = true;
  PassBuilder builder(targetMachine.get(), options);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  // Kernels import nothing, so no loop may become a call of the C library.
  TargetLibraryInfoImpl library(targetMachine->getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  // Most of a template is for other constants, and what is left are many small functions, each of
  // which would be optimised by itself and again in all that it is inlined into.
  FunctionPassManager simplify;
  simplify.addPass(SROAPass(SROAOptions::ModifyCFG));
  simplify.addPass(EarlyCSEPass());
  simplify.addPass(SimplifyCFGPass());
  ModuleInlinerWrapperPass inliner(getInlineParams(/*OptLevel=*/3, /*SizeOptLevel=*/0));
  inliner.getPM().addPass(createCGSCCToFunctionPassAdaptor(std::move(simplify)));
  ModulePassManager passes;
  passes.addPass(IPSCCPPass());
  passes.addPass(GlobalDCEPass());
  passes.addPass(std::move(inliner));
  passes.addPass(GlobalDCEPass());
  passes.addPass(builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3));
  passes.run(*module, modules);
}

Expected<std::string> Specializer::emit() {
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  TargetLibraryInfoImpl library(targetMachine->getTargetTriple());
  library.disableAllFunctions();
  passes.add(new TargetLibraryInfoWrapperPass(library));
  if (targetMachine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return makeError("INGOT-E4007", "the code generator cannot write object files");
  passes.run(*module);
  return std::string(bytes.begin(), bytes.end());
}

Error Specializer::checkUndefined(StringRef bytes) {
  Expected<std::unique_ptr<object::ObjectFile>> file =
      object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, "kernel"));
  if (!file)
    return makeError("INGOT-E4007", toString(file.takeError()));
  for (const object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return makeError("INGOT-E4007", toString(joinErrors(flags.takeError(), name.takeError())));
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() &&
        !is_contained(kMemoryFunctions, *name))
      return makeError("INGOT-E4005", "the code needs '" + *name + "', which no engine provides");
  }
  return Error::success();
}

Expected<std::string> codegen::specializeKernel(engine::KernelOp kernel,
                                                const KernelMachine &machine) {
  Specializer specializer(machine);
  if (Error error = specializer.load(kernel.getSource()))
    return std::move(error);
  if (Error error = specializer.setConstants(kernel.getConstants()))
    return std::move(error);
  if (Error error = specializer.defineEpilogue(kernel.getEpilogue(), kernel.getConstants()))
    return std::move(error);
  specializer.exportKernel(kernel.getSymName());
  return specializer.compile();
}

Expected<std::string> codegen::compileMemoryFunctions(const KernelMachine &machine) {
  Specializer specializer(machine);
  if (Error error = specializer.load(kMemoryTemplate))
    return std::move(error);
  return specializer.compile();
}

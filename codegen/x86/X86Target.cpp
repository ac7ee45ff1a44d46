// SPDX-License-Identifier: Apache-2.0
// Names and features of the x86 targets, and which set of kernel templates each is built from.
#include "codegen/x86/X86Target.h"

#include "codegen/native/KernelLibrary.h"
#include "dialects/engine/EngineOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {
/// Generated from kernels/ when the project is built, one per set of features.
llvm::ArrayRef<KernelTemplate> x86V3Templates();
llvm::ArrayRef<KernelTemplate> x86V3VnniTemplates();
llvm::ArrayRef<KernelTemplate> x86V4Templates();
llvm::ArrayRef<KernelTemplate> x86V4VnniTemplates();
llvm::ArrayRef<KernelTemplate> x86V4Bf16Templates();
llvm::ArrayRef<KernelTemplate> x86V4AmxTemplates();
} // namespace ingot::codegen

namespace {

constexpr llvm::StringLiteral kFamily = "x86-64";

/// One target: its canonical name and everything that follows from it.
struct Level {
  llvm::StringLiteral name;
  llvm::StringLiteral cpu;      ///< LLVM's name of the level
  llvm::StringLiteral features; ///< beyond the level, in LLVM's spelling
  /// What the runtime looks for, as in /proc/cpuinfo but with LLVM's spelling.
  llvm::ArrayRef<llvm::StringLiteral> required;
  int64_t preference;
  llvm::ArrayRef<KernelTemplate> (*templates)();
  bool amx = false; ///< kernels use the tiles of AMX, or their twin in plain code
};

constexpr llvm::StringLiteral kV3[] = {"avx2", "fma", "f16c", "bmi2"};
constexpr llvm::StringLiteral kV3Vnni[] = {"avx2", "fma", "f16c", "bmi2", "avxvnni"};
constexpr llvm::StringLiteral kV4[] = {"avx2",     "fma",      "f16c",     "bmi2",    "avx512f",
                                       "avx512bw", "avx512vl", "avx512dq", "avx512cd"};
constexpr llvm::StringLiteral kV4Vnni[] = {"avx2",     "fma",       "f16c",     "bmi2",
                                           "avx512f",  "avx512bw",  "avx512vl", "avx512dq",
                                           "avx512cd", "avx512vnni"};
constexpr llvm::StringLiteral kV4Bf16[] = {"avx2",     "fma",        "f16c",      "bmi2",
                                           "avx512f",  "avx512bw",   "avx512vl",  "avx512dq",
                                           "avx512cd", "avx512vnni", "avx512bf16"};

constexpr llvm::StringLiteral kV4Amx[] = {
    "avx2",     "fma",      "f16c",       "bmi2",       "avx512f",  "avx512bw", "avx512vl",
    "avx512dq", "avx512cd", "avx512vnni", "avx512bf16", "amx-tile", "amx-int8", "amx-bf16"};

/// The kernels for AMX with plain code in place of its instructions: for tests on other machines.
constexpr llvm::StringLiteral kTwin = "x86-64-v4+vnni+amx-twin";

/// All targets, the least capable first.
constexpr Level kLevels[] = {
    {kTwin, "x86-64-v4", "+avx512vnni", kV4Vnni, 1, x86V4VnniTemplates, true},
    {"x86-64-v3", "x86-64-v3", "", kV3, 30, x86V3Templates},
    {"x86-64-v3+avxvnni", "x86-64-v3", "+avxvnni", kV3Vnni, 35, x86V3VnniTemplates},
    {"x86-64-v4", "x86-64-v4", "", kV4, 40, x86V4Templates},
    {"x86-64-v4+vnni", "x86-64-v4", "+avx512vnni", kV4Vnni, 45, x86V4VnniTemplates},
    {"x86-64-v4+vnni+bf16", "x86-64-v4", "+avx512vnni,+avx512bf16", kV4Bf16, 50,
     x86V4Bf16Templates},
    {"x86-64-v4+vnni+bf16+amx", "x86-64-v4",
     "+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16", kV4Amx, 55, x86V4AmxTemplates, true},
};

const Level *findLevel(llvm::StringRef name) {
  const Level *found =
      llvm::find_if(kLevels, [&](const Level &level) { return level.name == name; });
  return found == std::end(kLevels) ? nullptr : found;
}

/// The most capable level of which `has` every feature; never the twin.
std::optional<std::string> bestLevel(llvm::function_ref<bool(llvm::StringRef)> has) {
  for (const Level &level : llvm::reverse(kLevels))
    if (level.name != kTwin && llvm::all_of(level.required, has))
      return level.name.str();
  return std::nullopt;
}

/// Whether `name` is a CPU that LLVM knows by a name: "znver5", "sapphirerapids".
bool isCpu(llvm::StringRef name) {
  return !name.starts_with(kFamily) && llvm::X86::parseArchX86(name, true) != llvm::X86::CK_None;
}

/// The target for a CPU of that name; nothing, with `error`, for one that has too little.
std::optional<std::string> levelOfCpu(llvm::StringRef cpu, std::string &error) {
  // The list leaves out what other features imply.
  llvm::SmallVector<llvm::StringRef> listed;
  llvm::X86::getFeaturesForCPU(cpu, listed);
  llvm::StringMap<bool> features;
  for (llvm::StringRef feature : listed) {
    features[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, true, features);
  }
  std::optional<std::string> level =
      bestLevel([&](llvm::StringRef feature) { return features.lookup(feature); });
  if (!level)
    error = "the CPU has less than x86-64-v3";
  return level;
}

/// `name` with its features in the order of the list, each once; of a CPU, the level that it has.
/// Nothing, with `error`, for a feature that the level does not have.
std::optional<std::string> canonicalName(llvm::StringRef name, std::string &error) {
  if (name == kTwin)
    return name.str();
  if (isCpu(name))
    return levelOfCpu(name, error);
  llvm::SmallVector<llvm::StringRef> parts;
  name.split(parts, '+');
  llvm::StringRef base = parts.front();
  llvm::SmallVector<llvm::StringRef> known;
  if (base == "x86-64-v3")
    known = {"avxvnni"};
  else if (base == "x86-64-v4")
    known = {"vnni", "bf16", "amx"};
  else {
    error = ("level '" + base + "' is unknown").str();
    return std::nullopt;
  }
  size_t last = 0; // features up to here, in the list's order: each one implies those before
  for (llvm::StringRef feature : llvm::drop_begin(parts)) {
    auto *found = llvm::find(known, feature);
    if (found == known.end()) {
      error = ("feature '" + feature + "' is not one of " + base).str();
      return std::nullopt;
    }
    last = std::max<size_t>(last, found - known.begin() + 1);
  }
  std::string canonical = base.str();
  for (llvm::StringRef feature : llvm::ArrayRef(known).take_front(last))
    canonical += ("+" + feature).str();
  return canonical;
}

/// The digest of the template "Matmul".
llvm::StringRef matmulDigest(llvm::ArrayRef<KernelTemplate> templates) {
  for (const KernelTemplate &one : templates)
    if (llvm::StringRef(one.name) == "Matmul")
      return digestOf(one);
  return {};
}

class X86Target final : public codegen::Target {
public:
  llvm::StringRef backend() const override { return "x86"; }

  std::string namesAccepted() const override {
    return "x86-64-v3[+avxvnni], x86-64-v4[+vnni][+bf16][+amx], or a CPU by its name for -march";
  }

  bool claims(llvm::StringRef name) const override {
    return name.starts_with(kFamily) || isCpu(name);
  }

  FailureOr<engine::TargetAttr> parse(MLIRContext *context, llvm::StringRef name,
                                      std::string &error) const override {
    std::string reason;
    std::optional<std::string> canonical = canonicalName(name, reason);
    if (!canonical) {
      error = ("INGOT-E4200: target '" + name + "': " + reason + "; known are ").str() +
              namesAccepted();
      return failure();
    }
    const Level *level = findLevel(*canonical);
    llvm::SmallVector<StringAttr> features;
    for (llvm::StringRef feature : level->required)
      features.push_back(StringAttr::get(context, feature));
    return engine::TargetAttr::get(context, *canonical, backend(), kFamily, features,
                                   level->preference);
  }

  std::optional<std::string> hostTarget() const override {
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    return bestLevel([&](llvm::StringRef feature) { return host.lookup(feature); });
  }

  FastProducts fastProducts() const override { return FastProducts::Int8; }

  std::unique_ptr<engine::KernelProvider> createProvider(engine::TargetAttr target) const override {
    const Level *level = findLevel(target.getName());
    if (!level)
      return nullptr;
    auto has = [&](llvm::StringRef feature) {
      return llvm::is_contained(level->required, feature);
    };
    return createX86Provider(target, {matmulDigest(level->templates()), level->amx,
                                      has("avx512bf16"), has("avx512vnni") || has("avxvnni")});
  }

  FailureOr<llvm::SmallVector<CompiledLibrary>>
  compile(engine::UnitOp unit, const CompileOptions &options) const override {
    const Level *level = findLevel(unit.getTarget().getName());
    if (!level)
      return unit.emitError() << "INGOT-E4200: target '" << unit.getTarget().getName()
                              << "' is unknown; known are " << namesAccepted();
    KernelMachine machine;
    machine.cpu = level->cpu.str();
    machine.features = level->features.str();
    machine.templates = level->templates();
    return compileKernels(unit, machine, options);
  }
};

} // namespace

const codegen::Target &codegen::x86Target() {
  static const X86Target target;
  return target;
}

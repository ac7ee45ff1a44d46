// SPDX-License-Identifier: Apache-2.0
// Names and features of the x86 targets, and which set of kernel templates each is built from.
#include "codegen/x86/X86Target.h"

#include "codegen/native/CpuTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace ingot::codegen {
/// Generated from kernels/ when the project is built, one per set of features.
const TemplateSet &x86V3Templates();
const TemplateSet &x86V3VnniTemplates();
const TemplateSet &x86V4Templates();
const TemplateSet &x86V4VnniTemplates();
const TemplateSet &x86V4Bf16Templates();
const TemplateSet &x86V4AmxTemplates();
} // namespace ingot::codegen

namespace {

constexpr llvm::StringLiteral kFamily = "x86-64";

/// Features in the order of the levels of AVX-512, each of which has those of the one before.
constexpr llvm::StringLiteral kFeatures[] = {
    "avx2",     "fma",      "f16c",       "bmi2",       "avx512f",  "avx512bw", "avx512vl",
    "avx512dq", "avx512cd", "avx512vnni", "avx512bf16", "amx-tile", "amx-int8", "amx-bf16"};
constexpr llvm::StringLiteral kV3Vnni[] = {"avx2", "fma", "f16c", "bmi2", "avxvnni"};

/// The kernels for AMX with plain code in place of its instructions: for tests on other machines.
constexpr llvm::StringLiteral kEmulatedAmx = "x86-64-v4+vnni+amx-emulated";

/// All targets, the least capable first.
constexpr CpuLevel kLevels[] = {
    {kEmulatedAmx, "x86-64-v4", "+avx512vnni", {kFeatures, 10}, 1, x86V4VnniTemplates, true},
    {"x86-64-v3", "x86-64-v3", "", {kFeatures, 4}, 30, x86V3Templates},
    {"x86-64-v3+avxvnni", "x86-64-v3", "+avxvnni", kV3Vnni, 35, x86V3VnniTemplates},
    {"x86-64-v4", "x86-64-v4", "", {kFeatures, 9}, 40, x86V4Templates},
    {"x86-64-v4+vnni", "x86-64-v4", "+avx512vnni", {kFeatures, 10}, 45, x86V4VnniTemplates},
    {"x86-64-v4+vnni+bf16",
     "x86-64-v4",
     "+avx512vnni,+avx512bf16",
     {kFeatures, 11},
     50,
     x86V4Bf16Templates},
    {"x86-64-v4+vnni+bf16+amx",
     "x86-64-v4",
     "+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16",
     {kFeatures, 14},
     55,
     x86V4AmxTemplates},
};

/// Whether `name` is a CPU that LLVM knows by a name: "znver5", "sapphirerapids".
bool isCpu(llvm::StringRef name) {
  return !name.starts_with(kFamily) && llvm::X86::parseArchX86(name, true) != llvm::X86::CK_None;
}

/// The features of a CPU of that name.
llvm::StringMap<bool> featuresOfCpu(llvm::StringRef cpu) {
  // The list leaves out what other features imply.
  llvm::SmallVector<llvm::StringRef> listed;
  llvm::X86::getFeaturesForCPU(cpu, listed);
  llvm::StringMap<bool> features;
  for (llvm::StringRef feature : listed) {
    features[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, true, features);
  }
  return features;
}

/// `name` with its features in the order of the list, each once. Nothing, with `error`, for a
/// feature that the level does not have.
std::optional<std::string> inOrder(llvm::StringRef name, std::string &error) {
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

class X86Target final : public CpuTarget {
public:
  X86Target() : CpuTarget(kFamily, kLevels) {}

  llvm::StringRef backend() const override { return "x86"; }

  std::string namesAccepted() const override {
    return "x86-64-v3[+avxvnni], x86-64-v4[+vnni][+bf16][+amx], or a CPU by its name for -march";
  }

  bool claims(llvm::StringRef name) const override {
    return name.starts_with(kFamily) || isCpu(name);
  }

  FastProducts fastProducts() const override { return FastProducts::Int8; }

  std::unique_ptr<engine::KernelProvider> createProvider(engine::TargetAttr target) const override {
    const CpuLevel *level = levelCalled(target.getName());
    if (!level)
      return nullptr;
    auto has = [&](llvm::StringRef feature) {
      return llvm::is_contained(level->required, feature);
    };
    return createX86Provider(target,
                             {level->templates(), has("amx-tile") || level->name == kEmulatedAmx,
                              has("avx512bf16"), has("avx512vnni") || has("avxvnni")});
  }

private:
  std::optional<std::string> canonicalName(llvm::StringRef name,
                                           std::string &error) const override {
    if (name == kEmulatedAmx)
      return name.str();
    std::string reason = "the CPU has less than x86-64-v3";
    if (!isCpu(name)) {
      if (std::optional<std::string> canonical = inOrder(name, reason))
        return canonical;
    } else {
      llvm::StringMap<bool> features = featuresOfCpu(name);
      if (const CpuLevel *level =
              bestLevel([&](llvm::StringRef feature) { return features.lookup(feature); }))
        return level->name.str();
    }
    error =
        ("INGOT-E4200: target '" + name + "': " + reason + "; known are ").str() + namesAccepted();
    return std::nullopt;
  }
};

} // namespace

const codegen::Target &codegen::x86Target() {
  static const X86Target target;
  return target;
}

// SPDX-License-Identifier: Apache-2.0
// Checks and records; occupancy follows the CUDA programming guide.
#include "codegen/cuda/KernelEvidence.h"

#include "dialects/engine/EngineOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

constexpr int64_t kWarpSize = 32;
constexpr int64_t kRegisters = 65536; ///< of a multiprocessor
/// Registers are handed out to warps in units.
constexpr int64_t kRegisterUnit = 256;
constexpr int64_t kSharedUnit = 128;
/// Shared memory that the driver takes for each block.
constexpr int64_t kReservedShared = 1024;

/// Instructions whose numbers are kept.
constexpr llvm::StringLiteral kCounted[] = {"HMMA",   "IMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA",
                                            "LDGSTS", "LDSM", "LDG",  "STG",   "FFMA"};

int64_t sharedOf(engine::KernelOp kernel, const CubinFacts &facts) {
  return facts.staticShared + int64_t(kernel.getSharedBytes());
}

int64_t threadsOf(engine::KernelOp kernel) {
  int64_t threads = 1;
  for (int64_t extent : kernel.getBlock().value_or(llvm::ArrayRef<int64_t>()))
    threads *= extent;
  return threads;
}

std::string digestOf(llvm::StringRef text) {
  auto digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

} // namespace

int64_t codegen::blocksPerMultiprocessor(const CudaArchitecture &architecture, int64_t registers,
                                         int64_t sharedBytes, int64_t threads) {
  int64_t warps = llvm::divideCeil(threads, kWarpSize);
  int64_t warpRegisters = llvm::alignTo(std::max<int64_t>(registers, 1) * kWarpSize, kRegisterUnit);
  int64_t blockShared = llvm::alignTo(sharedBytes + kReservedShared, kSharedUnit);
  return std::min({architecture.blocksPerMultiprocessor,
                   architecture.threadsPerMultiprocessor / (warps * kWarpSize),
                   kRegisters / warpRegisters / warps,
                   architecture.sharedPerMultiprocessor / blockShared});
}

std::optional<std::string> codegen::missingEvidence(engine::KernelOp kernel,
                                                    const CubinFacts &facts,
                                                    const CudaArchitecture &architecture) {
  bool specific = architecture.name.ends_with("a");
  if (facts.architecture != architecture.version || facts.architectureSpecific != specific)
    return "its binary is for sm_" + std::to_string(facts.architecture) +
           (facts.architectureSpecific ? "a" : "");
  if (facts.kernel + ".cubin" != kernel.getLibrary())
    return "its binary holds kernel '" + facts.kernel + "'";
  if (facts.localAccesses() != 0 || facts.stackBytes != 0)
    return "it uses local memory: a stack of " + std::to_string(facts.stackBytes) + " bytes, " +
           std::to_string(facts.localAccesses()) + " loads and stores";
  if (sharedOf(kernel, facts) > architecture.sharedPerBlock)
    return "it needs " + std::to_string(sharedOf(kernel, facts)) +
           " bytes of shared memory; a block has " + std::to_string(architecture.sharedPerBlock);
  if (blocksPerMultiprocessor(architecture, facts.registers, sharedOf(kernel, facts),
                              threadsOf(kernel)) < 1)
    return "a block of " + std::to_string(threadsOf(kernel)) + " threads with " +
           std::to_string(facts.registers) + " registers each does not fit a multiprocessor";
  auto expected = kernel.getConstants().getAs<StringAttr>("expects");
  llvm::SmallVector<llvm::StringRef> names;
  if (expected)
    expected.getValue().split(names, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names)
    if (facts.count(name) == 0)
      return "it has no " + name.str() + " instruction";
  // Of the asynchronous proxy; ptx::waitForEarlierKernels() has it.
  for (auto map : kernel.getTensorMaps().getAsRange<engine::TensorMapAttr>())
    if (map.getFenced() && facts.count("FENCE") == 0)
      return "it has no fence before its copies of what launches write";
  return std::nullopt;
}

std::optional<std::string> codegen::logFault(llvm::StringRef log) {
  llvm::SmallVector<llvm::StringRef> lines;
  log.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    // C7508, C7510 and their kin, whose numbers change with the reason.
    if (line.contains("wgmma") && line.contains("serialized"))
      return "its wgmma do not overlap: " + line.trim().str();
    for (llvm::StringRef kind : {" bytes spill stores", " bytes spill loads"}) {
      llvm::StringRef before = line.substr(0, line.find(kind)).rtrim();
      llvm::StringRef count = before.substr(before.find_last_of(" ,.\t") + 1);
      if (line.contains(kind) && count != "0")
        return "it spills registers: " + line.trim().str();
    }
  }
  return std::nullopt;
}

llvm::SmallVector<NamedAttribute> codegen::evidenceFacts(engine::KernelOp kernel,
                                                         const CubinFacts &facts,
                                                         const CudaArchitecture &architecture,
                                                         size_t cubinBytes, llvm::StringRef ptx) {
  Builder builder(kernel.getContext());
  llvm::SmallVector<NamedAttribute> list;
  auto state = [&](llvm::StringRef key, const llvm::Twine &value) {
    list.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  };
  int64_t threads = threadsOf(kernel), shared = sharedOf(kernel, facts);
  int64_t blocks = blocksPerMultiprocessor(architecture, facts.registers, shared, threads);
  state("registers", llvm::Twine(facts.registers));
  state("shared_bytes", llvm::Twine(shared));
  state("stack_bytes", llvm::Twine(facts.stackBytes));
  state("local_accesses", llvm::Twine(facts.localAccesses()));
  state("blocks_per_multiprocessor", llvm::Twine(blocks));
  state("occupancy_percent",
        llvm::Twine(100 * blocks * threads / architecture.threadsPerMultiprocessor));
  state("cubin_bytes", llvm::Twine(cubinBytes));
  state("code_bytes", llvm::Twine(facts.codeBytes));
  state("ptx_sha256", digestOf(ptx));
  for (llvm::StringRef name : kCounted)
    if (int64_t count = facts.count(name))
      state(("instructions_" + name.lower()), llvm::Twine(count));
  return list;
}

// SPDX-License-Identifier: Apache-2.0
// How passes learn about a target: what it fuses, how it stores weights, which kernels it has.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include <optional>
#include <string>
#include <vector>

namespace ingot::engine {

/// Bytes at the start of a workspace that launches find and leave zero.
inline constexpr int64_t kCounterBytes = 16384;

/// Facts of kernels that tuning compares: the name of the kernel among those for the same products,
/// and a digest of what it was made from.
inline constexpr llvm::StringLiteral kCandidate = "tuning_candidate";
inline constexpr llvm::StringLiteral kCandidateDigest = "tuning_digest";

/// Fact of a kernel that is slow and simple, for self-tests to compare others with.
inline constexpr llvm::StringLiteral kPlainKernel = "plain_kernel";

/// Fact of a kernel that does what the one before it of the same operation does and may be compiled
/// where that cannot be; only one of the two gets into an engine.
inline constexpr llvm::StringLiteral kFallback = "fallback";

/// One kernel that executes an operation of the llm dialect.
struct KernelVariant {
  /// Kernel template of the target and the constants that specialise it.
  std::string source;
  mlir::DictionaryAttr constants;
  /// Shapes the kernel is correct for, and the part of them it is preferred in; empty: all.
  llvm::SmallVector<RangeAttr, 1> guards, ranges;
  /// Tiles along x, y, z.
  llvm::SmallVector<ExprAttr, 3> grid;
  int64_t scratchBytes = 0;
  bool spmd = false;
  /// Threads of a block, blocks of a cluster and dynamic shared memory, on targets that have them.
  std::vector<int64_t> block, cluster;
  int64_t sharedBytes = 0;
  /// Recipes of tensor maps, on targets that have tensor copies.
  llvm::SmallVector<TensorMapAttr, 0> tensorMaps;
  /// Bytes of memory that one launch works in besides its buffers; null: none. Over the dims.
  ExprAttr workspace;
  /// In which order it adds, of operations that do (llm::SumsOpInterface).
  SumsAttr sums;
  /// What the target states of the kernel, as texts.
  llvm::SmallVector<mlir::NamedAttribute, 0> facts;

  /// The text of a fact; empty where it is not stated.
  llvm::StringRef fact(llvm::StringRef key) const {
    for (mlir::NamedAttribute stated : facts)
      if (stated.getName() == key)
        return llvm::cast<mlir::StringAttr>(stated.getValue()).getValue();
    return {};
  }
};

/// What passes ask a target about before they do it.
enum class Fusion : uint8_t {
  Dequantize,         ///< a product or an embedding reads an encoded weight
  QuantizeActivation, ///< an input of 8 bits, which changes numbers
  Fp8Attention,       ///< products of attention in e4m3, likewise
  Epilogue,
  Round,
  MergeProducts, ///< of one input
  Swiglu,
  NormOfSum,
  NormToBytes, ///< a norm into 8 bits
  RopeAppend
};

/// Implemented by every target and injected by compiler/build/Pipeline.cpp.
class KernelProvider {
public:
  virtual ~KernelProvider() = default;

  /// Why the target would rather not have `fusion` at `site`; nothing when it accepts.
  virtual std::optional<std::string> declines(Fusion fusion, mlir::Operation *site) const = 0;

  /// Columns between the two members of a pair in pair epilogues.
  virtual int64_t pairOffset() const = 0;

  /// Whether products of integers take a scale for each group of a row of the input.
  virtual bool scalesInputGroups() const = 0;

  /// The memory order in which `user` wants its weight operand number `operand` (of static 1-D or
  /// 2-D type; scales and zero points are [rows, groups]); failure with a diagnostic if it has
  /// none. A weight used by several operations (a tied embedding) is asked for once, at its first
  /// llm.matmul user; every other user must cope with that layout, which it finds on the type.
  virtual mlir::FailureOr<LayoutAttr> weightLayout(mlir::Operation *user,
                                                   unsigned operand) const = 0;

  /// The orders of sums for which the target has kernels of `op` that together cover `declared`,
  /// best first. None where it has no kernels, which kernelsFor explains, or where `op` adds
  /// nothing.
  virtual llvm::SmallVector<SumsAttr> sumsFor(mlir::Operation *op,
                                              llvm::ArrayRef<RangeAttr> declared) const = 0;

  /// Kernels for `op`, all of which add in the order of its `sums`, best first, together covering
  /// `declared` (the step's dims); failure with a diagnostic on `op` naming the target if there is
  /// none.
  ///
  /// Calling convention: buffers are the operation's operands in order (absent optional ones are
  /// skipped), then its results in order; scalars are the dims of llm::launchScalars(). A kernel
  /// must be right for every value >= 1 of the dims that count rows, within its guards.
  ///
  /// Where a kernel of `op` has a workspace, every kernel of `op` gets one more buffer after the
  /// results: the unit's workspace, which all launches share in turn. Its first kCounterBytes are
  /// zero when a launch begins and must be zero when it ends; the rest is undefined.
  virtual mlir::LogicalResult kernelsFor(mlir::Operation *op, llvm::ArrayRef<RangeAttr> declared,
                                         llvm::SmallVectorImpl<KernelVariant> &kernels) const = 0;

  /// What tuning may choose from: kernels of `op`, each right for all shapes within its guards and
  /// without ranges, that state the facts kCandidate, a name of its own among those of `op` without
  /// spaces, and kCandidateDigest. Kernels of kernelsFor that are among them state the same. None
  /// where the target has no alternatives. One kernel behind them may state kPlainKernel instead:
  /// it is there to be compared with and is never chosen.
  virtual void candidatesFor(mlir::Operation *op, llvm::ArrayRef<RangeAttr> declared,
                             llvm::SmallVectorImpl<KernelVariant> &kernels) const {}
};

} // namespace ingot::engine

// SPDX-License-Identifier: Apache-2.0
// Describes one CUDA kernel: its template, constants, grid, block and memory.
#pragma once

#include "codegen/VariantBuilder.h"
#include "codegen/cuda/CudaArchitecture.h"
#include "dialects/llm/LaunchScalars.h"
#include "llvm/ADT/StringExtras.h"
#include <functional>
#include <numeric>

namespace ingot::codegen {

/// How tensor copies bring a box of a map into shared memory.
struct TensorCopy {
  mlir::Type element = {}; ///< what coordinates count; null: 8 bytes
  int64_t swizzle = 0;     ///< 32, 64 or 128 bytes; 0: none
  /// The tensor is no weight but what launches write, an activation. The kernel gets its fence in
  /// ptx::waitForEarlierKernels(), which the thread that copies calls before its first copy.
  bool isWritten = false;
};

/// Collects the parts of a KernelVariant. The grid's extents are gridDim.x, y, z in the order in
/// which rowsOf(), tiles() and extent() are called; they may use the program's dims and sms.
class CudaVariant : public VariantBuilder {
public:
  /// `threads`: of a block, along x.
  CudaVariant(llvm::StringRef source, mlir::Operation *op, int64_t threads)
      : VariantBuilder(source, op->getContext()), threads(threads),
        buffers(op->getNumOperands() + op->getNumResults()),
        scalars(int64_t(llm::launchScalars(op).size())) {}

  /// Dynamic shared memory in bytes; templates find it as `extern __shared__` and as the constant
  /// `shared_bytes`, to which they hold the size of what they keep there.
  void shared(int64_t bytes) { sharedBytes = bytes; }

  /// The next tensor map: operand `value` of `op` is `rows` rows, over the program's dims, of
  /// `rowBytes` bytes, of which a copy brings a box. Templates find the maps in `Launch::maps`.
  void tensorMap(mlir::Operation *op, mlir::Value value, llvm::StringRef rows, int64_t rowBytes,
                 int64_t boxRows, int64_t boxBytes, const TensorCopy &copy = {}) {
    auto buffer = llvm::find(op->getOperands(), value) - op->operand_begin();
    tensorMaps.push_back(engine::TensorMapAttr::get(
        op->getContext(), buffer, engine::getExpr(op->getContext(), rows), rowBytes, boxRows,
        boxBytes, copy.element, copy.swizzle, copy.isWritten));
  }
  /// The same of a fixed number of rows.
  void tensorMap(mlir::Operation *op, mlir::Value value, int64_t rows, int64_t rowBytes,
                 int64_t boxRows, int64_t boxBytes, const TensorCopy &copy = {}) {
    tensorMap(op, value, std::to_string(rows), rowBytes, boxRows, boxBytes, copy);
  }

  /// Blocks of a cluster along x, y and z, at most 8 together; the grid's extents are multiples of
  /// them, as expressions show (`T ceildiv 128 * 2`). From sm_90 on. Templates find how many
  /// blocks a cluster has as `cluster_blocks`.
  void cluster(llvm::ArrayRef<int64_t> extents) { clusterExtents = extents.vec(); }

  /// Blocks that must fit on a multiprocessor together; bounds the registers of a thread.
  void blocksPerMultiprocessor(int64_t count) { integer("blocks_per_sm", count); }

  /// Global memory of a launch in bytes, over the program's dims and sms; the kernel finds it
  /// behind the results. Its first 16384 bytes are counters (kernels/Kernel.cuh). All variants of
  /// an operation of which one has a workspace get the argument: they call this with "16384" at
  /// least.
  void workspace(llvm::StringRef bytes) {
    workspaceBytes = bytes.str();
    ++buffers;
  }

  /// An opcode of the SASS that the kernel must contain ("HMMA", "IMMA", "QMMA", "LDGSTS").
  void expects(llvm::StringRef instruction) { expected.push_back(instruction.str()); }

  /// States the data sheet's rate of the products that the kernel forms, on the architecture's
  /// typical part.
  void peak(const CudaArchitecture &architecture, ProductType type) {
    fact("peak_teraflops", llvm::Twine(int64_t(architecture.typicalPart().peak(type) / 1e12)));
  }

  engine::KernelVariant take() {
    integer("threads", threads);
    integer("buffers", buffers);
    integer("scalars", scalars);
    integer("tensor_maps", int64_t(tensorMaps.size()));
    if (!expected.empty())
      text("expects", llvm::join(expected, " "));
    if (!clusterExtents.empty())
      integer("cluster_blocks", std::accumulate(clusterExtents.begin(), clusterExtents.end(),
                                                int64_t(1), std::multiplies<>()));
    if (sharedBytes > 0)
      integer("shared_bytes", sharedBytes);
    engine::KernelVariant variant = VariantBuilder::take();
    variant.cluster = clusterExtents;
    variant.block = {threads};
    variant.sharedBytes = sharedBytes;
    variant.tensorMaps = std::move(tensorMaps);
    if (!workspaceBytes.empty())
      variant.workspace = engine::getExpr(variant.constants.getContext(), workspaceBytes);
    return variant;
  }

private:
  int64_t threads, buffers, scalars, sharedBytes = 0;
  std::vector<int64_t> clusterExtents;
  std::string workspaceBytes;
  llvm::SmallVector<engine::TensorMapAttr, 0> tensorMaps;
  llvm::SmallVector<std::string> expected;
};

} // namespace ingot::codegen

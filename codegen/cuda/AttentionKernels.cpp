// SPDX-License-Identifier: Apache-2.0
// Which attention template runs, with which constants, grid and memory.
#include "codegen/cuda/AttentionKernels.h"

#include "codegen/cuda/CudaVariant.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;
using engine::RangeAttr;

/// The constants that all attention templates share.
static void describe(CudaVariant &variant, llm::AttentionOp op) {
  llm::KvType cache = op.getCache().getType();
  variant.cache(cache);
  variant.integer("query_heads", llm::columnsOf(op.getQuery()) / cache.getHeadDim());
  variant.type("query_type", op.getQuery());
  variant.type("result_type", op.getResult());
  variant.real("scale", op.getScale());
}

static engine::KernelVariant scalarKernel(llm::AttentionOp op) {
  CudaVariant variant("AttentionScalar", op, /*threads=*/128);
  describe(variant, op);
  variant.rowsOf(op.getResult());
  variant.tiles(llm::columnsOf(op.getQuery()) / op.getCache().getType().getHeadDim());
  return variant.take();
}

Declined codegen::addAttentionKernels(llm::AttentionOp op, const CudaArchitecture &,
                                      llvm::ArrayRef<RangeAttr>, Kernels &kernels) {
  if (op.getCache().getType().getHeadDim() > 1024)
    return "its heads are too large";
  kernels.push_back(scalarKernel(op));
  return std::nullopt;
}

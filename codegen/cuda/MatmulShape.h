// SPDX-License-Identifier: Apache-2.0
// What the choices of matmul kernels have in common: an operation's sizes and constants.
#pragma once

#include "codegen/cuda/CudaVariant.h"
#include "codegen/cuda/RowKernels.h"
#include "llvm/Support/MathExtras.h"

namespace ingot::llm {
class MatmulOp;
} // namespace ingot::llm

namespace ingot::codegen {

/// The sizes of a product that decide its kernels.
struct MatmulShape {
  explicit MatmulShape(llm::MatmulOp op);

  mlir::Type input, weight; ///< element types
  int64_t rows, columns, k; ///< of an expert's weight, of the result, of both inputs
  int64_t experts;          ///< or heads, whose weights are stacked; 0: none are
  int64_t group;            ///< columns of k with one scale; 0: by row or weight
  bool integer;             ///< i8 inputs
  ZeroForm zeros;
  ScaleForm scales;
  int64_t inputBytes;
  std::optional<RowDim> rowDim; ///< of the result; nothing for another expression
  /// Columns whose sum is formed alone, as `sums` says: at least k where that is all of them; 0:
  /// each kernel has its own.
  int64_t segment;

  /// Experts that `tokens` of the dim reach, and the rows of each of them, if all reach different
  /// ones as long as there are some.
  int64_t reached(int64_t tokens) const;
  int64_t rowsEach(int64_t tokens) const;
};

/// The next axis of the grid gets the tiles along the result's rows.
void addRowTiles(CudaVariant &variant, llm::MatmulOp op, int64_t tileRows);

/// Segments are multiples of this: whole groups and stages.
inline constexpr int64_t kSegmentStep = 512;

/// Segments of `columns` columns that k is cut into.
inline int64_t segmentsOf(const MatmulShape &shape, int64_t columns) {
  return llvm::divideCeil(shape.k, columns);
}

/// The order in which a kernel adds, with segments of `columns` columns.
engine::SumsAttr sumsOf(llm::MatmulOp op, const MatmulShape &shape, engine::SumUnit unit,
                        int64_t width, int64_t group, int64_t columns);

/// Adds the constants of kernels/MatmulEpilogue.cuh; `segment`: columns whose sum is formed alone.
void describeMatmul(CudaVariant &variant, llm::MatmulOp op, const MatmulShape &shape,
                    int64_t segment);

/// The orders in which MatmulTensor has kernels, best first; none where there are none.
llvm::SmallVector<engine::SumsAttr> tensorSums(llm::MatmulOp op, const MatmulShape &shape,
                                               const CudaArchitecture &architecture);

/// Kernels of MatmulTensor for `op`, best first, with ranges that cover 1 to `most` rows. Adds
/// nothing where tensor cores cannot form the product as its operands are stored.
void addTensorKernels(llm::MatmulOp op, const MatmulShape &shape,
                      const CudaArchitecture &architecture, int64_t most, Kernels &kernels);

/// What tuning may choose from instead for up to `most` rows, without ranges; likewise.
void addTensorCandidates(llm::MatmulOp op, const MatmulShape &shape,
                         const CudaArchitecture &architecture, int64_t most, Kernels &kernels);

/// The packed layout that tensor-core kernels want for operand `operand`; null if there are none
/// for `op`.
engine::LayoutAttr tensorLayout(llm::MatmulOp op, const MatmulShape &shape, unsigned operand);

} // namespace ingot::codegen

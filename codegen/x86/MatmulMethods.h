// SPDX-License-Identifier: Apache-2.0
// How the sums of llm.matmul are made, and which method an operation gets.
#pragma once

#include "codegen/x86/X86Features.h"
#include "codegen/x86/kernels/MatmulScratch.h"
#include "dialects/engine/EngineDialect.h"

namespace ingot::llm {
class MatmulOp;
} // namespace ingot::llm

namespace ingot::codegen {

/// One way to cut the product into tiles, for at most `most` rows.
struct MatmulTiling {
  int64_t most, tileRows, tileColumns;
  bool amx = false;   ///< with tiles of AMX
  int64_t widest = 0; ///< columns of a tile where that leaves leastTiles
};

/// The kernel template that has a method, what that takes of scratch memory, the order of its sums,
/// and how products are cut for it.
struct MatmulMethod {
  llvm::StringLiteral source;
  int64_t (*scratchBytes)(const x86::MatmulSizes &sizes);
  engine::SumsAttr (*sums)(llm::MatmulOp op, const X86Features &has);
  llvm::ArrayRef<MatmulTiling> tilings;
};

/// How the sums of `op` are made in tiles of AMX; null where its columns are no whole tiles.
const MatmulMethod *tileMethod(llm::MatmulOp op);

/// How they are made in registers.
const MatmulMethod *registerMethod(llm::MatmulOp op, const X86Features &has);

/// The method that decides how `op` is cut into kernels, and the order of all their sums.
const MatmulMethod *bestMethod(llm::MatmulOp op, const X86Features &has);

/// Columns that share a scale of the weight; 0: all.
int64_t groupColumns(llm::MatmulOp op);

/// Scales of a row of the input.
int64_t inputScales(llm::MatmulOp op);

/// Columns that are scaled alike.
int64_t groupWidth(llm::MatmulOp op);

/// The ElementType of the input.
int64_t inputType(llm::MatmulOp op);
bool isInteger(llm::MatmulOp op);

/// Whether sums on AMX are exact over blocks of scale codes, whose inputs are scaled alike.
bool hasExactBlocks(llm::MatmulOp op);

} // namespace ingot::codegen

// SPDX-License-Identifier: Apache-2.0
// One rule per kind of operation, the same for every target.
#include "passes/plan/KernelFacts.h"

#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmDialect.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Bytes of a row of the embedding table with its scales and zero points.
static int64_t rowBytes(llm::EmbedOp op) {
  int64_t bits = 0;
  for (Value weight : op->getOperands().drop_front())
    if (typeOf(weight).getRank() == 2)
      bits += llm::columnsOf(weight) * engine::elementBits(typeOf(weight).getElementType());
  return (bits + 7) / 8;
}

std::string ingot::productOf(Operation *op) {
  auto matmul = dyn_cast<llm::MatmulOp>(op);
  if (!matmul)
    return {};
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "matmul " << typeOf(matmul.getWeight()).getShape().front() << " "
         << llm::columnsOf(matmul.getInput()) << " " << typeOf(matmul.getInput()).getElementType()
         << "*" << typeOf(matmul.getWeight()).getElementType();
  if (llm::EncodingAttr encoding = matmul.getEncodingAttr()) {
    if (encoding.getGroup() > 0)
      stream << "." << encoding.getGroup();
    else
      stream << (encoding.getGroup() == 0 ? ".row" : ".tensor");
    constexpr llvm::StringLiteral zeros[] = {"", ".z", ".offsets", ".codebook"};
    stream << zeros[encoding.facts().zeros()];
    if (encoding.getScales() != kPlainScales)
      stream << ".s" << typeOf(matmul.getEncodedWeight().scales).getElementTypeBitWidth();
  }
  if (matmul.getOrder() || matmul.getHeads())
    stream << (matmul.getHeads() ? ".heads" : ".experts") << matmul.experts();
  return text;
}

llvm::SmallVector<NamedAttribute> ingot::workFacts(Operation *op) {
  Builder builder(op->getContext());
  llvm::SmallVector<NamedAttribute> facts;
  auto state = [&](llvm::StringRef key, const llvm::Twine &value) {
    facts.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  };
  // A row of a product takes a multiplication and an addition per weight; a position of attention
  // as much per column of a query head and of its result: q . k and p . v.
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](llm::MatmulOp matmul) {
        int64_t weights = matmul.expertRows() * llm::columnsOf(matmul.getInput());
        state("product", productOf(op));
        int64_t each = 1;
        std::optional<llm::RowCount> rows = llm::rowCountOf(matmul.getType());
        if (matmul.getHeads())
          each = rows->factor;
        if (matmul.getOrder()) {
          each = rows ? rows->factor : 1;
          state("experts", llvm::Twine(matmul.experts()));
          state("experts_per_row", llvm::Twine(each));
        }
        state("operations_per_row", llvm::Twine(2 * weights * each));
      })
      .Case([&](llm::AttentionOp attention) {
        llm::KvType cache = attention.getCache().getType();
        state("operations_per_position",
              llvm::Twine(2 * attention.queryHeads() * (cache.getHeadDim() + cache.getValueDim())));
      })
      .Case(
          [&](llm::EmbedOp embed) { state("weight_bytes_per_row", llvm::Twine(rowBytes(embed))); });
  std::optional<llm::RowCount> rows =
      op->getNumResults() ? llm::rowCountOf(typeOf(op->getResult(0))) : std::nullopt;
  if (!facts.empty() && rows)
    state("row_dim", rows->dim);
  return facts;
}

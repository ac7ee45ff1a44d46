// SPDX-License-Identifier: Apache-2.0
// Dims from the types of operands and results.
#include "dialects/llm/LaunchScalars.h"

#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LlmDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/schema/Names.h"

using namespace mlir;
using namespace ingot;

std::string llm::tableWidthOf(const KvGroup &group, Operation *op) {
  std::string own = schema::dim::tableWidth + ("." + group.name());
  auto module = op->getParentOfType<ModuleOp>();
  return module && module.lookupSymbol<engine::DimOp>(own) ? own : schema::dim::tableWidth;
}

llvm::SmallVector<std::string, 4> llm::launchScalars(Operation *op) {
  llvm::SmallVector<std::string, 4> rows;
  bool hasTable = false;
  std::string width = schema::dim::tableWidth;
  for (Type type : op->getOperandTypes())
    if (auto group = kvGroupOf(type))
      width = tableWidthOf(*group, op);
  auto add = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.hasStaticShape())
      return;
    hasTable |= type.getRank() == 2 && type.isDynamicDim(1);
    for (const engine::Expr::Node &node : engine::Expr::parse(rowsOf(type).getText())->nodes)
      if (node.op == engine::Expr::Op::Dim && !llvm::is_contained(rows, node.dim))
        rows.push_back(node.dim);
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  if (hasTable)
    rows.insert(rows.begin(), width);
  return rows;
}

// SPDX-License-Identifier: Apache-2.0
// Moves weight expressions into @weights and leaves named loads in the programs.
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "dialects/llm/LlmWeightOps.h"
#include "passes/FusionReport.h"
#include "passes/weights/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

namespace ingot {
#define GEN_PASS_DEF_HOISTWEIGHTSPASS
#include "passes/weights/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

/// What a weight is to the operation that reads it as its operand `use`.
std::string roleOf(OpOperand &use) {
  if (auto reader = dyn_cast<llm::EncodedWeightOpInterface>(use.getOwner()))
    if (StringRef role = reader.getEncodedWeight().roleOf(use.get()); !role.empty())
      return role.str();
  if (isa<llm::MatmulOp>(use.getOwner()))
    return "bias";
  return isa<llm::AttentionOp>(use.getOwner()) ? "sinks" : "weight";
}

/// The recipe's word for the format of the weight read as `use`: "int4 group=64", "bf16".
std::string formatOf(OpOperand &use) {
  auto reader = dyn_cast<llm::EncodedWeightOpInterface>(use.getOwner());
  llm::EncodingAttr encoding = reader ? reader.getEncodingAttr() : llm::EncodingAttr();
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (encoding && roleOf(use) == "weight") {
    stream << StringRef(encoding.facts().row().name);
    if (encoding.getGroup() > 0)
      stream << " group=" << encoding.getGroup();
    if (encoding.getZeroPoints())
      stream << " zero_points";
  } else {
    stream << cast<RankedTensorType>(use.get().getType()).getElementType();
  }
  return text;
}

struct HoistWeights : ingot::impl::HoistWeightsPassBase<HoistWeights> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto weights =
        func::FuncOp::create(builder, module.getLoc(), "weights", builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(weights.addEntryBlock());

    SmallVector<llm::PackOp> packs;
    module.walk([&](llm::PackOp op) { packs.push_back(op); });
    IRMapping moved;
    for (llm::PackOp pack : packs)
      if (!pack->use_empty())
        hoist(builder, pack, moved);
    func::ReturnOp::create(builder, module.getLoc());
    eraseUnused(module, weights);
  }

  void hoist(OpBuilder &builder, llm::PackOp pack, IRMapping &moved) {
    OpOperand &reader = *pack->getUses().begin();
    std::string name = nameOf(pack, reader);
    std::string format = formatOf(reader);
    llm::StoreWeightOp::create(builder, pack.getLoc(), name, copy(builder, pack.getResult(), moved),
                               builder.getStringAttr(format));
    OpBuilder here(pack);
    auto load = llm::LoadWeightOp::create(here, pack.getLoc(), pack.getType(), name);
    pack.getResult().replaceAllUsesWith(load.getResult());
  }

  /// The expression behind `value`, cloned into @weights once.
  Value copy(OpBuilder &builder, Value value, IRMapping &moved) {
    if (Value known = moved.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      copy(builder, operand, moved);
    builder.clone(*op, moved);
    return moved.lookup(value);
  }

  /// A unique name: the literal's own, or the reader's site and the weight's role there.
  std::string nameOf(llm::PackOp pack, OpOperand &reader) {
    auto literal = pack.getInput().getDefiningOp<llm::LiteralOp>();
    std::string name =
        literal ? literal.getName().str() : siteOf(reader.getOwner()) + "." + roleOf(reader);
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i)
      unique = name + "." + std::to_string(i);
    return unique;
  }

  static void eraseUnused(ModuleOp module, func::FuncOp weights) {
    for (auto function : module.getOps<func::FuncOp>())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
        if (function != weights && op.use_empty() && isWeightOperation(&op))
          op.erase();
  }

  llvm::StringSet<> taken;
};

} // namespace

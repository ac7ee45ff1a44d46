// SPDX-License-Identifier: Apache-2.0
// The constants that templates of one operation share.
#include "codegen/VariantBuilder.h"

#include "dialects/llm/LaunchScalars.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmComputeOps.h"
#include "dialects/llm/LlmExpertOps.h"
#include "dialects/llm/LlmStateOps.h"

using namespace ingot;
using namespace ingot::codegen;

std::optional<RowDim> codegen::rowDimOf(mlir::Operation *op, mlir::Value tensor) {
  auto rows = llm::rowCountOf(llvm::cast<mlir::RankedTensorType>(tensor.getType()));
  if (!rows || rows->dim.empty())
    return std::nullopt;
  llvm::SmallVector<std::string, 4> scalars = llm::launchScalars(op);
  return RowDim{rows->dim, llvm::find(scalars, rows->dim) - scalars.begin(), rows->factor};
}

std::optional<std::string> codegen::plainRowDimOf(mlir::Value tensor) {
  auto rows = llm::rowCountOf(llvm::cast<mlir::RankedTensorType>(tensor.getType()));
  if (!rows || rows->dim.empty() || rows->factor != 1)
    return std::nullopt;
  return rows->dim;
}

engine::SumsAttr codegen::rowSums(llm::CombineOp op) {
  return engine::SumsAttr::get(op.getContext(), engine::SumUnit::Products, 1);
}

void VariantBuilder::attention(llm::AttentionOp op) {
  llm::KvType cache = op.getCache().getType();
  this->cache(cache);
  integer("query_heads", op.queryHeads());
  type("query_type", op.getQuery());
  type("result_type", op.getResult());
  real("scale", op.getScale());
  integer("window", static_cast<int64_t>(op.getWindow().value_or(0)));
  integer("chunked", op.getChunked() ? 1 : 0);
  real("softcap", op.getSoftcap().value_or(llvm::APFloat(0.0f)));
  integer("sinks", op.getSinks() ? 1 : 0);
  type("sink_type", op.getSinks() ? op.getSinks() : op.getQuery());
  if (op.getReaches())
    integer("reaches", 1);
  if (op.getSelected())
    integer("selected", llm::columnsOf(op.getSelected()));
  if (op.getRotary()) {
    integer("rotary_columns", cache.getHeadDim() - cache.getValueDim());
    type("rotary_type", op.getRotary());
  }
}

void VariantBuilder::encoderAttention(llm::EncoderAttentionOp op) {
  integer("query_heads", op.queryHeads());
  integer("kv_heads", static_cast<int64_t>(op.getKvHeads()));
  integer("key_dim", op.keyDim());
  integer("value_dim", op.valueDim());
  type("query_type", op.getQuery());
  type("keys_type", op.getKeys());
  type("values_type", op.getValues());
  type("result_type", op.getResult());
  real("scale", op.getScale());
}

void VariantBuilder::rotation(mlir::Value frequencies, const llvm::APFloat &factor,
                              std::optional<llvm::ArrayRef<int64_t>> axes, mlir::Value positions,
                              mlir::Value rows) {
  auto typeOf = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  };
  integer("rotary_pairs", typeOf(frequencies).getNumElements());
  real("factor", factor);
  if (!axes)
    return;
  integer("axes", llm::rowsFor(typeOf(positions), typeOf(rows)));
  // Sixteen to a constant, two bits each.
  std::array<uint32_t, llm::kMostAxisFrequencies / 16> words = {};
  for (auto [i, axis] : llvm::enumerate(*axes))
    words[i / 16] |= uint32_t(axis) << (i % 16 * 2);
  for (auto [i, word] : llvm::enumerate(words))
    if (word != 0)
      integer("axes_" + std::to_string(i), word);
}

void VariantBuilder::rotation(llm::RopeOp op) {
  rotation(op.getInvFreq(), op.getFactor(), op.getAxes(), op.getPositions(), op.getInput());
  if (op.getInterleaved())
    integer("interleaved", 1);
}

void VariantBuilder::rotation(llm::RopeAppendOp op) {
  rotation(op.getInvFreq(), op.getFactor(), op.getAxes(), op.getRotary(), op.getQkv());
}

void VariantBuilder::causalConv(llm::CausalConvOp op) {
  llm::StateType state = op.getState().getType();
  integer("columns", llm::columnsOf(op.getInput()));
  integer("taps", llm::columnsOf(op.getWeight()));
  integer("block_tokens", state.getBlockTokens());
  integer("block_bytes", state.blockBytes());
  integer("state_type", engine::elementTypeOf(state.getRow().getElementType()));
  integer("biased", op.getBias() ? 1 : 0);
  type("input_type", op.getInput());
  type("weight_type", op.getWeight());
  type("bias_type", op.getBias() ? op.getBias() : op.getWeight());
  type("result_type", op.getResult());
}

/// Of heads with a matrix as state, however it changes. `query`, `key`, `value`: where in the input
/// their first columns are.
template <class Op>
static void describeHeads(VariantBuilder &variant, Op op, int64_t query, int64_t key,
                          int64_t value) {
  llm::StateType state = op.getState().getType();
  auto valueHeads = static_cast<int64_t>(op.getValueHeads());
  variant.integer("key_heads", static_cast<int64_t>(op.getKeyHeads()));
  variant.integer("value_heads", valueHeads);
  variant.integer("key_dim", op.keyDim());
  variant.integer("value_dim", op.valueDim());
  variant.integer("query_column", query);
  variant.integer("key_column", key);
  variant.integer("value_column", value);
  variant.integer("chunk", state.getBlockTokens());
  variant.integer("block_bytes", state.blockBytes());
  variant.type("input_type", op.getInput());
  variant.type("log_decay_type", op.getLogDecay());
  variant.type("result_type", op.getResult());
  variant.rowsOf(op.getBlockTable());
  variant.tiles(valueHeads);
}

void VariantBuilder::linearAttention(llm::GatedDeltaRuleOp op) {
  int64_t keys = static_cast<int64_t>(op.getKeyHeads()) * op.keyDim();
  describeHeads(*this, op, 0, keys, 2 * keys);
  integer("corrects", 1);
  type("decay_type", op.getDecay());
  type("gate_type", op.getGate());
  type("decay_bias_type", op.getDecayBias());
  real("epsilon", op.getEpsilon());
  real("least", llvm::APFloat(0.0f));
  real("most", llvm::APFloat(0.0f));
}

void VariantBuilder::linearAttention(llm::StateSpaceOp op) {
  int64_t values = llm::columnsOf(op.getResult()),
          keys = static_cast<int64_t>(op.getKeyHeads()) * op.keyDim();
  describeHeads(*this, op, values + keys, values, 0);
  integer("corrects", 0);
  type("decay_type", op.getDelta());
  type("gate_type", op.getSkip());
  type("decay_bias_type", op.getDeltaBias());
  real("epsilon", llvm::APFloat(0.0f));
  real("least", op.getLeast());
  real("most", op.getMost());
}

void VariantBuilder::quantizedRows(llm::QuantizeActivationOp op) {
  int64_t groups = llm::columnsOf(op.getScales());
  integer("columns", llm::columnsOf(op.getInput()) / groups);
  integer("groups", groups);
  type("input_type", op.getInput());
  type("result_type", op.getResult());
  integer("static_scale", op.getStaticScale() ? 1 : 0);
  rowsOf(op.getResult());
}

void VariantBuilder::normedRows(llm::NormOp op) {
  int64_t heads = llm::columnsOf(op.getInput()) / op.normedColumns();
  integer("columns", op.normedColumns());
  integer("heads", heads);
  type("input_type", op.getInput());
  integer("centered", op.getCentered() ? 1 : 0);
  integer("weighted", op.getWeight() ? 1 : 0);
  type("weight_type", op.getWeight() ? op.getWeight() : op.getInput());
  integer("biased", op.getBias() ? 1 : 0);
  type("bias_type", op.getBias() ? op.getBias() : op.getInput());
  integer("heads_differ", op.headsDiffer() ? 1 : 0);
  type("result_type", op.getResult());
  real("eps", op.getEps());
  rowsOf(op.getResult());
  if (heads > 1)
    tiles(heads);
}

void VariantBuilder::norm(llm::NormOp op) {
  mlir::Type f32 = builder.getF32Type();
  normedRows(op);
  integer("residual", op.getResidual() ? 1 : 0);
  type("residual_type", op.getResidual() ? op.getResidual() : op.getInput());
  integer("static_scale", op.getStaticScale() ? 1 : 0);
  integer("store_type", engine::elementTypeOf(op.getStore().value_or(f32)));
  integer("sum", op.getSum() ? 1 : 0);
  auto sum = op.getSum() ? llvm::cast<mlir::RankedTensorType>(op.getSum().getType())
                         : mlir::RankedTensorType();
  integer("sum_type", engine::elementTypeOf(sum ? sum.getElementType() : f32));
}

void VariantBuilder::routing(llm::RouteOp op) {
  auto groups = op.getGroups().value_or(llvm::ArrayRef<int64_t>{1, 1, 1});
  integer("experts", llm::columnsOf(op.getLogits()));
  integer("top_k", op.topK());
  type("logits_type", op.getLogits());
  integer("biased", op.getBias() ? 1 : 0);
  type("bias_type", op.getBias() ? op.getBias() : op.getLogits());
  integer("sigmoid", op.getSigmoid());
  integer("groups", groups[0]);
  integer("kept_groups", groups[1]);
  integer("group_best", groups[2]);
  integer("normalize", op.getNormalize());
  real("epsilon", op.getEpsilon());
  real("scale", op.getScale());
}

// SPDX-License-Identifier: Apache-2.0
// Verifiers of rotary embedding, KV cache, attention with and without it, and sampling.
#include "dialects/llm/LlmAttentionOps.h"

#include "dialects/llm/LlmVerifiers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::llm;

#define GET_OP_CLASSES
#include "dialects/llm/LlmAttentionOps.cpp.inc"

void LlmDialect::addAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/llm/LlmAttentionOps.cpp.inc"
      >();
}

/// Frequencies of at most all pairs of a head.
static LogicalResult verifyFrequencies(Operation *op, Value frequencies, int64_t headDim) {
  int64_t pairs = typeOf(frequencies).getNumElements();
  if (pairs < 1 || pairs > headDim / 2)
    return op->emitOpError() << "needs one frequency for each pair that rotates, at most "
                             << headDim / 2;
  return success();
}

/// Of positions of several axes, for as many rows as `rows` has, each frequency has one.
static LogicalResult verifyAxes(Operation *op, std::optional<ArrayRef<int64_t>> axes,
                                Value positions, Value rows, Value frequencies) {
  if (!axes)
    return success();
  int64_t count = rowsFor(typeOf(positions), typeOf(rows));
  if (count < 2 || count > kMostAxes)
    return op->emitOpError() << "needs 2 to " << kMostAxes << " positions a row for its axes";
  if (int64_t(axes->size()) != typeOf(frequencies).getNumElements() ||
      int64_t(axes->size()) > kMostAxisFrequencies)
    return op->emitOpError() << "needs an axis for each frequency, of which there are at most "
                             << kMostAxisFrequencies;
  if (llvm::any_of(*axes, [&](int64_t axis) { return axis < 0 || axis >= count; }))
    return op->emitOpError() << "has axes beyond the " << count << " of its positions";
  return success();
}

/// Scales of the checkpoint for the keys and the values of an 8-bit cache, where there are any.
static LogicalResult verifyStaticScales(Operation *op, Value scales, KvType cache) {
  if (!scales)
    return success();
  if (!typeOf(scales).getElementType().isF32() || typeOf(scales).getShape() != ArrayRef<int64_t>{2})
    return op->emitOpError() << "static scales are an f32 for the keys and one for the values";
  if (cache.getElement().getIntOrFloatBitWidth() != 8)
    return op->emitOpError() << "static scales need a cache of 8 bits";
  return success();
}

LogicalResult RopeOp::verify() {
  int64_t headDim = getHeadDim();
  if (headDim < 2 || headDim % 2 != 0 || columnsOf(getInput()) % headDim != 0)
    return emitOpError() << "columns must be whole heads of an even size";
  if (columnsOf(getInput()) != columnsOf(getResult()))
    return emitOpError() << "changes the shape";
  if (failed(verifyAxes(*this, getAxes(), getPositions(), getInput(), getInvFreq())))
    return failure();
  if (!getAxes() && !sameRows(typeOf(getPositions()), typeOf(getInput())))
    return emitOpError() << "needs one position a row";
  return verifyFrequencies(*this, getInvFreq(), headDim);
}

LogicalResult KvAppendOp::verify() {
  KvType cache = getCache().getType();
  if (cache.getLatent())
    return emitOpError() << "a latent cache has no values of its own";
  int64_t keys = cache.getHeads() * cache.getHeadDim(),
          values = cache.getHeads() * cache.getValueDim();
  if (columnsOf(getKeys()) != keys || columnsOf(getValues()) != values)
    return emitOpError() << "keys must have " << keys << " columns and values " << values << " for "
                         << cache;
  return verifyStaticScales(*this, getStaticScales(), cache);
}

LogicalResult LatentAppendOp::verify() {
  KvType cache = getCache().getType();
  if (!cache.getLatent())
    return emitOpError() << cache << " is not latent";
  int64_t rotary = cache.getHeadDim() - cache.getValueDim();
  if (columnsOf(getLatent()) != cache.getValueDim() || columnsOf(getRotary()) != rotary)
    return emitOpError() << "latents must have " << cache.getValueDim()
                         << " columns and rotary keys " << rotary << " for " << cache;
  return success();
}

LogicalResult RopeAppendOp::verify() {
  KvType cache = getCache().getType();
  if (!cache.isUniform())
    return emitOpError() << "needs values of as many columns as keys";
  int64_t kvColumns = 2 * cache.getHeads() * cache.getHeadDim();
  if (columnsOf(getQkv()) != columnsOf(getResult()) + kvColumns)
    return emitOpError() << "qkv must have the result's columns and " << kvColumns << " more";
  if (failed(verifyStaticScales(*this, getStaticScales(), cache)))
    return failure();
  if (bool(getRotary()) != getAxes().has_value())
    return emitOpError() << "has axes and rotary positions only together";
  if (failed(verifyAxes(*this, getAxes(), getRotary(), getQkv(), getInvFreq())))
    return failure();
  return verifyFrequencies(*this, getInvFreq(), cache.getHeadDim());
}

/// Attention's sums are of segments of positions.
static LogicalResult verifySegments(Operation *op, std::optional<engine::SumsAttr> sums) {
  if (sums && (sums->getSegment() < 1 || sums->getGroup() != 0))
    return op->emitOpError() << "adds in segments of positions, without groups";
  return success();
}

int64_t AttentionOp::queryHeads() {
  KvType cache = getCache().getType();
  return columnsOf(getQuery()) / (getRotary() ? cache.getValueDim() : cache.getHeadDim());
}

/// A query in two parts, as keys of the cache are.
static LogicalResult verifyRotary(AttentionOp op) {
  KvType cache = op.getCache().getType();
  if (!cache.getLatent() || op.getFp8())
    return op.emitOpError() << "takes a query in two parts over a latent cache, and without fp8";
  const int64_t rotary = cache.getHeadDim() - cache.getValueDim();
  if (columnsOf(op.getRotary()) != op.queryHeads() * rotary ||
      !sameRows(typeOf(op.getRotary()), typeOf(op.getQuery())))
    return op.emitOpError() << "rotary must have " << rotary << " columns for each query head";
  return success();
}

LogicalResult SelectPositionsOp::verify() {
  KvType cache = getCache().getType();
  if (!cache.getLatent())
    return emitOpError() << "takes keys of a latent cache";
  if (columnsOf(getQuery()) != columnsOf(getWeights()) * cache.getHeadDim())
    return emitOpError() << "query must have " << cache.getHeadDim()
                         << " columns for each of the weights";
  if (!sameRows(typeOf(getQuery()), typeOf(getSelected())) || typeOf(getSelected()).getRank() != 2)
    return emitOpError() << "result must have a list for each row of the query";
  return success();
}

LogicalResult AttentionOp::verify() {
  KvType cache = getCache().getType();
  const int64_t each = getRotary() ? cache.getValueDim() : cache.getHeadDim();
  if (columnsOf(getQuery()) % (cache.getHeads() * each) != 0)
    return emitOpError() << "query heads must be a multiple of the cache's heads";
  if (getRotary() && failed(verifyRotary(*this)))
    return failure();
  if (int64_t result = queryHeads() * cache.getValueDim(); columnsOf(getResult()) != result)
    return emitOpError() << "result must have " << result << " columns";
  if (getFp8() && !isa<Float8E4M3FNType>(cache.getElement()))
    return emitOpError() << "fp8 needs a cache of f8E4M3FN";
  if (getWindow() && (*getWindow() < 1 || *getWindow() > INT32_MAX))
    return emitOpError() << "a window has 1 to 2147483647 positions";
  if (int64_t kept = cache.getWindow(); kept != 0 && (!getWindow() || *getWindow() > kept))
    return emitOpError() << "attends to more positions than " << cache << " keeps";
  if (getChunked() && !getWindow())
    return emitOpError() << "chunked needs a window";
  if (getChunked() && getReaches())
    return emitOpError() << "reaches beyond no chunk";
  if (getReaches() && !sameRows(typeOf(getReaches()), typeOf(getQuery())))
    return emitOpError() << "needs a reach for each row of the query";
  if (getSelected() && (typeOf(getSelected()).getRank() != 2 || getWindow() || getReaches() ||
                        getFp8() || !sameRows(typeOf(getSelected()), typeOf(getQuery()))))
    return emitOpError() << "needs a list of positions for each row of the query, without window, "
                            "reaches and fp8";
  if (getSoftcap() && !(getSoftcap()->isFinite() && getSoftcap()->convertToFloat() > 0))
    return emitOpError() << "softcap must be positive";
  if (getSinks() && typeOf(getSinks()).getShape() != ArrayRef(queryHeads()))
    return emitOpError() << "sinks must be one value for each query head";
  return verifySegments(*this, getSums());
}

int64_t EncoderAttentionOp::keyDim() { return columnsOf(getKeys()) / int64_t(getKvHeads()); }
int64_t EncoderAttentionOp::valueDim() { return columnsOf(getValues()) / int64_t(getKvHeads()); }
int64_t EncoderAttentionOp::queryHeads() { return columnsOf(getQuery()) / keyDim(); }

LogicalResult EncoderAttentionOp::verify() {
  RankedTensorType query = typeOf(getQuery());
  for (Value other : {getKeys(), getValues(), getSequences(), getResult()})
    if (!sameRows(typeOf(other), query))
      return emitOpError() << "query, keys, values, sequences and result must have the same rows";
  if (typeOf(getSequences()).getRank() != 1 || typeOf(getOffsets()).getRank() != 1)
    return emitOpError() << "sequences and offsets must be lists";
  auto heads = int64_t(getKvHeads());
  auto isWhole = [&](int64_t columns) { return columns > 0 && columns % heads == 0; };
  if (heads < 1 || !isWhole(columnsOf(getKeys())) || !isWhole(columnsOf(getValues())))
    return emitOpError() << "keys and values must be " << heads << " heads of equal size";
  if (columnsOf(getQuery()) < 1 || columnsOf(getQuery()) % columnsOf(getKeys()) != 0)
    return emitOpError() << "query heads must be a multiple of the " << heads << " of keys";
  if (int64_t result = queryHeads() * valueDim(); columnsOf(getResult()) != result)
    return emitOpError() << "result must have " << result << " columns";
  return verifySegments(*this, getSums());
}

LogicalResult SampleOp::verify() {
  int64_t vocabulary = columnsOf(getLogits());
  if (columnsOf(getParams()) != 16)
    return emitOpError() << "a parameter row has 16 words";
  if (columnsOf(getAllowMask()) != (vocabulary + 31) / 32)
    return emitOpError() << "the allow-mask needs one bit per token";
  if (getCounts().getType().getRow().getNumElements() != vocabulary)
    return emitOpError() << "counts must have one entry per token";
  return success();
}

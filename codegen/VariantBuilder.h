// SPDX-License-Identifier: Apache-2.0
// Describes one kernel of a target: its template, constants, grid and scratch.
#pragma once

#include "dialects/engine/KernelProvider.h"
#include "dialects/llm/EncodedWeight.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace ingot::llm {
class AttentionOp;
class CausalConvOp;
class CombineOp;
class EncoderAttentionOp;
class GatedDeltaRuleOp;
class StateSpaceOp;
class QuantizeActivationOp;
class NormOp;
class RopeAppendOp;
class RopeOp;
class RouteOp;
} // namespace ingot::llm

namespace ingot::codegen {

/// How a kernel addresses an operand of a scalar region: 1 by row and column, 2 by column, 3 by
/// row.
inline int64_t operandAddress(mlir::Value operand, mlir::RankedTensorType result) {
  auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
  if (type.getRank() == 2 && type.getShape() == result.getShape())
    return 1;
  bool column = type.hasStaticShape() && type.getNumElements() == result.getShape().back();
  return column ? 2 : 3;
}

/// The largest value of a dim; INT64_MAX where nothing is declared of it.
inline int64_t mostOf(llvm::ArrayRef<engine::RangeAttr> declared, llvm::StringRef dim) {
  const auto *range =
      llvm::find_if(declared, [&](engine::RangeAttr one) { return one.getDim() == dim; });
  return range == declared.end() ? INT64_MAX : range->getMax();
}

/// Rows as a multiple of a dim.
struct RowDim {
  std::string dim;
  int64_t index; ///< of the dim among a launch's scalars
  int64_t each;  ///< rows for each of it
};

/// The rows of `tensor`, an operand or a result of `op`, so; nothing if they are another
/// expression.
std::optional<RowDim> rowDimOf(mlir::Operation *op, mlir::Value tensor);

/// What counts the rows of `tensor`, if they are as many; otherwise nothing.
std::optional<std::string> plainRowDimOf(mlir::Value tensor);

/// Tiles that a product with groups needs at most along the rows of its result, for tiles of
/// `tileRows` rows of one of `experts` experts: each expert with rows has one that is not full.
inline std::string groupTiles(mlir::Value result, int64_t experts, int64_t tileRows) {
  std::string rows =
      "(" + llm::rowsOf(llvm::cast<mlir::RankedTensorType>(result.getType())).getText().str() + ")";
  return "(" + rows + " + (" + rows + " min " + std::to_string(experts) + ") * " +
         std::to_string(tileRows - 1) + ") floordiv " + std::to_string(tileRows);
}

/// Why kernels decline caches that are not KvType::isUniform().
inline constexpr const char *kOtherWidths = "its cache has values of another width than keys";

/// The order in which native and CUDA kernels add the rows of llm.combine: one by one, each product
/// rounded.
engine::SumsAttr rowSums(llm::CombineOp op);

/// Collects the parts of a KernelVariant.
class VariantBuilder {
public:
  VariantBuilder(llvm::StringRef source, mlir::MLIRContext *context) : builder(context) {
    variant.source = source.str();
  }

  void integer(llvm::StringRef name, int64_t value) {
    constants.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  }
  void real(llvm::StringRef name, const llvm::APFloat &value) {
    constants.push_back(
        builder.getNamedAttr(name, builder.getF64FloatAttr(value.convertToDouble())));
  }
  void text(llvm::StringRef name, const llvm::Twine &value) {
    constants.push_back(builder.getNamedAttr(name, builder.getStringAttr(value)));
  }
  void fact(llvm::StringRef name, const llvm::Twine &value) {
    variant.facts.push_back(builder.getNamedAttr(name, builder.getStringAttr(value)));
  }
  /// States what tuning knows the kernel by: `madeFrom` is the digest of what its template's
  /// code comes from.
  void candidate(const llvm::Twine &name, llvm::StringRef madeFrom) {
    constexpr size_t digits = 16;
    std::string text = name.str();
    llvm::SHA256 hash;
    hash.update(text);
    hash.update(madeFrom);
    fact(engine::kCandidate, text);
    fact(engine::kCandidateDigest, llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, digits));
  }
  void type(llvm::StringRef name, mlir::Value tensor) {
    integer(name, engine::elementTypeOf(
                      llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType()));
  }

  /// What a weight is: weight_type, scale_extent, scale_form, scale_type, super_type and zeros. The
  /// types of tensors that it does not have are its own.
  void weight(const llm::EncodedWeight &weight) {
    type("weight_type", weight.values);
    integer("scale_extent", weight.extent());
    integer("scale_form", weight.facts().scales);
    type("scale_type", weight.scales ? weight.scales : weight.values);
    type("super_type", weight.superScales ? weight.superScales : weight.values);
    integer("zeros", weight.facts().zeros());
  }

  /// The constants of kernels/KvBlocks.h.
  void cache(llm::KvType cache) {
    integer("kv_heads", cache.getHeads());
    integer("head_dim", cache.getHeadDim());
    integer("kv_type", engine::elementTypeOf(cache.getElement()));
    integer("block_tokens", cache.getBlockTokens());
    integer("block_bytes", cache.blockBytes());
    integer("values_offset", cache.valuesOffset());
    integer("key_scales_offset", cache.keyScalesOffset());
    integer("value_scales_offset", cache.valueScalesOffset());
  }

  /// The constants that all attention templates share. Absent: window 0, chunked 0, softcap 0,
  /// sinks 0; reaches, rotary columns and selected positions are stated only where there are any.
  void attention(llm::AttentionOp op);

  /// The constants of llm.encoder_attention, but for its tiles.
  void encoderAttention(llm::EncoderAttentionOp op);

  /// The constants of a scalar region's operands: how many there are, and for each of the `most`
  /// that its template knows where it stands and its type (an absent one has the result's).
  void regionOperands(mlir::ValueRange operands, mlir::Value result, size_t most) {
    integer("operands", static_cast<int64_t>(operands.size()));
    for (size_t i = 0; i < most; ++i) {
      bool present = i < operands.size();
      std::string index = std::to_string(i);
      auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
      integer("address_" + index, present ? operandAddress(operands[i], type) : 0);
      this->type("type_" + index, present ? operands[i] : result);
    }
  }

  /// The constants of rotary embedding: how many pairs of a head rotate, the factor, and where
  /// there are axes kernels/RotaryAxes.h's.
  void rotation(llm::RopeOp op);
  void rotation(llm::RopeAppendOp op);

  /// The constants of llm.causal_conv, but for its tiles.
  void causalConv(llm::CausalConvOp op);

  /// The constants of operations whose heads have a matrix as state, and a tile for each value head
  /// of each sequence.
  void linearAttention(llm::GatedDeltaRuleOp op);
  void linearAttention(llm::StateSpaceOp op);

  /// The constants of llm.quantize_activation on CPUs, and a tile for each row.
  void quantizedRows(llm::QuantizeActivationOp op);

  /// The columns that llm.norm takes together, how many such runs a row has, and a tile for
  /// each of them.
  void normedRows(llm::NormOp op);
  /// All constants of a route kernel, but its rows.
  void routing(llm::RouteOp op);

  /// The constants of the fused forms of llm.norm, and its tiles.
  void norm(llm::NormOp op);

  /// The next axis of the grid gets a tile per `each` rows of `tensor`; of those of `parts`, which
  /// have equally many of them, one after the other.
  void rowsOf(mlir::Value tensor, int64_t each = 1, int64_t parts = 1) {
    auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
    std::string rows = llm::rowsOf(type).getText().str(), count = std::to_string(parts);
    if (parts != 1)
      rows = "(" + rows + ") floordiv " + count;
    if (each != 1)
      rows = "(" + rows + ") ceildiv " + std::to_string(each);
    extent(parts == 1 ? rows : "(" + rows + ") * " + count);
  }

  /// The next axis of the grid gets `tiles` tiles.
  void tiles(int64_t tiles) { extent(std::to_string(tiles)); }

  engine::KernelVariant take(int64_t scratchBytes = 0) {
    variant.constants = builder.getDictionaryAttr(constants);
    variant.scratchBytes = scratchBytes;
    return std::move(variant);
  }

  /// The next axis of the grid gets `expression` tiles.
  void extent(llvm::StringRef expression) {
    variant.grid.push_back(engine::getExpr(builder.getContext(), expression));
  }

private:
  void rotation(mlir::Value frequencies, const llvm::APFloat &factor,
                std::optional<llvm::ArrayRef<int64_t>> axes, mlir::Value positions,
                mlir::Value rows);

  mlir::Builder builder;
  llvm::SmallVector<mlir::NamedAttribute> constants;
  engine::KernelVariant variant;
};

} // namespace ingot::codegen

// SPDX-License-Identifier: Apache-2.0
// Block sizes of the attention kernels and the scratch memory they need; also read by the provider.
#pragma once

#include <stdint.h>

namespace ingot::x86 {

/// Positions that are taken together; part of the numerics of attention.
constexpr int64_t attentionSegment = 256;

/// How products are made.
enum AttentionMethod : int64_t {
  FloatAttention, ///< in f32
  PairAttention,  ///< of bf16, two columns at a time
  TileAttention,  ///< of bf16 on AMX
};

/// Rows (of the batch times query heads of a KV head) of a tile of llm.encoder_attention, which
/// share transposed keys, and of the blocks of these that are weighed together where products are
/// of bf16: their scores stay in the nearest caches.
constexpr int64_t encoderTileRows(AttentionMethod method) {
  return method == FloatAttention ? 48 : method == PairAttention ? 192 : 512;
}
constexpr int64_t encoderBlockRows(AttentionMethod method) {
  return method == TileAttention ? 32 : 48;
}

/// Scratch of one tile of `rows` (tokens times query heads of a KV head), in f32 words, in this
/// order: queries [rows][queryStride], keys [segment / 16][headDim][16], values
/// [valuePanels][segment][16], weights of softmax (not in f32), scores [rows][scoreStride],
/// weighted values of a segment and in all [rows][valueStride] each, maxima in all and of a segment
/// [rows] each. Where products are of bf16, queries, keys, values and weights are, the last in two
/// parts, and queries have no stride. Rows are padded for the register tiles.
struct AttentionScratch {
  int64_t rows, headDim;
  AttentionMethod method;
  int64_t valueDim; ///< a multiple of 16 where products are of bf16

  constexpr bool pairs() const { return method != FloatAttention; }
  constexpr int64_t paddedRows() const {
    return method == TileAttention ? (rows + 15) / 16 * 16 : (rows + 11) / 12 * 12;
  }
  /// Strides that are no powers of two, so that rows fall into different sets of the cache.
  constexpr int64_t queryStride() const { return (headDim + 15) / 16 * 16 + 16; }
  constexpr int64_t scoreStride() const { return attentionSegment + 16; }
  /// Of bf16.
  constexpr int64_t weightStride() const { return attentionSegment + 32; }
  /// A column of ones follows a value's columns: its weighted sum is the sum of the weights.
  constexpr int64_t valuePanels() const { return valueDim / 16 + 1; }
  constexpr int64_t valueStride() const { return valuePanels() * 16; }

  constexpr int64_t keys() const {
    return pairs() ? paddedRows() * headDim / 2 : paddedRows() * queryStride();
  }
  constexpr int64_t values() const { return keys() + cached(attentionSegment * headDim); }
  constexpr int64_t weights() const { return values() + cached(attentionSegment * valueStride()); }
  constexpr int64_t scores() const {
    return weights() + (pairs() ? paddedRows() * weightStride() : 0);
  }
  constexpr int64_t segment() const { return scores() + paddedRows() * scoreStride(); }
  constexpr int64_t total() const { return segment() + paddedRows() * valueStride(); }
  constexpr int64_t totalMaxima() const { return total() + paddedRows() * valueStride(); }
  constexpr int64_t segmentMaxima() const { return totalMaxima() + paddedRows(); }
  constexpr int64_t bytes() const { return (segmentMaxima() + paddedRows()) * 4; }

private:
  /// Words of so many elements of the cache.
  constexpr int64_t cached(int64_t elements) const { return pairs() ? elements / 2 : elements; }
};

/// Scratch of a tile of llm.encoder_attention whose products are of bf16, in bytes: queries
/// [rows][keyColumns] and keys and values as tiles, in bf16; of a block of rows scores
/// [blockRows][scoreStride], which weights of softmax take the place of, [segment / 32][2][32] of
/// bf16, and weighted values of a segment [blockRows][segmentStride]; those in all
/// [rows][valueStride]. Of a block's rows maxima of a segment, of all rows those in all, as powers
/// of two.
struct EncoderScratch {
  int64_t tileRows, keyDim, valueDim; ///< rows with every query head of the KV head
  AttentionMethod method;

  constexpr int64_t blockRows() const { return encoderBlockRows(method); }
  constexpr int64_t rows() const {
    return (tileRows + blockRows() - 1) / blockRows() * blockRows();
  }
  constexpr int64_t keyColumns() const { return (keyDim + 31) / 32 * 32; }
  /// The sum of the weights follows a row's values.
  constexpr int64_t valueStride() const { return (valueDim / 16 + 1) * 16; }
  /// Registers take panels by twos.
  constexpr int64_t valuePanels() const { return (valueDim + 31) / 32 * 2; }
  constexpr int64_t segmentStride() const {
    return valuePanels() * 16 > valueStride() ? valuePanels() * 16 : valueStride();
  }
  /// No power of two, so that rows fall into different sets of the cache.
  constexpr int64_t scoreStride() const { return attentionSegment + 16; }

  constexpr int64_t keys() const { return rows() * keyColumns() * 2; }
  constexpr int64_t values() const { return keys() + attentionSegment * keyColumns() * 2; }
  constexpr int64_t scores() const { return values() + attentionSegment * valuePanels() * 32; }
  constexpr int64_t segment() const { return scores() + blockRows() * scoreStride() * 4; }
  constexpr int64_t total() const { return segment() + blockRows() * segmentStride() * 4; }
  constexpr int64_t segmentMaxima() const { return total() + rows() * valueStride() * 4; }
  constexpr int64_t totalMaxima() const { return segmentMaxima() + blockRows() * 4; }
  constexpr int64_t bytes() const { return totalMaxima() + rows() * 4; }
};

} // namespace ingot::x86

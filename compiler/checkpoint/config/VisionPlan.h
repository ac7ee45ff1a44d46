// SPDX-License-Identifier: Apache-2.0
// VisionPlan: the tower and the projector that make rows of the text part's width of a picture, and
// how pictures become patches.
#pragma once

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"

#include <array>
#include <optional>

namespace ingot::checkpoint {

/// What the tower adds to patches for where they stand.
enum class PatchPositions : uint8_t {
  None,
  Learned,      ///< the row of a table for each place
  Interpolated, ///< between the four nearest of a table, bilinear, corners aligned
  Axes,         ///< one of a table for each column, and one of a table for each row, added
};

/// What becomes of the m patches that one row is made of.
enum class RowProjector : uint8_t {
  MeanPool,  ///< their mean, RMSNorm with 1 + weight, a matrix stored as [inputs, outputs]
  Linear,    ///< one after the other, a matrix
  Merger,    ///< each normed, one after the other, a matrix, erf GELU, a matrix
  PlainMean, ///< their mean times meanScale, RMSNorm without weight, a matrix
};

/// What checkpoints call the parts; behind "vision.".
struct VisionNames {
  std::string_view patch = "embeddings.patch_embedding",
                   positions = "embeddings.position_embedding", layers = "encoder.layers",
                   attentionNorm = "layer_norm1", feedForwardNorm = "layer_norm2";
  std::string_view query = "self_attn.q_proj", key = "self_attn.k_proj", value = "self_attn.v_proj",
                   queryKeyValue = {}, ///< all three as one; empty: they are apart
      output = "self_attn.out_proj";
  std::string_view gate = {}, up = "mlp.fc1", down = "mlp.fc2";
  std::string_view matrix = {};   ///< behind the names of products in layers
  std::string_view lastNorm = {}; ///< empty: none
  /// Empty: none. Where q and k have norms, of each head, v has one without weight.
  std::string_view queryNorm = {}, keyNorm = {}, attentionResultNorm = {},
                   feedForwardResultNorm = {}, patchInputNorm = {}, patchResultNorm = {};
  /// Tensors: what is subtracted from means, and what they are multiplied by then; empty: none.
  std::string_view shift = {}, scale = {};
  /// Of MeanPool and Merger, and the first matrix of Merger.
  std::string_view projectorNorm = {}, projectorInner = {};
  std::string_view projector = {}; ///< the last matrix; of MeanPool the tensor itself
  std::string_view deepstack = {}; ///< the list of further mergers
  std::string_view deepstackNorm = {}, deepstackInner = {}, deepstackOuter = {}; ///< of each
};

/// A transformer over patches that all see each other.
struct VisionTower {
  uint64_t layers = 0, width = 0, heads = 0, innerSize = 0;
  uint64_t headDim = 0; ///< 0: the width divided by the heads
  double scaling = 0;   ///< of scores; 0: 1 / sqrt(headDim)
  NormKind norm = NormKind::LayerBias;
  double epsilon = 1e-6;
  Activation activation = Activation::GeluTanh;
  bool gated = false, patchBias = true, biases = true;
  /// Products in layers keep inputs and results within stored numbers.
  bool clips = false;
  uint64_t patchSize = 0, channels = 3;
  uint64_t slices = 1; ///< of the patch embedding in time; a picture stands in all of them
  PatchPositions positions = PatchPositions::None;
  /// A table has the square of it; of Axes each of the two has as many rows.
  uint64_t positionSide = 0;
  bool placesFirst = false; ///< of Axes: rows of both tables stand side by side
  bool rotates = false;     ///< q and k by row and column (2-D rope)
  /// The column's half of a head comes first, and each half turns within itself.
  bool columnsFirst = false;
  double theta = 10000;
  uint64_t window = 0; ///< pixels of a side that see each other, but in fullLayers; 0: all do
  std::vector<uint64_t> fullLayers = {};

  uint64_t columnsOfHead() const { return headDim != 0 || heads == 0 ? headDim : width / heads; }
};

enum class ResizeRule : uint8_t {
  Smart,   ///< sides to multiples of a row's, within minPixels to maxPixels
  Stretch, ///< to width x height
  Budget,  ///< sides to multiples of a row's, the largest that make maxTokens rows or fewer
  /// The longest edge to longestEdge, sides up to multiples of tile; tiles, and the whole last.
  Tiles,
};

enum class ResizeFilter : uint8_t { Bilinear, Bicubic, Lanczos };

/// What stands in a prompt for a picture. {row} and {column} count from 1.
struct ImageText {
  std::string_view placeholder = {}; ///< that the prompt has for it
  std::string_view token = {};       ///< as often as there are rows
  std::string_view before = {}, after = {};
  std::string_view beforeTile = {}, afterTileRow = {}, afterTiles = {}; ///< where there are tiles
};

struct ImageSettings {
  ResizeRule rule = ResizeRule::Smart;
  ResizeFilter filter = ResizeFilter::Bicubic;
  uint64_t minPixels = 0, maxPixels = 0; ///< of Smart
  uint64_t width = 0, height = 0;
  uint64_t longestEdge = 0, tile = 0;
  uint64_t maxTokens = 0;
  bool channelsLast = false; ///< values of a patch are [row, column, channel], its weight a matrix
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f}, deviation = {0.5f, 0.5f, 0.5f};
  ImageText text = {};
  uint64_t tokenId = 0;                   ///< of text.token
  bool seesAhead = false;                 ///< the tokens of a picture attend to each other
  bool onlyInWindows = false;             ///< but not in layers that attend to everything
  std::optional<uint64_t> stepToken = {}; ///< that the text part reads in place of tokenId
};

struct VisionPlan {
  VisionTower tower = {};
  RowProjector projector = RowProjector::Linear;
  uint64_t merge = 1;       ///< m is its square
  bool joinsPixels = false; ///< the pixels of what one row is made of are one patch
  double meanScale = 1;
  double projectorEpsilon = 1e-6;
  std::vector<uint64_t> deepstackLayers = {}; ///< behind which rows for text layers are made too
  /// How many pairs of a text head turn by a token's position in time, height and width; empty: all
  /// by one. In turn they do, from the second pair on, as long as each has pairs; else in blocks.
  std::vector<uint64_t> sections = {};
  bool sectionsInTurn = false;
  VisionNames names = {};
  ImageSettings images = {};

  /// Of each of so many pairs of a text head, by which of three positions it turns.
  std::vector<int64_t> axesOf(uint64_t pairs) const;

  uint64_t patchesPerRow() const { return joinsPixels ? 1 : merge * merge; }
  /// Pixels of a side of what the tower takes.
  uint64_t patchSide() const { return joinsPixels ? tower.patchSize * merge : tower.patchSize; }
  /// Rows of the largest picture or tile.
  uint64_t mostRows() const;

  static constexpr uint64_t mostLayers = 1u << 12, widest = 1u << 16, largestSide = 1u << 14;
};

} // namespace ingot::checkpoint

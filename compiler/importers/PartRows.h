// SPDX-License-Identifier: Apache-2.0
// What a model's parts that run on their own (ModelPart) hand on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::checkpoint {
struct ModelConfig;
}

namespace ingot::compiler {

/// Some columns of a row.
struct RowColumns {
  int64_t first = 0, count = 0;
};

/// A tap of a part, and which columns of the rows behind it the tap's are.
struct PartResult {
  std::string tap;
  RowColumns columns;
};

/// The row that a token has between two parts, side by side all that later parts read: the streams
/// of x (ModelConfig::altUp; most models have one), the inputs of all layers
/// (ModelConfig::layerInputs), and the keys and values of layers whose cache others read. A part
/// changes what its results have and hands on the rest.
class PartRows {
public:
  /// Of the inputs of all layers, behind the embedding.
  static constexpr char kInputsTap[] = "layer_inputs";

  explicit PartRows(const checkpoint::ModelConfig &config);

  int64_t width() const { return columns; }
  RowColumns stream(size_t index) const { return {static_cast<int64_t>(index) * hidden, hidden}; }
  RowColumns inputs() const { return inputColumns; }
  /// The layer in whose cache the keys and values are that `layer` reads.
  size_t ownerOf(size_t layer) const { return owners[layer]; }
  /// Whether other layers read keys and values of `layer`.
  bool isReadByOthers(int64_t layer) const { return read.contains(layer); }
  /// Those of a layer of which others read them.
  RowColumns keys(size_t layer) const;
  RowColumns values(size_t layer) const;

  /// The stream whose tap in whole models is ModelPart::tap() of `part`.
  size_t mainStream(int64_t part) const { return part < 0 ? 0 : active; }
  std::string streamTap(int64_t part, size_t stream) const;
  /// What the embedding or a layer makes, but for keys and values (ProductList::caches).
  std::vector<PartResult> results(int64_t part) const;

private:
  int64_t hidden, columns = 0;
  size_t streams, active;
  RowColumns inputColumns;
  std::vector<size_t> owners;         ///< of each layer's cache
  std::map<int64_t, RowColumns> read; ///< keys of layers that others read; values follow
};

} // namespace ingot::compiler

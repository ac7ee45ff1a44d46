// SPDX-License-Identifier: Apache-2.0
// What an import is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::compiler {

/// Positions of one KV block.
constexpr int64_t kKvBlockTokens = 16;

/// A part of a model that is run on its own: @step reads what the part before it gives, in place of
/// tokens, and its results are in the logits' place. There is no @sample.
struct ModelPart {
  static constexpr int64_t kEmbedding = -1;
  int64_t layer = kEmbedding; ///< the number of layers: the head

  /// The tap of the results of an embedding or a layer.
  std::string tap() const { return layer < 0 ? "embed" : "layers." + std::to_string(layer); }
};

struct ImportOptions {
  int64_t maxContext = 0; ///< positions the engine is declared for; dynamic rotary scaling needs it
  bool inputScales = false; ///< products get the checkpoint's scale of their input
  bool kvScales = false;    ///< KV caches get the checkpoint's scales
  /// Gets the names of tensors that the engine is built without, unless null.
  std::vector<std::string> *unread = nullptr;
  /// Unless null, nothing else is imported.
  const ModelPart *part = nullptr;
};

} // namespace ingot::compiler

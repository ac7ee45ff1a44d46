// SPDX-License-Identifier: Apache-2.0
// What an engine file states beside the engine dialect, and where its weights lie.
#pragma once

#include "compiler/checkpoint/files/Digest.h"
#include "dialects/engine/WeightFill.h"

#include <optional>
#include <string>
#include <vector>

namespace ingot::compiler {

/// A file the engine was made from.
struct InputFile {
  std::string name; ///< relative to the model directory
  uint64_t bytes = 0;
  checkpoint::Digest digest = {};
};

/// What became of an option: "4GiB" asked, "4294967296" effective, because "...".
struct OptionRecord {
  std::string name, asked, effective, reason;
};

struct Provenance {
  std::string compiler;  ///< "ingot 0.1.0"
  std::string revision;  ///< git revision of the compiler's sources
  std::string toolchain; ///< "LLVM 22.1.8"
  std::vector<InputFile> inputs;
  std::string recipe; ///< canonical text
  std::vector<OptionRecord> options;
  std::string tuning; ///< canonical text of the tuning lockfile; empty: none
};

/// What serving needs to know of a model; -1 where there is no such token.
struct ServingFacts {
  uint32_t vocabulary = 0;
  uint32_t maxContext = 0;
  int32_t bos = -1;
  std::vector<int32_t> eos;
  int32_t pad = -1;
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1;
  float minP = 0;
  float repetitionPenalty = 1;
  std::vector<int32_t> placeholders; ///< ids that stand for images or sound
  bool namesNoSampling = false;      ///< temperature to minP are not the model's
};

/// How pictures become inputs of @encode, as the table Images of the schema has it.
struct ImageFacts {
  enum class Rule : uint8_t { Smart, Stretch, Budget, Tiles };
  enum class Filter : uint8_t { Bilinear, Bicubic, Lanczos };
  enum class Positions : uint8_t { None, Grid, Interpolated, Axes };

  Rule rule = Rule::Smart;
  Filter filter = Filter::Bicubic;
  uint32_t factor = 0;
  uint64_t minPixels = 0, maxPixels = 0;
  uint32_t frames = 1, width = 0, height = 0, maxTokens = 0, longestEdge = 0, tile = 0;
  std::vector<float> mean, deviation;
  uint32_t patch = 0, mergeRows = 1, mergeColumns = 1;
  bool channelsLast = false;
  uint32_t window = 0;
  Positions positions = Positions::None;
  uint32_t positionSide = 0;
  std::string placeholder, token;
  uint32_t tokenId = 0;
  std::string before, after, beforeTile, afterTileRow, afterTiles;
  bool seesAhead = false;
  uint32_t added = 0, axes = 1;
  int32_t stepToken = -1;
};

/// A greedy continuation; `margins` are the distances of the two best logits.
struct GoldenCase {
  std::vector<int32_t> prompt, tokens;
  std::vector<float> margins;
};

/// Everything an engine file states that is not in the engine dialect.
struct EngineDescription {
  std::string name;
  std::string architecture; ///< for people: "LlamaForCausalLM"
  Provenance provenance;
  ServingFacts serving;
  std::vector<GoldenCase> golden;
  std::optional<ImageFacts> images;
};

/// Where a weight of the module lies.
struct WeightPlacement {
  std::string name; ///< of the engine.weight
  uint32_t section = 0;
  uint64_t offset = 0; ///< within the section
  uint64_t bytes = 0;
  checkpoint::Digest digest = {};
  std::optional<engine::WeightFill> fill; ///< made at load: not in the section, without digest
};

} // namespace ingot::compiler

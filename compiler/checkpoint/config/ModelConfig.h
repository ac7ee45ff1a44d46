// SPDX-License-Identifier: Apache-2.0
// ModelConfig: the shape of a model, whatever file states it, completely checked.
#pragma once

#include "compiler/checkpoint/config/ModuleNames.h"
#include "compiler/checkpoint/config/Rope.h"
#include "compiler/checkpoint/files/DType.h"
#include "compiler/checkpoint/files/Deviation.h"

#include <map>
#include <memory>

namespace ingot::checkpoint {

struct Experts;
struct LayerPlan;
struct VisionPlan;

/// Of a model of text and pictures, what is read.
enum class ModelParts : uint8_t { Text, All };

enum class NormKind : uint8_t {
  Rms,       ///< RMSNorm
  Layer,     ///< LayerNorm with factors alone
  LayerBias, ///< LayerNorm
};

/// What every model of a family is in all its layers and around them.
struct ModelForm {
  NormKind norm = NormKind::Rms; ///< of all norms; those of q and k have no bias
  bool normsLessOne = false;     ///< norms multiply by 1 + what is stored
  bool inputsFirst = false;      ///< matrices of layers are stored as [inputs, outputs]
  bool learnedPositions = false; ///< embeddings of positions are added to those of tokens
  bool scaledLayers = false;     ///< what a layer gives is multiplied by its tensor layer_scalar
  ModuleNames names = {};
};

/// What each token has for every layer beside x (Gemma's per-layer embeddings): columns of one
/// table, and of a product with the embedded token.
struct LayerInputs {
  uint64_t columns = 0;  ///< of each layer's; 0: there are none
  uint64_t rows = 0;     ///< of the table, for tokens
  double multiplier = 1; ///< of what the table has
};

/// Streams of x of which layers read one and correct all (Alternating Updates, arXiv 2301.13310).
struct AltUp {
  uint64_t streams = 1; ///< 1: x alone, and nothing of this kind
  uint64_t active = 0;  ///< the one that a layer's mixers read
  bool scales = false;  ///< factors of each layer stand before what gates its LayerInputs
};

struct ModelConfig : ModelForm {
  explicit ModelConfig(Json raw, const ModelForm &form = {});
  ModelConfig(const ModelConfig &);
  ModelConfig(ModelConfig &&) noexcept;
  ModelConfig &operator=(const ModelConfig &);
  ModelConfig &operator=(ModelConfig &&) noexcept;
  ~ModelConfig();

  std::string architecture; ///< "LlamaForCausalLM"
  uint64_t hiddenSize = 0;
  std::vector<LayerPlan> layers;
  LayerInputs layerInputs;
  AltUp altUp;
  uint64_t laurelRank = 0;  ///< of what each layer has beside attention: W_r W_l x; 0: nothing
  uint64_t draftLayers = 0; ///< GGUF: that follow, and only predict more tokens than the next one
  uint64_t vocabSize = 0;   ///< rows of the embedding; may exceed the tokenizer's
  uint64_t maxPositions = 0;
  double normEpsilon = 0;
  std::vector<Rope> ropes = {
      Rope()};                    ///< that layers name by number; the second, of those that slide
  double embeddingMultiplier = 1; ///< of embedded tokens
  double residualMultiplier = 1;  ///< of what mixers add to the residual
  double logitsMultiplier = 1, logitsDivisor = 1;
  double logitsSoftcap = 0;    ///< c of c * tanh(logit / c); 0: none
  bool tiedEmbeddings = false; ///< one matrix is both embedding and output head
  std::optional<uint64_t> bosId;
  std::vector<uint64_t> eosIds; ///< GenerationConfig's list, where given, comes before this one
  std::vector<uint64_t> placeholderIds; ///< of tokens that stand for images or sound
  /// What GGUF's metadata states and others have as tensors of one number, by these tensors' names.
  std::map<std::string, double, std::less<>> storedNumbers;
  std::optional<DType> declaredType; ///< for reports only: files are known to state it wrongly
  std::vector<Deviation> deviations; ///< from what the file states
  Json raw;                          ///< the whole file, for what only one family knows
  const struct Wrapper *wrapper = nullptr;  ///< of which this is the text part; null: of none
  std::shared_ptr<const VisionPlan> vision; ///< null: text alone

  uint64_t layerCount() const;
  /// Whether the layer has keys and values of its own.
  bool keepsKeys(uint64_t layer) const;
  uint64_t layersWithKeys() const;
  /// Those of the first layer that has experts, which all others have too; null: none has.
  const Experts *firstExperts() const;

  // Far above any known model, and low enough that no product of two of them overflows.
  static constexpr uint64_t mostLayers = 1u << 14;
  static constexpr uint64_t widest = 1u << 24;
  static constexpr uint64_t mostHeads = 1u << 16;
  static constexpr uint64_t widestHead = 1u << 14;
  static constexpr uint64_t largestVocabulary = uint64_t{1} << 28;
};

} // namespace ingot::checkpoint

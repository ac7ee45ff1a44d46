// SPDX-License-Identifier: Apache-2.0
// ModelConfig: the shape of a model, whatever file states it, completely checked.
#pragma once

#include "compiler/checkpoint/config/ModuleNames.h"
#include "compiler/checkpoint/config/Rope.h"
#include "compiler/checkpoint/files/DType.h"
#include "compiler/checkpoint/files/Deviation.h"

#include <map>

namespace ingot::checkpoint {

/// Whether q and k are normed before they rotate.
enum class QueryKeyNorm : uint8_t {
  None,
  Heads,       ///< every head by itself, all with the same headDim factors
  HeadsApart,  ///< every head by itself, each with its own factors
  HeadsListed, ///< likewise, stored in a tensor for each head
  Rows,        ///< all heads of a token together
  Plain,       ///< every head by itself, without factors, in layers that rotate
};

enum class NormKind : uint8_t {
  Rms,       ///< RMSNorm
  Layer,     ///< LayerNorm with factors alone
  LayerBias, ///< LayerNorm
};

/// What a layer makes of x, by its attention A, its feed-forward F and norms m, n, p and q.
enum class LayerForm : uint8_t {
  Inputs,   ///< y = x + A(m x), y + F(n y)
  Results,  ///< y = x + m A(x), y + n F(y)
  Both,     ///< y = x + n A(m x), y + q F(p y)
  Shared,   ///< x + A(m x) + F(m x)
  Parallel, ///< x + A(m x) + F(n x)
};

enum class Activation : uint8_t {
  Silu,
  Relu2, ///< of an input alone: x^2 where x > 0, else 0
  Gelu,  ///< x / 2 * (1 + erf(x / sqrt(2)))
  /// Of an input alone, with four numbers of each layer's own (arXiv 2411.13010): p * x^2 + beta *
  /// x where x > 0, else (e^min(x, eps) - 1 - x) * n + beta * x.
  Xielu,
  GeluTanh, ///< x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
  /// Of a pair: x / (1 + e^(-1.702 x)) * (1 + up), for x = gate up to activationLimit and up within
  /// it on both sides.
  ClampedSwiglu,
};

/// How a token's experts are chosen and weighted, as llm.route describes it.
struct Router {
  bool sigmoid = false;
  bool normalized = true;                        ///< the weights of a token's experts sum to 1
  uint64_t groups = 1, keptGroups = 1, best = 1; ///< best: experts whose sum ranks a group
  double epsilon = 0;                            ///< that the sum of the weights is increased by
  double scale = 1;                              ///< of the weights
  /// The tensor that is added to the scores for the choice alone, behind the module's name; empty:
  /// none.
  std::string_view bias = {};
  bool biasIsRow = false;    ///< it is stored as [1, experts]
  bool scalesInputs = false; ///< an expert's input is multiplied by its weight, and not its result
};

/// How the matrices of experts are stored.
enum class ExpertStorage : uint8_t {
  Apart, ///< each is a tensor
  Turns, ///< all are one tensor [experts, inputs, outputs], with gate and up in turn
  Halves ///< all are one tensor of this or of [experts, outputs, inputs], with gate before up
};

/// Feed-forward parts of which each token goes through some.
struct Experts {
  uint64_t count = 0;
  uint64_t perToken = 0;  ///< of them; at most `count`
  uint64_t innerSize = 0; ///< of each
  Router routing = {};
  uint64_t sharedSize = 0;  ///< of one more that all tokens go through; 0: none
  bool sharedGated = false; ///< it stands behind a gate
  bool biases = false;      ///< on the router and on what experts compute
  ExpertStorage storage = ExpertStorage::Apart;
  /// Names of the module, of what chooses experts, of the three matrices of an expert, and of the
  /// one that all tokens go through.
  std::string_view module = "mlp", router = "gate", gate = "gate_proj", up = "up_proj",
                   down = "down_proj", shared = "shared_experts";

  static constexpr uint64_t most = 1u << 11;
};

/// By what queries grow with their position p: 1 + by * ln(1 + floor((p + shift) / each)).
struct QueryGrowth {
  double by = 0; ///< 0: they do not
  uint64_t each = 1, shift = 0;
  bool onlyUnrotated = false; ///< and only in layers that do not rotate
};

/// What every model of a family is, whatever file states the rest.
struct FamilyFacts {
  QueryKeyNorm queryKeyNorm = QueryKeyNorm::None;
  LayerForm layerForm = LayerForm::Inputs;
  NormKind norm = NormKind::Rms; ///< of all norms; those of q and k have no bias
  bool normsLessOne = false;     ///< norms multiply by 1 + what is stored
  Activation activation = Activation::Silu;
  double activationLimit = 0;
  bool attentionBias = false;    ///< on the q, k and v projections
  bool attentionSinks = false;   ///< each head has a score that takes weight and adds nothing
  bool fusedAttention = false;   ///< q, k and v are one matrix
  bool fusedByHeads = false;     ///< with q, k and v of each head in turn, and not of all heads
  bool inputsFirst = false;      ///< matrices of layers are stored as [inputs, outputs]
  bool positionTable = false;    ///< embeddings of positions are added to those of tokens
  bool fusedFeedForward = false; ///< gate and up are one matrix
  bool isGated = true; ///< the feed-forward is down(act(gate x) * up x), and not down(act(up x))
  /// Rows of q and k, biases too, are stored by rotary pairs: rows 2i and 2i+1 of a head rotate
  /// together, and not rows i and i + headDim/2, as the model is defined here.
  bool rotaryPairRows = false;
  bool onlySlidingRotates = false; ///< where there is a window, layers without it do not rotate
  bool normsRotated = false;       ///< q and k are normed after they rotate, and not before
  uint64_t fullEvery = 0;          ///< where there is a window: each so many-th layer has none
  bool windowIsChunk = false;      ///< windows do not slide, but follow each other
  bool onlySlidingSinks = false;   ///< layers without the window have no attention sinks
  std::optional<Experts> experts = {};
  ModuleNames names = {};
};

struct ModelConfig : FamilyFacts {
  explicit ModelConfig(Json raw, const FamilyFacts &facts = {})
      : FamilyFacts(facts), raw(std::move(raw)) {}

  std::string architecture; ///< "LlamaForCausalLM"
  uint64_t hiddenSize = 0;
  uint64_t intermediateSize = 0;
  uint64_t layers = 0;
  uint64_t draftLayers = 0; ///< GGUF: that follow, and only predict more tokens than the next one
  uint64_t heads = 0;       ///< query heads
  uint64_t kvHeads = 0;     ///< divides heads
  uint64_t slidingKvHeads = 0; ///< likewise, of the layers that slide; 0: as many as others
  uint64_t valueDim = 0;       ///< columns of a head of v, at most headDim; 0: as many
  uint64_t rotaryColumns = 0;  ///< of a head that rotate, where a key says so; 0: none does
  uint64_t headDim = 0;        ///< even; heads * headDim may differ from hiddenSize
  uint64_t vocabSize = 0;      ///< rows of the embedding; may exceed the tokenizer's
  uint64_t maxPositions = 0;
  double normEpsilon = 0;
  Rope rope;
  double embeddingMultiplier = 1; ///< of embedded tokens
  double residualMultiplier = 1;  ///< of what attention and feed-forward add to the residual
  double attentionMultiplier = 0; ///< of q . k; 0: 1 / sqrt(headDim)
  double valueMultiplier = 1;     ///< of v
  QueryGrowth queryGrowth;
  double logitsMultiplier = 1, logitsDivisor = 1;
  bool tiedEmbeddings = false;    ///< one matrix is both embedding and output head
  bool outputBias = false;        ///< on the o projection
  bool mlpBias = false;           ///< on the gate, up and down projections
  std::vector<bool> sparseLayers; ///< of each layer whether it has experts; empty: all have
  uint64_t slidingWindow = 0; ///< positions that a token attends to, with its own; 0: all before it
  std::vector<bool> slidingLayers;  ///< of each layer whether it has the window; empty: `fullEvery`
  std::vector<bool> rotatingLayers; ///< of each layer whether it rotates; empty: all that may
  std::optional<Rope> slidingRope;  ///< of the layers that slide, where it is not `rope`
  double attentionSoftcap = 0;      ///< c of c * tanh(score / c); 0: none
  double logitsSoftcap = 0;         ///< likewise of logits
  std::optional<uint64_t> bosId;
  std::vector<uint64_t> eosIds; ///< GenerationConfig's list, where given, comes before this one
  std::vector<uint64_t> placeholderIds; ///< of tokens that stand for images or sound
  /// What GGUF's metadata states and others have as tensors of one number, by these tensors' names.
  std::map<std::string, double, std::less<>> storedNumbers;
  std::optional<DType> declaredType; ///< for reports only: files are known to state it wrongly
  std::vector<Deviation> deviations; ///< from what the file states
  Json raw;                          ///< the whole file, for what only one family knows
  const struct Wrapper *wrapper = nullptr; ///< of which this is the text part; null: of none

  /// Whether layer `layer` attends to the last slidingWindow positions only.
  bool slides(uint64_t layer) const {
    if (!slidingLayers.empty())
      return slidingWindow != 0 && slidingLayers[layer];
    return slidingWindow != 0 && (fullEvery == 0 || (layer + 1) % fullEvery != 0);
  }

  /// KV heads of layer `layer`.
  uint64_t kvHeadsOf(uint64_t layer) const {
    return slidingKvHeads != 0 && slides(layer) ? slidingKvHeads : kvHeads;
  }

  /// Whether layer `layer` rotates q and k.
  bool rotates(uint64_t layer) const {
    if (positionTable)
      return false;
    if (!rotatingLayers.empty())
      return rotatingLayers[layer];
    return !onlySlidingRotates || slidingWindow == 0 || slides(layer);
  }

  /// Whether layer `layer` has experts.
  bool isSparse(uint64_t layer) const {
    return experts && (sparseLayers.empty() || sparseLayers[layer]);
  }

  /// Pairs of columns of a head that rotate; the others stay as they are.
  uint64_t rotaryPairs() const {
    return static_cast<uint64_t>(static_cast<double>(headDim) * rope.rotated) / 2;
  }

  // Far above any known model, and low enough that no product of two of them overflows.
  static constexpr uint64_t mostLayers = 1u << 14;
  static constexpr uint64_t widest = 1u << 24;
  static constexpr uint64_t mostHeads = 1u << 16;
  static constexpr uint64_t widestHead = 1u << 14;
  static constexpr uint64_t largestVocabulary = uint64_t{1} << 28;
};

} // namespace ingot::checkpoint

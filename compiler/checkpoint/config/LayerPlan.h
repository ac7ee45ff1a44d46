// SPDX-License-Identifier: Apache-2.0
// LayerPlan: what one layer of a model computes: how it mixes tokens, how it mixes channels, and
// where its norms stand.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ingot::checkpoint {

//===- Mixers of tokens ---------------------------------------------------------------------===//

/// How q and k are normed.
enum class QueryKeyNorm : uint8_t {
  None,
  Heads,       ///< every head by itself, all with the same headDim factors
  HeadsApart,  ///< every head by itself, each with its own factors
  HeadsListed, ///< likewise, stored in a tensor for each head
  Rows,        ///< all heads of a token together
  Plain,       ///< every head by itself, without factors
};

/// By what queries are multiplied at position p: 1 + scale * ln(1 + floor((p + shift) /
/// floorScale)).
struct AttentionTemperature {
  double scale = 0; ///< attn_scale; 0: they are not
  uint64_t floorScale = 1, shift = 0;
};

/// Grouped-query attention.
struct Attention {
  uint64_t heads = 0;         ///< of queries
  uint64_t kvHeads = 0;       ///< divides heads
  uint64_t headDim = 0;       ///< even; heads * headDim may differ from the width of the model
  uint64_t valueDim = 0;      ///< columns of a head of v, at most headDim; 0: as many
  uint64_t slidingWindow = 0; ///< positions that a token attends to, with its own; 0: all before it
  bool windowIsChunk = false; ///< windows do not slide, but follow each other
  std::optional<uint32_t> rope = 0; ///< which of ModelConfig::ropes; nothing: NoPE
  /// Rows of q and k, biases too, are stored by rotary pairs: rows 2i and 2i+1 of a head rotate
  /// together, and not rows i and i + headDim/2, as the model is defined here.
  bool ropeInterleaved = false;
  QueryKeyNorm queryKeyNorm = QueryKeyNorm::None;
  bool normsRotated = false; ///< q and k are normed after they rotate, and not before
  bool valueIsKey = false;   ///< v is what k is before its norm and rotation
  bool valueNorm = false;    ///< every head of v is normed by itself, without factors
  /// The earlier layer whose keys and values are read, in place of own ones.
  std::optional<uint64_t> cacheLayer = {};
  AttentionTemperature temperature = {};
  double scaling = 0;        ///< of q . k; 0: 1 / sqrt(headDim)
  double valueScale = 1;     ///< of v
  double softcap = 0;        ///< c of c * tanh(score / c); 0: none
  bool sinks = false;        ///< each head has a score that takes weight and adds nothing
  bool bias = false;         ///< on the q, k and v projections
  bool outputBias = false;   ///< on the o projection
  bool fusedQkv = false;     ///< q, k and v are one matrix
  bool fusedByHeads = false; ///< with q, k and v of each head in turn, and not of all heads
  /// What o projects is multiplied by the sigmoid of a gate, whose rows are behind each head's in
  /// the q projection.
  bool outputGate = false;
};

/// What chooses the positions that a token attends to (DeepSeek-V3.2), as llm.select_positions has
/// it: heads of q and one of k, whose first columns rotate.
struct PositionIndex {
  uint64_t heads = 0, dim = 0;
  uint64_t most = 0;            ///< positions of a token; 0: there is no index, and all count
  bool ropeInterleaved = false; ///< columns 2i and 2i+1 rotate together
  bool isShared = false;        ///< the choice is the last one of a layer before
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values are projections of
/// one latent of a token, and so kept as that. Of q and k the last columns of a head rotate; those
/// of k are the same in all heads.
struct LatentAttention {
  uint64_t heads = 0;
  uint64_t queryRank = 0;               ///< of the latent that q is projected from; 0: from x
  uint64_t latentRank = 0;              ///< of the one that k and v are
  uint64_t plainDim = 0, rotaryDim = 0; ///< columns of a head of q and k that rotate not, and do
  uint64_t valueDim = 0;                ///< of one of v
  bool ropeInterleaved = true;          ///< columns 2i and 2i+1 rotate together
  bool bias = false;                    ///< on the projections of x, and on o
  AttentionTemperature temperature = {};
  double scaling = 0; ///< of q . k
  PositionIndex index = {};
  double latentEpsilon = 1e-6; ///< of the norms of latents

  /// Columns of a head of q.
  uint64_t queryDim() const { return plainDim + rotaryDim; }
};

/// A short convolution between gates (LFM2): [B|C|u] = in_proj x; out_proj(C * conv(B * u)).
struct ShortConv {
  uint64_t taps = 2; ///< inputs that a channel's convolution sees: 2 or more
  bool bias = false; ///< on the convolution and both projections

  static constexpr uint64_t mostTaps = 64;
};

/// Linear attention with a matrix as state of each head (Qwen3-Next), whose rule is
/// llm.gated_delta_rule's: out_proj(norm(rule(silu(conv([q|k|v])), a, b)) * silu(z)).
struct GatedDeltaNet {
  uint64_t keyHeads = 0, valueHeads = 0; ///< the first divide the second
  uint64_t keyDim = 0, valueDim = 0;     ///< columns of a head of q and k, and of one of v and z
  uint64_t taps = 4;                     ///< of the convolution
  bool fusedByHeads = false; ///< [q|k|v|z] of each key head in turn are one matrix, not two
  bool gatesByHeads = false; ///< likewise [b|a]
  bool tiledHeads = false;   ///< stored are the first value heads of all key heads, then the second
  bool expDecay = false;     ///< -e^A is stored for each A of A_log

  /// Columns of q and of k, and of v and of z.
  uint64_t keyColumns() const { return keyHeads * keyDim; }
  uint64_t valueColumns() const { return valueHeads * valueDim; }
};

/// How a state space's y is normed, with a factor for each column, by groups.
enum class StateSpaceNorm : uint8_t {
  GateFirst, ///< n(y * silu(z))
  NormFirst, ///< n(y) * silu(z)
  None,      ///< y * silu(z)
};

/// A selective state space (Mamba-2), llm.state_space's: [z|xBC|dt] = in_proj x; y =
/// space(silu(conv(xBC)), dt); out_proj of y, gated by z and normed.
struct StateSpace {
  uint64_t heads = 0, headDim = 0;   ///< of x, and so of y and z
  uint64_t groups = 1, stateDim = 0; ///< of B and C; the first divide the heads
  uint64_t taps = 4;                 ///< of the convolution
  std::string_view module = "mamba"; ///< its name
  bool convBias = true;
  bool bias = false, outputBias = false; ///< on the projections
  StateSpaceNorm norm = StateSpaceNorm::GateFirst;
  bool expDecay = false;  ///< -e^A is stored for each A of A_log
  double inputFactor = 1; ///< that x is multiplied by
  /// That columns of z, x, B, C and dt are multiplied by, behind in_proj.
  std::array<double, 5> factors = {1, 1, 1, 1, 1};
  /// What steps are kept within.
  double least = 0, most = std::numeric_limits<float>::max();

  static constexpr uint64_t widestState = 1024;

  /// Columns of x, y and z, and of [x|B|C].
  uint64_t columns() const { return heads * headDim; }
  uint64_t mixedColumns() const { return columns() + 2 * groups * stateDim; }
};

/// Both of x: attentionOutput * A(attentionInput * x) + spaceOutput * S(x).
struct AttentionAndStateSpace {
  Attention attention = {};
  StateSpace space = {};
  double attentionInput = 1, attentionOutput = 1, spaceOutput = 1;
};

/// The last: a layer has none.
using TokenMixer = std::variant<Attention, LatentAttention, ShortConv, GatedDeltaNet, StateSpace,
                                AttentionAndStateSpace, std::monostate>;

//===- Mixers of channels -------------------------------------------------------------------===//

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

/// down(act(gate x) * up x), or without a gate down(act(up x)).
struct Mlp {
  uint64_t innerSize = 0;
  Activation activation = Activation::Silu;
  double activationLimit = 0;
  bool isGated = true;
  /// Not 0: of g = gate x only max(g - mean(g) - c * deviation(g), 0) is taken, for the c that so
  /// large a share of normal numbers is below.
  double gateSparsity = 0;
  bool fusedGateUp = false;              ///< gate and up are one matrix
  bool bias = false;                     ///< on the projections
  double gateFactor = 1, downFactor = 1; ///< that gate x and the result are multiplied by
};

/// How a token's experts are chosen and weighted, as llm.route describes it.
struct Router {
  bool sigmoid = false;
  bool normTopkProb = true; ///< the weights of a token's experts sum to 1
  /// Of so many groups the topkGroup ones are kept whose groupTopk best experts have the largest
  /// sum.
  uint64_t groups = 1, topkGroup = 1, groupTopk = 1;
  double epsilon = 0; ///< that the sum of the weights is increased by
  double scale = 1;   ///< of the weights
  /// The tensor that is added to the scores for the choice alone, behind the module's name; empty:
  /// none.
  std::string_view bias = {};
  bool biasIsRow = false;    ///< it is stored as [1, experts]
  bool scalesInputs = false; ///< an expert's input is multiplied by its weight, and not its result
  /// The tensor that its inputs, normed and divided by the root of their number, are multiplied by,
  /// named likewise; empty: they are taken as they are.
  std::string_view inputScale = {};
  /// The tensor of a number for each expert that its weights are multiplied by in the end.
  std::string_view expertScale = {};
};

/// How the matrices of experts are stored.
enum class ExpertStorage : uint8_t {
  Apart, ///< each is a tensor
  Turns, ///< all are one tensor [experts, inputs, outputs], with gate and up in turn
  Halves ///< all are one tensor of this or of [experts, outputs, inputs], with gate before up
};

/// MLPs of which each token goes through some.
struct Experts {
  uint64_t count = 0;
  uint64_t perToken = 0;  ///< of them; at most `count`
  uint64_t innerSize = 0; ///< of each
  Router routing = {};
  uint64_t sharedSize = 0;  ///< of one more that all tokens go through; 0: none
  bool sharedGated = false; ///< it stands behind a gate
  bool biases = false;      ///< on the router and on what experts compute
  /// Columns that their inputs, but not the router's and those of `sharedSize`, are projected to
  /// before them, and their sum from; 0: they are not.
  uint64_t latentSize = 0;
  ExpertStorage storage = ExpertStorage::Apart;
  /// Names of what holds all experts' matrices, behind the module's, and of stacks of them in it.
  std::string_view stacks = "experts", stackedGateUp = "gate_up_proj", stackedDown = "down_proj";
  /// Names of the module, which is the layer itself where it is empty, of what chooses experts, of
  /// the three matrices of an expert, and of the one that all tokens go through.
  std::string_view module = "mlp", router = "gate", gate = "gate_proj", up = "up_proj",
                   down = "down_proj", shared = "shared_experts";
  Mlp form = {}; ///< what each computes, but for its size

  static constexpr uint64_t most = 1u << 11;

  /// What names of the module's parts begin with, behind the layer's prefix ("mlp.").
  std::string path() const { return module.empty() ? "" : std::string(module) + "."; }
};

/// Both beside each other (Gemma 4), each with a norm of its own behind it: of y, and of its norm x
/// as the layer has it, q(F(x)) + r(E(s(y))), where experts are chosen by y.
struct MlpAndExperts {
  Mlp mlp = {};
  Experts experts = {};
};

/// Likewise.
using ChannelMixer = std::variant<Mlp, Experts, MlpAndExperts, std::monostate>;

//===- Layers -------------------------------------------------------------------------------===//

/// What a layer makes of x, by its token mixer A, its channel mixer F and norms m, n, p and q.
enum class NormPlacement : uint8_t {
  Pre,            ///< y = x + A(m x), y + F(n y); without the part that the layer has none of
  Post,           ///< y = x + m A(x), y + n F(y)
  Sandwich,       ///< y = x + n A(m x), y + q F(p y)
  ParallelShared, ///< x + A(m x) + F(m x)
  Parallel,       ///< x + A(m x) + F(n x)
};

struct LayerPlan {
  TokenMixer tokenMixer;
  ChannelMixer channelMixer;
  NormPlacement norms = NormPlacement::Pre;

  /// Null where the layer's mixers are others.
  const Attention *attention() const {
    const auto *both = std::get_if<AttentionAndStateSpace>(&tokenMixer);
    return both ? &both->attention : std::get_if<Attention>(&tokenMixer);
  }
  const Mlp *mlp() const {
    const auto *both = std::get_if<MlpAndExperts>(&channelMixer);
    return both ? &both->mlp : std::get_if<Mlp>(&channelMixer);
  }
  const Experts *experts() const {
    const auto *both = std::get_if<MlpAndExperts>(&channelMixer);
    return both ? &both->experts : std::get_if<Experts>(&channelMixer);
  }
};

} // namespace ingot::checkpoint

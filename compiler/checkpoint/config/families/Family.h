// SPDX-License-Identifier: Apache-2.0
// Family: what is known of a model family beside the files of a checkpoint. Each family has a file
// in this folder and a line in Families.h.
#pragma once

#include "compiler/checkpoint/config/ConfigDraft.h"
#include "compiler/checkpoint/config/families/GgufFields.h"
#include "compiler/checkpoint/files/JsonFields.h"

#include <span>

namespace ingot::checkpoint {

/// What a key sets: of the model, or of all its layers.
template <class T>
using Field = std::variant<T ModelConfig::*, T LayerPattern::*, T Attention::*, T Mlp::*>;

/// `field` of `config`, before its layers are planned.
template <class T> T &valueOf(const Field<T> &field, ConfigDraft &config) {
  struct {
    ConfigDraft &config;
    T &operator()(T ModelConfig::*field) const { return config.*field; }
    T &operator()(T LayerPattern::*field) const { return config.*field; }
    T &operator()(T Attention::*field) const { return config.attention.*field; }
    T &operator()(T Mlp::*field) const { return config.mlp.*field; }
  } visitor{config};
  return std::visit(visitor, field);
}

/// A key that sets a field, or two.
struct FlagKey {
  std::string_view key;
  Field<bool> field;
  bool absent = false; ///< what an absent key means
  std::optional<Field<bool>> second = {};
};
struct CountKey {
  std::string_view key;
  Field<uint64_t> field;
  uint64_t absent, least, most;
  bool nullIsNone = false; ///< a key that is null means 0, not what an absent one does
};
struct NumberKey {
  std::string_view key;
  Field<double> field;
  double absent, least, most;
  bool nullIsNone = false;
};

/// A key that files of a family have for one that others have.
struct KeyAlias {
  std::string_view own, known;
};

/// An activation that files of a family may name beside the usual one.
struct ActivationName {
  std::string_view name;
  Activation activation;
};

/// Keys that one family has and others do not, or not so.
struct OwnKeys {
  std::span<const FlagKey> flags = {};
  std::span<const CountKey> counts = {};
  std::span<const NumberKey> numbers = {};
};

/// A family's config.json, as transformers' configuration class has it. What keys mean that are
/// absent comes first.
struct ConfigJson {
  uint64_t positions = 2048; ///< max_position_embeddings
  uint64_t kvHeads = 0;      ///< 0: as many as there are query heads
  std::optional<uint64_t> bos = {}, eos = {};
  uint64_t headDim = 0;               ///< 0: the width divided by the query heads
  uint64_t heads = 0, vocabulary = 0; ///< 0: they must be given
  std::string_view epsilonKey = "rms_norm_eps";
  double epsilon = 1e-6;
  RopeDefaults rope = {};
  bool tied = false;            ///< tie_word_embeddings
  uint64_t expertsPerToken = 0; ///< num_experts_per_tok
  std::string_view activationKey = "hidden_act";
  std::string_view activation = "silu"; ///< also the only one, but for `activations`
  std::span<const ActivationName> activations = {};
  std::span<const KeyAlias> aliases = {};
  std::string_view innerKey = "intermediate_size"; ///< the inner size's
  uint64_t innerPerHidden = 0; ///< inner size over hidden_size; 0: it must be given
  bool innerListed = false;    ///< it may be a list of each layer's
  std::string_view expertCount = "num_experts"; ///< the key; others call it num_local_experts
  bool expertsMayLack = false;                  ///< there may be 0 of them
  /// A list of the types of layers, which are as many where num_hidden_layers is absent.
  std::string_view layerList = {};
  std::string_view expertsOfToken = "num_experts_per_tok"; ///< the key
  std::optional<RopeType> scaledRope = {}; ///< the only type beside Default; nothing: any
  OwnKeys keys = {};
  std::span<const std::string_view> meaningless = {}; ///< keys that repeat others or say nothing
  std::span<const std::string_view> refused = {};     ///< keys that must be off
  void (*readOwn)(JsonFields &fields, ConfigDraft &config) = nullptr; ///< what rows cannot say
  /// Likewise, of what depends on layer_types.
  void (*readLayers)(JsonFields &fields, ConfigDraft &config) = nullptr;
};

struct Family;
struct VisionFamily;

/// The text part of a model of several, by what its configuration calls `model_type`.
struct TextPart {
  std::string_view type;
  const Family *family;
};

/// A model of several parts, such as text and vision, of which the text is read. Its config.json
/// has that part's keys under `text_config`, or among the others.
struct Wrapper {
  std::span<const TextPart> texts = {}; ///< the first where none is named; empty: no wrapper
  std::span<const std::string_view> skipped = {};      ///< how tensors of other parts begin
  bool tied = false;                                   ///< what an absent tie_word_embeddings means
  std::span<const std::string_view> placeholders = {}; ///< keys of ids that prompts may not have
  const VisionFamily *vision = nullptr;                ///< null: its vision part is not read
};

/// A family's metadata in GGUF, as llama.cpp's `load_hparams` and graphs take it. Keys are behind
/// "ARCHITECTURE.".
struct GgufMetadata {
  std::string_view name = {};      ///< general.architecture; empty: not read from such files
  std::string_view otherName = {}; ///< of the same files where they have experts; empty: none
  bool ropeInterleaved = false;    ///< the converter orders rows of q and k by rotary pairs
  std::string_view ropeType = {};  ///< of rope.scaling.type, beside none and linear
  bool ropeIsSwitched = false;     ///< rope.scaling.finetuned says whether layers rotate
  OwnKeys keys = {};
  const Family *withExperts = nullptr; ///< the family of a model that has experts
  /// Reads the KV heads of each layer and the width of its MLP, where these may differ.
  void (*readLayers)(GgufFields &fields, ConfigDraft &config) = nullptr;
  void (*readOwn)(GgufFields &fields, ConfigDraft &config) = nullptr;
  const Family *writtenAs = nullptr; ///< whose files models of this family become; null: none
};

struct Family {
  std::string_view architecture; ///< as config.json names it
  ModelForm form = {};
  LayerPattern layers = {};
  /// Where layers differ in more than lists and windows say: changes the plan of each.
  void (*vary)(const ConfigDraft &config, LayerPlan &layer) = nullptr;
  bool rotatesParts = false; ///< heads may rotate in part
  ConfigJson json = {};
  GgufMetadata gguf = {};
  Wrapper wrapper = {};
};

/// Sets the fields of `config` that `keys` are for. `Fields`: JsonFields or GgufFields.
template <class Fields> void readKeys(Fields &fields, const OwnKeys &keys, ConfigDraft &config) {
  auto absent = [&](const auto &key) {
    return key.nullIsNone && fields.isNull(key.key) ? 0 : key.absent;
  };
  for (const FlagKey &key : keys.flags) {
    const bool value = fields.booleanOr(key.key, key.absent);
    valueOf(key.field, config) = value;
    if (key.second)
      valueOf(*key.second, config) = value;
  }
  for (const CountKey &key : keys.counts)
    valueOf(key.field, config) =
        fields.unsignedIntegerOr(key.key, absent(key), key.least, key.most);
  for (const NumberKey &key : keys.numbers)
    valueOf(key.field, config) = fields.numberOr(key.key, absent(key), key.least, key.most);
}

/// Numbers that multiply or cap are between these.
inline constexpr double kLeastFactor = 1e-9, kMostFactor = 1e9;

constexpr NumberKey factorKey(std::string_view key, Field<double> field, double absent) {
  return {key, field, absent, kLeastFactor, kMostFactor};
}

/// A bias on all four projections of attention.
inline constexpr FlagKey kAttentionBias = {"attention_bias", &Attention::bias, false,
                                           &Attention::outputBias};

/// Null is no window.
constexpr CountKey slidingWindow(uint64_t absent) {
  return {"sliding_window", &Attention::slidingWindow, absent, 1, Rope::mostPositions, true};
}

} // namespace ingot::checkpoint

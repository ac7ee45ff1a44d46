// SPDX-License-Identifier: Apache-2.0
// The keys that all families have, those of a family's own row, and what to compare.
#include "compiler/checkpoint/gguf/GgufConfigKeys.h"

#include "compiler/checkpoint/config/families/Families.h"

#include <cmath>

namespace ingot::checkpoint {

namespace {

/// Numbers of files have 24 bits.
bool isNear(double one, double other, double tolerance = 1e-6) {
  return std::abs(one - other) <= tolerance * std::max(std::abs(one), std::abs(other));
}

/// The largest value that a field of layers has: that of a window is 0 in layers without.
template <class T, class Part>
T largest(const ModelConfig &config, const Part *(LayerPlan::*part)() const, T Part::*field) {
  T value = {};
  for (const LayerPlan &layer : config.layers)
    if (const Part *own = (layer.*part)())
      value = std::max(value, own->*field);
  return value;
}

/// What of a model a key of its files says.
template <class T> T valueIn(const ModelConfig &config, const Field<T> &field) {
  struct {
    const ModelConfig &config;
    T operator()(T ModelConfig::*field) const { return config.*field; }
    T operator()(T LayerPattern::*) const { return {}; } // layers have it no more
    T operator()(T Attention::*field) const {
      return largest(config, &LayerPlan::attention, field);
    }
    T operator()(T Mlp::*field) const { return largest(config, &LayerPlan::mlp, field); }
  } visitor{config};
  return std::visit(visitor, field);
}

void addOwnKeys(const OwnKeys &own, const std::string &prefix, const ModelConfig &config,
                nlohmann::json &keys) {
  auto add = [&](const auto &rows) {
    for (const auto &row : rows)
      if (const auto value = valueIn(config, row.field); value != row.absent)
        keys[prefix + std::string(row.key)] = value;
  };
  add(own.flags);
  add(own.counts);
  add(own.numbers);
}

/// The rope that a file has of this one: what differs from pair to pair is in its tensors.
Rope asStored(Rope rope) {
  if (rope.type == RopeType::Llama3)
    rope = {.theta = rope.theta, .rotated = rope.rotated};
  rope.divisors.clear();
  return rope;
}

bool areNear(const Rope &one, const Rope &other) {
  return one.type == other.type && isNear(one.theta, other.theta) &&
         isNear(one.rotated, other.rotated) && isNear(one.factor, other.factor) &&
         isNear(one.attentionFactor, other.attentionFactor) && isNear(one.alpha, other.alpha);
}

using Same = std::pair<bool, std::string_view>;

std::string firstDifference(std::span<const Same> same,
                            std::span<const std::pair<double, double>> numbers) {
  for (const auto &[isSame, name] : same)
    if (!isSame)
      return std::string(name);
  for (const auto &[one, other] : numbers)
    if (!isNear(one, other))
      return message("the number ", one);
  return "";
}

std::string differenceOfAttention(const Attention &one, const Attention &other) {
  const Same same[] = {
      {one.heads == other.heads, "its heads"},
      {one.kvHeads == other.kvHeads, "its KV heads"},
      {one.headDim == other.headDim, "the size of its heads"},
      {one.queryKeyNorm == other.queryKeyNorm, "its norms of queries and keys"},
      {one.bias == other.bias && one.outputBias == other.outputBias, "its biases"},
      {one.slidingWindow == other.slidingWindow, "which layers have a sliding window"},
      {one.rope.has_value() == other.rope.has_value(), "which layers rotate"}};
  const std::pair<double, double> numbers[] = {{one.scaling, other.scaling},
                                               {one.valueScale, other.valueScale},
                                               {one.temperature.scale, other.temperature.scale},
                                               {one.softcap, other.softcap}};
  return firstDifference(same, numbers);
}

std::string differenceOfLayers(const ModelConfig &config, const ModelConfig &back) {
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const LayerPlan &one = config.layers[i], &other = back.layers[i];
    const Attention &ours = *one.attention(), &theirs = *other.attention();
    if (std::string what = differenceOfAttention(ours, theirs); !what.empty())
      return what;
    if (ours.rope &&
        !areNear(asStored(config.ropes[*ours.rope]), asStored(back.ropes[*theirs.rope])))
      return "its rotary positions";
    if (one.norms != other.norms)
      return "its norms";
    const Mlp *mlp = one.mlp(), *otherMlp = other.mlp();
    if (!mlp || !otherMlp)
      return "its experts";
    const Same same[] = {{mlp->innerSize == otherMlp->innerSize, "the width of its feed-forward"},
                         {mlp->activation == otherMlp->activation, "its activation"},
                         {mlp->bias == otherMlp->bias, "its biases"}};
    if (std::string what = firstDifference(same, {}); !what.empty())
      return what;
  }
  return "";
}

} // namespace

Expected<const Family *> ggufFamilyOf(const ModelConfig &config, const std::string &where) {
  std::string written;
  for (const Family *family : families::all) {
    if (!family->gguf.writtenAs)
      continue;
    if (family->architecture == config.architecture)
      return family->gguf.writtenAs;
    written += message(written.empty() ? "" : ", ", family->architecture);
  }
  return Error{
      "INGOT-E2155",
      message("models of ", inQuotes(config.architecture), " are not written as GGUF files"), where,
      message("supported are ", written, "; or choose a recipe that is no mix")};
}

nlohmann::json ggufConfigKeys(const ModelConfig &config, const Family &family) {
  const std::string prefix = message(family.gguf.name, ".");
  nlohmann::json keys = {{"general.architecture", family.gguf.name}};
  const LayerPlan &first = config.layers.front();
  const Attention &attention = *first.attention();
  const Rope &rope = config.ropes.front();
  const std::pair<std::string_view, uint64_t> counts[] = {
      {"block_count", config.layers.size()},
      {"context_length", config.maxPositions},
      {"embedding_length", config.hiddenSize},
      {"feed_forward_length", first.mlp()->innerSize},
      {"attention.head_count", attention.heads},
      {"attention.head_count_kv", attention.kvHeads},
      {"attention.key_length", attention.headDim},
      {"attention.value_length", attention.headDim},
      {"rope.dimension_count", 2 * rope.pairs(attention.headDim)},
      {"vocab_size", config.vocabSize}};
  for (const auto &[key, value] : counts)
    keys[message(prefix, key)] = value;
  keys[prefix + "attention.layer_norm_rms_epsilon"] = config.normEpsilon;
  keys[prefix + "rope.freq_base"] = rope.theta;
  if (rope.type == RopeType::Linear) {
    keys[prefix + "rope.scaling.type"] = "linear";
    keys[prefix + "rope.scaling.factor"] = rope.factor;
  }
  if (config.ropes.size() > 1)
    keys[prefix + "rope.freq_base_swa"] = config.ropes[1].theta;
  addOwnKeys(family.gguf.keys, prefix, config, keys);
  return keys;
}

std::string differenceOf(const ModelConfig &config, const ModelConfig &back) {
  const Same same[] = {
      {config.layers.size() == back.layers.size(), "its layers"},
      {config.hiddenSize == back.hiddenSize, "its width"},
      {config.vocabSize == back.vocabSize, "its vocabulary"},
      {config.maxPositions == back.maxPositions, "its positions"},
      {config.norm == back.norm, "its norms"},
      {config.tiedEmbeddings == back.tiedEmbeddings, "that its head is the embedding"}};
  const std::pair<double, double> numbers[] = {{config.normEpsilon, back.normEpsilon},
                                               {config.residualMultiplier, back.residualMultiplier},
                                               {config.logitsMultiplier, back.logitsMultiplier},
                                               {config.logitsDivisor, back.logitsDivisor},
                                               {config.logitsSoftcap, back.logitsSoftcap}};
  if (std::string what = firstDifference(same, numbers); !what.empty())
    return what;
  // Some models round it to 8 bits, which no key says.
  if (!isNear(config.embeddingMultiplier, back.embeddingMultiplier, 0x1p-8))
    return "what it multiplies embeddings by";
  return differenceOfLayers(config, back);
}

} // namespace ingot::checkpoint

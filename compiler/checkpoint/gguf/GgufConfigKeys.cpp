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

void addOwnKeys(const OwnKeys &own, const std::string &prefix, const ModelConfig &config,
                nlohmann::json &keys) {
  auto add = [&](const auto &rows) {
    for (const auto &row : rows)
      if (config.*row.field != row.absent)
        keys[prefix + std::string(row.key)] = config.*row.field;
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

std::string differenceOfLayers(const ModelConfig &config, const ModelConfig &back) {
  for (uint64_t layer = 0; layer < config.layers; ++layer) {
    if (config.slides(layer) != back.slides(layer))
      return "which layers have a sliding window";
    if (config.rotates(layer) != back.rotates(layer))
      return "which layers rotate";
    const Rope &one =
        config.slides(layer) && config.slidingRope ? *config.slidingRope : config.rope;
    const Rope &other = back.slides(layer) && back.slidingRope ? *back.slidingRope : back.rope;
    if (!areNear(asStored(one), asStored(other)))
      return "its rotary positions";
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
  const std::pair<std::string_view, uint64_t> counts[] = {
      {"block_count", config.layers},
      {"context_length", config.maxPositions},
      {"embedding_length", config.hiddenSize},
      {"feed_forward_length", config.intermediateSize},
      {"attention.head_count", config.heads},
      {"attention.head_count_kv", config.kvHeads},
      {"attention.key_length", config.headDim},
      {"attention.value_length", config.headDim},
      {"rope.dimension_count", 2 * config.rotaryPairs()},
      {"vocab_size", config.vocabSize}};
  for (const auto &[key, value] : counts)
    keys[message(prefix, key)] = value;
  keys[prefix + "attention.layer_norm_rms_epsilon"] = config.normEpsilon;
  keys[prefix + "rope.freq_base"] = config.rope.theta;
  if (config.rope.type == RopeType::Linear) {
    keys[prefix + "rope.scaling.type"] = "linear";
    keys[prefix + "rope.scaling.factor"] = config.rope.factor;
  }
  if (config.slidingRope)
    keys[prefix + "rope.freq_base_swa"] = config.slidingRope->theta;
  addOwnKeys(family.gguf.keys, prefix, config, keys);
  return keys;
}

std::string differenceOf(const ModelConfig &config, const ModelConfig &back) {
  const std::pair<bool, std::string_view> same[] = {
      {config.layers == back.layers, "its layers"},
      {config.hiddenSize == back.hiddenSize, "its width"},
      {config.intermediateSize == back.intermediateSize, "the width of its feed-forward"},
      {config.heads == back.heads, "its heads"},
      {config.kvHeads == back.kvHeads, "its KV heads"},
      {config.headDim == back.headDim, "the size of its heads"},
      {config.vocabSize == back.vocabSize, "its vocabulary"},
      {config.maxPositions == back.maxPositions, "its positions"},
      {config.queryKeyNorm == back.queryKeyNorm, "its norms of queries and keys"},
      {config.layerForm == back.layerForm, "its norms"},
      {config.norm == back.norm, "its norms"},
      {config.activation == back.activation, "its activation"},
      {config.attentionBias == back.attentionBias, "its biases"},
      {config.outputBias == back.outputBias, "its biases"},
      {config.mlpBias == back.mlpBias, "its biases"},
      {config.tiedEmbeddings == back.tiedEmbeddings, "that its head is the embedding"},
      {config.slidingWindow == back.slidingWindow, "its sliding window"}};
  for (const auto &[isSame, name] : same)
    if (!isSame)
      return std::string(name);
  const std::pair<double, double> numbers[] = {
      {config.normEpsilon, back.normEpsilon},
      {config.residualMultiplier, back.residualMultiplier},
      {config.attentionMultiplier, back.attentionMultiplier},
      {config.valueMultiplier, back.valueMultiplier},
      {config.queryGrowth.by, back.queryGrowth.by},
      {config.logitsMultiplier, back.logitsMultiplier},
      {config.logitsDivisor, back.logitsDivisor},
      {config.attentionSoftcap, back.attentionSoftcap},
      {config.logitsSoftcap, back.logitsSoftcap}};
  for (const auto &[one, other] : numbers)
    if (!isNear(one, other))
      return message("the number ", one);
  // Some models round it to 8 bits, which no key says.
  if (!isNear(config.embeddingMultiplier, back.embeddingMultiplier, 0x1p-8))
    return "what it multiplies embeddings by";
  return differenceOfLayers(config, back);
}

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// Reading the model's shape from GGUF metadata. A key of the architecture that nobody asks for and
// that is in no list below is refused, because it could change the numbers.
#include "compiler/checkpoint/gguf/GgufConfig.h"

#include "compiler/checkpoint/config/ForcedTokens.h"
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/Mamba1.h"
#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/files/NearestName.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

/// Keys behind "ARCHITECTURE." that change no number, or not always.
constexpr std::string_view harmlessKeys[] = {
    "rope.scaling.original_context_length", // of use to yarn only, as these two
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.finetuned",
    "rope.scaling.factor",
    "rope.scale_linear",
    "tensor_data_layout",
};

/// Keys that are accepted with this value alone: it says that the feature is not used.
constexpr struct {
  std::string_view key;
  double neutral;
} neutralKeys[] = {{"attention.sliding_window", 0},
                   {"expert_count", 0},
                   {"expert_used_count", 0},
                   {"attn_logit_softcapping", 0},
                   {"final_logit_softcapping", 0},
                   {"rope.scaling.attn_factor", 1},
                   {"rope.scaling.yarn_ext_factor", 1},
                   {"rope.scaling.yarn_attn_factor", 1}};

constexpr std::string_view tokensKey = "tokenizer.ggml.tokens";

/// Texts of tokens that end a turn or a text.
constexpr std::string_view endTexts[] = {
    "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|im_end|>",    "<|end|>",
    "<|return|>", "<|call|>",   "<|endoftext|>",   "<end_of_turn>", "<end_of_utterance>",
    "<EOT>",      "<turn|>",    "<|tool_response>"};

/// The metadata without the tokenizer's, which may take tens of megabytes.
Json withoutVocabulary(const GgufModel &model) {
  nlohmann::json kept = nlohmann::json::object();
  for (const auto &[key, value] : model.metadata.raw().items())
    if (!key.starts_with("tokenizer."))
      kept.emplace(key, value);
  return Json::of(std::move(kept), model.files.front().path().string());
}

class ConfigReader {
public:
  /// `named`: the family that general.architecture, which is `name`, names.
  ConfigReader(GgufModel &model, const Family &named, std::string_view name)
      : model(model), metadata(model.metadata),
        fields(metadata, model.metadata, name, model.tensors), gguf(named.gguf),
        family(hasExperts() ? *gguf.withExperts : named),
        config(withoutVocabulary(model), family.form, family.layers) {}

  Expected<ModelConfig> read() {
    config.architecture = family.architecture;
    config.attention.ropeInterleaved = gguf.ropeInterleaved;
    // Converters add the 1 to the norms' factors, and have a tensor for gate and one for up.
    config.normsLessOne = false;
    readSizes();
    readHeads();
    readRope();
    readFromTensors();
    readExperts();
    readKeys(fields, gguf.keys, config);
    if (gguf.readOwn)
      gguf.readOwn(fields, config);
    readWindowPattern();
    checkKeys();
    if (metadata.error())
      return *metadata.error();
    if (auto taken = takeRopeTensors(); !taken)
      return taken.error();
    config.planLayers(family.vary);
    return ModelConfig(std::move(config));
  }

private:
  bool hasExperts() {
    return gguf.withExperts && fields.unsignedIntegerOr("expert_count", 0, 0, Experts::most) != 0;
  }

  void checkKeys();
  std::optional<uint64_t> sameInAllLayers(std::string_view name, uint64_t least, uint64_t most);
  uint64_t neededInAllLayers(std::string_view name, uint64_t least, uint64_t most);
  void readSizes();
  void readHeads();
  void readRope();
  void readYarn();
  void readFromTensors();
  void readWindowPattern();
  void readExperts();
  Outcome takeRopeTensors();
  void findStillPairs();
  Outcome takeDivisors(std::string_view name, std::vector<float> &divisors);

  GgufModel &model;
  JsonFields metadata;
  GgufFields fields;
  const GgufMetadata &gguf;
  const Family &family;
  ConfigDraft config;
};

void ConfigReader::checkKeys() {
  const std::string prefix = fields.key("");
  for (const std::string &full : model.metadata.keys()) {
    if (!full.starts_with(prefix))
      continue;
    const std::string_view name = std::string_view(full).substr(prefix.size());
    if (fields.isAsked(name) || std::ranges::find(harmlessKeys, name) != std::end(harmlessKeys))
      continue;
    const auto *neutral =
        std::ranges::find(neutralKeys, name, &std::remove_cvref_t<decltype(*neutralKeys)>::key);
    if (neutral == std::end(neutralKeys))
      fields.fail(name, "this key is not known, and it could change what the model computes",
                  "use a model without it");
    else if (!model.metadata.find(full)->number(neutral->neutral, neutral->neutral))
      fields.fail(name, message("the feature behind this key is not supported for ", gguf.name),
                  message("use a model where it is absent or ", neutral->neutral));
  }
}

/// A number, or a list with one for each layer, which must all be the same.
std::optional<uint64_t> ConfigReader::sameInAllLayers(std::string_view name, uint64_t least,
                                                      uint64_t most) {
  const auto values = fields.unsignedIntegers(name, least, most);
  if (!values || fields.hasFailed())
    return std::nullopt;
  const bool isList = model.metadata.find(fields.key(name))->isArray();
  const bool allSame =
      std::adjacent_find(values->begin(), values->end(), std::not_equal_to<>()) == values->end();
  if (allSame && values->size() == (isList ? config.layers.size() : 1))
    return values->front();
  fields.fail(name, "the layers differ in this number, which is not supported",
              "use a model whose layers are all alike");
  return std::nullopt;
}

uint64_t ConfigReader::neededInAllLayers(std::string_view name, uint64_t least, uint64_t most) {
  if (!fields.has(name))
    return fields.unsignedInteger(name, least, most); // fails
  return sameInAllLayers(name, least, most).value_or(least);
}

void ConfigReader::readSizes() {
  const uint64_t blocks = fields.unsignedInteger("block_count", 1, ModelConfig::mostLayers);
  config.draftLayers = fields.unsignedIntegerOr("nextn_predict_layers", 0, 0, blocks - 1);
  config.layers.resize(blocks - config.draftLayers);
  config.hiddenSize = fields.unsignedInteger("embedding_length", 1, ModelConfig::widest);
  if (!gguf.readLayers)
    config.mlp.innerSize = neededInAllLayers("feed_forward_length", 1, ModelConfig::widest);
  config.maxPositions = fields.unsignedInteger("context_length", 1, Rope::mostPositions);
  config.normEpsilon =
      fields.number(config.norm == NormKind::Rms ? "attention.layer_norm_rms_epsilon"
                                                 : "attention.layer_norm_epsilon",
                    1e-30, 1.0);
  // Some files leave the size out; the list of tokens has one entry for each row.
  const auto tokens = model.metadata.find(tokensKey);
  const uint64_t listed = tokens ? tokens->size() : 0;
  if (fields.has("vocab_size") || listed == 0)
    config.vocabSize = fields.unsignedInteger("vocab_size", 1, ModelConfig::largestVocabulary);
  else
    config.vocabSize = listed;
  if (listed > config.vocabSize)
    fields.fail("vocab_size", message("the vocabulary lists ", listed, " tokens, more than this"),
                "convert the model again", "INGOT-E1117");
}

void ConfigReader::readHeads() {
  constexpr std::string_view kvHeads = "attention.head_count_kv";
  config.attention.heads = neededInAllLayers("attention.head_count", 1, ModelConfig::mostHeads);
  if (gguf.readLayers)
    gguf.readLayers(fields, config);
  if (config.other && std::holds_alternative<LatentAttention>(*config.other))
    return; // whose heads are none of those below
  if (!fields.isAsked(kvHeads))
    config.attention.kvHeads =
        sameInAllLayers(kvHeads, 1, config.attention.heads).value_or(config.attention.heads);
  if (config.attention.heads % config.attention.kvHeads != 0)
    fields.fail(kvHeads,
                message(config.attention.kvHeads, " KV heads do not divide ",
                        config.attention.heads, " heads"),
                "correct the number", "INGOT-E1051");
  const uint64_t even = config.hiddenSize / config.attention.heads;
  config.attention.headDim =
      fields.unsignedIntegerOr("attention.key_length", even, 2, ModelConfig::widestHead);
  if (!fields.has("attention.key_length") && config.hiddenSize % config.attention.heads != 0)
    fields.fail("attention.head_count",
                message(config.attention.heads, " heads do not divide embedding_length ",
                        config.hiddenSize),
                "correct the two, or give attention.key_length", "INGOT-E1051");
  if (config.attention.headDim < 2 || config.attention.headDim % 2 != 0 ||
      config.attention.headDim > ModelConfig::widestHead)
    fields.fail("attention.key_length",
                message("a head of ", config.attention.headDim,
                        " elements cannot be rotated in pairs, or is larger ", "than ",
                        ModelConfig::widestHead),
                "the head size must be even", "INGOT-E1051");
  if (fields.unsignedIntegerOr("attention.value_length", config.attention.headDim, 1,
                               ModelConfig::widestHead) != config.attention.headDim)
    fields.fail("attention.value_length", "heads of v have another size than those of k",
                "use a model whose heads are all of one size");
}

/// As llama.cpp: a factor without a type, and the older scale_linear, mean linear scaling.
void ConfigReader::readRope() {
  Rope &rope = config.rope;
  if (gguf.ropeIsSwitched && !fields.booleanOr("rope.scaling.finetuned", true))
    config.rotatingLayers.assign(config.layerCount(), false);
  if (std::ranges::count(config.rotatingLayers, false) == std::ssize(config.layers)) {
    for (std::string_view key : {"rope.freq_base", "rope.dimension_count", "rope.scaling.type"})
      fields.has(key); // they say nothing then
    return;
  }
  rope.theta = fields.numberOr("rope.freq_base", Rope{}.theta, 1.0, 1e15);
  const uint64_t columns = fields.unsignedIntegerOr(
      "rope.dimension_count", config.attention.headDim, 1, ModelConfig::widestHead);
  if (columns != config.attention.headDim && !family.rotatesParts)
    fields.fail("rope.dimension_count", "rotating a part of each head is not supported",
                "use a model that rotates whole heads");
  else if (columns > config.attention.headDim || columns % 2 != 0)
    fields.fail("rope.dimension_count",
                message(columns, " columns of a head of ", config.attention.headDim,
                        " cannot be rotated in pairs"),
                "their number must be even", "INGOT-E1051");
  // Rounded up, so that the share of the head is no column less.
  if (columns < config.attention.headDim)
    rope.rotated = std::nextafter(
        static_cast<double>(columns) / static_cast<double>(config.attention.headDim), 1.0);
  const std::string type = fields.stringOr("rope.scaling.type", "linear");
  if (type != "linear" && type != "none" && type != gguf.ropeType)
    fields.fail(
        "rope.scaling.type", message("rope type ", inQuotes(type), " is not supported"),
        message("supported are none and linear", gguf.ropeType.empty() ? "" : ", ", gguf.ropeType),
        "INGOT-E1052");
  if (type == "yarn")
    return readYarn();
  const std::string_view factorKey =
      fields.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
  const double factor = fields.numberOr(factorKey, 0, 0, 1e6);
  if (factor == 0 || type == "none")
    return; // nothing is scaled
  rope.factor = fields.number(factorKey, 1.0, 1e6);
  if (rope.factor != 1)
    rope.type = RopeType::Linear;
}

/// As transformers, with the numbers that llama.cpp takes for those that are not given.
void ConfigReader::readYarn() {
  Rope &rope = config.rope;
  rope.type = RopeType::Yarn;
  rope.factor = fields.number("rope.scaling.factor", 1.0, 1e6);
  rope.originalPositions =
      fields.unsignedInteger("rope.scaling.original_context_length", 1, Rope::mostPositions);
  rope.fastTurns = fields.numberOr("rope.scaling.yarn_beta_fast", 32, 1e-6, 1e6);
  rope.slowTurns = fields.numberOr("rope.scaling.yarn_beta_slow", 1, 1e-6, 1e6);
  rope.attentionFactor = 0.1 * std::log(rope.factor) + 1;
  if (rope.fastTurns < rope.slowTurns)
    fields.fail("rope.scaling.yarn_beta_fast", "is below yarn_beta_slow", "correct the two",
                "INGOT-E1051");
  if (rope.theta <= 1)
    fields.fail("rope.freq_base", "must be above 1 for rope type yarn", "correct it",
                "INGOT-E1051");
}

void ConfigReader::readFromTensors() {
  config.tiedEmbeddings = !fields.hasTensor("output.weight");
  auto has = [&](std::string_view name) { return fields.hasInLayers(name, config.layerCount()); };
  config.attention.bias |= has("attn_q.bias") || has("attn_qkv.bias");
  config.attention.outputBias = has("attn_output.bias");
  config.mlp.bias = has("ffn_down.bias");
  const auto left = std::ranges::find(model.tensors, "blk.0.laurel_l.weight", &Tensor::name);
  if (left != model.tensors.end() && !left->shape.empty())
    config.laurelRank = left->shape.front();
}

/// Which layers have the window: each so many-th has none, or a list says it of each. And the base
/// of their frequencies, where no family reads it.
void ConfigReader::readWindowPattern() {
  constexpr std::string_view pattern = "attention.sliding_window_pattern",
                             base = "rope.freq_base_swa";
  if (config.attention.slidingWindow == 0)
    return;
  if (!fields.isAsked(base) && fields.has(base)) {
    const double theta = fields.number(base, 1, 1e15);
    if (theta != config.rope.theta)
      config.slidingRope.emplace(config.rope).theta = theta;
  }
  if (fields.isAsked(pattern) || !fields.has(pattern))
    return;
  const auto member = model.metadata.find(fields.key(pattern));
  if (!member->isArray()) {
    config.fullEvery = fields.unsignedInteger(pattern, 1, ModelConfig::mostLayers);
    return;
  }
  config.slidingLayers = fields.flagsOfLayers(pattern, config.layers.size());
}

void ConfigReader::readExperts() {
  if (!config.experts) {
    if (gguf.withExperts)
      fields.has("expert_feed_forward_length"); // means nothing without
    return;
  }
  Experts &experts = *config.experts;
  experts.storage = ExpertStorage::Apart;
  experts.count = fields.unsignedInteger("expert_count", 1, Experts::most);
  experts.perToken = fields.unsignedInteger("expert_used_count", 1, experts.count);
  experts.innerSize = fields.unsignedIntegerOr("expert_feed_forward_length", config.mlp.innerSize,
                                               1, ModelConfig::widest);
}

Outcome ConfigReader::takeRopeTensors() {
  if (auto taken = takeDivisors(kDivisors, config.rope.divisors); !taken)
    return taken;
  findStillPairs();
  if (config.rope.type != RopeType::LongRope)
    return {};
  for (auto [name, divisors] : {std::pair(kShortDivisors, &config.rope.shortDivisors),
                                std::pair(kLongDivisors, &config.rope.longDivisors)}) {
    std::vector<float> stored;
    if (auto taken = takeDivisors(name, stored); !taken)
      return taken;
    divisors->assign(stored.begin(), stored.end());
  }
  return {};
}

/// Of pairs that do not turn, converters have the frequency divided by 1e30.
void ConfigReader::findStillPairs() {
  constexpr float least = 1e30f;
  Rope &rope = config.rope;
  auto turns = [](float divisor) { return divisor == 1; };
  auto isStill = [](float divisor) { return divisor >= least; };
  const auto first = std::ranges::find_if(rope.divisors, isStill);
  if (first == rope.divisors.end() || rope.type != RopeType::Default || rope.rotated != 1 ||
      !std::all_of(rope.divisors.begin(), first, turns) ||
      !std::all_of(first, rope.divisors.end(), isStill))
    return;
  rope.type = RopeType::Proportional;
  rope.rotated = std::nextafter(static_cast<double>(first - rope.divisors.begin()) /
                                    static_cast<double>(rope.divisors.size()),
                                1.0);
  rope.divisors.clear();
}

/// Moves the tensor `name`, where there is one, to `divisors`, one for each pair that rotates.
Outcome ConfigReader::takeDivisors(std::string_view name, std::vector<float> &divisors) {
  const auto tensor = std::find_if(model.tensors.begin(), model.tensors.end(),
                                   [&](const Tensor &candidate) { return candidate.name == name; });
  if (tensor == model.tensors.end())
    return {};
  const File &file = model.files[tensor->fileIndex];
  auto unusable = [&](std::string what) {
    return Error{"INGOT-E1115", message("tensor ", inQuotes(name), " ", what),
                 printable(file.path().string()), "convert the model again"};
  };
  const uint64_t pairs = config.rope.pairs(config.attention.headDim);
  if (tensor->dtype != DType::F32 || tensor->shape != std::vector{pairs})
    return unusable(message("should hold ", pairs, " numbers of type F32"));
  std::vector<std::byte> bytes(tensor->bytes);
  if (auto read = file.readAt(tensor->offset, bytes); !read)
    return read;
  divisors.resize(pairs);
  std::memcpy(divisors.data(), bytes.data(), bytes.size());
  for (float divisor : divisors)
    if (!std::isfinite(divisor) || divisor <= 0)
      return unusable("holds a number that frequencies cannot be divided by");
  model.tensors.erase(tensor);
  return {};
}

} // namespace

Expected<ModelConfig> readGgufConfig(GgufModel &model) {
  const auto given = model.metadata.at("general.architecture");
  if (!given)
    return given.error();
  const auto name = given->string();
  if (!name)
    return name.error();
  std::string supported;
  std::vector<std::string> names;
  for (const Family *family : families::all) {
    if (family->gguf.name.empty())
      continue;
    for (std::string_view own : {family->gguf.name, family->gguf.otherName}) {
      if (own.empty())
        continue;
      if (own == *name)
        return ConfigReader(model, *family, own).read();
      supported += message(supported.empty() ? "" : ", ", own);
      names.emplace_back(own);
    }
  }
  if (isMamba1(*name))
    return given->error("INGOT-E1113",
                        message("the GGUF architecture ", inQuotes(*name), kWhyNotMamba1),
                        std::string(kInsteadOfMamba1));
  const std::string nearest = nearestByBeginning(*name, names);
  return given->error("INGOT-E1113",
                      message("the GGUF architecture ", inQuotes(*name), " is not supported",
                              nearest.empty() ? "" : "; the nearest one that is: ", nearest),
                      "supported: " + supported);
}

Expected<std::optional<uint64_t>> readGgufTokenId(const Json &metadata, std::string_view key,
                                                  uint64_t vocabSize) {
  constexpr uint64_t none = 4294967295;
  const auto value = metadata.find(key);
  if (!value || value->unsignedInteger(none, none))
    return std::optional<uint64_t>();
  const auto id = value->unsignedInteger(0, vocabSize - 1);
  if (!id)
    return id.error();
  return std::optional(*id);
}

Expected<GenerationConfig> readGgufGeneration(const Json &metadata, uint64_t vocabSize) {
  GenerationConfig generation;
  for (const auto &[key, member] :
       {std::pair("tokenizer.ggml.bos_token_id", &GenerationConfig::bosId),
        {"tokenizer.ggml.padding_token_id", &GenerationConfig::padId}}) {
    auto id = readGgufTokenId(metadata, key, vocabSize);
    if (!id)
      return id.error();
    generation.*member = *id;
  }
  std::vector<uint64_t> ends;
  auto add = [&](uint64_t id) {
    if (std::find(ends.begin(), ends.end(), id) == ends.end())
      ends.push_back(id);
  };
  for (std::string_view key : {"eos", "eot", "eom"}) {
    auto id = readGgufTokenId(metadata, message("tokenizer.ggml.", key, "_token_id"), vocabSize);
    if (!id)
      return id.error();
    if (*id)
      add(**id);
  }
  constexpr int control = 3, shown = 4; // Gemma 4's converter has its marks of tools shown.
  const auto tokens = metadata.find(tokensKey), types = metadata.find("tokenizer.ggml.token_type");
  for (size_t id = 0; tokens && types && id < std::min(tokens->size(), types->size()); ++id) {
    const auto &token = tokens->raw()[id];
    const auto &type = types->raw()[id];
    if (id < vocabSize && (type == control || type == shown) && token.is_string() &&
        std::find(std::begin(endTexts), std::end(endTexts), token.get_ref<const std::string &>()) !=
            std::end(endTexts))
      add(id);
  }
  generation.eosIds = std::move(ends);
  tellForcedTokens(metadata, "tokenizer.ggml.suppress_tokens", "GGUF", generation.deviations);
  return generation;
}

} // namespace ingot::checkpoint

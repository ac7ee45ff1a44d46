// SPDX-License-Identifier: Apache-2.0
// What the families have in common.
#include "compiler/checkpoint/config/ConfigReader.h"

#include "compiler/checkpoint/config/ConfigKeys.h"
#include "compiler/checkpoint/config/GenerationConfig.h"
#include "compiler/checkpoint/config/VisionReader.h"
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/Mamba1.h"
#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/files/NearestName.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

constexpr uint64_t longestConfig = uint64_t{16} << 20;

std::optional<DType> declaredType(JsonFields &fields) {
  constexpr std::array<std::pair<std::string_view, DType>, 4> names = {{
      {"float32", DType::F32},
      {"float16", DType::F16},
      {"bfloat16", DType::BF16},
      {"float64", DType::F64},
  }};
  std::string_view key = fields.has("dtype") ? "dtype" : "torch_dtype";
  if (!fields.has(key))
    return std::nullopt;
  std::string text = fields.stringOr(key, "");
  std::string_view bare = text;
  if (bare.starts_with("torch."))
    bare.remove_prefix(6);
  for (auto [name, dtype] : names)
    if (bare == name)
      return dtype;
  fields.fail(key, "INGOT-E1055", message("unknown type ", inQuotes(text)),
              "write float32, float16, bfloat16 or float64");
  return std::nullopt;
}

/// A number that only files of some families leave out; the report says where one did.
uint64_t neededOr(JsonFields &fields, std::string_view key, uint64_t absent, uint64_t most,
                  ConfigDraft &config) {
  if (absent == 0 || fields.has(key))
    return fields.unsignedInteger(key, 1, most);
  config.deviations.push_back({std::string(key), "not given", std::to_string(absent),
                               "what transformers takes an absent one for"});
  return absent;
}

/// Heads and their size, once the widths are known.
void readHeads(JsonFields &fields, const ConfigJson &absent, ConfigDraft &config) {
  // A key that is null has no default of the family's.
  uint64_t kvHeads = fields.isNull("num_key_value_heads") ? 0 : absent.kvHeads;
  uint64_t headDim = fields.isNull("head_dim") ? 0 : absent.headDim;
  config.attention.heads =
      neededOr(fields, "num_attention_heads", absent.heads, ModelConfig::mostHeads, config);
  config.attention.kvHeads = fields.unsignedIntegerOr(
      "num_key_value_heads", kvHeads ? kvHeads : config.attention.heads, 1, config.attention.heads);
  if (config.attention.heads % config.attention.kvHeads != 0)
    fields.fail("num_key_value_heads", "INGOT-E1051",
                message(config.attention.kvHeads, " KV heads do not divide ",
                        config.attention.heads, " heads"),
                "correct num_key_value_heads");
  if (headDim != 0 || fields.has("head_dim")) {
    config.attention.headDim =
        fields.unsignedIntegerOr("head_dim", headDim, 2, ModelConfig::widestHead);
  } else {
    config.attention.headDim = config.hiddenSize / config.attention.heads;
    if (config.hiddenSize % config.attention.heads != 0)
      fields.fail(
          "num_attention_heads", "INGOT-E1051",
          message(config.attention.heads, " heads do not divide hidden_size ", config.hiddenSize),
          "correct the two, or give head_dim");
    if (config.attention.headDim > ModelConfig::widestHead)
      fields.fail("num_attention_heads", "INGOT-E1051",
                  message("heads of ", config.attention.headDim, " elements; at most ",
                          ModelConfig::widestHead),
                  "correct hidden_size or num_attention_heads");
  }
  if (config.attention.headDim == 0 || config.attention.headDim % 2 != 0)
    fields.fail(
        "head_dim", "INGOT-E1051",
        message("a head of ", config.attention.headDim, " elements cannot be rotated in pairs"),
        "the head size must be even");
}

/// A key that is absent has transformers' default, where the vocabulary has that token; one that is
/// null, or names none of its tokens, means "no such token".
void readOwnTokens(const Json &root, JsonFields &fields, const ConfigJson &absent,
                   ConfigDraft &config) {
  const uint64_t lastId = config.vocabSize - 1;
  auto given = [&](std::string_view key) {
    return fields.has(key)
               ? readTokenIds(root, key, "config.json", config.vocabSize, config.deviations)
               : std::nullopt;
  };
  if (auto ids = given("bos_token_id"))
    config.bosId = ids->front();
  else if (!root.find("bos_token_id") && absent.bos && *absent.bos <= lastId)
    config.bosId = *absent.bos;
  if (auto ids = given("eos_token_id"))
    config.eosIds = *std::move(ids);
  else if (!root.find("eos_token_id") && absent.eos && *absent.eos <= lastId)
    config.eosIds = {*absent.eos};
}

/// Newer files say of each layer what it attends to, or that it does not.
void readLayerTypes(const Json &root, JsonFields &fields, ConfigDraft &config) {
  auto types = root.find("layer_types");
  if (!types || types->isNull())
    return;
  if (!types->isArray() || types->size() != config.layers.size())
    return fields.fail(
        "layer_types", "INGOT-E1057",
        message("this is no list of one type for each of ", config.layers.size(), " layers"),
        "correct it, or leave it out");
  const std::string_view windowed =
      config.attention.windowIsChunk ? "chunked_attention" : "sliding_attention";
  std::vector<bool> slides, others;
  for (size_t i = 0; i < types->size(); ++i) {
    auto type = types->element(i).string();
    if (type && config.hasOldTypes)
      *type = newTypeOf(*type);
    slides.push_back(type && *type == windowed);
    others.push_back(type && config.other && *type == config.otherType);
    if (!type || (!slides.back() && !others.back() && *type != "full_attention"))
      return fields.fail("layer_types", "INGOT-E1057",
                         message("what layer ", i, " attends to is not known"),
                         message("known are \"full_attention\" and \"",
                                 config.other ? config.otherType : windowed, "\""));
    if (slides.back() && config.attention.slidingWindow == 0)
      return fields.fail("layer_types", "INGOT-E1057",
                         message("layer ", i, " slides, but no window is given or supported"),
                         "use a checkpoint with sliding_window, of a family that has it");
  }
  config.slidingLayers = std::move(slides);
  config.otherLayers = std::move(others);
}

/// Rotary settings against heads of `headDim` columns.
Outcome checkRotation(const Json &root, const Family &family, uint64_t headDim, const Rope &rope) {
  if (rope.type == RopeType::Proportional) // whole heads, whatever their share
    return {};
  if (rope.rotated != 1 && !family.rotatesParts)
    return root.error(
        "INGOT-E1057",
        message("partial_rotary_factor: rotating a part of each head is not supported for ",
                family.architecture),
        "use a checkpoint that rotates whole heads");
  const auto columns = static_cast<uint64_t>(static_cast<double>(headDim) * rope.rotated);
  if (columns < 2 || columns % 2 != 0 || columns > headDim)
    return root.error("INGOT-E1051",
                      message("partial_rotary_factor: ", columns, " columns of a head of ", headDim,
                              " cannot be rotated in pairs"),
                      "their number must be even");
  if (family.layers.attention.ropeInterleaved && headDim % columns != 0)
    return root.error(
        "INGOT-E1051",
        message("partial_rotary_factor: ", columns, " columns do not divide a head of ", headDim),
        "correct the two");
  for (const auto *divisors : {&rope.shortDivisors, &rope.longDivisors})
    if (rope.type == RopeType::LongRope && divisors->size() != columns / 2)
      return root.error("INGOT-E1051",
                        message("short_factor and long_factor have ", divisors->size(),
                                " numbers, but ", columns / 2, " pairs rotate"),
                        "give one for each pair");
  return {};
}

/// A number, or a list with the same one for each layer.
uint64_t sameInAllLayers(JsonFields &fields, std::string_view key, uint64_t absent) {
  const auto numbers = fields.unsignedIntegers(key, 1, Experts::most);
  if (!numbers || numbers->empty())
    return absent;
  if (std::ranges::count(*numbers, numbers->front()) != std::ssize(*numbers))
    fields.fail(key, "INGOT-E1057", "layers with different numbers of experts are not supported",
                "use a checkpoint with one number");
  return numbers->front();
}

/// Newer files say of each layer whether it has experts.
void readExpertLayers(const Json &root, JsonFields &fields, ConfigDraft &config) {
  constexpr std::string_view key = "mlp_layer_types";
  const auto types = root.find(key);
  if (!config.experts || !fields.has(key))
    return;
  std::vector<bool> sparse;
  for (size_t i = 0; types->isArray() && i < types->size(); ++i) {
    const auto type = types->element(i).string();
    if (type && (*type == "sparse" || *type == "dense"))
      sparse.push_back(*type == "sparse");
  }
  if (sparse.size() != config.layers.size())
    return fields.fail(key, "INGOT-E1057",
                       message("this is no list of \"dense\" or \"sparse\" for each of ",
                               config.layers.size(), " layers"),
                       "correct it, or leave it out");
  config.sparseLayers = std::move(sparse);
}

/// The numbers of experts, of all and of a token. Programs write either name of the first one:
/// transformers has one for what others call the other.
void readExperts(JsonFields &fields, const ConfigJson &absent, ConfigDraft &config) {
  Experts &experts = *config.experts;
  std::string_view countKey = absent.expertCount;
  const std::string_view other = countKey == "num_experts" ? "num_local_experts" : "num_experts";
  if (fields.has(other) && !fields.has(countKey))
    countKey = other;
  experts.count = absent.expertsMayLack ? fields.unsignedIntegerOr(countKey, 0, 0, Experts::most)
                                        : fields.unsignedInteger(countKey, 1, Experts::most);
  if (experts.count == 0) {
    fields.has(absent.expertsOfToken);
    return config.experts.reset();
  }
  if (fields.unsignedIntegerOr(other, experts.count, 1, Experts::most) != experts.count)
    fields.fail(other, "INGOT-E1051",
                message(countKey, " says that there are ", experts.count, " experts"),
                "remove one of the two keys");
  experts.perToken = sameInAllLayers(fields, absent.expertsOfToken, absent.expertsPerToken);
  experts.innerSize = config.mlp.innerSize;
  const std::string scoring = experts.routing.sigmoid ? "sigmoid" : "softmax";
  if (fields.stringOr("scoring_func", scoring) != scoring)
    fields.fail("scoring_func", "INGOT-E1057",
                message("experts chosen otherwise than by ", scoring, " are not supported"),
                "use a checkpoint of a family that chooses so");
  if (experts.perToken > experts.count)
    fields.fail(absent.expertsOfToken, "INGOT-E1051",
                message(experts.perToken, " experts for each token, but there are ", experts.count),
                message("correct it or ", countKey));
}

/// The width of MLPs, or of each layer's. The number of layers is known.
void readInnerSize(const Json &root, JsonFields &fields, const ConfigJson &absent,
                   ConfigDraft &config) {
  const std::string_view key = absent.innerKey;
  const auto given = root.find(key);
  if (absent.innerPerHidden != 0 && !fields.has(key)) {
    config.mlp.innerSize = absent.innerPerHidden * config.hiddenSize;
  } else if (!absent.innerListed || !given || !given->isArray()) {
    config.mlp.innerSize = fields.unsignedInteger(key, 1, ModelConfig::widest);
  } else if (auto sizes = fields.unsignedIntegers(key, 1, ModelConfig::widest)) {
    if (sizes->size() != config.layers.size())
      return fields.fail(
          key, "INGOT-E1051",
          message("there are ", sizes->size(), " widths for ", config.layers.size(), " layers"),
          "give one for each layer, or one number");
    config.innerSizes = *std::move(sizes);
    config.mlp.innerSize = config.innerSizes.front();
  }
}

/// Everything but rotation.
void readFields(const Json &root, JsonFields &fields, const Family &family, ConfigDraft &config) {
  const ConfigJson &absent = family.json;
  config.hiddenSize = fields.unsignedInteger("hidden_size", 1, ModelConfig::widest);
  const auto listed = absent.layerList.empty() ? std::nullopt : fields.texts(absent.layerList);
  config.layers.resize(
      listed && !listed->empty() && !fields.has("num_hidden_layers")
          ? std::min<size_t>(listed->size(), ModelConfig::mostLayers)
          : fields.unsignedInteger("num_hidden_layers", 1, ModelConfig::mostLayers));
  readInnerSize(root, fields, absent, config);
  readHeads(fields, absent, config);
  config.vocabSize =
      neededOr(fields, "vocab_size", absent.vocabulary, ModelConfig::largestVocabulary, config);
  config.maxPositions =
      fields.unsignedIntegerOr("max_position_embeddings", absent.positions, 1, Rope::mostPositions);
  config.normEpsilon = fields.numberOr(absent.epsilonKey, absent.epsilon, 1e-30, 1.0);
  config.tiedEmbeddings = fields.booleanOr("tie_word_embeddings", absent.tied);
  config.declaredType = declaredType(fields);
  readKeys(fields, absent.keys, config);
  if (config.experts)
    readExperts(fields, absent, config);
  if (absent.readOwn)
    absent.readOwn(fields, config);

  std::string activation = fields.stringOr(absent.activationKey, std::string(absent.activation));
  const auto other = std::ranges::find(absent.activations, activation, &ActivationName::name);
  if (other != absent.activations.end())
    config.mlp.activation = other->activation;
  else if (activation != absent.activation)
    fields.fail(absent.activationKey, "INGOT-E1053",
                message("activation ", inQuotes(activation), " is not supported"),
                message(family.architecture, " is supported with ", absent.activation));
  readLayerTypes(root, fields, config);
  if (absent.readLayers)
    absent.readLayers(fields, config);
  readExpertLayers(root, fields, config);
  readOwnTokens(root, fields, absent, config);
}

Outcome readRotation(const Json &root, const Family &family, ConfigDraft &config) {
  const ConfigJson &absent = family.json;
  RopeDefaults defaults = absent.rope;
  if (config.rotaryColumns != 0)
    defaults.rotated =
        static_cast<double>(config.rotaryColumns) / static_cast<double>(config.attention.headDim);
  auto rope = Rope::read(root, config.maxPositions, defaults);
  if (!rope)
    return rope.error();
  config.rope = *rope;
  if (config.rotaryColumns != 0 &&
      2 * rope->turningPairs(config.attention.headDim) != config.rotaryColumns)
    return root.error("INGOT-E1056",
                      message("partial_rotary_factor: it does not say that ", config.rotaryColumns,
                              " columns of a head of ", config.attention.headDim,
                              " rotate, as another key does"),
                      "remove one of them");
  if (rope->queryBeta != 0)
    config.attention.temperature = {.scale = rope->queryBeta,
                                    .floorScale = rope->originalPositions};
  const RopeDefaults forSliding = {.theta = config.slidingRope.value_or(config.rope).theta,
                                   .rotated = absent.rope.rotated};
  if (auto sliding = Rope::readSliding(root, config.maxPositions, forSliding); !sliding)
    return sliding.error();
  else if (*sliding && !config.slidingRope && **sliding != config.rope)
    return root.error("INGOT-E1057",
                      message("rope_parameters: layers that slide rotate otherwise, which is not "
                              "supported for ",
                              family.architecture),
                      "use a checkpoint whose layers rotate alike");
  else if (*sliding && config.slidingRope)
    config.slidingRope = **sliding;
  const uint64_t headDim = config.attention.headDim;
  if (auto fits = checkRotation(root, family, headDim, config.rope); !fits)
    return fits.error();
  if (auto fits =
          checkRotation(root, family, config.slidingHeadDim ? config.slidingHeadDim : headDim,
                        config.slidingRope.value_or(config.rope));
      !fits)
    return fits.error();
  if (absent.scaledRope && config.rope.type != RopeType::Default &&
      config.rope.type != absent.scaledRope)
    return root.error("INGOT-E1052",
                      message("the rope type is not supported for ", family.architecture),
                      message("supported are default and ", ropeTypeName(*absent.scaledRope)));
  return {};
}

/// The configuration with the names that other families have for its keys.
Json withKnownKeys(const Json &root, std::span<const KeyAlias> aliases) {
  nlohmann::json renamed = root.raw();
  for (const auto &[own, known] : aliases) {
    const auto member = renamed.find(std::string(own));
    if (member == renamed.end())
      continue;
    const nlohmann::json value = *member;
    // Where both are there and differ, the first is told as not read.
    if (!renamed.contains(std::string(known)) || renamed[std::string(known)] == value)
      renamed.erase(member);
    renamed.emplace(std::string(known), value);
  }
  return Json::of(std::move(renamed), root.where());
}

Expected<ModelConfig> readFamily(const Json &file, const Family &family) {
  const Json root = family.json.aliases.empty() ? file : withKnownKeys(file, family.json.aliases);
  JsonFields fields(root);
  ConfigDraft config(root, family.form, family.layers);
  config.architecture = family.architecture;
  readFields(root, fields, family, config);
  if (fields.error())
    return *fields.error();
  auto unread = findUnreadKeys(root, fields.asked(), family);
  if (!unread)
    return unread.error();
  if (*unread)
    config.deviations.push_back(**std::move(unread));
  if (auto rotation = readRotation(root, family, config); !rotation)
    return rotation.error();
  config.planLayers(family.vary);
  return ModelConfig(std::move(config));
}

/// Keys that may stand beside the text part, and not in it.
constexpr std::string_view sharedKeys[] = {
    "dtype",        "torch_dtype",         "bos_token_id", "eos_token_id",
    "pad_token_id", "quantization_config", "text_config",  "tie_word_embeddings"};

/// The text part's configuration, with what may stand beside it alone.
Json textConfig(const Json &root, const Family &family) {
  const auto own = root.find("text_config");
  const nlohmann::json &around = root.raw();
  nlohmann::json text = own && own->isObject() ? own->raw() : around;
  if (!own)
    for (std::string_view key : family.json.meaningless)
      text.erase(std::string(key));
  constexpr const char *tied = "tie_word_embeddings";
  for (std::string_view key : sharedKeys)
    if (own && key != "text_config" && around.contains(key) && !text.contains(key))
      text[std::string(key)] = around[std::string(key)];
  if (around.contains(tied))
    text[tied] = around[tied];
  else if (!text.contains(tied))
    text[tied] = family.wrapper.tied;
  return Json::of(std::move(text), root.where());
}

Expected<ModelConfig> readWrapped(const Json &root, const Family &family, ModelParts parts) {
  const std::span<const TextPart> texts = family.wrapper.texts;
  const Json text = textConfig(root, family);
  const TextPart *part = &texts.front();
  if (root.find("text_config")) {
    JsonFields fields(text);
    const std::string type = fields.stringOr("model_type", std::string(part->type));
    const auto found = std::ranges::find(texts, std::string_view(type), &TextPart::type);
    if (found == texts.end())
      return text.error("INGOT-E1050",
                        message("a text part of type ", inQuotes(type), " is not supported"),
                        message(family.architecture, " is supported with ", texts.front().type));
    part = &*found;
  }
  auto config = readFamily(text, *part->family);
  if (!config)
    return config;
  auto unread = root.find("text_config")
                    ? findUnreadKeys(root, {std::begin(sharedKeys), std::end(sharedKeys)}, family)
                    : std::optional<Deviation>();
  if (!unread)
    return unread.error();
  if (*unread)
    config->deviations.push_back(**std::move(unread));
  config->architecture = family.architecture;
  config->wrapper = &family.wrapper;
  JsonFields fields(root);
  for (std::string_view key : family.wrapper.placeholders)
    if (fields.has(key)) {
      const uint64_t id = fields.unsignedInteger(key, 0, ModelConfig::largestVocabulary);
      if (id < config->vocabSize)
        config->placeholderIds.push_back(id);
    }
  if (fields.error())
    return *fields.error();
  if (parts == ModelParts::All && family.wrapper.vision && root.find("vision_config")) {
    auto vision = readVisionPlan(root, *family.wrapper.vision, *config);
    if (!vision)
      return vision.error();
    config->vision = std::make_shared<const VisionPlan>(*std::move(vision));
  }
  return config;
}

/// The name under `architectures`, which must be a list of one. transformers 4.57 writes that of a
/// Qwen2.5-VL into `text_config` alone.
Expected<std::string> readArchitecture(const Json &root) {
  constexpr std::string_view key = "architectures";
  const auto text = root.find("text_config");
  const bool isInside = !JsonFields(root).has(key) && text && text->isObject();
  auto list = isInside && text->find(key) ? text->at(key) : root.at(key);
  if (!list)
    return list.error();
  if (!list->isArray() || list->size() != 1)
    return list->wrongType("a list of one architecture");
  return list->element(0).string();
}

/// What the file has that models of `family` do not, by its keys.
std::string differencesFrom(const Family &family, const Json &file) {
  const Json root = withKnownKeys(file, family.json.aliases);
  JsonFields fields(root);
  ConfigDraft config(root, family.form, family.layers);
  readFields(root, fields, family, config);
  const auto unknown = unknownKeys(root, fields.asked(), family);
  constexpr size_t most = 12;
  std::string keys;
  for (const std::string &key : std::span(unknown).first(std::min(unknown.size(), most)))
    keys += message(keys.empty() ? "" : ", ", printable(key));
  if (unknown.size() > most)
    keys += message(" and ", unknown.size() - most, " more");
  return keys.empty() ? message("by its keys it could be one of ", family.architecture)
                      : message(family.architecture, " does not have its keys ", keys);
}

/// Names the family that comes nearest, by its name or else Llama's, and what differs from it.
Error unknownArchitecture(const Json &root, const std::string &architecture) {
  if (isMamba1(architecture))
    return root.error("INGOT-E1050",
                      message("architecture ", inQuotes(architecture), kWhyNotMamba1),
                      std::string(kInsteadOfMamba1));
  std::string supported;
  std::vector<std::string> names;
  for (const Family *family : families::all) {
    supported += message(supported.empty() ? "" : ", ", family->architecture);
    names.emplace_back(family->architecture);
  }
  const std::string nearest = nearestByBeginning(architecture, names);
  const Family *like = *std::ranges::find(
      families::all, nearest.empty() ? families::llama.architecture : std::string_view(nearest),
      &Family::architecture);
  const Family &text = like->wrapper.texts.empty() ? *like : *like->wrapper.texts.front().family;
  return root.error("INGOT-E1050",
                    message("architecture ", inQuotes(architecture), " is not supported",
                            nearest.empty() ? "" : "; the nearest one that is: ", nearest, "; ",
                            differencesFrom(text, textConfig(root, *like))),
                    "supported: " + supported);
}

} // namespace

Expected<ModelConfig> parseModelConfig(std::string_view text, const std::string &fileName,
                                       ModelParts parts) {
  JsonLimits limits;
  limits.maxBytes = longestConfig;
  limits.takesNotFinite = true;
  limits.maxValues = uint64_t{1} << 20;
  auto root = Json::parse(text, fileName, limits);
  if (!root)
    return root.error();
  auto architecture = readArchitecture(*root);
  if (!architecture)
    return architecture.error();
  for (const Family *family : families::all)
    if (family->architecture == *architecture)
      return family->wrapper.texts.empty() ? readFamily(*root, *family)
                                           : readWrapped(*root, *family, parts);
  return unknownArchitecture(*root, *architecture);
}

Expected<ModelConfig> readModelConfig(const std::filesystem::path &path, ModelParts parts) {
  auto text = readText(path, longestConfig);
  if (!text)
    return text.error();
  return parseModelConfig(*text, path.string(), parts);
}

} // namespace ingot::checkpoint

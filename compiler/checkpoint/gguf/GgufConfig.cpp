// SPDX-License-Identifier: Apache-2.0
// Reading the model's shape from GGUF metadata. Every architecture that is read has a row in
// `architectures`; a key of the architecture that is in no list below is refused, because it could
// change the numbers.
#include "compiler/checkpoint/gguf/GgufConfig.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/files/NearestName.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

class ConfigReader;

struct Architecture {
  std::string_view name;                   ///< general.architecture
  std::string_view architecture;           ///< as config.json names it
  bool rotaryPairRows = false;             ///< the converter orders rows of q and k by rotary pairs
  bool attentionBias = false;              ///< always; otherwise where the tensors are there
  bool rotatesParts = false;               ///< rope.dimension_count may be below a head's size
  std::string_view ropeType{};             ///< of rope.scaling.type, beside none and linear
  std::vector<std::string_view> ownKeys{}; ///< beside knownKeys
  void (ConfigReader::*readOwn)() = nullptr; ///< what others do not have
};

/// Keys behind "ARCHITECTURE." that are read below, or change no number.
constexpr std::string_view knownKeys[] = {
    "context_length",
    "embedding_length",
    "block_count",
    "feed_forward_length",
    "vocab_size",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.freq_base",
    "rope.dimension_count",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scale_linear",
    "rope.scaling.original_context_length", // of use to yarn only
    "rope.scaling.finetuned",
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

constexpr std::string_view ropeDivisors = "rope_freqs.weight",
                           shortDivisors = "rope_factors_short.weight",
                           longDivisors = "rope_factors_long.weight";
constexpr std::string_view tokensKey = "tokenizer.ggml.tokens";

/// Texts of tokens that end a turn or a text.
constexpr std::string_view endTexts[] = {
    "<|eot_id|>", "<|eom_id|>",    "<|end_of_text|>", "<|im_end|>",         "<|end|>", "<|return|>",
    "<|call|>",   "<|endoftext|>", "<end_of_turn>",   "<end_of_utterance>", "<EOT>"};

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
  ConfigReader(GgufModel &model, const Architecture &architecture)
      : model(model), architecture(architecture), fields(model.metadata),
        config(withoutVocabulary(model)) {}

  Expected<ModelConfig> read() {
    config.architecture = architecture.architecture;
    config.rotaryPairRows = architecture.rotaryPairRows;
    checkKeys();
    readSizes();
    readHeads();
    readRope();
    readFromTensors();
    if (architecture.readOwn)
      (this->*architecture.readOwn)();
    if (fields.error())
      return *fields.error();
    if (auto taken = takeRopeTensors(); !taken)
      return taken.error();
    return std::move(config);
  }

private:
  std::string key(std::string_view name) const { return message(architecture.name, ".", name); }
  void fail(std::string_view name, std::string what, std::string fix,
            std::string code = "INGOT-E1114") {
    fields.fail(key(name), std::move(code), std::move(what), std::move(fix));
  }
  bool hasTensor(std::string_view name) const {
    return std::any_of(model.tensors.begin(), model.tensors.end(),
                       [&](const Tensor &tensor) { return tensor.name == name; });
  }

  void checkKeys();
  std::optional<uint64_t> sameInAllLayers(std::string_view name, uint64_t least, uint64_t most);
  uint64_t neededInAllLayers(std::string_view name, uint64_t least, uint64_t most);
  void readSizes();
  void readHeads();
  void readRope();
  void readYarn();
  void readFromTensors();
  void readExperts(uint64_t innerSize);
  Outcome takeRopeTensors();
  Outcome takeDivisors(std::string_view name, std::vector<float> &divisors);

  // What one architecture alone has, as llama.cpp's `load_hparams` and graphs take it.
  void readLlama();
  void readPhi3();
  void readQwen2Moe();
  void readQwen3();
  void readQwen3Moe();
  void readGptOss();
  void readOlmo2();
  void readGranite();
  void readGemma(uint64_t slidingPattern, uint64_t layersOfLargest);
  void readGemma2();
  void readGemma3();

  friend const std::vector<Architecture> &architectures();

  GgufModel &model;
  const Architecture &architecture;
  JsonFields fields;
  ModelConfig config;
};

const std::vector<Architecture> &architectures() {
  static const std::vector<Architecture> rows = {
      {.name = "gemma2",
       .architecture = "Gemma2ForCausalLM",
       .ownKeys = {"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping"},
       .readOwn = &ConfigReader::readGemma2},
      {.name = "gemma3",
       .architecture = "Gemma3ForCausalLM",
       .ownKeys = {"attention.sliding_window", "final_logit_softcapping", "rope.freq_base_swa"},
       .readOwn = &ConfigReader::readGemma3},
      {.name = "gpt-oss",
       .architecture = "GptOssForCausalLM",
       .ropeType = "yarn",
       .ownKeys = {"attention.sliding_window", "expert_count", "expert_used_count",
                   "expert_feed_forward_length", "rope.scaling.yarn_beta_fast",
                   "rope.scaling.yarn_beta_slow"},
       .readOwn = &ConfigReader::readGptOss},
      {.name = "granite",
       .architecture = "GraniteForCausalLM",
       .rotaryPairRows = true,
       .ownKeys = {"embedding_scale", "residual_scale", "attention.scale", "logit_scale"},
       .readOwn = &ConfigReader::readGranite},
      {.name = "llama",
       .architecture = "LlamaForCausalLM",
       .rotaryPairRows = true,
       .ownKeys = {"expert_count", "expert_used_count", "expert_feed_forward_length"},
       .readOwn = &ConfigReader::readLlama},
      {.name = "olmo2", .architecture = "Olmo2ForCausalLM", .readOwn = &ConfigReader::readOlmo2},
      {.name = "phi3",
       .architecture = "Phi3ForCausalLM",
       .rotatesParts = true,
       .ropeType = "longrope",
       .ownKeys = {"attention.sliding_window", "rope.scaling.attn_factor"},
       .readOwn = &ConfigReader::readPhi3},
      {.name = "qwen2", .architecture = "Qwen2ForCausalLM", .attentionBias = true},
      {.name = "qwen2moe",
       .architecture = "Qwen2MoeForCausalLM",
       .ownKeys = {"expert_count", "expert_used_count", "expert_feed_forward_length",
                   "expert_shared_feed_forward_length"},
       .readOwn = &ConfigReader::readQwen2Moe},
      {.name = "qwen3", .architecture = "Qwen3ForCausalLM", .readOwn = &ConfigReader::readQwen3},
      {.name = "qwen3moe",
       .architecture = "Qwen3MoeForCausalLM",
       .ownKeys = {"expert_count", "expert_used_count", "expert_feed_forward_length"},
       .readOwn = &ConfigReader::readQwen3Moe},
  };
  return rows;
}

void ConfigReader::checkKeys() {
  const std::string prefix = key("");
  for (const std::string &full : model.metadata.keys()) {
    if (!full.starts_with(prefix))
      continue;
    const std::string_view name = std::string_view(full).substr(prefix.size());
    const auto &own = architecture.ownKeys;
    if (std::find(std::begin(knownKeys), std::end(knownKeys), name) != std::end(knownKeys) ||
        std::find(own.begin(), own.end(), name) != own.end())
      continue;
    const auto *neutral = std::find_if(std::begin(neutralKeys), std::end(neutralKeys),
                                       [&](const auto &row) { return row.key == name; });
    if (neutral == std::end(neutralKeys))
      fail(name, "this key is not known, and it could change what the model computes",
           "use a model without it");
    else if (!model.metadata.find(full)->number(neutral->neutral, neutral->neutral))
      fail(name, message("the feature behind this key is not supported for ", architecture.name),
           message("use a model where it is absent or ", neutral->neutral));
  }
}

/// A number, or a list with one for each layer, which must all be the same.
std::optional<uint64_t> ConfigReader::sameInAllLayers(std::string_view name, uint64_t least,
                                                      uint64_t most) {
  const auto values = fields.unsignedIntegers(key(name), least, most);
  if (!values || fields.error())
    return std::nullopt;
  const bool isList = model.metadata.find(key(name))->isArray();
  const bool allSame =
      std::adjacent_find(values->begin(), values->end(), std::not_equal_to<>()) == values->end();
  if (allSame && values->size() == (isList ? config.layers : 1))
    return values->front();
  fail(name, "the layers differ in this number, which is not supported",
       "use a model whose layers are all alike");
  return std::nullopt;
}

uint64_t ConfigReader::neededInAllLayers(std::string_view name, uint64_t least, uint64_t most) {
  if (!fields.has(key(name)))
    return fields.unsignedInteger(key(name), least, most); // fails
  return sameInAllLayers(name, least, most).value_or(least);
}

void ConfigReader::readSizes() {
  config.layers = fields.unsignedInteger(key("block_count"), 1, ModelConfig::mostLayers);
  config.hiddenSize = fields.unsignedInteger(key("embedding_length"), 1, ModelConfig::widest);
  config.intermediateSize = neededInAllLayers("feed_forward_length", 1, ModelConfig::widest);
  config.maxPositions = fields.unsignedInteger(key("context_length"), 1, Rope::mostPositions);
  config.rmsNormEpsilon = fields.number(key("attention.layer_norm_rms_epsilon"), 1e-30, 1.0);
  // Some files leave the size out; the list of tokens has one entry for each row.
  const auto tokens = model.metadata.find(tokensKey);
  const uint64_t listed = tokens ? tokens->size() : 0;
  if (fields.has(key("vocab_size")) || listed == 0)
    config.vocabSize = fields.unsignedInteger(key("vocab_size"), 1, ModelConfig::largestVocabulary);
  else
    config.vocabSize = listed;
  if (listed > config.vocabSize)
    fail("vocab_size", message("the vocabulary lists ", listed, " tokens, more than this"),
         "convert the model again", "INGOT-E1117");
}

void ConfigReader::readHeads() {
  config.heads = neededInAllLayers("attention.head_count", 1, ModelConfig::mostHeads);
  config.kvHeads =
      sameInAllLayers("attention.head_count_kv", 1, config.heads).value_or(config.heads);
  if (config.heads % config.kvHeads != 0)
    fail("attention.head_count_kv",
         message(config.kvHeads, " KV heads do not divide ", config.heads, " heads"),
         "correct the number", "INGOT-E1051");
  const uint64_t even = config.hiddenSize / config.heads;
  config.headDim =
      fields.unsignedIntegerOr(key("attention.key_length"), even, 2, ModelConfig::widestHead);
  if (!fields.has(key("attention.key_length")) && config.hiddenSize % config.heads != 0)
    fail("attention.head_count",
         message(config.heads, " heads do not divide embedding_length ", config.hiddenSize),
         "correct the two, or give attention.key_length", "INGOT-E1051");
  if (config.headDim < 2 || config.headDim % 2 != 0 || config.headDim > ModelConfig::widestHead)
    fail("attention.key_length",
         message("a head of ", config.headDim,
                 " elements cannot be rotated in pairs, or is larger ", "than ",
                 ModelConfig::widestHead),
         "the head size must be even", "INGOT-E1051");
  if (fields.unsignedIntegerOr(key("attention.value_length"), config.headDim, 1,
                               ModelConfig::widestHead) != config.headDim)
    fail("attention.value_length", "heads of v have another size than those of k",
         "use a model whose heads are all of one size");
}

/// As llama.cpp: a factor without a type, and the older scale_linear, mean linear scaling.
void ConfigReader::readRope() {
  Rope &rope = config.rope;
  rope.theta = fields.numberOr(key("rope.freq_base"), Rope{}.theta, 1.0, 1e15);
  const uint64_t columns = fields.unsignedIntegerOr(key("rope.dimension_count"), config.headDim, 1,
                                                    ModelConfig::widestHead);
  if (columns != config.headDim && !architecture.rotatesParts)
    fail("rope.dimension_count", "rotating a part of each head is not supported",
         "use a model that rotates whole heads");
  else if (columns > config.headDim || columns % 2 != 0)
    fail("rope.dimension_count",
         message(columns, " columns of a head of ", config.headDim, " cannot be rotated in pairs"),
         "their number must be even", "INGOT-E1051");
  // Rounded up, so that the share of the head is no column less.
  if (columns < config.headDim)
    rope.rotated =
        std::nextafter(static_cast<double>(columns) / static_cast<double>(config.headDim), 1.0);
  const std::string type = fields.stringOr(key("rope.scaling.type"), "linear");
  if (type != "linear" && type != "none" && type != architecture.ropeType)
    fail("rope.scaling.type", message("rope type ", inQuotes(type), " is not supported"),
         message("supported are none and linear", architecture.ropeType.empty() ? "" : ", ",
                 architecture.ropeType),
         "INGOT-E1052");
  if (type == "yarn")
    return readYarn();
  const std::string factorKey =
      key(fields.has(key("rope.scaling.factor")) ? "rope.scaling.factor" : "rope.scale_linear");
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
  rope.factor = fields.number(key("rope.scaling.factor"), 1.0, 1e6);
  rope.originalPositions =
      fields.unsignedInteger(key("rope.scaling.original_context_length"), 1, Rope::mostPositions);
  rope.fastTurns = fields.numberOr(key("rope.scaling.yarn_beta_fast"), 32, 1e-6, 1e6);
  rope.slowTurns = fields.numberOr(key("rope.scaling.yarn_beta_slow"), 1, 1e-6, 1e6);
  rope.attentionFactor = 0.1 * std::log(rope.factor) + 1;
  if (rope.fastTurns < rope.slowTurns)
    fail("rope.scaling.yarn_beta_fast", "is below yarn_beta_slow", "correct the two",
         "INGOT-E1051");
  if (rope.theta <= 1)
    fail("rope.freq_base", "must be above 1 for rope type yarn", "correct it", "INGOT-E1051");
}

void ConfigReader::readFromTensors() {
  config.tiedEmbeddings = !hasTensor("output.weight");
  config.attentionBias = architecture.attentionBias || hasTensor("blk.0.attn_q.bias");
  config.outputBias = hasTensor("blk.0.attn_output.bias");
  config.mlpBias = hasTensor("blk.0.ffn_down.bias");
}

/// `innerSize`: of each expert, where no key says it.
void ConfigReader::readExperts(uint64_t innerSize) {
  Experts &experts = config.experts.emplace();
  experts.count = fields.unsignedInteger(key("expert_count"), 1, Experts::most);
  experts.perToken = fields.unsignedInteger(key("expert_used_count"), 1, experts.count);
  experts.innerSize = fields.unsignedIntegerOr(key("expert_feed_forward_length"), innerSize, 1,
                                               ModelConfig::widest);
}

/// Mixtral is a llama with experts.
void ConfigReader::readLlama() {
  if (fields.unsignedIntegerOr(key("expert_count"), 0, 0, Experts::most) == 0)
    return;
  config.architecture = "MixtralForCausalLM";
  readExperts(config.intermediateSize);
  config.experts->module = "block_sparse_moe";
  config.experts->gate = "w1";
  config.experts->up = "w3";
  config.experts->down = "w2";
}

/// The window is the one that the checkpoint was trained with, although llama.cpp leaves it out.
/// Older converters did not write it: Phi-3 mini and medium with 4096 positions have one.
void ConfigReader::readPhi3() {
  config.fusedProjections = true;
  const bool isSmallContext =
      config.maxPositions == 4096 && (config.layers == 32 || config.layers == 40);
  config.slidingWindow = fields.unsignedIntegerOr(
      key("attention.sliding_window"), isSmallContext ? 2047 : 0, 0, Rope::mostPositions);
  Rope &rope = config.rope;
  rope.attentionFactor = fields.numberOr(key("rope.scaling.attn_factor"), 1, 1e-6, 1e6);
  const bool divided = hasTensor(longDivisors);
  if (divided != hasTensor(shortDivisors) ||
      (!divided && fields.stringOr(key("rope.scaling.type"), "") == "longrope"))
    fail("rope.scaling.type",
         message("tensor ", inQuotes(divided ? shortDivisors : longDivisors), " is missing"),
         "convert the model again");
  if (!divided)
    return;
  if (rope.type != RopeType::Default)
    fail("rope.scaling.factor", "frequencies are scaled linearly and by tensors",
         "use a model with one of the two");
  rope.type = RopeType::LongRope;
  rope.attentionFactor = fields.number(key("rope.scaling.attn_factor"), 1e-6, 1e6);
  rope.originalPositions = fields.unsignedIntegerOr(key("rope.scaling.original_context_length"),
                                                    config.maxPositions, 1, Rope::mostPositions);
}

void ConfigReader::readQwen2Moe() {
  readExperts(config.intermediateSize);
  config.experts->normalized = false;
  config.experts->sharedSize = fields.unsignedIntegerOr(
      key("expert_shared_feed_forward_length"), config.intermediateSize, 1, ModelConfig::widest);
}

void ConfigReader::readQwen3() { config.queryKeyNorm = QueryKeyNorm::Heads; }

void ConfigReader::readQwen3Moe() {
  readQwen3();
  readExperts(config.intermediateSize);
}

/// No key says what clamps the activation, or that the blend of frequencies begins within a pair.
void ConfigReader::readGptOss() {
  config.attentionSinks = true;
  config.activation = Activation::ClampedSwiglu;
  config.activationLimit = 7;
  config.rope.wholePairs = config.rope.type != RopeType::Yarn;
  config.slidingWindow =
      fields.unsignedInteger(key("attention.sliding_window"), 0, Rope::mostPositions);
  config.slideButEvery(2);
  readExperts(config.intermediateSize);
  config.experts->biases = true;
  config.experts->router = "router";
}

void ConfigReader::readOlmo2() {
  config.queryKeyNorm = QueryKeyNorm::Rows;
  config.layerNorms = LayerNorms::Results;
}

void ConfigReader::readGranite() {
  constexpr double least = 1e-9, most = 1e9;
  config.embeddingMultiplier = fields.numberOr(key("embedding_scale"), 1, least, most);
  config.residualMultiplier = fields.numberOr(key("residual_scale"), 1, least, most);
  if (fields.has(key("attention.scale")))
    config.attentionMultiplier = fields.number(key("attention.scale"), least, most);
  config.logitsDivisor = fields.numberOr(key("logit_scale"), 1, least, most);
}

/// Converters add the 1 to the norms' factors. No key says what scores are multiplied by: the
/// largest model of each family, known by its layers, differs from the others.
void ConfigReader::readGemma(uint64_t slidingPattern, uint64_t layersOfLargest) {
  config.layerNorms = LayerNorms::Both;
  config.activation = Activation::GeluTanh;
  config.embeddingMultiplier = std::sqrt(static_cast<float>(config.hiddenSize));
  const uint64_t scaled =
      config.layers == layersOfLargest ? config.hiddenSize / config.heads : config.headDim;
  config.attentionMultiplier = 1 / std::sqrt(static_cast<double>(scaled));
  config.slidingWindow = fields.unsignedIntegerOr(key("attention.sliding_window"),
                                                  config.slidingWindow, 0, Rope::mostPositions);
  config.slideButEvery(slidingPattern);
}

void ConfigReader::readGemma2() {
  constexpr double least = 1e-9, most = 1e9;
  config.slidingWindow = 4096;
  readGemma(2, 46);
  config.attentionSoftcap = fields.numberOr(key("attn_logit_softcapping"), 50, least, most);
  config.logitsSoftcap = fields.numberOr(key("final_logit_softcapping"), 30, least, most);
}

void ConfigReader::readGemma3() {
  readGemma(6, 62);
  config.queryKeyNorm = QueryKeyNorm::Heads;
  config.slidingRope.emplace().theta = fields.numberOr(key("rope.freq_base_swa"), 10000, 1.0, 1e15);
  config.logitsSoftcap = fields.numberOr(key("final_logit_softcapping"), 0, 0, 1e9);
}

Outcome ConfigReader::takeRopeTensors() {
  if (auto taken = takeDivisors(ropeDivisors, config.rope.divisors); !taken)
    return taken;
  if (config.rope.type != RopeType::LongRope)
    return {};
  for (auto [name, divisors] : {std::pair(shortDivisors, &config.rope.shortDivisors),
                                std::pair(longDivisors, &config.rope.longDivisors)}) {
    std::vector<float> stored;
    if (auto taken = takeDivisors(name, stored); !taken)
      return taken;
    divisors->assign(stored.begin(), stored.end());
  }
  return {};
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
  const uint64_t pairs = config.rotaryPairs();
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
  for (const Architecture &architecture : architectures()) {
    supported += message(supported.empty() ? "" : ", ", architecture.name);
    names.emplace_back(architecture.name);
    if (architecture.name == *name)
      return ConfigReader(model, architecture).read();
  }
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
  constexpr int control = 3;
  const auto tokens = metadata.find(tokensKey), types = metadata.find("tokenizer.ggml.token_type");
  for (size_t id = 0; tokens && types && id < std::min(tokens->size(), types->size()); ++id) {
    const auto &token = tokens->raw()[id];
    if (id < vocabSize && types->raw()[id] == control && token.is_string() &&
        std::find(std::begin(endTexts), std::end(endTexts), token.get_ref<const std::string &>()) !=
            std::end(endTexts))
      add(id);
  }
  generation.eosIds = std::move(ends);
  return generation;
}

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// Keys and names. Source: `src/mistral_inference` of mistralai/mistral-inference (args.py,
// transformer.py).
#include "compiler/checkpoint/config/MistralFiles.h"

#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/JsonFields.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

struct NameRow {
  std::string_view stored, model;
};

constexpr NameRow ofModel[] = {{"tok_embeddings.weight", "model.embed_tokens.weight"},
                               {"norm.weight", "model.norm.weight"},
                               {"output.weight", "lm_head.weight"}};

constexpr NameRow ofLayer[] = {
    {"attention.wq", "self_attn.q_proj"},  {"attention.wk", "self_attn.k_proj"},
    {"attention.wv", "self_attn.v_proj"},  {"attention.wo", "self_attn.o_proj"},
    {"attention_norm", "input_layernorm"}, {"ffn_norm", "post_attention_layernorm"},
    {"feed_forward.w1", "mlp.gate_proj"},  {"feed_forward.w2", "mlp.down_proj"},
    {"feed_forward.w3", "mlp.up_proj"},    {"feed_forward.gate", "block_sparse_moe.gate"}};

constexpr std::string_view layers = "layers.", weight = ".weight",
                           storedExperts = "feed_forward.experts.",
                           modelExperts = "block_sparse_moe.experts.";

/// Keys that are read, and those that say nothing about the numbers.
constexpr std::string_view knownKeys[] = {
    "dim",
    "n_layers",
    "head_dim",
    "hidden_dim",
    "n_heads",
    "n_kv_heads",
    "norm_eps",
    "moe",
    "vocab_size",
    "rope_theta",
    "model_type",
    "sliding_window",
    "max_seq_len",
    "max_position_embeddings",
    "tied_embeddings",
    "use_cache",
};

std::optional<Error> readExperts(const Json &moe, ConfigDraft &config) {
  JsonFields fields(moe);
  Experts &experts = *config.experts;
  experts.count = fields.unsignedInteger("num_experts", 1, Experts::most);
  experts.perToken = fields.unsignedInteger("num_experts_per_tok", 1, experts.count);
  experts.innerSize = config.mlp.innerSize;
  return fields.error();
}

} // namespace

Expected<ModelConfig> parseMistralParams(std::string_view text, const std::string &fileName) {
  auto root = Json::parse(text, fileName);
  if (!root)
    return root.error();
  JsonFields fields(*root);
  auto moe = root->find("moe");
  bool sparse = moe && !moe->isNull();
  const Family &family = sparse ? families::mixtral : families::mistral;
  ConfigDraft config(*root, family.form, family.layers);
  config.architecture = family.architecture;
  config.hiddenSize = fields.unsignedInteger("dim", 1, ModelConfig::widest);
  config.mlp.innerSize = fields.unsignedInteger("hidden_dim", 1, ModelConfig::widest);
  config.layers.resize(fields.unsignedInteger("n_layers", 1, ModelConfig::mostLayers));
  config.attention.heads = fields.unsignedInteger("n_heads", 1, ModelConfig::mostHeads);
  config.attention.kvHeads = fields.unsignedInteger("n_kv_heads", 1, config.attention.heads);
  config.attention.headDim = fields.unsignedInteger("head_dim", 2, ModelConfig::widestHead);
  config.vocabSize = fields.unsignedInteger("vocab_size", 1, ModelConfig::largestVocabulary);
  config.normEpsilon = fields.number("norm_eps", 1e-30, 1.0);
  config.attention.slidingWindow =
      fields.unsignedIntegerOr("sliding_window", 0, 1, Rope::mostPositions);
  // The defaults of the program that these files are for.
  config.rope.theta =
      fields.numberOr("rope_theta", config.attention.slidingWindow ? 1e4 : 1e6, 1, 1e15);
  config.maxPositions = fields.unsignedIntegerOr("max_seq_len", 32768, 1, Rope::mostPositions);
  config.maxPositions = fields.unsignedIntegerOr("max_position_embeddings", config.maxPositions, 1,
                                                 Rope::mostPositions);
  config.tiedEmbeddings = fields.booleanOr("tied_embeddings", false);
  config.attention.ropeInterleaved = true;
  config.bosId = 1;
  config.eosIds = {2};
  for (const std::string &key : root->keys())
    if (std::ranges::find(knownKeys, key) == std::end(knownKeys))
      fields.fail(key, "INGOT-E1057", "this key is not known, and may change what is computed",
                  "convert the model to a Hugging Face directory");
  if (fields.stringOr("model_type", "transformer") != "transformer")
    fields.fail("model_type", "INGOT-E1057", "the model is no transformer",
                "use a model of a supported architecture");
  if (fields.error())
    return *fields.error();
  if (sparse)
    if (auto error = readExperts(*moe, config))
      return *std::move(error);
  if (config.attention.heads % config.attention.kvHeads != 0 || config.attention.headDim % 2 != 0)
    return root->error("INGOT-E1051",
                       message(config.attention.heads, " heads of ", config.attention.headDim,
                               " elements with ", config.attention.kvHeads,
                               " KV heads are impossible"),
                       "n_kv_heads must divide n_heads, and head_dim must be even");
  config.planLayers(family.vary);
  return ModelConfig(std::move(config));
}

Expected<ModelConfig> readMistralParams(const std::filesystem::path &path) {
  constexpr uint64_t most = uint64_t{1} << 20;
  auto text = readText(path, most);
  if (!text)
    return text.error();
  return parseMistralParams(*text, path.string());
}

std::optional<std::string> modelNameOfMistral(std::string_view name) {
  for (const NameRow &row : ofModel)
    if (row.stored == name)
      return std::string(row.model);
  if (!name.starts_with(layers) || !name.ends_with(weight))
    return std::nullopt;
  std::string_view rest = name.substr(layers.size());
  rest.remove_suffix(weight.size());
  size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0 || digits == rest.size() || rest[digits] != '.')
    return std::nullopt;
  std::string prefix = message("model.layers.", rest.substr(0, digits + 1));
  rest.remove_prefix(digits + 1);
  if (rest.starts_with(storedExperts))
    return message(prefix, modelExperts, rest.substr(storedExperts.size()), weight);
  for (const NameRow &row : ofLayer)
    if (row.stored == rest)
      return message(prefix, row.model, weight);
  return std::nullopt;
}

} // namespace ingot::checkpoint

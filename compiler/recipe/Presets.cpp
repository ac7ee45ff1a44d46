// SPDX-License-Identifier: Apache-2.0
// The recipes by name. Embeddings and heads keep more bits than the other matrices: each token of
// an answer depends on them directly. So do a few parts of layers, in those of 4 bits.
#include "compiler/recipe/Presets.h"

#include "compiler/checkpoint/files/NearestName.h"

#include <algorithm>
#include <array>

namespace ingot::recipe {

constexpr std::string_view kSensitiveParts[] = {
    "*.linear_attn.out_proj.*", "*.linear_attn.in_proj_b*", "*.conv.out_proj.*",
    "*.per_layer_input_gate.*", "*.per_layer_projection.*", "*.per_layer_model_projection.*",
};

constexpr std::array<Preset, 17> kPresets = {{
    {"exact", "everything in the checkpoint's own types", "version: 1\n"},
    {"bf16", "16-bit weights, activations and KV cache",
     "version: 1\n"
     "weights: [{match: \"*\", format: bf16}]\n"
     "activations: bf16\n"
     "kv_cache: bf16\n"},
    {"f16", "likewise, in f16: more digits, a smaller range",
     "version: 1\n"
     "weights: [{match: \"*\", format: f16}]\n"
     "activations: f16\n"
     "kv_cache: f16\n"},
    {"fp8", "FP8 weights and activations (W8A8); embedding and head in bf16",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: bf16}\n"
     "  - {match: \"*lm_head*\", format: bf16}\n"
     "  - {match: \"*\", format: fp8}\n"
     "activations: {compute: fp8-dynamic, store: bf16}\n"
     "kv_cache: bf16\n"},
    {"int8", "8-bit weights, bf16 activations (W8A16)",
     "version: 1\n"
     "weights: [{match: \"*\", format: int8}]\n"
     "activations: bf16\n"
     "kv_cache: bf16\n"},
    {"w8a8", "8-bit weights, 8-bit activations with a scale for each token",
     "version: 1\n"
     "weights: [{match: \"*\", format: int8}]\n"
     "activations: {compute: int8-dynamic, store: bf16}\n"
     "kv_cache: bf16\n"},
    {"int4",
     "4-bit weights in groups of 32, bf16 activations (W4A16); embedding and head in 8 bits",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: int8}\n"
     "  - {match: \"*lm_head*\", format: int8}\n"
     "  - {match: \"*\", format: int4, group: 32}\n"
     "activations: bf16\n"
     "kv_cache: bf16\n",
     NumberFormat::Int8},
    {"w4a8", "likewise, with 8-bit activations in groups of 32; for CPUs",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: int8}\n"
     "  - {match: \"*lm_head*\", format: int8}\n"
     "  - {match: \"*\", format: int4, group: 32}\n"
     "activations: {compute: int8-dynamic, group: 32, store: bf16}\n"
     "kv_cache: bf16\n",
     NumberFormat::Int8},
    {"w4a16-awq",
     "4-bit weights in groups of 128 by AWQ, from calibration text; the rest as stored",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: int4, group: 128, zero_points: true}\n"
     "method: awq\n",
     NumberFormat::Int8},
    {"w4a16-gptq", "likewise, by GPTQ, without zero points",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: int4, group: 128}\n"
     "method: gptq\n",
     NumberFormat::Int8},
    {"w4a16-best", "likewise, with zero points, by both and coordinate descent",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: int4, group: 128, zero_points: true}\n"
     "method: best\n",
     NumberFormat::Int8},
    {"nvfp4", "4-bit floats in blocks of 16 with 8-bit scales (NVFP4) by GPTQ; the rest as stored",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: nvfp4}\n"
     "method: gptq\n",
     NumberFormat::Int8},
    {"mxfp4", "4-bit floats in blocks of 32 with powers of two (MXFP4) by GPTQ; the rest as stored",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: mxfp4}\n"
     "method: gptq\n",
     NumberFormat::Int8},
    {"nf4", "bitsandbytes' NF4 by GPTQ, in blocks of 64 with 8-bit scales; the rest as stored",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: nf4}\n"
     "method: gptq\n",
     NumberFormat::Stored},
    {"fp4", "likewise, bitsandbytes' FP4",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: fp4}\n"
     "method: gptq\n",
     NumberFormat::Stored},
    {"int8-sq", "8-bit weights and activations by SmoothQuant, from calibration text",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: int8}\n"
     "activations: {compute: int8-dynamic, store: bf16}\n"
     "kv_cache: bf16\n"
     "method: smoothquant\n"},
    {"fp8-static",
     "FP8 weights by GPTQ and activations, whose scales are measured on calibration text",
     "version: 1\n"
     "weights:\n"
     "  - {match: \"*embed*\", format: stored}\n"
     "  - {match: \"*lm_head*\", format: stored}\n"
     "  - {match: \"*\", format: fp8}\n"
     "activations: {compute: fp8-static, store: bf16}\n"
     "kv_cache: bf16\n"
     "method: gptq\n"},
}};

std::span<const Preset> presets() { return kPresets; }

std::span<const std::string_view> sensitiveParts() { return kSensitiveParts; }

static bool isForSensitive(const WeightRule &rule) {
  return std::ranges::find(kSensitiveParts, rule.match) != std::end(kSensitiveParts);
}

bool isSensitive(const Recipe &recipe, std::string_view tensorName) {
  const WeightRule *decides = recipe.ruleFor(tensorName);
  return decides && isForSensitive(*decides);
}

void keepSensitive(Recipe &recipe) {
  for (WeightRule &rule : recipe.weights)
    if (isForSensitive(rule))
      rule.format = {};
}

static Recipe recipeOf(const Preset &preset) {
  Recipe recipe = *Recipe::parse(std::string(preset.text), std::string(preset.name));
  if (!preset.sensitive)
    return recipe;
  std::vector<WeightRule> rules;
  for (std::string_view part : kSensitiveParts)
    rules.push_back({std::string(part), {*preset.sensitive}});
  recipe.weights.insert(recipe.weights.begin(), rules.begin(), rules.end());
  return recipe;
}

std::optional<Recipe> presetCalled(std::string_view name) {
  for (const Preset &preset : kPresets)
    if (preset.name == name)
      return recipeOf(preset);
  return std::nullopt;
}

Expected<Recipe> presetOrFile(const std::filesystem::path &asked) {
  if (std::optional<Recipe> preset = presetCalled(asked.string()))
    return *std::move(preset);
  if (std::error_code unknown;
      asked.has_parent_path() || asked.has_extension() || exists(asked, unknown))
    return Recipe::read(asked);
  std::vector<std::string> names;
  std::string list;
  for (const Preset &preset : kPresets) {
    names.emplace_back(preset.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  return Error{"INGOT-E2012",
               "there is no recipe and no file called " + checkpoint::inQuotes(asked.string()) +
                   checkpoint::didYouMean(asked.string(), names),
               "--recipe", "give a file, or one of " + list};
}

} // namespace ingot::recipe

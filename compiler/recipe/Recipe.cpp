// SPDX-License-Identifier: Apache-2.0
// Questions to a recipe, and its text form.
#include "compiler/recipe/Recipe.h"

#include <array>

namespace ingot::recipe {

using checkpoint::message;

std::string_view name(WeightType type) {
  constexpr std::array<std::string_view, 7> names = {"stored", "f32",  "bf16", "f16",
                                                     "int8",   "int4", "fp8"};
  return names[static_cast<size_t>(type)];
}

std::string_view name(ScaleShape shape) {
  return shape == ScaleShape::Tensor ? "tensor" : "channel";
}

std::string_view name(ActivationType type) {
  constexpr std::array<std::string_view, 8> names = {
      "stored", "f32", "bf16", "f16", "int8-dynamic", "fp8-dynamic", "int8-static", "fp8-static"};
  return names[static_cast<size_t>(type)];
}

std::string_view name(StoreType type) {
  constexpr std::array<std::string_view, 4> names = {"stored", "f32", "bf16", "f16"};
  return names[static_cast<size_t>(type)];
}

std::string_view name(KvType type) {
  constexpr std::array<std::string_view, 9> names = {
      "stored", "f32", "bf16", "f16", "int8", "e4m3", "e5m2", "int8-static", "e4m3-static"};
  return names[static_cast<size_t>(type)];
}

bool isEightBits(ActivationType type) { return type >= ActivationType::Int8Dynamic; }
bool isStatic(ActivationType type) { return type >= ActivationType::Int8Static; }
bool isStatic(KvType type) { return type >= KvType::Int8Static; }

std::string_view name(AttentionType type) { return type == AttentionType::Fp8 ? "fp8" : "stored"; }

bool matchesPattern(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  // Where to resume when characters after the last `*` do not fit: it then takes one more.
  size_t afterStar = pattern.npos, starEnd = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      afterStar = ++p;
      starEnd = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (afterStar != pattern.npos) {
      p = afterStar;
      t = ++starEnd;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

Recipe Recipe::settled(StoreType own) const {
  Recipe result = *this;
  auto settle = [](auto &type, auto f32, auto bf16, auto f16, StoreType to) {
    if (type == std::remove_reference_t<decltype(type)>::Stored)
      type = to == StoreType::BF16 ? bf16 : to == StoreType::F16 ? f16 : f32;
  };
  using Activation = ActivationType;
  settle(result.activations.compute, Activation::F32, Activation::BF16, Activation::F16, own);
  settle(result.activations.store, StoreType::F32, StoreType::BF16, StoreType::F16, own);
  settle(result.kvCache, KvType::F32, KvType::BF16, KvType::F16, own);
  return result;
}

WeightFormat Recipe::formatFor(std::string_view tensorName) const {
  for (const WeightRule &rule : weights)
    if (matchesPattern(rule.match, tensorName))
      return rule.format;
  return {};
}

std::vector<UnusedRule> Recipe::unusedRules(std::span<const std::string> tensorNames) const {
  std::vector<bool> decides(weights.size()), matches(weights.size());
  for (const std::string &tensor : tensorNames) {
    bool decided = false;
    for (size_t i = 0; i < weights.size(); ++i) {
      if ((decided && matches[i]) || !matchesPattern(weights[i].match, tensor))
        continue;
      matches[i] = true;
      if (!decided)
        decides[i] = true;
      decided = true;
    }
  }
  std::vector<UnusedRule> unused;
  for (size_t i = 0; i < weights.size(); ++i)
    if (!decides[i])
      unused.push_back({i, matches[i]});
  return unused;
}

std::string Recipe::str() const {
  std::string out = "version: 1\n";
  out += weights.empty() ? "weights: []\n" : "weights:\n";
  for (const WeightRule &rule : weights) {
    const WeightFormat &format = rule.format;
    out += message("  - match: \"", rule.match, "\"\n    format: ", name(format.type), "\n");
    if (format.type == WeightType::Int4) {
      out += format.group == WeightFormat::wholeRow ? "    group: channel\n"
                                                    : message("    group: ", format.group, "\n");
      out += message("    zero_points: ", format.zeroPoints ? "true" : "false", "\n");
    }
    if (format.type == WeightType::Fp8)
      out += message("    scale: ", name(format.scale), "\n");
  }
  if (isEightBits(activations.compute))
    out += message(
        "activations: {compute: ", name(activations.compute), ", store: ", name(activations.store),
        activations.compute != ActivationType::Int8Dynamic ? ""
        : activations.group == Activations::wholeRow       ? ", group: token"
                                                     : message(", group: ", activations.group),
        "}\n");
  else
    out += message("activations: ", name(activations.compute), "\n");
  out += message("kv_cache: ", name(kvCache), "\n");
  if (attention != AttentionType::Stored)
    out += message("attention: ", name(attention), "\n");
  return out;
}

} // namespace ingot::recipe

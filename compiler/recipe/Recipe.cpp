// SPDX-License-Identifier: Apache-2.0
// Questions to a recipe, and its text form.
#include "compiler/recipe/RecipeWords.h"

namespace ingot::recipe {

using checkpoint::message;

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

Recipe Recipe::settled(NumberFormat own) const {
  Recipe result = *this;
  for (NumberFormat *format :
       {&result.activations.compute, &result.activations.store, &result.kvCache})
    if (*format == NumberFormat::Stored)
      *format = own;
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

/// "key: word" of each key that the section has.
template <class Section>
static std::vector<std::string> texts(const Section &section,
                                      std::span<const RecipeKey<Section>> keys) {
  auto kind = static_cast<NumberFormat>(keys.front().get(section));
  std::vector<std::string> lines;
  for (const RecipeKey<Section> &key : keys)
    if (key.isOf(kind))
      lines.push_back(message(key.name, ": ", wordFor(key.bit, key.get(section))));
  return lines;
}

std::string Recipe::str() const {
  std::string out = "version: 1\n";
  out += weights.empty() ? "weights: []\n" : "weights:\n";
  for (const WeightRule &rule : weights) {
    out += message("  - match: \"", rule.match, "\"\n");
    for (const std::string &text : texts<WeightFormat>(rule.format, kWeightKeys))
      out += message("    ", text, "\n");
  }
  std::string list;
  std::vector<std::string> parts = texts<Activations>(activations, kActivationKeys);
  for (const std::string &part : parts)
    list += (list.empty() ? "" : ", ") + part;
  out += parts.size() == 1 ? message("activations: ", wordFor(Compute, activations.compute), "\n")
                           : message("activations: {", list, "}\n");
  for (const RecipeKey<Recipe> &key : kRecipeKeys)
    if (key.get(*this) != key.initial)
      out += message(key.name, ": ", wordFor(key.bit, key.get(*this)), "\n");
  return out;
}

} // namespace ingot::recipe

// SPDX-License-Identifier: Apache-2.0
// Questions to a recipe.
#include "compiler/recipe/Recipe.h"

namespace ingot::recipe {

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

bool WeightRule::matches(std::string_view tensorName) const {
  return isOfVision() == tensorName.starts_with(kVision) && matchesPattern(match, tensorName);
}

Recipe Recipe::settled(NumberFormat own) const {
  Recipe result = *this;
  for (NumberFormat *format :
       {&result.activations.compute, &result.activations.store, &result.kvCache})
    if (*format == NumberFormat::Stored)
      *format = own;
  return result;
}

const WeightRule *Recipe::ruleFor(std::string_view tensorName) const {
  for (const WeightRule &rule : weights)
    if (rule.matches(tensorName))
      return &rule;
  return nullptr;
}

WeightFormat Recipe::formatFor(std::string_view tensorName) const {
  const WeightRule *rule = ruleFor(tensorName);
  return rule ? rule->format : WeightFormat();
}

std::vector<UnusedRule> Recipe::unusedRules(std::span<const std::string> tensorNames) const {
  std::vector<bool> decides(weights.size()), matches(weights.size());
  for (const std::string &tensor : tensorNames) {
    bool decided = false;
    for (size_t i = 0; i < weights.size(); ++i) {
      if ((decided && matches[i]) || !weights[i].matches(tensor))
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

} // namespace ingot::recipe

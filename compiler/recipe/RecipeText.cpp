// SPDX-License-Identifier: Apache-2.0
// From a Recipe to its text form.
#include "compiler/recipe/RecipeWords.h"

namespace ingot::recipe {

using checkpoint::message;

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

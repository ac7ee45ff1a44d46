// SPDX-License-Identifier: Apache-2.0
// From YAML to a Recipe. Every key is checked: unknown ones, and ones that another value makes
// meaningless, are errors.
#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/NearestName.h"
#include "compiler/recipe/RecipeWords.h"
#include "compiler/recipe/Yaml.h"

#include <algorithm>

namespace ingot::recipe {

using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::Outcome;

namespace {

/// Reads the parts of a recipe; holds the file name for errors.
class Parser {
public:
  explicit Parser(const std::string &fileName) : fileName(fileName) {}

  Expected<Recipe> recipe(const YamlNode &root) const;

private:
  Error error(const YamlNode &node, std::string code, std::string what, std::string fix) const {
    return {std::move(code), std::move(what), whereIs(node, fileName), std::move(fix)};
  }

  Outcome checkKeys(const YamlNode &map, const std::vector<std::string> &known) const;
  Expected<const YamlNode *> required(const YamlNode &map, std::string_view key) const;
  Expected<std::string> word(const YamlNode &node, std::string_view meaning) const;
  Expected<int32_t> value(const YamlNode &node, std::string_view meaning, KeyBit key) const;
  template <class Section>
  Outcome read(const YamlNode &map, std::span<const RecipeKey<Section>> keys,
               Section &section) const;

  Outcome version(const YamlNode &root) const;
  Expected<WeightRule> weightRule(const YamlNode &node) const;
  Outcome formatOfVision(const YamlNode &node, NumberFormat type) const;
  Expected<std::string> pattern(const YamlNode &node) const;
  Expected<Activations> activations(const YamlNode &node) const;

  const std::string &fileName;
};

/// The value of `key`, or null; `map` is a map.
const YamlNode *find(const YamlNode &map, std::string_view key) {
  for (size_t i = 0; i < map.keys.size(); ++i)
    if (map.keys[i].text == key)
      return &map.children[i];
  return nullptr;
}

/// `names`, and those of `keys`.
template <class Section>
std::vector<std::string> with(std::vector<std::string> names,
                              std::span<const RecipeKey<Section>> keys) {
  for (const RecipeKey<Section> &key : keys)
    names.emplace_back(key.name);
  return names;
}

/// As a list for people.
std::string joined(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += message(list.empty() ? "" : ", ", name);
  return list;
}

Outcome Parser::checkKeys(const YamlNode &map, const std::vector<std::string> &known) const {
  if (map.kind != YamlNode::Kind::Map)
    return error(map, "INGOT-E2006", "expected keys and values",
                 message("write `", known.front(), ": ...`"));
  for (const YamlNode &key : map.keys)
    if (std::find(known.begin(), known.end(), key.text) == known.end())
      return error(
          key, "INGOT-E2003",
          message("unknown key ", inQuotes(key.text), checkpoint::didYouMean(key.text, known)),
          "known here: " + joined(known));
  return {};
}

Expected<const YamlNode *> Parser::required(const YamlNode &map, std::string_view key) const {
  if (const YamlNode *node = find(map, key))
    return node;
  return error(map, "INGOT-E2005", message("key ", inQuotes(key), " is missing"), "add the key");
}

Expected<std::string> Parser::word(const YamlNode &node, std::string_view meaning) const {
  if (node.kind != YamlNode::Kind::Scalar)
    return error(node, "INGOT-E2006", message("expected ", meaning, " as a single value"),
                 "write one value");
  return node.text;
}

/// What a word means as the value of `key`.
Expected<int32_t> Parser::value(const YamlNode &node, std::string_view meaning, KeyBit key) const {
  auto text = word(node, meaning);
  if (!text)
    return text.error();
  std::vector<std::string> names;
  for (const RecipeWord &word : words()) {
    if (!(word.keys & key))
      continue;
    if (word.text == *text && (node.plain || key != ZeroPoints))
      return word.value;
    names.emplace_back(word.text);
  }
  return error(
      node, "INGOT-E2007",
      message("unknown ", meaning, " ", inQuotes(*text), checkpoint::didYouMean(*text, names)),
      "choose one of: " + joined(names));
}

/// Reads the keys of a section, of which the first decides which others it has.
template <class Section>
Outcome Parser::read(const YamlNode &map, std::span<const RecipeKey<Section>> keys,
                     Section &section) const {
  const RecipeKey<Section> &first = keys.front();
  for (const RecipeKey<Section> &key : keys) {
    const YamlNode *node = find(map, key.name);
    auto kind = static_cast<NumberFormat>(first.get(section));
    if (&key != &first && !key.isOf(kind)) {
      if (!node)
        continue;
      std::vector<std::string> owners;
      for (const RecipeWord &word : words())
        if ((word.keys & first.bit) && key.isOf(static_cast<NumberFormat>(word.value)))
          owners.emplace_back(word.text);
      return error(*node, "INGOT-E2008",
                   message(key.name, " belongs to ", first.name, " ", joined(owners), ", not to ",
                           wordFor(first.bit, kind)),
                   message("remove ", key.name, ", or choose another ", first.name));
    }
    key.set(section, key.initial);
    if (!node)
      continue;
    auto read = value(*node, key.meaning, key.bit);
    if (!read)
      return read.error();
    key.set(section, *read);
  }
  return {};
}

Outcome Parser::version(const YamlNode &root) const {
  auto node = required(root, "version");
  if (!node)
    return node.error();
  auto text = word(**node, "the recipe's version");
  if (!text)
    return text.error();
  if (*text != "1")
    return error(**node, "INGOT-E2009", message("version ", inQuotes(*text), " is not known"),
                 "this Ingot reads version 1");
  return {};
}

Expected<std::string> Parser::pattern(const YamlNode &node) const {
  auto text = word(node, "a pattern of tensor names");
  if (!text)
    return text.error();
  constexpr size_t longestPattern = 256;
  if (text->empty() || text->size() > longestPattern)
    return error(node, "INGOT-E2010",
                 message("a pattern has 1 to ", longestPattern, " characters, not ", text->size()),
                 "write a tensor name, with * for any characters");
  for (char c : *text)
    if (c <= ' ' || c > '~' || std::string_view("\"\\[]{}!").find(c) != std::string_view::npos)
      return error(node, "INGOT-E2010",
                   message("patterns do not have the character ", inQuotes({&c, 1})),
                   "use * for any characters and ? for one");
  return text;
}

/// Parts that see are computed in bf16 or f32, and quantized by builds.
Outcome Parser::formatOfVision(const YamlNode &node, NumberFormat type) const {
  if (type != NumberFormat::F16 && !isFourBitFloat(type))
    return {};
  return error(node, "INGOT-E2014",
               message("parts that see are not held as ", wordFor(Format, type),
                       type == NumberFormat::F16 ? ": some have numbers beyond its range"
                                                 : ", which builds do not make"),
               "choose another format");
}

Expected<WeightRule> Parser::weightRule(const YamlNode &node) const {
  if (auto checked = checkKeys(node, with<WeightFormat>({"match"}, kWeightKeys)); !checked)
    return checked.error();
  auto matchNode = required(node, "match");
  if (!matchNode)
    return matchNode.error();
  auto match = pattern(**matchNode);
  if (!match)
    return match.error();
  if (auto format = required(node, kWeightKeys[0].name); !format)
    return format.error();
  WeightRule rule{*match, {}};
  if (auto outcome = read<WeightFormat>(node, kWeightKeys, rule.format); !outcome)
    return outcome.error();
  if (rule.isOfVision())
    if (auto outcome = formatOfVision(node, rule.format.type); !outcome)
      return outcome.error();
  return rule;
}

Expected<Activations> Parser::activations(const YamlNode &node) const {
  constexpr const RecipeKey<Activations> &first = kActivationKeys[0];
  Activations result;
  if (node.kind == YamlNode::Kind::Map) {
    if (auto checked = checkKeys(node, with<Activations>({}, kActivationKeys)); !checked)
      return checked.error();
    if (auto compute = required(node, first.name); !compute)
      return compute.error();
    if (auto outcome = read<Activations>(node, kActivationKeys, result); !outcome)
      return outcome.error();
  } else {
    auto compute = value(node, first.meaning, first.bit);
    if (!compute)
      return compute.error();
    first.set(result, *compute);
  }
  if (!isNarrow(result.compute))
    result.store = result.compute;
  return result;
}

Expected<Recipe> Parser::recipe(const YamlNode &root) const {
  if (auto checked =
          checkKeys(root, with<Recipe>({"version", "weights", "activations"}, kRecipeKeys));
      !checked)
    return checked.error();
  if (auto checked = version(root); !checked)
    return checked.error();
  Recipe recipe;
  if (const YamlNode *weights = find(root, "weights")) {
    if (weights->kind != YamlNode::Kind::List)
      return error(*weights, "INGOT-E2006", "expected a list of rules",
                   "write `- match: ...` below `weights:`");
    constexpr size_t mostRules = 4096;
    if (weights->children.size() > mostRules)
      return error(*weights, "INGOT-E2002", message("more than ", mostRules, " rules"),
                   "use patterns that match more names");
    for (const YamlNode &node : weights->children) {
      auto rule = weightRule(node);
      if (!rule)
        return rule.error();
      recipe.weights.push_back(*std::move(rule));
    }
  }
  if (const YamlNode *node = find(root, "activations")) {
    auto read = activations(*node);
    if (!read)
      return read.error();
    recipe.activations = *read;
  }
  if (auto outcome = read<Recipe>(root, kRecipeKeys, recipe); !outcome)
    return outcome.error();
  return recipe;
}

} // namespace

Expected<Recipe> Recipe::parse(const std::string &text, const std::string &fileName) {
  auto root = parseYaml(text, fileName);
  if (!root)
    return root.error();
  return Parser(fileName).recipe(*root);
}

Expected<Recipe> Recipe::read(const std::filesystem::path &path) {
  auto text = checkpoint::readText(path, kLongestRecipe);
  if (!text)
    return text.error();
  return parse(*text, path.string());
}

} // namespace ingot::recipe

// SPDX-License-Identifier: Apache-2.0
// From YAML to a Recipe. Every key is checked: unknown ones, and ones that another value makes
// meaningless, are errors.
#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/NearestName.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/recipe/Yaml.h"

#include <algorithm>
#include <optional>

namespace ingot::recipe {

using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::Outcome;

namespace {

constexpr uint64_t longestRecipe = uint64_t{256} << 10;

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
  template <class Enum>
  Expected<Enum> choice(const YamlNode &node, std::string_view meaning,
                        std::initializer_list<Enum> choices) const;
  Error notOneOf(const YamlNode &node, std::string_view meaning,
                 const std::vector<std::string> &names) const;

  Outcome version(const YamlNode &root) const;
  Expected<WeightRule> weightRule(const YamlNode &node) const;
  Expected<uint32_t> group(const YamlNode &node, const std::string &whole) const;
  Outcome int4Options(const YamlNode &node, WeightFormat &format) const;
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

/// What values of a 16 or 32-bit `type` are stored as; for 8 bits unless the recipe says.
StoreType storeOf(ActivationType type) {
  switch (type) {
  case ActivationType::F32:
    return StoreType::F32;
  case ActivationType::BF16:
    return StoreType::BF16;
  case ActivationType::F16:
    return StoreType::F16;
  default:
    return StoreType::Stored;
  }
}

Outcome Parser::checkKeys(const YamlNode &map, const std::vector<std::string> &known) const {
  if (map.kind != YamlNode::Kind::Map)
    return error(map, "INGOT-E2006", "expected keys and values",
                 message("write `", known.front(), ": ...`"));
  for (const YamlNode &key : map.keys)
    if (std::find(known.begin(), known.end(), key.text) == known.end()) {
      std::string list;
      for (const std::string &name : known)
        list += message(list.empty() ? "" : ", ", name);
      return error(
          key, "INGOT-E2003",
          message("unknown key ", inQuotes(key.text), checkpoint::didYouMean(key.text, known)),
          "known here: " + list);
    }
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

Error Parser::notOneOf(const YamlNode &node, std::string_view meaning,
                       const std::vector<std::string> &names) const {
  std::string list;
  for (const std::string &name : names)
    list += message(list.empty() ? "" : ", ", name);
  return error(node, "INGOT-E2007",
               message("unknown ", meaning, " ", inQuotes(node.text),
                       checkpoint::didYouMean(node.text, names)),
               message("choose one of: ", list));
}

template <class Enum>
Expected<Enum> Parser::choice(const YamlNode &node, std::string_view meaning,
                              std::initializer_list<Enum> choices) const {
  auto text = word(node, meaning);
  if (!text)
    return text.error();
  std::vector<std::string> names;
  for (Enum value : choices) {
    if (name(value) == *text)
      return value;
    names.emplace_back(name(value));
  }
  return notOneOf(node, meaning, names);
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

/// Elements of a row that share a scale; 0 where all do, which is called `whole`.
Expected<uint32_t> Parser::group(const YamlNode &node, const std::string &whole) const {
  auto text = word(node, "a group size");
  if (!text)
    return text.error();
  if (*text == whole)
    return uint32_t{0};
  if (*text == "32" || *text == "64" || *text == "128")
    return static_cast<uint32_t>(std::stoul(*text));
  return notOneOf(node, "group size", {"32", "64", "128", whole});
}

Outcome Parser::int4Options(const YamlNode &node, WeightFormat &format) const {
  format.group = WeightFormat::defaultGroup;
  if (const YamlNode *groupNode = find(node, "group")) {
    auto read = group(*groupNode, "channel");
    if (!read)
      return read.error();
    format.group = *read;
  }
  if (const YamlNode *zeroPoints = find(node, "zero_points")) {
    auto text = word(*zeroPoints, "true or false");
    if (!text)
      return text.error();
    if (!zeroPoints->plain || (*text != "true" && *text != "false"))
      return notOneOf(*zeroPoints, "value", {"true", "false"});
    format.zeroPoints = *text == "true";
  }
  return {};
}

Expected<WeightRule> Parser::weightRule(const YamlNode &node) const {
  if (auto checked = checkKeys(node, {"match", "format", "group", "zero_points", "scale"});
      !checked)
    return checked.error();
  auto matchNode = required(node, "match");
  if (!matchNode)
    return matchNode.error();
  auto match = pattern(**matchNode);
  if (!match)
    return match.error();
  auto formatNode = required(node, "format");
  if (!formatNode)
    return formatNode.error();
  using enum WeightType;
  auto type = choice(**formatNode, "weight format", {Stored, F32, BF16, F16, Int8, Int4, Fp8});
  if (!type)
    return type.error();

  WeightRule rule{*match, {.type = *type}};
  for (auto [key, owner] : {std::pair{"group", Int4}, {"zero_points", Int4}, {"scale", Fp8}})
    if (const YamlNode *option = find(node, key); option && *type != owner)
      return error(*option, "INGOT-E2008",
                   message(key, " belongs to format ", name(owner), ", not to ", name(*type)),
                   message("remove ", key, ", or choose format ", name(owner)));
  if (*type == Int4)
    if (auto read = int4Options(node, rule.format); !read)
      return read.error();
  if (const YamlNode *scaleNode = find(node, "scale")) {
    auto scale = choice(*scaleNode, "scale", {ScaleShape::Tensor, ScaleShape::Channel});
    if (!scale)
      return scale.error();
    rule.format.scale = *scale;
  }
  return rule;
}

Expected<Activations> Parser::activations(const YamlNode &node) const {
  const YamlNode *computeNode = &node;
  const YamlNode *storeNode = nullptr, *groupNode = nullptr;
  if (node.kind == YamlNode::Kind::Map) {
    if (auto checked = checkKeys(node, {"compute", "store", "group"}); !checked)
      return checked.error();
    auto compute = required(node, "compute");
    if (!compute)
      return compute.error();
    computeNode = *compute;
    storeNode = find(node, "store");
    groupNode = find(node, "group");
  }
  using enum ActivationType;
  auto compute = choice(*computeNode, "activation format",
                        {Stored, F32, BF16, F16, Int8Dynamic, Fp8Dynamic, Int8Static, Fp8Static});
  if (!compute)
    return compute.error();
  Activations result{*compute, storeOf(*compute)};
  if (groupNode) {
    if (*compute != Int8Dynamic)
      return error(*groupNode, "INGOT-E2008",
                   message("group goes with activations of ", name(Int8Dynamic), ", not with ",
                           name(*compute)),
                   message("remove group, or compute with ", name(Int8Dynamic)));
    auto read = group(*groupNode, "token");
    if (!read)
      return read.error();
    result.group = *read;
  }
  if (!storeNode)
    return result;
  if (!isEightBits(*compute))
    return error(*storeNode, "INGOT-E2008",
                 message("store goes with activations of 8 bits; ", name(*compute),
                         " values are stored as they are"),
                 "remove store");
  auto store = choice(*storeNode, "store type",
                      {StoreType::Stored, StoreType::F32, StoreType::BF16, StoreType::F16});
  if (!store)
    return store.error();
  result.store = *store;
  return result;
}

Expected<Recipe> Parser::recipe(const YamlNode &root) const {
  if (auto checked =
          checkKeys(root, {"version", "weights", "activations", "kv_cache", "attention"});
      !checked)
    return checked.error();
  if (auto checked = version(root); !checked)
    return checked.error();
  Recipe recipe;
  if (const YamlNode *weights = find(root, "weights")) {
    if (weights->kind != YamlNode::Kind::List)
      return error(*weights, "INGOT-E2006", "expected a list of rules",
                   "write `- match: ...` below `weights:`");
    constexpr size_t mostRules = 1024;
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
  if (const YamlNode *node = find(root, "kv_cache")) {
    using enum KvType;
    // What a matrix and attention call so is this type.
    auto plain = [&](const char *meant) {
      YamlNode named = *node;
      named.text = meant;
      return named;
    };
    const YamlNode stated = node->text == "fp8"          ? plain("e4m3")
                            : node->text == "fp8-static" ? plain("e4m3-static")
                                                         : *node;
    auto read = choice(stated, "KV cache format",
                       {Stored, F32, BF16, F16, Int8, E4M3, E5M2, Int8Static, E4M3Static});
    if (!read)
      return read.error();
    recipe.kvCache = *read;
  }
  if (const YamlNode *node = find(root, "attention")) {
    auto read = choice(*node, "attention format", {AttentionType::Stored, AttentionType::Fp8});
    if (!read)
      return read.error();
    recipe.attention = *read;
  }
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
  auto text = checkpoint::readText(path, longestRecipe);
  if (!text)
    return text.error();
  return parse(*text, path.string());
}

} // namespace ingot::recipe

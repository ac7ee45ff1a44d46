// SPDX-License-Identifier: Apache-2.0
// Builds YamlNodes from yaml-cpp's parse events. Its own node graph is not used: it keeps no
// duplicate keys, and aliases can make it cyclic.
#include "compiler/recipe/Yaml.h"

#include <algorithm>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace ingot::recipe {

using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::printable;

namespace {

constexpr size_t deepest = 16;

/// Leaves the parser from inside an event; never leaves this file.
struct Refusal {
  Error error;
};

class TreeBuilder : public YAML::EventHandler {
public:
  explicit TreeBuilder(const std::string &fileName) : fileName(fileName) {}

  YamlNode root;

  void OnDocumentStart(const YAML::Mark &) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark &mark, YAML::anchor_t anchor) override {
    add(start(YamlNode::Kind::Null, mark, "", anchor));
  }

  void OnAlias(const YAML::Mark &mark, YAML::anchor_t) override {
    refuse(start(YamlNode::Kind::Null, mark, "", 0), "INGOT-E2002", "aliases are not used here",
           "write the value out");
  }

  void OnScalar(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor,
                const std::string &text) override {
    YamlNode node = start(YamlNode::Kind::Scalar, mark, tag, anchor);
    node.text = text;
    node.plain = tag != "!";
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(start(YamlNode::Kind::List, mark, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark &mark, const std::string &tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(start(YamlNode::Kind::Map, mark, tag, anchor));
  }
  void OnMapEnd() override { close(); }

private:
  [[noreturn]] void refuse(const YamlNode &node, std::string code, std::string what,
                           std::string fix) {
    throw Refusal{{std::move(code), std::move(what), whereIs(node, fileName), std::move(fix)}};
  }

  /// A node at `mark`. yaml-cpp says "?" for an unquoted scalar and "!" for a quoted one.
  YamlNode start(YamlNode::Kind kind, const YAML::Mark &mark, const std::string &tag,
                 YAML::anchor_t anchor) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    if (anchor != 0)
      refuse(node, "INGOT-E2002", "anchors are not used here", "write the value out where needed");
    if (!tag.empty() && tag != "?" && tag != "!")
      refuse(node, "INGOT-E2002", message("the tag ", inQuotes(tag), " is not used here"),
             "remove the tag");
    return node;
  }

  void open(YamlNode node) {
    checkKeyPlace(node);
    if (nesting.size() >= deepest)
      refuse(node, "INGOT-E2002", message("nested deeper than ", deepest, " levels"),
             "no recipe needs that");
    nesting.push_back(std::move(node));
  }

  void close() {
    YamlNode node = std::move(nesting.back());
    nesting.pop_back();
    add(std::move(node));
  }

  bool awaitsKey() const {
    return !nesting.empty() && nesting.back().kind == YamlNode::Kind::Map &&
           nesting.back().keys.size() == nesting.back().children.size();
  }

  /// Refuses a node that stands for a key without being a scalar.
  void checkKeyPlace(const YamlNode &node) {
    if (awaitsKey() && node.kind != YamlNode::Kind::Scalar)
      refuse(node, "INGOT-E2006", "a key must be a single word", "write the key as one word");
  }

  void add(YamlNode node) {
    checkKeyPlace(node);
    if (nesting.empty()) {
      root = std::move(node);
      return;
    }
    YamlNode &parent = nesting.back();
    if (!awaitsKey()) {
      parent.children.push_back(std::move(node));
      return;
    }
    auto twice = std::find_if(parent.keys.begin(), parent.keys.end(),
                              [&](const YamlNode &key) { return key.text == node.text; });
    if (twice != parent.keys.end())
      refuse(node, "INGOT-E2004",
             message("key ", inQuotes(node.text), " was given before, on line ", twice->line),
             "remove one of the two");
    constexpr size_t mostKeys = 64;
    if (parent.keys.size() >= mostKeys)
      refuse(node, "INGOT-E2002", message("more than ", mostKeys, " keys"), "no recipe needs that");
    parent.keys.push_back(std::move(node));
  }

  const std::string &fileName;
  std::vector<YamlNode> nesting; ///< the open lists and maps, outermost first
};

} // namespace

std::string whereIs(const YamlNode &node, const std::string &fileName) {
  return message(printable(fileName), ":", node.line, ":", node.column);
}

Expected<YamlNode> parseYaml(const std::string &text, const std::string &fileName) {
  if (text.size() > kLongestRecipe)
    return Error{"INGOT-E2002", message("the recipe has more than ", kLongestRecipe, " bytes"),
                 printable(fileName), "check that this is the file that was meant"};
  TreeBuilder builder(fileName);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    TreeBuilder second(fileName);
    if (parser.HandleNextDocument(second))
      return Error{"INGOT-E2002", "the recipe holds several documents", printable(fileName),
                   "leave one document; remove the others and the line ---"};
  } catch (const Refusal &refusal) {
    return refusal.error;
  } catch (const YAML::Exception &exception) {
    YamlNode at;
    if (!exception.mark.is_null()) {
      at.line = exception.mark.line + 1;
      at.column = exception.mark.column + 1;
    }
    return Error{"INGOT-E2001", message("not valid YAML: ", printable(exception.msg)),
                 whereIs(at, fileName), "correct the line"};
  } catch (const std::exception &exception) {
    return Error{"INGOT-E2001", message("not valid YAML: ", printable(exception.what())),
                 printable(fileName), "correct the file"};
  }
  return std::move(builder.root);
}

} // namespace ingot::recipe

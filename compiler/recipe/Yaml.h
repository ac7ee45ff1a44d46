// SPDX-License-Identifier: Apache-2.0
// YamlNode: the plain part of YAML that recipes use, as a tree that knows lines and columns.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <vector>

namespace ingot::recipe {

/// Bytes of a text: a lockfile has a rule and a comment for each of some thousand matrices.
inline constexpr size_t kLongestRecipe = size_t{1} << 20;

using checkpoint::Error;
using checkpoint::Expected;

/// One value. Lines and columns count from 1.
struct YamlNode {
  enum class Kind : uint8_t { Null, Scalar, List, Map };

  Kind kind = Kind::Null;
  int line = 1;
  int column = 1;
  std::string text;  ///< Scalar: its text, unquoted
  bool plain = true; ///< Scalar: it was written without quotes
  /// List: the elements. Map: the values, whose keys (always scalars) are `keys`, in file order.
  std::vector<YamlNode> children;
  std::vector<YamlNode> keys;
};

/// Parses one document. Anchors, aliases, tags and further documents are refused, and so are keys
/// given twice. Errors: INGOT-E2001, E2002, E2004, E2006, each with line and column.
Expected<YamlNode> parseYaml(const std::string &text, const std::string &fileName);

/// "file:line:column" of a node.
std::string whereIs(const YamlNode &node, const std::string &fileName);

} // namespace ingot::recipe

// SPDX-License-Identifier: Apache-2.0
// Template: a Jinja template, compiled once and rendered by any thread.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/jinja/Limits.h"
#include "runtime/jinja/Text.h"

#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::jinja {

struct SyntaxTree;

/// A string of the variables, and the address of its first byte.
struct InputString {
  const std::string *text;
  uint32_t address;
};

struct Rendered {
  Text text;
  std::vector<InputString> strings; ///< by address; parts of the variables
};

/// Immutable; copies share what was compiled.
class Template {
public:
  /// `name` stands in errors. INGOT-E6060 (syntax), E6061 (a tag of several templates), E6062 (too
  /// deep or too long), E6068 (no such filter or test).
  static Result<Template> compile(std::string_view name, std::string_view source);

  /// `variables` is an object. Strings inside its lists and objects count as input, those that are
  /// variables themselves (bos_token, ...) as the template's. INGOT-E6062 to E6070.
  Result<Rendered> render(const nlohmann::ordered_json &variables, const std::tm &now,
                          const Limits &limits) const;

  /// Whether the template reads a variable, or sets one, of that name.
  bool mentions(std::string_view variable) const;

  const std::string &name() const { return title; }
  /// The same under another name, for errors of its renders.
  Template named(std::string name) const {
    Template other = *this;
    other.title = std::move(name);
    return other;
  }
  /// With its lines ended by "\n" alone, and without the last line's end.
  std::string_view source() const;

private:
  std::string title;
  std::shared_ptr<const SyntaxTree> tree;
};

} // namespace ingot::runtime::jinja

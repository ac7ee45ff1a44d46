// SPDX-License-Identifier: Apache-2.0
// SyntaxTree: a template as the interpreter walks it.
#pragma once

#include "runtime/jinja/Value.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ingot::runtime::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<std::unique_ptr<Statement>>;
/// A name, numbered by the tree.
using Symbol = uint32_t;

/// What stands between the parentheses of a call.
struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> keywords;
  ExpressionPtr star;       ///< *list, or null
  ExpressionPtr doubleStar; ///< **dict, or null
};

struct Expression {
  enum class Kind : uint8_t {
    Constant,
    Name,
    NamespaceName, // name.attribute as a target of `set`
    List,          // operands
    Tuple,
    Dict,      // operands: key, value, key, value, ...
    Attribute, // operands[0] . name
    Subscript, // operands[0] [operands[1]]
    Slice,     // operands[0] [operands[1] : operands[2] : operands[3]], null where absent
    Call,      // operands[0] (arguments)
    Filter,    // operands[0] | name(arguments); null: the text of a block
    Test,      // operands[0] is name(arguments)
    Not,
    Negate,
    Plus,
    Binary, // operands[0] name operands[1]
    And,
    Or,
    Compare,     // operands[0] operators[0] operands[1] operators[1] operands[2] ...
    Concat,      // operands
    Conditional, // operands: test, then, else (null where absent)
  };
  Kind kind;
  uint32_t offset; ///< in the source
  int depth = 1;
  Symbol symbol = 0;
  Value constant;
  std::string name; ///< also the operator of Binary
  std::vector<ExpressionPtr> operands;
  std::vector<std::string> operators;
  CallArguments arguments;
};

/// The parameters of a macro or a call block, the last `defaults.size()` with a default.
struct Signature {
  std::vector<Symbol> parameters;
  std::vector<ExpressionPtr> defaults;
  // Whether the body reads the special names.
  bool usesCaller = false;
  bool usesKwargs = false;
  bool usesVarargs = false;
};

struct Statement {
  enum class Kind : uint8_t {
    Output,      // expressions
    If,          // expressions[i] decides on bodies[i]; one body more: else
    For,         // target, value; expressions: [test]; bodies: body, else
    Set,         // target = value
    SetBlock,    // target = body, through `value`, a filter or null
    With,        // targets = expressions, bodies[0]
    Macro,       // symbol, signature, bodies[0]
    CallBlock,   // value: the call; signature, bodies[0]
    FilterBlock, // value: the filter
    Block,       // name, bodies[0]
    Autoescape,  // value, bodies[0]
    Generation,  // bodies[0]
    Break,
    Continue,
  };
  Kind kind;
  uint32_t offset;
  bool isRecursive = false; ///< For
  bool isScoped = false;    ///< Block: sees the names around it
  Symbol symbol = 0;
  std::string name;
  ExpressionPtr target;
  ExpressionPtr value;
  std::vector<ExpressionPtr> targets;
  std::vector<ExpressionPtr> expressions;
  std::vector<Body> bodies;
  Signature signature;
};

/// Immutable once parsed. Constants belong to `constants`.
struct SyntaxTree {
  std::string source; ///< with normalized lines
  std::unique_ptr<Heap> constants;
  std::vector<std::string> names; ///< by symbol
  std::unordered_map<std::string, Symbol> symbols;
  std::unordered_map<std::string, const Statement *> blocks;
  Body body;

  Symbol symbolOf(std::string_view name) {
    const auto [place, isNew] = symbols.try_emplace(std::string(name), Symbol(names.size()));
    if (isNew)
      names.emplace_back(name);
    return place->second;
  }
};

} // namespace ingot::runtime::jinja

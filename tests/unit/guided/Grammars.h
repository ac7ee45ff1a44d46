// SPDX-License-Identifier: Apache-2.0
// Grammars that the tests share.
#pragma once

#include "runtime/guided/Characters.h"
#include "runtime/guided/Grammar.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime::guided {

/// The grammar of `start`, which must have a text.
inline std::shared_ptr<const Grammar> built(GrammarBuilder &&builder, Symbol start) {
  auto grammar = std::move(builder).build(start);
  EXPECT_TRUE(grammar.ok()) << grammar.status().toString();
  return grammar.ok() ? *grammar : nullptr;
}

/// Rules of JSON: any value, with at most 8 bytes of white space in a row.
struct JsonRules {
  explicit JsonRules(GrammarBuilder &builder) : builder(builder) {
    ExpressionArena &arena = builder.expressions();
    ByteSet blanks;
    for (char byte : {' ', '\t', '\n', '\r'})
      blanks.add(uint8_t(byte));
    space = builder.terminal(arena.repeat(arena.bytes(blanks), 0, 8));
    string = text(0, ExpressionArena::unbounded);
    ExpressionId digits = arena.repeat(arena.range('0', '9'), 1, 20);
    ByteSet exponents;
    for (char byte : {'e', 'E'})
      exponents.add(uint8_t(byte));
    ByteSet signs;
    for (char byte : {'+', '-'})
      signs.add(uint8_t(byte));
    ExpressionId whole = arena.alternation(
        arena.literal("0"),
        arena.concatenation(arena.range('1', '9'), arena.repeat(arena.range('0', '9'), 0, 19)));
    integer = builder.terminal(arena.concatenation(arena.optional(arena.literal("-")), whole));
    number = builder.terminal(arena.concatenation(
        {arena.optional(arena.literal("-")), whole,
         arena.optional(arena.concatenation(arena.literal("."), digits)),
         arena.optional(arena.concatenation(
             {arena.bytes(exponents), arena.optional(arena.bytes(signs)), digits}))}));
    value = builder.rule();
    for (Symbol scalar : {string, number, builder.literal("true"), builder.literal("false"),
                          builder.literal("null")})
      builder.add(value, {scalar});
    builder.add(value, {array(value)});
    Symbol member = builder.sequence({string, space, builder.literal(":"), space, value});
    builder.add(value, {builder.sequence({builder.literal("{"), space,
                                          builder.separated(member, comma(), 0), space,
                                          builder.literal("}")})});
  }

  Symbol comma() { return builder.sequence({space, builder.literal(","), space}); }
  Symbol array(Symbol item) {
    return builder.sequence({builder.literal("["), space, builder.separated(item, comma(), 0),
                             space, builder.literal("]")});
  }
  /// A string of `least` to `most` characters.
  Symbol text(uint32_t least, uint32_t most) {
    ExpressionArena &arena = builder.expressions();
    ExpressionId any = spelled(arena, CharacterSet::all(), Spelling::JsonString);
    return builder.terminal(arena.concatenation(
        {arena.literal("\""), arena.repeat(any, least, most), arena.literal("\"")}));
  }
  /// A closed object with all of these members, in order.
  Symbol object(const std::vector<std::pair<std::string, Symbol>> &members) {
    std::vector<Symbol> parts{builder.literal("{"), space};
    bool first = true;
    for (const auto &[name, member] : members) {
      if (!first)
        parts.push_back(comma());
      first = false;
      parts.insert(parts.end(), {builder.literal("\"" + name + "\""), space, builder.literal(":"),
                                 space, member});
    }
    parts.insert(parts.end(), {space, builder.literal("}")});
    return builder.sequence(parts);
  }

  GrammarBuilder &builder;
  Symbol space, string, integer, number, value;
};

} // namespace ingot::runtime::guided

// SPDX-License-Identifier: Apache-2.0
// One rule or terminal for each part of a format.
#include "runtime/guided/RegexSyntax.h"
#include "runtime/guided/grammars/Gbnf.h"
#include "runtime/guided/grammars/Lark.h"
#include "runtime/guided/tags/TagFormat.h"

namespace ingot::runtime::guided {

namespace {

class TagCompiler {
public:
  TagCompiler(GrammarBuilder &builder, const SpecialNames &special)
      : builder(builder), arena(builder.expressions()), special(special) {}

  Result<Symbol> read(const TagFormat &format) {
    using Kind = TagFormat::Kind;
    switch (format.kind) {
    case Kind::Marker:
      return builder.literal(special.bytesOf(format.text));
    case Kind::Ending: {
      const Symbol marker = builder.literal(special.bytesOf(format.text));
      return special.isOne(format.text) ? builder.optional(marker) : marker;
    }
    case Kind::Gap: {
      ByteSet white;
      white.add(' ');
      white.add('\n');
      return builder.terminal(arena.repeat(arena.bytes(white), 0, 2));
    }
    case Kind::Regex:
      return regex(format);
    case Kind::Gbnf:
      return placed(addGbnf(builder, format.text, special), format);
    case Kind::Lark:
      return placed(addLark(builder, format.text), format);
    case Kind::Schema:
    case Kind::Arguments:
      return schema(format);
    case Kind::Text:
      return builder.terminal(text(format));
    case Kind::Words:
      return builder.terminal(arena.literals(format.words));
    case Kind::List:
      return list(format);
    case Kind::Sequence:
    case Kind::Choice:
      break;
    }
    std::vector<Symbol> parts;
    for (const TagFormat &part : format.parts) {
      const Result<Symbol> symbol = read(part);
      if (!symbol.ok())
        return symbol;
      parts.push_back(*symbol);
    }
    return format.kind == Kind::Choice ? builder.choice(parts) : builder.sequence(parts);
  }

  /// What can be said when all is written.
  Status finish() {
    for (const Placed &one : schemas)
      if (Status status = one.rules->finish(); !status.ok())
        return std::move(status).in(one.format->place);
    const std::vector<bool> productive = builder.productive();
    for (const Placed &one : schemas)
      if (Status status = one.rules->check(productive); !status.ok())
        return std::move(status).in(one.format->place);
    return {};
  }

private:
  struct Placed {
    std::unique_ptr<SchemaRules> rules;
    const TagFormat *format;
  };

  static Result<Symbol> placed(Result<Symbol> read, const TagFormat &format) {
    if (!read.ok())
      return Status(read.status()).in(format.place);
    return read;
  }

  Result<Symbol> regex(const TagFormat &format) {
    const Result<ExpressionId> expression = readRegex(arena, format.text);
    if (!expression.ok())
      return Status(expression.status()).in(format.place);
    return builder.terminal(*expression);
  }

  Result<Symbol> schema(const TagFormat &format) {
    for (const Placed &one : schemas)
      if (one.format->kind == format.kind && one.format->closed == format.closed &&
          one.format->text == format.text && one.format->style == format.style)
        return one.rules->value();
    Result<std::unique_ptr<SchemaRules>> rules =
        SchemaRules::read(builder, format.text, {.closed = format.closed}, format.style,
                          [this](std::string_view text) { return special.bytesOf(text); });
    if (!rules.ok())
      return Status(rules.status()).in(format.place);
    if (format.kind == TagFormat::Kind::Arguments)
      (*rules)->takeArguments();
    schemas.push_back({*std::move(rules), &format});
    return schemas.back().rules->value();
  }

  Result<Symbol> list(const TagFormat &format) {
    const Result<Symbol> item = read(format.parts[0]);
    if (!item.ok() || format.parts.size() == 1)
      return item.ok() ? builder.repeat(*item, format.least, format.most) : item;
    const Result<Symbol> separator = read(format.parts[1]);
    if (!separator.ok())
      return separator;
    return builder.separated(*item, *separator, format.least, format.most);
  }

  /// A word may be spelled, or be special tokens.
  ExpressionId text(const TagFormat &format) {
    ByteSet white;
    for (const char byte : std::string_view(" \t\r\n"))
      white.add(uint8_t(byte));
    const ExpressionId space = arena.star(arena.bytes(white));
    std::vector<ExpressionId> barred;
    for (const auto &[words, before] :
         {std::pair(&format.words, ExpressionId(ExpressionArena::anything)),
          std::pair(&format.notFirst, space)})
      for (const std::string &word : *words)
        for (const std::string &bytes : {word, special.bytesOf(word)})
          barred.push_back(
              arena.concatenation({before, arena.literal(bytes), ExpressionArena::anything}));
    return arena.difference(ExpressionArena::anything, arena.alternation(barred));
  }

  GrammarBuilder &builder;
  ExpressionArena &arena;
  const SpecialNames &special;
  std::vector<Placed> schemas;
};

} // namespace

Result<std::shared_ptr<const Grammar>> tagGrammar(const TagFormat &format,
                                                  const SpecialNames &special) {
  GrammarBuilder builder;
  TagCompiler compiler(builder, special);
  const Result<Symbol> start = compiler.read(format);
  if (!start.ok())
    return start.status();
  if (Status status = compiler.finish(); !status.ok())
    return status;
  return std::move(builder).build(*start);
}

} // namespace ingot::runtime::guided

// SPDX-License-Identifier: Apache-2.0
// Values as JSON, and arguments as the families of models write them.
#include "runtime/guided/json/SchemaRules.h"

namespace ingot::runtime::guided {

static JsonForm formOf(JsonForm form, const ArgumentStyle &style, const MarkerSpelling &spelling) {
  form.notation = style.notation();
  if (form.notation == Notation::Gemma) {
    form.quote = spelling(style.quote);
    form.barred = style.quote;
    form.mostSpace = 0;
  }
  if (style.kind == ArgumentStyle::Kind::Tagged)
    form.barred = style.valueEnd;
  return form;
}

SchemaRules::SchemaRules(GrammarBuilder &builder, std::unique_ptr<const JsonDocument> read,
                         SchemaIndex found, const JsonForm &form, const ArgumentStyle &style,
                         const MarkerSpelling &spelling)
    : builder(builder), arena(builder.expressions()), style(style), spelling(spelling),
      document(std::move(read)), index(std::move(found)), root(goals.of({0})),
      values(*this, builder, spellingOf(style.notation()), formOf(form, style, spelling)) {
  if (style.kind == ArgumentStyle::Kind::Tagged)
    plain = std::make_unique<Writer>(*this, builder, Spelling::Utf8, form);
  start = values.grammar.ruleOf(root);
}

Result<std::unique_ptr<SchemaRules>>
SchemaRules::read(GrammarBuilder &builder, std::string_view schema, const JsonForm &form,
                  const ArgumentStyle &style, const MarkerSpelling &spelling) {
  Result<JsonDocument> document = JsonDocument::read(schema);
  if (!document.ok())
    return document.status();
  auto kept = std::make_unique<const JsonDocument>(*std::move(document));
  Result<SchemaIndex> index = SchemaIndex::of(*kept);
  if (!index.ok())
    return index.status();
  return std::unique_ptr<SchemaRules>(
      new SchemaRules(builder, std::move(kept), *std::move(index), form, style, spelling));
}

ExpressionId SchemaRules::holding(std::string_view text) {
  return arena.concatenation(
      {ExpressionArena::anything, arena.literal(text), ExpressionArena::anything});
}

/// Texts that a reader of values without quotes may take for another value than a string.
ExpressionId SchemaRules::literalLike() {
  ByteSet white, leads;
  for (const char byte : std::string_view(" \t\r\n"))
    white.add(uint8_t(byte));
  for (const char byte : std::string_view("+-.0123456789{[("))
    leads.add(uint8_t(byte));
  const ExpressionId space = arena.star(arena.bytes(white));
  std::vector<ExpressionId> words;
  for (const char *word : {"true", "false", "null", "True", "False", "None"})
    words.push_back(arena.literal(word));
  return arena.concatenation(
      space, arena.alternation(arena.concatenation(arena.bytes(leads), ExpressionArena::anything),
                               arena.concatenation(arena.alternation(words), space)));
}

/// A string as it is, or another value as JSON, up to the end of its tag.
Symbol SchemaRules::taggedValue(GoalId goal) {
  const auto [place, isNew] = tagged.try_emplace(goal);
  if (!isNew)
    return place->second;
  const Symbol rule = place->second = builder.rule();
  const std::string line = style.onLines ? "\n" : "";
  const auto marker = [&](std::string_view text) { return arena.literal(spelling(text)); };
  const auto begin = [&](std::string_view kind) {
    const std::string text = std::string(kind) + style.keyEnd;
    if (style.value.empty())
      return arena.concatenation(marker(text), arena.literal(line));
    ByteSet white;
    white.add(' ');
    white.add('\n');
    return arena.concatenation({marker(text), arena.repeat(arena.bytes(white), 0, 2),
                                marker(style.value), arena.literal(line)});
  };
  const ExpressionId end = arena.concatenation(arena.literal(line), marker(style.valueEnd));
  const Shape shape = plain->meaning.shape(goal);
  const bool isMixed = shape.null || shape.no || shape.yes || !shape.numbers.empty() ||
                       !shape.arrays.empty() || !shape.objects.empty();
  ExpressionId texts = arena.difference(shape.strings, holding(style.valueEnd));
  if (isMixed && style.ofString.empty())
    texts = arena.difference(texts, literalLike());
  builder.add(rule, {builder.terminal(arena.concatenation({begin(style.ofString), texts, end}))});
  if (isMixed)
    builder.add(rule, {builder.terminal(begin(style.ofJson)),
                       values.grammar.ruleWithoutStrings(goal), builder.terminal(end)});
  return rule;
}

ObjectStyle SchemaRules::taggedStyle() {
  ByteSet white;
  white.add(' ');
  white.add('\n');
  const Symbol nothing = builder.terminal(ExpressionArena::empty);
  const Symbol gap = builder.terminal(arena.repeat(arena.bytes(white), 0, 2));
  ObjectStyle written;
  written.open = written.comma = gap;
  written.close = written.empty = nothing;
  written.beforeName = arena.literal(spelling(style.key));
  written.afterName = ExpressionArena::empty;
  ExpressionId barred = holding(style.keyEnd);
  for (const std::string &kind : {style.ofString, style.ofJson})
    if (!kind.empty())
      barred = arena.alternation(barred, holding(kind));
  written.names = arena.difference(anyText(arena, Spelling::Utf8),
                                   arena.alternation(barred, ExpressionArena::empty));
  written.valueOf = [this](GoalId goal) { return taggedValue(goal); };
  return written;
}

void SchemaRules::takeArguments() {
  ObjectStyle written = values.grammar.objectStyle();
  if (style.kind == ArgumentStyle::Kind::Tagged) {
    start = plain->grammar.objectRule(root, taggedStyle());
    return;
  }
  if (style.kind == ArgumentStyle::Kind::PythonCall) {
    ByteSet letters = ByteSet::range('a', 'z') | ByteSet::range('A', 'Z');
    letters.add('_');
    written.open = builder.literal("(");
    written.close = builder.literal(")");
    written.empty = builder.literal("()");
    written.beforeName = ExpressionArena::empty;
    written.afterName = arena.literal("=");
    written.names = arena.concatenation(
        arena.bytes(letters), arena.star(arena.bytes(letters | ByteSet::range('0', '9'))));
  }
  start = values.grammar.objectRule(root, written);
}

Status SchemaRules::finish() {
  for (Writer *writer : {plain.get(), &values})
    if (writer)
      if (Status status = writer->grammar.finish(); !status.ok())
        return status;
  return {};
}

Status SchemaRules::check(const std::vector<bool> &productive) {
  if (Status status = values.meaning.status(); !status.ok())
    return status;
  if (productive[start.index()])
    return {};
  const GoalId reason = values.grammar.impossible(root, productive);
  return Status::error("INGOT-E6613",
                       values.meaning.placeOf(reason) + ": no value matches the schema");
}

} // namespace ingot::runtime::guided

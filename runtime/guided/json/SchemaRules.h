// SPDX-License-Identifier: Apache-2.0
// The rules of one schema, in a grammar that may hold those of others too.
#pragma once

#include "runtime/guided/json/JsonForm.h"
#include "runtime/guided/json/SchemaMeaning.h"
#include "runtime/guided/json/ShapeGrammar.h"

#include <functional>
#include <memory>
#include <string_view>

namespace ingot::runtime::guided {

/// How the arguments of a call are written. Names are of what stands in the answer's text.
struct ArgumentStyle {
  enum class Kind : uint8_t {
    Json,
    PythonCall, ///< `(name=value, ...)`
    Gemma,      ///< `{name:value,...}`, with `quote` around strings
    Tagged      ///< `key` NAME `keyEnd` `value` VALUE `valueEnd`, and so on
  };

  Kind kind = Kind::Json;
  std::string quote = {};
  std::string key = {}, keyEnd = {}, value = {}, valueEnd = {};
  /// Before `keyEnd` where the value is a string, and where it is JSON; or empty.
  std::string ofString = {}, ofJson = {};
  bool onLines = false; ///< a value stands on lines of its own

  Notation notation() const {
    return kind == Kind::PythonCall ? Notation::Python
           : kind == Kind::Gemma    ? Notation::Gemma
                                    : Notation::Json;
  }
  bool operator==(const ArgumentStyle &) const = default;
};

/// The bytes by which a grammar has a marker.
using MarkerSpelling = std::function<std::string(std::string_view)>;

/// Outlives the reading of its schema, not the builder.
class SchemaRules {
public:
  /// `spelling` tells markers of `style`. Errors: as schemaGrammar(), but for INGOT-E6613.
  static Result<std::unique_ptr<SchemaRules>> read(GrammarBuilder &builder, std::string_view schema,
                                                   const JsonForm &form,
                                                   const ArgumentStyle &style = {},
                                                   const MarkerSpelling &spelling = {});

  /// Any value that matches.
  Symbol value() const { return start; }
  /// White space at the ends of a text.
  Symbol space() { return values.grammar.space(); }
  /// From now on value() derives the objects alone that match, as arguments in the style.
  void takeArguments();
  /// Writes what value() needs. Errors as read().
  Status finish();
  /// INGOT-E6613 with its place: no value matches. `productive`: of the builder.
  Status check(const std::vector<bool> &productive);

private:
  struct Writer {
    Writer(SchemaRules &rules, GrammarBuilder &builder, Spelling spelling, const JsonForm &form)
        : algebra(builder.expressions(), rules.goals, spelling),
          meaning(*rules.document, rules.index, algebra), grammar(builder, meaning, algebra, form) {
    }

    ShapeAlgebra algebra;
    SchemaMeaning meaning;
    ShapeGrammar grammar;
  };

  SchemaRules(GrammarBuilder &builder, std::unique_ptr<const JsonDocument> document,
              SchemaIndex index, const JsonForm &form, const ArgumentStyle &style,
              const MarkerSpelling &spelling);
  ObjectStyle taggedStyle();
  Symbol taggedValue(GoalId goal);
  ExpressionId holding(std::string_view text);
  ExpressionId literalLike();

  GrammarBuilder &builder;
  ExpressionArena &arena;
  ArgumentStyle style;
  MarkerSpelling spelling;
  std::unique_ptr<const JsonDocument> document;
  SchemaIndex index;
  Goals goals;
  GoalId root;
  Writer values;
  std::unique_ptr<Writer> plain; ///< of strings without quotes
  std::unordered_map<GoalId, Symbol> tagged;
  Symbol start;
};

} // namespace ingot::runtime::guided

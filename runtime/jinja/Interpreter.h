// SPDX-License-Identifier: Apache-2.0
// Interpreter: walks a syntax tree and writes the text it stands for.
#pragma once

#include "runtime/jinja/Arguments.h"
#include "runtime/jinja/SyntaxTree.h"

#include <ctime>
#include <optional>
#include <string_view>
#include <vector>

namespace ingot::runtime::jinja {

/// The names of one scope, and the scope around it.
struct Frame : HeapObject {
  explicit Frame(Frame *outer) : outer(outer) {}
  Frame *outer; ///< null: the names of the template's top level
  std::vector<std::pair<Symbol, Value>> names;
};

/// One render. Not thread-safe; the tree is shared.
class Interpreter {
public:
  /// `now` is what strftime_now tells.
  Interpreter(const SyntaxTree &tree, const Limits &limits, const std::tm &now);

  Heap heap;
  const SyntaxTree &tree;
  const std::tm now;
  /// Whether `autoescape` is on where the interpreter is: filters and macros go by it.
  bool autoescape = false;
  /// Whether it is on around the statement in the source: what is printed goes by that.
  bool escapesOutput = false;

  /// Gives a name of the top level its value.
  void define(Symbol name, const Value &value) { top[name] = value; }

  /// Renders the whole template.
  Text run();

  /// Where in the source the interpreter is.
  uint32_t offset() const { return where; }

  Value call(const Value &callee, const Arguments &arguments);
  Value filter(std::string_view name, const Value &value, const Arguments &arguments);
  bool test(std::string_view name, const Value &value, const Arguments &arguments);

  // For macros, loops and blocks. Each renders into a text of its own.
  Text renderBody(const Body &body, Frame *frame);
  /// The same, for a body that stands elsewhere in the source.
  Text renderBody(const Body &body, Frame *frame, bool escapes);
  Text renderLoop(const Statement &loop, Frame *frame, const Value &items, int64_t depth);
  Value evaluateIn(Frame *frame, const Expression &expression);
  Value rendered(Text text) { return makeString(heap, std::move(text), autoescape); }

private:
  enum class Flow : uint8_t { Normal, Break, Continue };

  // Statements.
  Flow execute(const Body &body);
  Flow execute(const Statement &statement);
  Flow executeIn(Frame *inner, const Body &body);
  void output(const Statement &statement);
  void emit(const Value &value);
  Flow ifStatement(const Statement &statement);
  Flow forStatement(const Statement &statement);
  Flow loop(const Statement &statement, const Value &items, int64_t depth);
  std::vector<Value> loopItems(const Statement &statement, const Value &items);
  /// A loop with a condition gives its items on as the tuples that its target takes them for.
  Value shaped(const Expression &target, const Value &item);
  void setStatement(const Statement &statement);
  Flow withStatement(const Statement &statement);
  void macroStatement(const Statement &statement);
  void callStatement(const Statement &statement);
  void filterStatement(const Statement &statement);
  Flow blockStatement(const Statement &statement);
  Flow autoescapeStatement(const Statement &statement);
  void assign(const Expression &target, const Value &value);
  void store(Symbol name, const Value &value);

  // Expressions.
  Value evaluate(const Expression &expression);
  Value lookUp(Symbol name);
  Value evaluateCall(const Expression &expression, const Value *caller);
  Value evaluateFilter(const Expression &expression, const Value *blockText);
  Value evaluateTest(const Expression &expression);
  Value evaluateDict(const Expression &expression);
  Value evaluateSlice(const Expression &expression);
  Value evaluateComparison(const Expression &expression);
  Value evaluateConcat(const Expression &expression);
  Value evaluateConditional(const Expression &expression);
  std::vector<Value> evaluateAll(const std::vector<ExpressionPtr> &expressions);
  Arguments evaluateArguments(const CallArguments &arguments);

  std::vector<std::optional<Value>> top; ///< by symbol
  Frame *frame = nullptr;                ///< null: the top level
  Text *out = nullptr;
  uint32_t where = 0;
  const Symbol loopName; ///< "loop", or one that no name has
  const Symbol selfName;
};

} // namespace ingot::runtime::jinja

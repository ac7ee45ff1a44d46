// SPDX-License-Identifier: Apache-2.0
// Interpreter: statements.
#include "runtime/jinja/Interpreter.h"

#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Globals.h"
#include "runtime/jinja/Loop.h"
#include "runtime/jinja/Macro.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"

#include <utility>

namespace ingot::runtime::jinja {

using Node = Statement::Kind;

static Symbol symbolIn(const SyntaxTree &tree, const std::string &name) {
  const auto found = tree.symbols.find(name);
  return found == tree.symbols.end() ? Symbol(-1) : found->second;
}

Interpreter::Interpreter(const SyntaxTree &tree, const Limits &limits, const std::tm &now)
    : heap(limits), tree(tree), now(now), top(tree.names.size()), loopName(symbolIn(tree, "loop")),
      selfName(symbolIn(tree, "self")) {
  for (const Global &global : globals())
    if (const Symbol name = symbolIn(tree, std::string(global.name)); name != Symbol(-1))
      define(name, makeGlobal(heap, global));
}

Text Interpreter::run() {
  if (selfName != Symbol(-1) && !top[selfName])
    define(selfName, Value(heap.make<BlockIndex>()));
  return renderBody(tree.body, nullptr);
}

Text Interpreter::renderBody(const Body &body, Frame *inner) {
  Text text;
  Text *outer = std::exchange(out, &text);
  executeIn(inner, body);
  out = outer;
  return text;
}

Text Interpreter::renderBody(const Body &body, Frame *inner, bool escapes) {
  const bool before = std::exchange(escapesOutput, escapes);
  Text text = renderBody(body, inner);
  escapesOutput = before;
  return text;
}

Text Interpreter::renderLoop(const Statement &statement, Frame *inner, const Value &items,
                             int64_t depth) {
  Text text;
  Text *outer = std::exchange(out, &text);
  Frame *before = std::exchange(frame, inner);
  loop(statement, items, depth);
  frame = before;
  out = outer;
  return text;
}

Value Interpreter::evaluateIn(Frame *inner, const Expression &expression) {
  Frame *before = std::exchange(frame, inner);
  const Value value = evaluate(expression);
  frame = before;
  return value;
}

Interpreter::Flow Interpreter::executeIn(Frame *inner, const Body &body) {
  Frame *before = std::exchange(frame, inner);
  const Flow flow = execute(body);
  frame = before;
  return flow;
}

Interpreter::Flow Interpreter::execute(const Body &body) {
  const Heap::Level level(heap);
  for (const auto &statement : body)
    if (const Flow flow = execute(*statement); flow != Flow::Normal)
      return flow;
  return Flow::Normal;
}

Interpreter::Flow Interpreter::execute(const Statement &statement) {
  heap.step();
  where = statement.offset;
  switch (statement.kind) {
  case Node::Output:
    output(statement);
    break;
  case Node::If:
    return ifStatement(statement);
  case Node::For:
    return forStatement(statement);
  case Node::Set:
    assign(*statement.target, evaluate(*statement.value));
    break;
  case Node::SetBlock:
    setStatement(statement);
    break;
  case Node::With:
    return withStatement(statement);
  case Node::Macro:
    macroStatement(statement);
    break;
  case Node::CallBlock:
    callStatement(statement);
    break;
  case Node::FilterBlock:
    filterStatement(statement);
    break;
  case Node::Block:
    return blockStatement(statement);
  case Node::Autoescape:
    return autoescapeStatement(statement);
  case Node::Generation:
    return executeIn(heap.make<Frame>(frame), statement.bodies[0]);
  case Node::Break:
    return Flow::Break;
  case Node::Continue:
    return Flow::Continue;
  }
  return Flow::Normal;
}

void Interpreter::output(const Statement &statement) {
  for (const ExpressionPtr &printed : statement.expressions)
    emit(evaluate(*printed));
}

void Interpreter::emit(const Value &value) {
  if (escapesOutput && !(value.isString() && value.string().isMarkup))
    out->append(htmlOf(heap, value));
  else
    appendStr(heap, *out, value);
}

Interpreter::Flow Interpreter::ifStatement(const Statement &statement) {
  size_t branch = 0;
  while (branch < statement.expressions.size() && !isTrue(evaluate(*statement.expressions[branch])))
    ++branch;
  return branch < statement.bodies.size() ? execute(statement.bodies[branch]) : Flow::Normal;
}

Interpreter::Flow Interpreter::forStatement(const Statement &statement) {
  return loop(statement, evaluate(*statement.value), 0);
}

Value Interpreter::shaped(const Expression &target, const Value &item) {
  if (target.kind != Expression::Kind::Tuple)
    return item;
  std::vector<Value> parts = iterate(heap, item);
  for (size_t i = 0; i < parts.size() && i < target.operands.size(); ++i)
    parts[i] = shaped(*target.operands[i], parts[i]);
  return makeTuple(heap, std::move(parts));
}

std::vector<Value> Interpreter::loopItems(const Statement &statement, const Value &items) {
  std::vector<Value> all = iterate(heap, items);
  if (statement.expressions.empty())
    return all;
  std::vector<Value> chosen;
  Frame *before = std::exchange(frame, heap.make<Frame>(frame));
  for (const Value &item : all) {
    const Value taken = shaped(*statement.target, item);
    assign(*statement.target, taken);
    if (isTrue(evaluate(*statement.expressions[0])))
      chosen.push_back(taken);
  }
  frame = before;
  return chosen;
}

Interpreter::Flow Interpreter::loop(const Statement &statement, const Value &items, int64_t depth) {
  const Heap::Level level(heap);
  Frame *outer = frame;
  auto *state = heap.make<Loop>(loopItems(statement, items), statement, outer, depth);
  heap.charge(state->items.size() * sizeof(Value));
  while (state->advance()) {
    heap.step();
    frame = heap.make<Frame>(outer);
    if (loopName != Symbol(-1))
      store(loopName, Value(state));
    where = statement.offset;
    assign(*statement.target, state->current());
    if (execute(statement.bodies[0]) == Flow::Break)
      break;
  }
  frame = outer;
  if (state->items.empty() && statement.bodies.size() > 1)
    return executeIn(heap.make<Frame>(outer), statement.bodies[1]);
  return Flow::Normal;
}

void Interpreter::setStatement(const Statement &statement) {
  Value text =
      makeString(heap, renderBody(statement.bodies[0], heap.make<Frame>(frame)), escapesOutput);
  if (statement.value)
    text = evaluateFilter(*statement.value, &text);
  assign(*statement.target, text);
}

Interpreter::Flow Interpreter::withStatement(const Statement &statement) {
  Frame *outer = frame;
  const std::vector<Value> values = evaluateAll(statement.expressions);
  frame = heap.make<Frame>(outer);
  for (size_t i = 0; i < values.size(); ++i)
    assign(*statement.targets[i], values[i]);
  const Flow flow = execute(statement.bodies[0]);
  frame = outer;
  return flow;
}

void Interpreter::macroStatement(const Statement &statement) {
  store(statement.symbol,
        Value(heap.make<Macro>(statement, frame, escapesOutput, tree.names[statement.symbol])));
}

void Interpreter::callStatement(const Statement &statement) {
  const Value caller(heap.make<Macro>(statement, frame, escapesOutput, "caller"));
  emit(evaluateCall(*statement.value, &caller));
}

void Interpreter::filterStatement(const Statement &statement) {
  const Value text =
      makeString(heap, renderBody(statement.bodies[0], heap.make<Frame>(frame)), escapesOutput);
  const Value filtered = evaluateFilter(*statement.value, &text);
  if (!filtered.isString())
    fail("the filter of a block must give a string, not " + std::string(typeName(filtered)));
  appendStr(heap, *out, filtered);
}

Interpreter::Flow Interpreter::blockStatement(const Statement &statement) {
  // A block is compiled by itself: what is around it escapes nothing in it.
  const bool before = std::exchange(escapesOutput, false);
  executeIn(heap.make<Frame>(statement.isScoped ? frame : nullptr), statement.bodies[0]);
  escapesOutput = before;
  return Flow::Normal;
}

Interpreter::Flow Interpreter::autoescapeStatement(const Statement &statement) {
  const bool isOn = isTrue(evaluate(*statement.value));
  const bool outer = std::exchange(autoescape, isOn);
  const bool outerOutput = std::exchange(escapesOutput, isOn);
  const Flow flow = executeIn(heap.make<Frame>(frame), statement.bodies[0]);
  autoescape = outer;
  escapesOutput = outerOutput;
  return flow;
}

void Interpreter::store(Symbol name, const Value &value) {
  if (!frame) {
    top[name] = value;
    return;
  }
  for (auto &[known, held] : frame->names)
    if (known == name) {
      held = value;
      return;
    }
  heap.charge(sizeof(std::pair<Symbol, Value>));
  frame->names.emplace_back(name, value);
}

void Interpreter::assign(const Expression &target, const Value &value) {
  if (target.kind == Expression::Kind::Name)
    return store(target.symbol, value);
  if (target.kind == Expression::Kind::NamespaceName) {
    const Value names = lookUp(target.symbol);
    if (!names.is(Kind::Object) || !assignInNamespace(heap, names.object(), target.name, value))
      fail("'" + tree.names[target.symbol] + "' is no namespace: its attributes cannot be set");
    return;
  }
  const std::vector<Value> items = iterate(heap, value);
  if (items.size() != target.operands.size())
    fail(std::to_string(target.operands.size()) + " names are given for " +
         std::to_string(items.size()) + " values");
  for (size_t i = 0; i < items.size(); ++i)
    assign(*target.operands[i], items[i]);
}

} // namespace ingot::runtime::jinja

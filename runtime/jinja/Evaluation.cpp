// SPDX-License-Identifier: Apache-2.0
// Interpreter: expressions.
#include "runtime/jinja/Access.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"
#include "runtime/jinja/Tests.h"

namespace ingot::runtime::jinja {

using Node = Expression::Kind;

Value Interpreter::evaluate(const Expression &expression) {
  const Heap::Level level(heap);
  heap.step();
  where = expression.offset;
  switch (expression.kind) {
  case Node::Constant:
    return expression.constant;
  case Node::Name:
  case Node::NamespaceName:
    return lookUp(expression.symbol);
  case Node::List:
    return makeList(heap, evaluateAll(expression.operands));
  case Node::Tuple:
    return makeTuple(heap, evaluateAll(expression.operands));
  case Node::Dict:
    return evaluateDict(expression);
  case Node::Slice:
    return evaluateSlice(expression);
  case Node::Call:
    return evaluateCall(expression, nullptr);
  case Node::Filter:
    return evaluateFilter(expression, nullptr);
  case Node::Test:
    return evaluateTest(expression);
  case Node::Compare:
    return evaluateComparison(expression);
  case Node::Concat:
    return evaluateConcat(expression);
  case Node::Conditional:
    return evaluateConditional(expression);
  default:
    break;
  }
  const Value first = evaluate(*expression.operands[0]);
  switch (expression.kind) {
  case Node::And:
    return isTrue(first) ? evaluate(*expression.operands[1]) : first;
  case Node::Or:
    return isTrue(first) ? first : evaluate(*expression.operands[1]);
  case Node::Not:
    return Value(!isTrue(first));
  case Node::Attribute:
    where = expression.offset;
    return attributeOf(*this, first, expression.name);
  case Node::Negate:
  case Node::Plus:
    where = expression.offset;
    return expression.kind == Node::Negate ? negated(first) : unchanged(first);
  default:
    break;
  }
  const Value second = evaluate(*expression.operands[1]);
  where = expression.offset;
  if (expression.kind == Node::Subscript)
    return elementOf(*this, first, second);
  return applyBinary(*this, expression.name, first, second);
}

Value Interpreter::lookUp(Symbol name) {
  for (const Frame *scope = frame; scope; scope = scope->outer)
    for (const auto &[known, value] : scope->names)
      if (known == name)
        return value;
  if (const std::optional<Value> &value = top[name])
    return *value;
  return makeUndefined(heap, quoted(tree.names[name]) + " is undefined");
}

std::vector<Value> Interpreter::evaluateAll(const std::vector<ExpressionPtr> &expressions) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const ExpressionPtr &expression : expressions)
    values.push_back(evaluate(*expression));
  return values;
}

Arguments Interpreter::evaluateArguments(const CallArguments &arguments) {
  Arguments values;
  values.positional = evaluateAll(arguments.positional);
  if (arguments.star) {
    const std::vector<Value> more = iterate(heap, evaluate(*arguments.star));
    values.positional.insert(values.positional.end(), more.begin(), more.end());
  }
  for (const auto &[name, expression] : arguments.keywords)
    values.keywords.emplace_back(name, evaluate(*expression));
  if (!arguments.doubleStar)
    return values;
  const Value more = evaluate(*arguments.doubleStar);
  if (!more.isDict())
    fail("what stands behind ** must be a dict, not " + std::string(typeName(more)));
  for (const auto &[name, value] : more.dict().entries) {
    if (!name.isString())
      fail("keywords must be strings");
    if (values.keyword(name.view()))
      fail("a call gives more than one value for '" + std::string(name.view()) + "'");
    heap.step(values.keywords.size() / 8);
    values.keywords.emplace_back(name.view(), value);
  }
  return values;
}

Value Interpreter::call(const Value &callee, const Arguments &arguments) {
  if (callee.isUndefined())
    callee.undefined().fail();
  if (!callee.is(Kind::Object))
    fail("'" + std::string(typeName(callee)) + "' object is not callable");
  return callee.object().call(*this, arguments);
}

Value Interpreter::evaluateCall(const Expression &expression, const Value *caller) {
  const Value callee = evaluate(*expression.operands[0]);
  Arguments arguments = evaluateArguments(expression.arguments);
  if (caller)
    arguments.keywords.emplace_back("caller", *caller);
  where = expression.offset;
  return call(callee, arguments);
}

Value Interpreter::filter(std::string_view name, const Value &value, const Arguments &arguments) {
  heap.step();
  const FilterFunction found = findFilter(name);
  if (!found)
    throw Failure{unknownNameCode, "there is no filter " + quoted(name), "use one of Jinja's own"};
  return found(*this, value, arguments);
}

bool Interpreter::test(std::string_view name, const Value &value, const Arguments &arguments) {
  heap.step();
  const TestFunction found = findTest(name);
  if (!found)
    throw Failure{unknownNameCode, "there is no test " + quoted(name), "use one of Jinja's own"};
  return found(*this, value, arguments);
}

Value Interpreter::evaluateFilter(const Expression &expression, const Value *blockText) {
  // Of filters behind each other, the innermost takes the text of the block.
  const Expression *operand = expression.operands[0].get();
  const Value value = !operand ? *blockText
                      : blockText && operand->kind == Node::Filter
                          ? evaluateFilter(*operand, blockText)
                          : evaluate(*operand);
  const Arguments arguments = evaluateArguments(expression.arguments);
  where = expression.offset;
  return filter(expression.name, value, arguments);
}

Value Interpreter::evaluateTest(const Expression &expression) {
  const Value value = evaluate(*expression.operands[0]);
  const Arguments arguments = evaluateArguments(expression.arguments);
  where = expression.offset;
  return Value(test(expression.name, value, arguments));
}

Value Interpreter::evaluateDict(const Expression &expression) {
  auto *dict = heap.make<Dict>();
  for (size_t i = 0; i + 1 < expression.operands.size(); i += 2) {
    const Value key = evaluate(*expression.operands[i]);
    dict->set(heap, key, evaluate(*expression.operands[i + 1]));
  }
  return Value(dict);
}

Value Interpreter::evaluateSlice(const Expression &expression) {
  const Value value = evaluate(*expression.operands[0]);
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i)
    if (expression.operands[i + 1])
      bounds[i] = evaluate(*expression.operands[i + 1]);
  where = expression.offset;
  return sliceOf(heap, value, bounds[0], bounds[1], bounds[2]);
}

Value Interpreter::evaluateComparison(const Expression &expression) {
  Value left = evaluate(*expression.operands[0]);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    const Value right = evaluate(*expression.operands[i + 1]);
    where = expression.offset;
    if (!applyComparison(heap, expression.operators[i], left, right))
      return Value(false);
    left = right;
  }
  return Value(true);
}

Value Interpreter::evaluateConcat(const Expression &expression) {
  const std::vector<Value> parts = evaluateAll(expression.operands);
  bool isMarkup = false;
  if (escapesOutput)
    for (const Value &part : parts)
      isMarkup |= part.isString() && part.string().isMarkup;
  Text text;
  for (const Value &part : parts)
    if (isMarkup)
      text.append(htmlOf(heap, part));
    else
      appendStr(heap, text, part);
  return makeString(heap, std::move(text), isMarkup);
}

Value Interpreter::evaluateConditional(const Expression &expression) {
  if (isTrue(evaluate(*expression.operands[0])))
    return evaluate(*expression.operands[1]);
  if (expression.operands[2])
    return evaluate(*expression.operands[2]);
  return makeUndefined(heap, "an inline if without an else was false");
}

} // namespace ingot::runtime::jinja

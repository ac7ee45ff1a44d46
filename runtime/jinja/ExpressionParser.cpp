// SPDX-License-Identifier: Apache-2.0
// ExpressionParser: tokens to expressions, by Jinja's grammar.
#include "runtime/jinja/ExpressionParser.h"

#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Representation.h"
#include "runtime/jinja/Tests.h"

#include <algorithm>

namespace ingot::runtime::jinja {

using Node = Expression::Kind;

ExpressionParser::ExpressionParser(SyntaxTree &tree, uint32_t &offset)
    : tree(tree), tokens(tokenize(tree.source, offset)), offset(offset) {}

ExpressionParser::Nested::Nested(ExpressionParser &parser) : parser(parser) {
  if (++parser.depth > maxTreeDepth) {
    --parser.depth;
    parser.offset = parser.current().offset;
    throw Failure{tooDeepCode, "more than " + std::to_string(maxTreeDepth) + " levels are nested",
                  "split the expression or the blocks"};
  }
}

void ExpressionParser::checkNames() {
  if (!unknown)
    return;
  offset = unknown->offset;
  throw Failure{unknownNameCode,
                "there is no " + std::string(unknown->what) + " '" + unknown->name + "'",
                "use one of Jinja's own"};
}

Token ExpressionParser::next() {
  Token token = current();
  if (position + 1 < tokens.size())
    ++position;
  return token;
}

bool ExpressionParser::skipName(std::string_view text) {
  if (!isName(text))
    return false;
  next();
  return true;
}

bool ExpressionParser::skipOperator(std::string_view text) {
  if (!isOperator(text))
    return false;
  next();
  return true;
}

std::string ExpressionParser::describeCurrent() const {
  switch (current().kind) {
  case TokenKind::Data:
    return "text";
  case TokenKind::VariableBegin:
    return "'{{'";
  case TokenKind::VariableEnd:
    return "'}}'";
  case TokenKind::BlockBegin:
    return "'{%'";
  case TokenKind::BlockEnd:
    return "'%}'";
  case TokenKind::String:
    return "a string";
  case TokenKind::Integer:
  case TokenKind::Float:
    return "a number";
  case TokenKind::End:
    return "the end of the template";
  default:
    return "'" + current().text + "'";
  }
}

void ExpressionParser::wrong(std::string what, std::optional<uint32_t> where) {
  offset = where.value_or(current().offset);
  throw Failure{syntaxCode, std::move(what), "correct the template"};
}

void ExpressionParser::expect(TokenKind kind, std::string_view what) {
  if (current().kind != kind)
    wrong("expected " + std::string(what) + ", not " + describeCurrent());
  next();
}

void ExpressionParser::expectOperator(std::string_view text) {
  if (!skipOperator(text))
    wrong("expected '" + std::string(text) + "', not " + describeCurrent());
}

void ExpressionParser::expectName(std::string_view text) {
  if (!skipName(text))
    wrong("expected '" + std::string(text) + "', not " + describeCurrent());
}

std::string ExpressionParser::expectAnyName() {
  if (current().kind != TokenKind::Name)
    wrong("expected a name, not " + describeCurrent());
  return next().text;
}

ExpressionPtr ExpressionParser::make(Node kind, uint32_t where) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->offset = where;
  return made;
}

void ExpressionParser::bound(const Expression &expression) {
  if (expression.depth <= maxTreeDepth)
    return;
  offset = expression.offset;
  throw Failure{tooDeepCode,
                "an expression has more than " + std::to_string(maxTreeDepth) + " levels",
                "split the expression"};
}

void ExpressionParser::add(Expression &parent, ExpressionPtr operand) {
  if (operand)
    parent.depth = std::max(parent.depth, operand->depth + 1);
  parent.operands.push_back(std::move(operand));
  bound(parent);
}

ExpressionPtr ExpressionParser::constant(uint32_t where, Value value) {
  ExpressionPtr made = make(Node::Constant, where);
  made->constant = value;
  return made;
}

ExpressionPtr ExpressionParser::unary(Node kind, ExpressionPtr operand, uint32_t where) {
  ExpressionPtr made = make(kind, where);
  add(*made, std::move(operand));
  return made;
}

ExpressionPtr ExpressionParser::binary(std::string name, ExpressionPtr left, ExpressionPtr right) {
  ExpressionPtr made = make(Node::Binary, left->offset);
  made->name = std::move(name);
  add(*made, std::move(left));
  add(*made, std::move(right));
  return made;
}

ExpressionPtr ExpressionParser::expression(bool withConditional) {
  const Nested nested(*this);
  return withConditional ? conditional() : orExpression();
}

ExpressionPtr ExpressionParser::conditional() {
  const Nested nested(*this);
  const std::optional<UnknownName> before = unknown;
  ExpressionPtr value = orExpression();
  while (isName("if")) {
    const uint32_t where = next().offset;
    ExpressionPtr choice = make(Node::Conditional, where);
    add(*choice, orExpression());
    add(*choice, std::move(value));
    add(*choice, skipName("else") ? conditional() : nullptr);
    value = std::move(choice);
    unknown = before; // it may never be run
  }
  return value;
}

ExpressionPtr ExpressionParser::orExpression() {
  ExpressionPtr left = andExpression();
  while (isName("or")) {
    ExpressionPtr either = unary(Node::Or, std::move(left), next().offset);
    add(*either, andExpression());
    left = std::move(either);
  }
  return left;
}

ExpressionPtr ExpressionParser::andExpression() {
  ExpressionPtr left = notExpression();
  while (isName("and")) {
    ExpressionPtr both = unary(Node::And, std::move(left), next().offset);
    add(*both, notExpression());
    left = std::move(both);
  }
  return left;
}

ExpressionPtr ExpressionParser::notExpression() {
  if (!isName("not"))
    return comparison();
  const Nested nested(*this);
  const uint32_t where = next().offset;
  return unary(Node::Not, notExpression(), where);
}

ExpressionPtr ExpressionParser::comparison() {
  ExpressionPtr left = sum();
  ExpressionPtr compared;
  while (true) {
    std::string symbol;
    if (current().kind == TokenKind::Operator &&
        (current().text == "==" || current().text == "!=" || current().text == "<" ||
         current().text == "<=" || current().text == ">" || current().text == ">="))
      symbol = current().text;
    else if (isName("in"))
      symbol = "in";
    else if (isName("not") && following().kind == TokenKind::Name && following().text == "in")
      symbol = "not in";
    else
      return compared ? std::move(compared) : std::move(left);
    const uint32_t where = next().offset;
    if (symbol == "not in")
      next();
    if (!compared)
      compared = unary(Node::Compare, std::move(left), where);
    compared->operators.push_back(std::move(symbol));
    add(*compared, sum());
  }
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (isOperator("+") || isOperator("-")) {
    std::string symbol = next().text;
    left = binary(std::move(symbol), std::move(left), concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!isOperator("~"))
    return first;
  ExpressionPtr all = unary(Node::Concat, std::move(first), current().offset);
  while (skipOperator("~"))
    add(*all, product());
  return all;
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr left = power();
  while (isOperator("*") || isOperator("/") || isOperator("//") || isOperator("%")) {
    std::string symbol = next().text;
    left = binary(std::move(symbol), std::move(left), power());
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = signedOperand();
  while (skipOperator("**"))
    left = binary("**", std::move(left), signedOperand());
  return left;
}

ExpressionPtr ExpressionParser::signedOperand(bool withFilters) {
  ExpressionPtr operand;
  if (isOperator("-") || isOperator("+")) {
    const Nested nested(*this);
    const Token sign = next();
    operand =
        unary(sign.text == "-" ? Node::Negate : Node::Plus, signedOperand(false), sign.offset);
  } else {
    operand = primary();
  }
  operand = postfix(std::move(operand));
  return withFilters ? filtersAndTests(std::move(operand)) : std::move(operand);
}

ExpressionPtr ExpressionParser::namedOperand(bool withNamespaces) {
  const Token token = next();
  if (token.text == "true" || token.text == "True")
    return constant(token.offset, Value(true));
  if (token.text == "false" || token.text == "False")
    return constant(token.offset, Value(false));
  if (token.text == "none" || token.text == "None")
    return constant(token.offset, Value());
  const bool isNamespace = withNamespaces && skipOperator(".");
  ExpressionPtr name = make(isNamespace ? Node::NamespaceName : Node::Name, token.offset);
  name->symbol = tree.symbolOf(token.text);
  if (!inTarget) {
    readsCaller |= token.text == "caller";
    readsKwargs |= token.text == "kwargs";
    readsVarargs |= token.text == "varargs";
  }
  if (isNamespace)
    name->name = expectAnyName();
  return name;
}

ExpressionPtr ExpressionParser::primary(bool withNamespaces) {
  const uint32_t where = current().offset;
  switch (current().kind) {
  case TokenKind::Name:
    return namedOperand(withNamespaces);
  case TokenKind::String: {
    std::string text;
    while (current().kind == TokenKind::String)
      text += next().text;
    return constant(where, makeString(*tree.constants, text));
  }
  case TokenKind::Integer:
    return constant(where, Value(next().integer));
  case TokenKind::Float:
    return constant(where, Value(next().number));
  default:
    break;
  }
  if (skipOperator("(")) {
    ExpressionPtr inner = tuple({.inParentheses = true});
    expectOperator(")");
    return inner;
  }
  if (skipOperator("["))
    return list();
  if (skipOperator("{"))
    return dict();
  wrong("expected an expression, not " + describeCurrent());
}

ExpressionPtr ExpressionParser::tuple(const TupleForm &form) {
  const Nested nested(*this);
  ExpressionPtr all = make(Node::Tuple, current().offset);
  bool isTuple = false;
  while (true) {
    if (current().kind == TokenKind::VariableEnd || current().kind == TokenKind::BlockEnd ||
        isOperator(")") || (!form.endName.empty() && isName(form.endName)))
      break;
    add(*all, form.isTarget ? primary(form.withNamespaces) : expression(form.withConditional));
    if (!skipOperator(","))
      break;
    isTuple = true;
  }
  if (isTuple)
    return all;
  if (!all->operands.empty())
    return std::move(all->operands[0]);
  if (!form.inParentheses)
    wrong("expected an expression, not " + describeCurrent());
  return all;
}

void ExpressionParser::checkTarget(const Expression &target) {
  if (target.kind == Node::Tuple)
    for (const ExpressionPtr &part : target.operands)
      checkTarget(*part);
  else if (target.kind != Node::Name && target.kind != Node::NamespaceName)
    wrong("cannot assign to what is no name", target.offset);
}

ExpressionPtr ExpressionParser::target(bool withNamespaces, std::string_view endName) {
  inTarget = true;
  ExpressionPtr made =
      tuple({.isTarget = true, .withNamespaces = withNamespaces, .endName = endName});
  inTarget = false;
  checkTarget(*made);
  return made;
}

Symbol ExpressionParser::targetName() {
  const uint32_t where = current().offset;
  const std::string name = expectAnyName();
  for (const std::string_view constant : {"true", "True", "false", "False", "none", "None"})
    if (name == constant)
      wrong("cannot assign to '" + name + "'", where);
  return tree.symbolOf(name);
}

ExpressionPtr ExpressionParser::list() {
  ExpressionPtr all = make(Node::List, current().offset);
  while (!isOperator("]")) {
    add(*all, expression());
    if (!isOperator("]"))
      expectOperator(",");
  }
  next();
  return all;
}

ExpressionPtr ExpressionParser::dict() {
  ExpressionPtr all = make(Node::Dict, current().offset);
  while (!isOperator("}")) {
    add(*all, expression());
    expectOperator(":");
    add(*all, expression());
    if (!isOperator("}"))
      expectOperator(",");
  }
  next();
  return all;
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr operand) {
  while (true)
    if (isOperator(".") || isOperator("["))
      operand = subscript(std::move(operand));
    else if (isOperator("("))
      operand = call(std::move(operand));
    else
      return operand;
}

ExpressionPtr ExpressionParser::filtersAndTests(ExpressionPtr operand) {
  while (true)
    if (isOperator("|"))
      operand = filters(std::move(operand));
    else if (isName("is"))
      operand = test(std::move(operand));
    else if (isOperator("("))
      operand = call(std::move(operand));
    else
      return operand;
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr operand) {
  const Token symbol = next();
  if (symbol.text == ".") {
    const Token name = next();
    if (name.kind == TokenKind::Name) {
      ExpressionPtr attribute = unary(Node::Attribute, std::move(operand), symbol.offset);
      attribute->name = name.text;
      return attribute;
    }
    if (name.kind != TokenKind::Integer)
      wrong("expected a name or a number behind '.'", name.offset);
    ExpressionPtr element = unary(Node::Subscript, std::move(operand), symbol.offset);
    add(*element, constant(name.offset, Value(name.integer)));
    return element;
  }
  if (skipOperator(":"))
    return slice(std::move(operand), nullptr, symbol.offset);
  ExpressionPtr key = isOperator("]") ? make(Node::Tuple, symbol.offset) : expression();
  if (skipOperator(":"))
    return slice(std::move(operand), std::move(key), symbol.offset);
  if (isOperator(",")) { // several make a tuple
    ExpressionPtr all = unary(Node::Tuple, std::move(key), symbol.offset);
    while (skipOperator(",")) {
      if (isOperator(":"))
        wrong("a slice among several subscripts is not supported");
      add(*all, expression());
    }
    key = std::move(all);
  }
  expectOperator("]");
  ExpressionPtr element = unary(Node::Subscript, std::move(operand), symbol.offset);
  add(*element, std::move(key));
  return element;
}

/// Behind the first ":".
ExpressionPtr ExpressionParser::slice(ExpressionPtr operand, ExpressionPtr first, uint32_t where) {
  ExpressionPtr made = unary(Node::Slice, std::move(operand), where);
  add(*made, std::move(first));
  add(*made, isOperator(":") || isOperator("]") ? nullptr : expression());
  add(*made, skipOperator(":") && !isOperator("]") ? expression() : nullptr);
  if (isOperator(","))
    wrong("a slice among several subscripts is not supported");
  expectOperator("]");
  return made;
}

void ExpressionParser::arguments(Expression &call) {
  CallArguments &into = call.arguments;
  auto inner = [&] {
    ExpressionPtr made = expression();
    call.depth = std::max(call.depth, made->depth + 1);
    bound(call);
    return made;
  };
  const uint32_t where = current().offset;
  auto inOrder = [&](bool isInOrder) {
    if (!isInOrder)
      wrong("the arguments of a call are out of order", where);
  };
  expectOperator("(");
  while (!isOperator(")")) {
    if (skipOperator("*")) {
      inOrder(!into.star && !into.doubleStar);
      into.star = inner();
    } else if (skipOperator("**")) {
      inOrder(!into.doubleStar);
      into.doubleStar = inner();
    } else if (current().kind == TokenKind::Name && following().kind == TokenKind::Operator &&
               following().text == "=") {
      inOrder(!into.doubleStar);
      std::string name = next().text;
      next();
      for (const auto &[earlier, value] : into.keywords)
        if (earlier == name)
          wrong("'" + name + "' is given twice in a call", where);
      into.keywords.emplace_back(std::move(name), inner());
    } else {
      inOrder(!into.star && !into.doubleStar && into.keywords.empty());
      into.positional.push_back(inner());
    }
    if (!isOperator(")"))
      expectOperator(",");
  }
  next();
}

ExpressionPtr ExpressionParser::call(ExpressionPtr operand) {
  ExpressionPtr made = unary(Node::Call, std::move(operand), current().offset);
  arguments(*made);
  return made;
}

std::string ExpressionParser::dottedName() {
  std::string name = expectAnyName();
  while (skipOperator("."))
    name += "." + expectAnyName();
  return name;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr operand, bool isInline) {
  while (isInline || isOperator("|")) {
    if (!isInline)
      next();
    isInline = false;
    ExpressionPtr filter = unary(Node::Filter, std::move(operand), current().offset);
    filter->name = dottedName();
    if (!isConditional && !unknown && !findFilter(filter->name))
      unknown = UnknownName{"filter", filter->name, filter->offset};
    if (isOperator("("))
      arguments(*filter);
    operand = std::move(filter);
  }
  return operand;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr operand) {
  const uint32_t where = next().offset;
  const bool isNegated = skipName("not");
  ExpressionPtr made = unary(Node::Test, std::move(operand), where);
  made->name = dottedName();
  if (!isConditional && !unknown && !findTest(made->name))
    unknown = UnknownName{"test", made->name, where};
  const TokenKind kind = current().kind;
  const bool isOperand =
      kind == TokenKind::String || kind == TokenKind::Integer || kind == TokenKind::Float ||
      isOperator("[") || isOperator("{") ||
      (kind == TokenKind::Name && !isName("else") && !isName("or") && !isName("and"));
  if (isOperator("(")) {
    arguments(*made);
  } else if (isOperand) {
    if (isName("is"))
      wrong("tests cannot be chained with 'is'");
    made->arguments.positional.push_back(postfix(primary()));
    made->depth = std::max(made->depth, made->arguments.positional[0]->depth + 1);
    bound(*made);
  }
  return isNegated ? unary(Node::Not, std::move(made), where) : std::move(made);
}

} // namespace ingot::runtime::jinja

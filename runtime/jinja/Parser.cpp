// SPDX-License-Identifier: Apache-2.0
// Parser: tokens to the syntax tree.
#include "runtime/jinja/Parser.h"

#include <algorithm>
#include <utility>

namespace ingot::runtime::jinja {

using Node = Statement::Kind;

Parser::Parser(SyntaxTree &tree, uint32_t &offset) : ExpressionParser(tree, offset) {}

void Parser::parse() {
  tree.body = statements({});
  checkNames();
}

Parser::StatementPtr Parser::make(Node kind) {
  auto made = std::make_unique<Statement>();
  made->kind = kind;
  made->offset = current().offset;
  return made;
}

bool Parser::atEnd(Ends ends) const {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return isName(end); });
}

void Parser::output(Body &into) {
  if (into.empty() || into.back()->kind != Node::Output)
    into.push_back(make(Node::Output));
  std::vector<ExpressionPtr> &printed = into.back()->expressions;
  if (current().kind == TokenKind::Data) {
    auto text = std::make_unique<Expression>();
    text->kind = Expression::Kind::Constant;
    text->offset = current().offset;
    // The template's own text is never escaped.
    text->constant = makeString(*tree.constants, Text(next().text), /*isMarkup=*/true);
    printed.push_back(std::move(text));
    return;
  }
  next();
  printed.push_back(tuple({}));
  expect(TokenKind::VariableEnd, "'}}'");
}

Body Parser::statements(Ends ends) {
  const Nested nested(*this);
  Body body;
  while (current().kind != TokenKind::End) {
    if (current().kind != TokenKind::BlockBegin) {
      output(body);
      continue;
    }
    next();
    if (atEnd(ends))
      return body;
    body.push_back(statement());
    expect(TokenKind::BlockEnd, "'%}'");
  }
  if (ends.size() > 0) {
    std::string wanted;
    for (const std::string_view end : ends)
      wanted += (wanted.empty() ? "'" : " or '") + std::string(end) + "'";
    wrong("the template ends inside of '" + openTags.back() + "': " + wanted + " is missing");
  }
  return body;
}

Body Parser::body(Ends ends) {
  skipOperator(":");
  expect(TokenKind::BlockEnd, "'%}'");
  return statements(ends);
}

Body Parser::bodyTo(std::string_view end) {
  Body made = body({end});
  next();
  return made;
}

void Parser::unknownTag(const std::string &name) {
  if (name == "import" || name == "from" || name == "include" || name == "extends")
    throw Failure{refusedTagCode, "'" + name + "' reads other templates, and there are none",
                  "put everything into one template"};
  wrong("unknown tag '" + name + "'" +
        (openTags.empty() ? "" : " inside of '" + openTags.back() + "'"));
}

Parser::StatementPtr Parser::statement() {
  if (current().kind != TokenKind::Name)
    wrong("expected the name of a tag, not " + describeCurrent());
  static constexpr std::pair<std::string_view, StatementPtr (Parser::*)()> tags[] = {
      {"if", &Parser::ifStatement},       {"for", &Parser::forStatement},
      {"set", &Parser::setStatement},     {"with", &Parser::withStatement},
      {"macro", &Parser::macroStatement}, {"call", &Parser::callStatement},
      {"block", &Parser::blockStatement}, {"filter", &Parser::filterStatement},
      {"print", &Parser::printStatement},
  };
  const std::string name = current().text;
  openTags.push_back(name);
  StatementPtr made;
  for (const auto &[tag, parse] : tags)
    if (name == tag)
      made = (this->*parse)();
  if (name == "break")
    made = jump(Node::Break);
  else if (name == "continue")
    made = jump(Node::Continue);
  else if (name == "generation")
    made = scopeStatement(Node::Generation, "endgeneration");
  else if (name == "autoescape")
    made = scopeStatement(Node::Autoescape, "endautoescape");
  openTags.pop_back();
  if (!made)
    unknownTag(name);
  return made;
}

Parser::StatementPtr Parser::ifStatement() {
  StatementPtr made = make(Node::If);
  const bool wasConditional = std::exchange(isConditional, true);
  while (true) {
    next(); // if, elif
    made->expressions.push_back(tuple({.withConditional = false}));
    made->bodies.push_back(body({"elif", "else", "endif"}));
    if (isName("elif"))
      continue;
    if (next().text == "else")
      made->bodies.push_back(bodyTo("endif"));
    break;
  }
  isConditional = wasConditional;
  return made;
}

Parser::StatementPtr Parser::forStatement() {
  StatementPtr made = make(Node::For);
  next();
  made->target = target(false, "in");
  expectName("in");
  made->value = tuple({.withConditional = false, .endName = "recursive"});
  const bool wasConditional = std::exchange(isConditional, false);
  if (skipName("if"))
    made->expressions.push_back(expression());
  made->isRecursive = skipName("recursive");
  ++loops;
  made->bodies.push_back(body({"endfor", "else"}));
  --loops;
  if (next().text == "else")
    made->bodies.push_back(bodyTo("endfor"));
  isConditional = wasConditional;
  return made;
}

Parser::StatementPtr Parser::setStatement() {
  StatementPtr made = make(Node::Set);
  next();
  made->target = target(true);
  if (skipOperator("=")) {
    made->value = tuple({});
    return made;
  }
  made->kind = Node::SetBlock;
  made->value = filters(nullptr);
  const bool wasConditional = std::exchange(isConditional, false);
  made->bodies.push_back(bodyTo("endset"));
  isConditional = wasConditional;
  return made;
}

Parser::StatementPtr Parser::withStatement() {
  StatementPtr made = make(Node::With);
  next();
  while (current().kind != TokenKind::BlockEnd) {
    if (!made->targets.empty())
      expectOperator(",");
    made->targets.push_back(target(false));
    expectOperator("=");
    made->expressions.push_back(expression());
  }
  const bool wasConditional = std::exchange(isConditional, false);
  made->bodies.push_back(bodyTo("endwith"));
  isConditional = wasConditional;
  return made;
}

void Parser::signature(Signature &signature) {
  expectOperator("(");
  while (!isOperator(")")) {
    if (!signature.parameters.empty())
      expectOperator(",");
    const uint32_t where = current().offset;
    const Symbol name = targetName();
    if (std::count(signature.parameters.begin(), signature.parameters.end(), name) > 0)
      wrong("'" + tree.names[name] + "' is a parameter twice", where);
    signature.parameters.push_back(name);
    if (skipOperator("="))
      signature.defaults.push_back(expression());
    else if (!signature.defaults.empty())
      wrong("a parameter without a default stands behind one with a default", where);
  }
  next();
}

Body Parser::macroBody(Signature &signature, std::string_view end) {
  const bool wasConditional = std::exchange(isConditional, false);
  const int outerLoops = std::exchange(loops, 0);
  const bool caller = std::exchange(readsCaller, false);
  const bool kwargs = std::exchange(readsKwargs, false);
  const bool varargs = std::exchange(readsVarargs, false);
  Body made = bodyTo(end);
  auto isParameter = [&](std::string_view name) {
    return std::count(signature.parameters.begin(), signature.parameters.end(),
                      tree.symbolOf(name)) > 0;
  };
  signature.usesCaller = readsCaller;
  signature.usesKwargs = readsKwargs && !isParameter("kwargs");
  signature.usesVarargs = readsVarargs && !isParameter("varargs");
  readsCaller |= caller;
  readsKwargs |= kwargs;
  readsVarargs |= varargs;
  loops = outerLoops;
  isConditional = wasConditional;
  return made;
}

Parser::StatementPtr Parser::macroStatement() {
  StatementPtr made = make(Node::Macro);
  next();
  made->symbol = targetName();
  signature(made->signature);
  made->bodies.push_back(macroBody(made->signature, "endmacro"));
  return made;
}

Parser::StatementPtr Parser::callStatement() {
  StatementPtr made = make(Node::CallBlock);
  const uint32_t where = next().offset;
  if (isOperator("("))
    signature(made->signature);
  made->value = expression();
  if (made->value->kind != Expression::Kind::Call)
    wrong("'call' needs a call of a macro", where);
  made->bodies.push_back(macroBody(made->signature, "endcall"));
  return made;
}

Parser::StatementPtr Parser::filterStatement() {
  StatementPtr made = make(Node::FilterBlock);
  next();
  made->value = filters(nullptr, /*isInline=*/true);
  const bool wasConditional = std::exchange(isConditional, false);
  made->bodies.push_back(bodyTo("endfilter"));
  isConditional = wasConditional;
  return made;
}

Parser::StatementPtr Parser::blockStatement() {
  StatementPtr made = make(Node::Block);
  next();
  made->name = expectAnyName();
  made->isScoped = skipName("scoped");
  const bool isRequired = skipName("required");
  if (!tree.blocks.try_emplace(made->name, made.get()).second)
    wrong("block '" + made->name + "' is defined twice", made->offset);
  const bool wasConditional = std::exchange(isConditional, false);
  const int outerLoops = std::exchange(loops, 0);
  made->bodies.push_back(bodyTo("endblock"));
  loops = outerLoops;
  isConditional = wasConditional;
  if (isRequired)
    wrong("a required block is filled by another template, and there is none", made->offset);
  skipName(made->name);
  return made;
}

Parser::StatementPtr Parser::printStatement() {
  StatementPtr made = make(Node::Output);
  next();
  while (current().kind != TokenKind::BlockEnd) {
    if (!made->expressions.empty())
      expectOperator(",");
    made->expressions.push_back(expression());
  }
  return made;
}

Parser::StatementPtr Parser::scopeStatement(Node kind, std::string_view end) {
  StatementPtr made = make(kind);
  next();
  const bool wasConditional = std::exchange(isConditional, false);
  // The body of `generation` is a function in Jinja, and no loop goes on through one.
  const int outerLoops = kind == Node::Generation ? std::exchange(loops, 0) : loops;
  if (kind == Node::Autoescape)
    made->value = expression();
  made->bodies.push_back(bodyTo(end));
  loops = outerLoops;
  isConditional = wasConditional;
  return made;
}

Parser::StatementPtr Parser::jump(Node kind) {
  StatementPtr made = make(kind);
  const Token tag = next();
  if (loops == 0)
    wrong("'" + tag.text + "' stands outside of a loop", tag.offset);
  return made;
}

} // namespace ingot::runtime::jinja

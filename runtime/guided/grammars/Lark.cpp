// SPDX-License-Identifier: Apache-2.0
// Statements of Lark: definitions, imports, what is ignored.
#include "runtime/guided/grammars/Lark.h"

#include "runtime/guided/RegexSyntax.h"
#include "runtime/guided/grammars/LarkReader.h"
#include "runtime/guided/grammars/RuleWriter.h"

#include <algorithm>

namespace ingot::runtime::guided {

Result<Symbol> LarkReader::read() {
  skipLines();
  while (ok() && !ended()) {
    ahead("%") ? statement() : definition();
    skipLines();
  }
  if (ok())
    defineHidden();
  if (!ok())
    return std::move(failure);
  if (!tree.find("start"))
    return RuleWriter(builder, tree, text, language).write("start"); // Says that there is none.
  return RuleWriter(builder, tree, text, language).write(wholeRule);
}

/// What is ignored, and the start with it.
void LarkReader::defineHidden() {
  const NodeId any = ignored.empty()
                         ? tree.sequence({})
                         : tree.repeat(tree.choice(ignored), 0, ExpressionArena::unbounded);
  tree.define(ignoredRule, 0, any, true);
  if (tree.find("start")) {
    const NodeId parts[] = {tree.reference(ignoredRule, 0), tree.reference("start", 0)};
    tree.define(wholeRule, 0, tree.sequence(parts));
  }
}

/// Blanks and a comment, up to the end of the line.
void LarkReader::skipLine() {
  skipBlanks();
  if (!ahead("//") && !ahead("#"))
    return;
  while (!ended() && !isLineEnd())
    ++at;
}

void LarkReader::skipLines() {
  for (skipLine(); isLineEnd(); skipLine())
    ++at;
}

/// What stands between two symbols of a definition. Stays at the end of a line behind which it
/// does not go on.
void LarkReader::skip() {
  skipLine();
  if (!isLineEnd())
    return;
  const size_t lineEnd = at;
  skipLines();
  if (depth == 0 && (ended() || statementAhead()))
    at = lineEnd;
}

/// Whether a statement begins here: `%`, or a name with a colon behind it and what may stand
/// between the two.
bool LarkReader::statementAhead() {
  if (ahead("%"))
    return !ahead("%json") && !ahead("%regex") && !ahead("%lark");
  const size_t start = at;
  while (take("?") || take("!"))
    ;
  bool result = !name().empty();
  skipBlanks();
  for (const auto &[open, close] : {std::pair('{', '}'), std::pair('[', ']')})
    if (!ended() && text[at] == open) {
      while (!ended() && !isLineEnd() && text[at] != close)
        ++at;
      take({&close, 1});
      skipBlanks();
    }
  skipPriority();
  skipBlanks();
  result = result && ahead(":");
  at = start;
  return result;
}

/// Letters, digits, underscores, and hyphens between them.
std::string_view LarkReader::name() {
  const size_t start = at;
  auto goesOn = [&] {
    if (ended() || text[at] != '-' || at == start)
      return !ended() && isWord(text[at]);
    return at + 1 < text.size() && isWord(text[at + 1]);
  };
  while (goesOn())
    ++at;
  return text.substr(start, at - start);
}

bool LarkReader::isTerminal(std::string_view name) {
  return std::ranges::any_of(name, [](char one) { return one >= 'A' && one <= 'Z'; });
}

bool LarkReader::checkName(size_t place, std::string_view name) {
  if (name.empty())
    return refuseNext("a name");
  const bool isRule = std::ranges::any_of(name, [](char one) { return one >= 'a' && one <= 'z'; });
  return isRule != isTerminal(name) ||
         refuse(place, "'" + std::string(name.substr(0, 64)) +
                           "' is no name: rules are in lower case, terminals in upper case");
}

/// ".2"
void LarkReader::skipPriority() {
  const size_t start = at;
  if (!take("."))
    return;
  take("-");
  if (ended() || !isDigit(text[at])) {
    at = start;
    return;
  }
  while (!ended() && isDigit(text[at]))
    ++at;
}

void LarkReader::definition() {
  while (take("?") || take("!"))
    ;
  const size_t place = at;
  const std::string_view defined = name();
  if (!checkName(place, defined))
    return;
  skipBlanks();
  if (ahead("{")) {
    refuse(at, "templates are not served");
    return;
  }
  if (ahead("[")) {
    refuse(at, "options of a rule in brackets are not served");
    return;
  }
  skipPriority();
  skipBlanks();
  if (!take(":")) {
    refuseNext("':'");
    return;
  }
  skip();
  lexical = isTerminal(defined);
  const NodeId body = alternatives();
  if (ok() && define(defined, place, body, lexical))
    endStatement();
}

void LarkReader::endStatement() {
  skipLine();
  if (ok() && !ended() && !isLineEnd())
    refuseNext("a symbol, '|' or the end of the line");
}

void LarkReader::statement() {
  const size_t place = at++;
  const std::string_view word = name();
  skipBlanks();
  if (word == "import") {
    import();
  } else if (word == "ignore") {
    lexical = true;
    ignored.push_back(alternatives());
  } else if (word == "llguidance") {
    const bool open = take("{");
    skipBlanks();
    if (!open || !take("}"))
      refuse(place, "options of %llguidance are not served; write %llguidance {}");
  } else {
    refuse(place, "%" + std::string(word.substr(0, 64)) + " is not served");
  }
  endStatement();
}

/// `common.NAME`, which may have another name here, or `common (NAME, NAME)`.
void LarkReader::import() {
  const size_t place = at;
  if (name() != "common") {
    refuse(place, "only the terminals of 'common' can be imported");
    return;
  }
  skipBlanks();
  if (take(".")) {
    const size_t nameAt = at;
    const std::string_view common = name();
    std::string_view own = common;
    skipBlanks();
    if (take("->")) {
      skipBlanks();
      const size_t ownAt = at;
      own = name();
      if (!checkName(ownAt, own))
        return;
    }
    importTerminal(nameAt, common, own);
    return;
  }
  if (!take("(")) {
    refuseNext("'.' or '('");
    return;
  }
  do {
    skipBlanks();
    const size_t nameAt = at;
    const std::string_view common = name();
    importTerminal(nameAt, common, common);
    skipBlanks();
  } while (ok() && take(","));
  if (ok() && !take(")"))
    refuseNext("',' or ')'");
}

void LarkReader::importTerminal(size_t place, std::string_view common, std::string_view own) {
  const std::string_view expression = commonTerminal(common);
  if (expression.empty()) {
    refuse(place, "'" + std::string(common.substr(0, 64)) + "' is no terminal of 'common'",
           "INGOT-E6621");
    return;
  }
  if (!isTerminal(own)) {
    refuse(place, "a terminal's name is in upper case");
    return;
  }
  const Result<ExpressionId> id = readRegex(arena, expression);
  if (!id.ok())
    failure = id.status(); // It is too large for what is left.
  else
    define(own, place, tree.expression(*id), true);
}

Result<Symbol> addLark(GrammarBuilder &builder, std::string_view text) {
  return LarkReader(builder, text).read();
}

Result<std::shared_ptr<const Grammar>> larkGrammar(std::string_view text) {
  GrammarBuilder builder;
  Result<Symbol> start = addLark(builder, text);
  if (!start.ok())
    return std::move(start).status();
  return std::move(builder).build(*start);
}

} // namespace ingot::runtime::guided

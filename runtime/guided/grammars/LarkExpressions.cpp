// SPDX-License-Identifier: Apache-2.0
// What stands behind the colon of a definition of Lark.
#include "runtime/guided/RegexSyntax.h"
#include "runtime/guided/grammars/LarkReader.h"

namespace ingot::runtime::guided {

RuleTree::NodeId LarkReader::refused(size_t place, std::string_view why) {
  refuse(place, why);
  return RuleTree::none;
}

/// In rules what is ignored may stand behind each terminal.
RuleTree::NodeId LarkReader::terminal(NodeId node) {
  if (lexical || !ok())
    return node;
  const NodeId parts[] = {node, tree.reference(ignoredRule, 0)};
  return tree.sequence(parts);
}

RuleTree::NodeId LarkReader::alternatives() {
  std::vector<NodeId> list{sequence()};
  while (ok() && take("|")) {
    skip();
    list.push_back(sequence());
  }
  return tree.choice(list);
}

RuleTree::NodeId LarkReader::sequence() {
  std::vector<NodeId> list;
  while (ok() && !ended() && !isLineEnd() && !ahead("|") && !ahead(")") && !ahead("]") &&
         !ahead("->")) {
    const NodeId one = item();
    if (!ok())
      break;
    list.push_back(one);
  }
  if (take("->")) {
    skipBlanks();
    const size_t place = at;
    checkName(place, name());
    skip();
  }
  return tree.sequence(list);
}

/// A symbol with its operators.
RuleTree::NodeId LarkReader::item() {
  NodeId node = symbol();
  skip();
  uint32_t minimum = 0, maximum = 0;
  for (int count = 0; ok() && operatorAhead(minimum, maximum); skip()) {
    if (++count > mostOperators)
      refuse(at, "too many operators in a row", "INGOT-E6623");
    node = tree.repeat(node, minimum, maximum);
  }
  return node;
}

bool LarkReader::operatorAhead(uint32_t &minimum, uint32_t &maximum) {
  const size_t place = at;
  minimum = 0;
  maximum = ExpressionArena::unbounded;
  if (take("~"))
    return tilde(place, minimum, maximum);
  if (take("{")) {
    skipBlanks();
    if (!ended() && !isDigit(text[at]) && text[at] != ',')
      return refuse(place, "templates are not served");
    return readBraces(place, true, minimum, maximum);
  }
  if (take("+"))
    minimum = 1;
  else if (take("?"))
    maximum = 1;
  else
    return take("*");
  return true;
}

/// Behind the tilde: "n" or "n..m".
bool LarkReader::tilde(size_t place, uint32_t &minimum, uint32_t &maximum) {
  skipBlanks();
  if (!readCount(minimum))
    return false;
  maximum = minimum;
  skipBlanks();
  if (take("..")) {
    skipBlanks();
    if (!readCount(maximum))
      return false;
  }
  return minimum <= maximum || refuse(place, "a count whose minimum is above its maximum");
}

RuleTree::NodeId LarkReader::symbol() {
  const size_t place = at;
  switch (text[at]) {
  case '"':
    return literal();
  case '/':
    return regex();
  case '(':
    return group(")");
  case '[': {
    const NodeId inner = group("]");
    return tree.repeat(inner, 0, 1);
  }
  case '<':
    return refused(place, "tokens in angle brackets are not served; write their text");
  case '@':
    return refused(place, "other grammars ('@') are not served");
  case '&':
  case '~':
    return refused(place, "the operators & and ~ between terminals are not served");
  case '%':
    ++at;
    return refused(place, "%" + std::string(name().substr(0, 64)) + " is not served");
  default:
    return named();
  }
}

RuleTree::NodeId LarkReader::named() {
  const size_t place = at;
  const std::string_view used = name();
  if (used.empty()) {
    refuseNext("a symbol");
    return RuleTree::none;
  }
  if (!checkName(place, used))
    return RuleTree::none;
  const NodeId node = tree.reference(used, place);
  if (isTerminal(used))
    return terminal(node);
  return lexical ? refused(place, "a terminal cannot refer to the rule '" +
                                      std::string(used.substr(0, 64)) + "'")
                 : node;
}

RuleTree::NodeId LarkReader::group(std::string_view end) {
  const size_t place = at++;
  if (!enter(place))
    return RuleTree::none;
  skip();
  const NodeId inner = alternatives();
  if (ok() && !take(end))
    ended() ? refuse(place, "a bracket without an end") : refuseNext("'" + std::string(end) + "'");
  leave();
  return inner;
}

/// What an escape of a literal stands for, behind its backslash.
bool LarkReader::escape(char32_t &value) {
  const size_t place = at - 1;
  const char letter = ended() ? ' ' : text[at++];
  switch (letter) {
  case 'x':
  case 'U':
    return readCode(place, letter, value);
  case 'u': {
    char32_t low = 0;
    if (!readCode(place, letter, value, true))
      return false;
    if (value >= 0xD800 && value < 0xDC00 && take("\\u") && readHexadecimal(4, low) &&
        low >= 0xDC00 && low < 0xE000)
      value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    return value < 0xD800 || value > 0xDFFF ||
           refuse(place, "the escape is no character of Unicode");
  }
  case 'n':
    value = '\n';
    return true;
  case 'r':
    value = '\r';
    return true;
  case 't':
    value = '\t';
    return true;
  case 'f':
    value = '\f';
    return true;
  case '\\':
  case '"':
    value = char32_t(letter);
    return true;
  default:
    return refuse(place, "no escape of a literal; there are \\n \\r \\t \\f \\\\ \\\" \\xHH "
                         "\\uHHHH \\UHHHHHHHH");
  }
}

/// Those of a literal.
bool LarkReader::characters(std::vector<char32_t> &list) {
  const size_t place = at++;
  while (ok() && !take("\"")) {
    char32_t value = 0;
    if (ended() || isLineEnd())
      return refuse(place, "a literal without an end in its line");
    if (take("\\") ? !escape(value) : !readCharacter(value))
      return false;
    list.push_back(value);
  }
  return ok();
}

RuleTree::NodeId LarkReader::literal() {
  const size_t place = at;
  std::vector<char32_t> list;
  if (!characters(list))
    return RuleTree::none;
  const bool ignoresCase = take("i");
  skipBlanks();
  if (ahead(".."))
    return range(list, place);
  if (ignoresCase) {
    std::vector<ExpressionId> parts;
    for (const char32_t value : list)
      parts.push_back(
          spelled(arena, withOtherCases(CharacterSet({{value, value}})), Spelling::Utf8));
    return terminal(tree.expression(arena.concatenation(parts)));
  }
  std::string bytes;
  for (const char32_t value : list)
    appendUtf8(bytes, value);
  return terminal(tree.literal(std::move(bytes)));
}

/// "a".."z", behind the first literal.
RuleTree::NodeId LarkReader::range(const std::vector<char32_t> &first, size_t place) {
  take("..");
  skipBlanks();
  if (!ahead("\"")) {
    refuseNext("a literal");
    return RuleTree::none;
  }
  std::vector<char32_t> last;
  if (!characters(last))
    return RuleTree::none;
  if (first.size() != 1 || last.size() != 1)
    return refused(place, "a range goes from one character to another");
  if (first.front() > last.front())
    return refused(place, "a range that runs backwards");
  return terminal(tree.expression(
      spelled(arena, CharacterSet({{first.front(), last.front()}}), Spelling::Utf8)));
}

/// The length of a count in braces that stands at `offset`; 0 where none does.
static size_t countLength(std::string_view pattern, size_t offset) {
  size_t i = offset + 1;
  auto digits = [&] {
    const size_t from = i;
    while (i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9')
      ++i;
    return i > from;
  };
  if (!digits())
    return 0;
  if (i < pattern.size() && pattern[i] == ',') {
    ++i;
    digits();
  }
  return i < pattern.size() && pattern[i] == '}' ? i + 1 - offset : 0;
}

/// Refuses what means more than the terminal's own text: what looks around, and lazy counts.
bool LarkReader::checkRegex(std::string_view pattern, size_t start) {
  bool inClass = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char one = pattern[i];
    size_t behind = 0; // of a quantifier
    if (one == '\\') {
      ++i;
    } else if (inClass) {
      inClass = one != ']';
    } else if (one == '[') {
      inClass = true;
    } else if (one == '^' || one == '$') {
      return refuse(start + i, "anchors in terminals are not served");
    } else if (const std::string_view rest = pattern.substr(i);
               rest.starts_with("(?=") || rest.starts_with("(?!") || rest.starts_with("(?<=") ||
               rest.starts_with("(?<!")) {
      return refuse(start + i, "look-around in terminals is not served");
    } else if (one == '(' && rest.starts_with("(?")) {
      ++i;
    } else if (one == '*' || one == '+' || one == '?') {
      behind = i + 1;
    } else if (const size_t length = one == '{' ? countLength(pattern, i) : 0; length != 0) {
      behind = i + length;
    }
    if (behind != 0 && behind < pattern.size() && pattern[behind] == '?')
      return refuse(start + behind, "lazy counts in terminals are not served; say what may not "
                                    "come, as in [^\"]*");
  }
  return true;
}

bool LarkReader::regexFlags(bool &ignoreCase, bool &dotAll) {
  for (; !ended() && isWord(text[at]); ++at)
    switch (text[at]) {
    case 'i':
      ignoreCase = true;
      break;
    case 's':
      dotAll = true;
      break;
    case 'u':
      break;
    default:
      return refuse(at, "an expression's flag that is not served; there are i, s and u");
    }
  return true;
}

RuleTree::NodeId LarkReader::regex() {
  const size_t place = at++, start = at;
  for (; !ended() && !isLineEnd() && text[at] != '/'; ++at)
    at += text[at] == '\\' && at + 1 < text.size();
  if (ended() || isLineEnd())
    return refused(place, "an expression without an end in its line");
  const std::string_view pattern = text.substr(start, at - start);
  ++at;
  RegexOptions options;
  options.pythonDot = true;
  if (!regexFlags(options.ignoreCase, options.dotAll) || !checkRegex(pattern, start))
    return RuleTree::none;
  Result<ExpressionId> id = readRegex(arena, pattern, options);
  if (id.ok())
    return terminal(tree.expression(*id));
  failure = std::move(id).status().in("the grammar (Lark) at " + placeIn(text, place));
  return RuleTree::none;
}

} // namespace ingot::runtime::guided

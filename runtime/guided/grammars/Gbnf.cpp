// SPDX-License-Identifier: Apache-2.0
// The reader of GBNF: recursive descent, one function for each part of the notation.
#include "runtime/guided/grammars/Gbnf.h"

#include "runtime/guided/TokenVocabulary.h"
#include "runtime/guided/grammars/GrammarReader.h"
#include "runtime/guided/grammars/RuleWriter.h"

#include <unordered_map>
#include <unordered_set>

namespace ingot::runtime::guided {

namespace {

using NodeId = RuleTree::NodeId;

class GbnfReader : GrammarReader {
public:
  GbnfReader(GrammarBuilder &builder, std::string_view text, const SpecialNames &tokens)
      : GrammarReader(text, "GBNF"), builder(builder), arena(builder.expressions()),
        tokens(tokens) {}

  Result<Symbol> read() {
    skipLines();
    while (ok() && !ended())
      rule();
    if (!ok())
      return std::move(failure);
    return RuleWriter(builder, tree, text, language).write("root");
  }

private:
  static bool isNamed(char character) { return isWord(character) || character == '-'; }
  bool isLineEnd() const { return !ended() && (text[at] == '\n' || text[at] == '\r'); }

  std::string_view name() {
    const size_t start = at;
    while (!ended() && isNamed(text[at]))
      ++at;
    return text.substr(start, at - start);
  }

  /// Blanks and a comment, up to the end of the line.
  void skipLine() {
    skipBlanks();
    if (!ahead("#"))
      return;
    while (!ended() && !isLineEnd())
      ++at;
  }
  void skipLines() {
    for (skipLine(); isLineEnd(); skipLine())
      ++at;
  }

  /// What stands between two symbols of a rule. Stays at the end of a line behind which the rule
  /// does not go on.
  void skip() {
    skipLine();
    if (!isLineEnd())
      return;
    const size_t lineEnd = at;
    skipLines();
    if (depth == 0 && (ended() || ruleAhead()))
      at = lineEnd;
  }

  bool ruleAhead() {
    const size_t start = at;
    bool result = !name().empty();
    skipBlanks();
    result = result && ahead("::=");
    at = start;
    return result;
  }

  void rule() {
    const size_t place = at;
    const std::string_view defined = name();
    if (defined.empty()) {
      refuseNext("the name of a rule");
      return;
    }
    skipBlanks();
    if (!take("::=")) {
      refuseNext("'::='");
      return;
    }
    skip();
    const NodeId body = alternatives();
    if (!ok() || !define(defined, place, body))
      return;
    if (!ended() && !isLineEnd())
      refuseNext("a symbol, '|' or the end of the rule");
    skipLines();
  }

  NodeId alternatives() {
    std::vector<NodeId> list{sequence()};
    while (ok() && take("|")) {
      skip();
      list.push_back(sequence());
    }
    return tree.choice(list);
  }

  NodeId sequence() {
    std::vector<NodeId> list;
    while (ok() && !ended() && !isLineEnd() && !ahead("|") && !ahead(")")) {
      const NodeId one = item();
      if (!ok())
        break;
      list.push_back(one);
    }
    return tree.sequence(list);
  }

  /// A symbol with its operators.
  NodeId item() {
    const size_t start = at;
    const bool countsTokens = ahead("!");
    NodeId node = symbol();
    skip();
    int count = 0;
    for (; ok() && !ended(); skip()) {
      const size_t place = at;
      uint32_t minimum = 0, maximum = ExpressionArena::unbounded;
      if (take("+"))
        minimum = 1;
      else if (take("?"))
        maximum = 1;
      else if (take("{") ? !readBraces(place, false, minimum, maximum) : !take("*"))
        break;
      if (++count > mostOperators)
        refuse(place, "too many operators in a row", "INGOT-E6623");
      if (countsTokens && count == 1 && (minimum > 1 || maximum != ExpressionArena::unbounded))
        refuse(start, uncounted);
      node = tree.repeat(node, minimum, maximum);
    }
    if (countsTokens && count == 0)
      refuse(start, uncounted);
    return node;
  }

  NodeId symbol() {
    const size_t place = at;
    switch (text[at]) {
    case '"':
      return literal();
    case '[':
      return tree.expression(spelled(arena, characterClass(), Spelling::Utf8));
    case '.':
      ++at;
      return tree.expression(spelled(arena, CharacterSet::all(), Spelling::Utf8));
    case '(':
      return group();
    case '<':
      return tree.literal(token());
    case '!':
      ++at;
      return otherTokens(place);
    default:
      break;
    }
    if (const std::string_view used = name(); !used.empty())
      return tree.reference(used, place);
    refuseNext("a symbol");
    return RuleTree::none;
  }

  /// The bytes of "<[id]>", or of "<text>", where the brackets are of the text.
  std::string token() {
    const size_t place = at;
    const size_t end = text.find_first_of(">\n", at);
    if (end == text.npos || text[end] != '>') {
      refuse(place, "a token without an end");
      return {};
    }
    std::string bytes;
    if (take("<[")) {
      uint32_t id = 0;
      if (!readCount(id) || !take("]>"))
        refuse(place, "no id of a token; write <[1000]>");
      else if (tokens.tokens() && id < tokens.tokens()->size())
        bytes = tokens.tokens()->text(id);
    } else {
      at = end + 1;
      const std::string_view named = text.substr(place, at - place);
      if (tokens.isOne(named))
        bytes = specialBytes(named);
      else if (isText(named))
        bytes = named;
    }
    if (ok() && bytes.empty())
      refuse(place, "the model has no such token");
    return bytes;
  }

  /// Whether it is what a token spells.
  bool isText(std::string_view named) {
    if (texts.empty() && tokens.tokens())
      for (uint32_t id = 0; id < tokens.tokens()->size(); ++id)
        texts.insert(tokens.tokens()->text(id));
    return texts.contains(named);
  }

  /// What one of the tokens but a special one begins with: bytes of a text, or another special one.
  NodeId otherTokens(size_t place) {
    if (!ahead("<")) {
      refuseNext("a token in angle brackets");
      return RuleTree::none;
    }
    const auto [known, isNew] = besides.try_emplace(token(), ExpressionArena::nothing);
    if (isNew && ok()) {
      std::vector<std::string> others = tokens.allBytes();
      if (std::erase(others, known->first) == 0)
        refuse(place, "this is no special token, and other tokens spell its text; write \"!\" "
                      "before special ones alone");
      const ByteSet plain = ByteSet::range(0, 0xFD); // of which no special token has the first
      known->second = arena.alternation({arena.bytes(plain), arena.literals(others)});
    }
    return tree.expression(known->second);
  }

  NodeId group() {
    const size_t place = at++;
    if (!enter(place))
      return RuleTree::none;
    skip();
    const NodeId inner = alternatives();
    if (ok() && !take(")"))
      ended() ? refuse(place, "a parenthesis without an end") : refuseNext("')'");
    leave();
    return inner;
  }

  NodeId literal() {
    const size_t place = at++;
    std::string bytes;
    while (ok() && !take("\"")) {
      char32_t value = 0;
      if (ended())
        refuse(place, "a literal without an end");
      else if (character(value, false))
        appendUtf8(bytes, value);
    }
    return tree.literal(std::move(bytes));
  }

  CharacterSet characterClass() {
    const size_t place = at++;
    const bool negated = take("^");
    std::vector<CharacterRange> parts;
    while (ok() && !take("]")) {
      const size_t start = at;
      CharacterRange range{};
      if (ended()) {
        refuse(place, "a class without an end");
        break;
      }
      if (!character(range.first, true))
        break;
      range.last = range.first;
      if (ahead("-") && !ahead("-]")) {
        ++at;
        if (ended() || !character(range.last, true))
          continue;
      }
      if (range.first > range.last)
        refuse(start, "a range of a class that runs backwards");
      parts.push_back(range);
    }
    if (ok() && parts.empty())
      refuse(place, "a class without characters");
    const CharacterSet set(std::move(parts));
    return negated ? set.complement() : set;
  }

  /// A character of a literal or a class, in which surrogates may bound a range.
  bool character(char32_t &value, bool inClass) {
    const size_t place = at;
    if (!take("\\"))
      return readCharacter(value);
    const char letter = ended() ? ' ' : text[at++];
    switch (letter) {
    case 'x':
    case 'u':
    case 'U':
      return readCode(place, letter, value, inClass);
    case 'n':
      value = '\n';
      return true;
    case 'r':
      value = '\r';
      return true;
    case 't':
      value = '\t';
      return true;
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
      value = char32_t(letter);
      return true;
    default:
      return refuse(place, "no escape of GBNF; there are \\n \\r \\t \\\\ \\\" \\[ \\] \\- "
                           "\\xHH \\uHHHH \\UHHHHHHHH");
    }
  }

  static constexpr std::string_view uncounted =
      "a token with \"!\" needs * or + behind it: how many tokens a text is does not show";

  GrammarBuilder &builder;
  ExpressionArena &arena;
  const SpecialNames &tokens;
  std::unordered_set<std::string_view> texts;            ///< of all tokens, once one is asked for
  std::unordered_map<std::string, ExpressionId> besides; ///< what "!" means, by the token's bytes
};

} // namespace

Result<Symbol> addGbnf(GrammarBuilder &builder, std::string_view text, const SpecialNames &tokens) {
  return GbnfReader(builder, text, tokens).read();
}

Result<std::shared_ptr<const Grammar>> gbnfGrammar(std::string_view text,
                                                   const SpecialNames &tokens) {
  GrammarBuilder builder;
  Result<Symbol> start = addGbnf(builder, text, tokens);
  if (!start.ok())
    return std::move(start).status();
  return std::move(builder).build(*start);
}

} // namespace ingot::runtime::guided

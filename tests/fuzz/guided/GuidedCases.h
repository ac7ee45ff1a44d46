// SPDX-License-Identifier: Apache-2.0
// What fuzzers of guided answers share: readers, and a walk through the masks of what they accept.
#pragma once

#include "runtime/guided/GrammarConstraint.h"
#include "runtime/guided/RegexSyntax.h"
#include "runtime/guided/grammars/Gbnf.h"
#include "runtime/guided/grammars/GrammarText.h"
#include "runtime/guided/grammars/Lark.h"
#include "runtime/guided/json/SchemaGrammar.h"
#include "tests/fuzz/FuzzSession.h"

#include <functional>

namespace ingot::fuzz {

using namespace ingot::runtime::guided;

inline const std::vector<std::string> regexWords = {
    "(?:", ")*",   "{2,5}",  "{0,99999}", "[^", "]",  "\\d", "\\u{1F600}", "^",   "$",
    "|",   "(?i:", "\\p{L}", "(?<n>",     "+?", ".*", "\\b", "(?=",        "(?!", "(?<!"};
inline const std::vector<std::string> regexSeeds = {
    "^[a-z]{1,20}@[a-z]+\\.(com|org)$", "^(\\d{4})-(0[1-9]|1[0-2])-\\d\\d$|^$",
    "(a|b)*abb(c{3,}|[^\\s\\d]?)+", "(?i)é\\u00e9[\\w-.]+\\/"};
inline const std::vector<std::string> schemaWords = {R"({"type":)",
                                                     R"("properties":{)",
                                                     R"("a":)",
                                                     R"("items":)",
                                                     R"("anyOf":[)",
                                                     R"("not":)",
                                                     R"("$ref":"#")",
                                                     R"("pattern":"^a")",
                                                     R"("const":)",
                                                     "true",
                                                     "1.5",
                                                     "\"\"",
                                                     "{}",
                                                     "[",
                                                     "]",
                                                     "}",
                                                     ",",
                                                     "1e9",
                                                     R"("required":["a"])",
                                                     R"("minItems":)",
                                                     R"("maxLength":)",
                                                     R"("multipleOf":)",
                                                     R"("propertyNames":)",
                                                     R"("oneOf":[)"};
inline const std::vector<std::string> schemaSeeds = {
    R"({"type":"object","properties":{"a":{"type":"integer","minimum":-3,"multipleOf":0.5},)"
    R"("b":{"enum":["x",1,null]}},"required":["a"],"additionalProperties":false})",
    R"({"anyOf":[{"type":"string","maxLength":9},{"$ref":"#/$defs/l"}],"$defs":{"l":{"type":)"
    R"("array","items":{"$ref":"#"},"contains":{"const":1},"maxItems":3}}})",
    R"({"if":{"required":["k"]},"then":{"minProperties":2},"patternProperties":{"^x":{"not":)"
    R"({"type":"null"}}},"dependentRequired":{"k":["v"]},"propertyNames":{"maxLength":3}})",
    R"({"oneOf":[{"format":"date"},{"minimum":1e300}],"unevaluatedProperties":false,)"
    R"("allOf":[{"prefixItems":[true,{"uniqueItems":true}]}]})"};

inline const std::vector<std::string> grammarWords = {
    "root ::=", "start:", "\nA: ",      "\nb ::=", " | ",   "(",     ")",
    "[^a-z]",   "{2,5}",  "{0,99999}",  "\"a\"i",  "..",    "~2..3", "%ignore \" \"",
    "?",        "*",      "/[a-z]+/is", "root",    "start", " A ",   "\\x41",
    "\\u00e9",  "# ",     "[",          "]",       "->",    "//",    "%import common.WS",
    "<a>",      "\"",     "\n"};
inline const std::vector<std::string> grammarSeeds = {
    "root ::= item+ # list\nitem ::= \"- \" [^\\n]{1,20} \"\\n\" | \"(\" root? \")\"\n",
    "root ::= root \"+\" t | t\nt ::= [0-9]+ | ws .\nws ::= | \" \" | \"\\U0001F600\"{2,}",
    "?start: a | B -> c\na: \"(\" [start (\",\" start)*] \")\"\nB.2: /[a-z]+/i \"x\"~2\n"
    "%import common.INT\n%ignore / +/\n",
    "start: (\"if\"i NAME)+ // x\nNAME: \"a\"..\"z\" | \"_\"{1,3}\n%import common (WS, CNAME)"};

/// All bytes, and a few longer tokens; token 0 stops.
inline std::shared_ptr<const TokenVocabulary> vocabulary() {
  static const auto shared = [] {
    std::vector<std::string> texts{""};
    for (int byte = 0; byte < 256; ++byte)
      texts.push_back(std::string(1, char(byte)));
    for (const char *text : {"ab", "abc", "aaaa", "01", "2026-", "\\u00", "\xC3\xA9", "  ", "a b"})
      texts.push_back(text);
    return std::make_shared<const TokenVocabulary>(std::move(texts));
  }();
  return shared;
}

/// Walks an answer through the masks of `grammar`; each mask must have a token, and each token of
/// it must be accepted. `draw(n)`: a number below n.
inline std::string walk(std::shared_ptr<const Grammar> grammar,
                        const std::function<uint64_t(uint64_t)> &draw) {
  auto masks = std::make_shared<GrammarMasks>(std::move(grammar), vocabulary(),
                                              RecognizerLimits{size_t(16) << 20, 200000});
  GrammarConstraint constraint(masks, {0});
  std::vector<uint32_t> words(vocabulary()->words());
  for (int step = 0; step < 8; ++step) {
    if (auto status = constraint.mask(words); !status.ok())
      return std::string(status.code());
    std::vector<int32_t> allowed;
    for (size_t token = 0; token < vocabulary()->size(); ++token)
      if (words[token / 32] >> (token % 32) & 1)
        allowed.push_back(int32_t(token));
    EXPECT_FALSE(allowed.empty());
    if (allowed.empty())
      return {};
    const int32_t token = allowed[draw(allowed.size())];
    const bool accepted = constraint.accept(token);
    EXPECT_TRUE(accepted || !masks->recognizer.status().ok());
    if (!accepted || token == 0)
      return {};
  }
  return {};
}

/// Whether what is read is also walked: reading alone is many times faster.
enum class Depth { Read, Walk };

/// Reads an expression with little room, and with less where that is all.
inline std::string tryRegex(std::string_view pattern, const RegexOptions &options,
                            const std::function<uint64_t(uint64_t)> &draw,
                            Depth depth = Depth::Walk) {
  const size_t nodes = depth == Depth::Read ? 8000 : 50000;
  GrammarBuilder builder({1000, 1000, 1000, {nodes, 2 * nodes}});
  auto id = readRegex(builder.expressions(), pattern, options);
  if (!id.ok())
    return std::string(id.status().code());
  Symbol start = builder.terminal(*id);
  auto grammar = std::move(builder).build(start);
  if (!grammar.ok() || depth == Depth::Read)
    return std::string(grammar.status().code());
  return walk(*grammar, draw);
}

inline std::string tryGrammar(std::string_view text, const std::function<uint64_t(uint64_t)> &draw,
                              Depth depth = Depth::Walk) {
  auto grammar = syntaxOf(text) == GrammarSyntax::Gbnf ? gbnfGrammar(text) : larkGrammar(text);
  if (!grammar.ok() || depth == Depth::Read)
    return std::string(grammar.status().code());
  return walk(*grammar, draw);
}

inline std::string trySchema(std::string_view schema, const JsonForm &form,
                             const std::function<uint64_t(uint64_t)> &draw,
                             Depth depth = Depth::Walk) {
  auto grammar = schemaGrammar(schema, form);
  if (!grammar.ok() || depth == Depth::Read)
    return std::string(grammar.status().code());
  return walk(*grammar, draw);
}

} // namespace ingot::fuzz

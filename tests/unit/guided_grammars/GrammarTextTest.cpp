// SPDX-License-Identifier: Apache-2.0
// Whole grammars with texts that are of them, and how notations are told apart.
#include "runtime/guided/grammars/GrammarText.h"

#include "runtime/guided/grammars/Gbnf.h"
#include "runtime/guided/grammars/Lark.h"
#include "tests/unit/guided_grammars/GrammarCases.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace ingot::runtime::guided;

static std::string fileText(const std::string &name) {
  std::ifstream file(std::string(INGOT_GRAMMARS) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(GrammarText, WholeGrammars) {
  const auto suite = nlohmann::json::parse(fileText("texts.json"));
  ASSERT_GE(suite.size(), 11u);
  for (const auto &[name, texts] : suite.items()) {
    SCOPED_TRACE(name);
    const std::string grammar = fileText(name);
    const bool isGbnf = name.ends_with(".gbnf");
    EXPECT_EQ(syntaxOf(grammar) == GrammarSyntax::Gbnf, isGbnf);
    const GrammarOf gbnf = [](std::string_view text) { return gbnfGrammar(text); };
    expectCases(isGbnf ? gbnf : larkGrammar, {{grammar, texts["accepted"], texts["refused"]}});
  }
}

TEST(GrammarText, NotationsAreToldApart) {
  for (const char *text : {"root ::= \"a\"", "# a: b\n\n  my-rule\t::=x", "a::=", "// x\na\n::= b"})
    EXPECT_EQ(syntaxOf(text), GrammarSyntax::Gbnf) << text;
  for (const char *text : {"start: \"::=\"", "", "# a ::= b\nstart: A",
                           "?start: A // ::=", "a : ::=", "// root ::= x", "root :: = a"})
    EXPECT_EQ(syntaxOf(text), GrammarSyntax::Lark) << text;
}

TEST(GrammarText, PartsOfAnother) {
  GrammarBuilder builder;
  auto list = addGbnf(builder, "root ::= \"(\" root? \")\"");
  auto word = addLark(builder, "start: \"a\" [start]");
  ASSERT_TRUE(list.ok() && word.ok());
  const Symbol start = builder.sequence({*list, builder.literal("-"), *word});
  auto grammar = std::move(builder).build(start);
  ASSERT_TRUE(grammar.ok());
  Recognizer recognizer(*grammar);
  EXPECT_TRUE(matches(recognizer, "(())-aaa"));
  EXPECT_FALSE(matches(recognizer, "(()-aaa"));
}

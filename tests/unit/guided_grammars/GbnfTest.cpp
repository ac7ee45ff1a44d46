// SPDX-License-Identifier: Apache-2.0
// GBNF, part by part.
#include "runtime/guided/grammars/Gbnf.h"

#include "runtime/guided/TokenVocabulary.h"
#include "tests/unit/guided_grammars/GrammarCases.h"

using namespace ingot::runtime;
using namespace ingot::runtime::guided;

namespace {

Result<std::shared_ptr<const Grammar>> gbnf(std::string_view text) { return gbnfGrammar(text); }

/// Tokens 0 to 4 of a model, of which the last two are special.
Result<std::shared_ptr<const Grammar>> gbnfOfTokens(std::string_view text) {
  const std::vector<std::string> bytes = {
      "a", "ab", "<b>", specialBytes("<think>"), specialBytes("</think>"), ""};
  return gbnfGrammar(
      text, SpecialNames({"<think>", "</think>"}, std::make_shared<const TokenVocabulary>(bytes)));
}

} // namespace

TEST(Gbnf, LiteralsAndEscapes) {
  expectCases(gbnf, {{R"(root ::= "a\n\r\t\\\"b")", {"a\n\r\t\\\"b"}, {"a", "anrt"}},
                     {R"(root ::= "\x41\u00E9\U0001f600")", {"A\u00E9\U0001F600"}, {"A"}},
                     {R"(root ::= "\[\]\-")", {"[]-"}, {}},
                     {R"(root ::= "é" "" "日")", {"é日"}, {"é"}},
                     {"root ::= \"a\nb\"", {"a\nb"}, {"ab"}},
                     {R"(root ::= "# no comment" # a "comment"
)",
                      {"# no comment"},
                      {"# no comment "}}});
}

TEST(Gbnf, Classes) {
  expectCases(
      gbnf, {{"root ::= [a-cx]", {"a", "b", "c", "x"}, {"d", "", "-", "ab"}},
             {"root ::= [^a-c\\n]", {"d", "\r", "é", "😀"}, {"a", "\n", "\xFF", "\xC3"}},
             {R"(root ::= [\]\[\-\\"])", {"]", "[", "-", "\\", "\""}, {"a", "^"}},
             {"root ::= [-a] [a-] [a^]", {"--^", "aaa"}, {"bbb", "^^^"}},
             {"root ::= [+--]", {"+", ",", "-"}, {"."}},
             {R"(root ::= [\x30-\x39\u0410-\u044F\U0001F600-\U0001F64F])", {"7", "Ж", "😀"}, {"x"}},
             {"root ::= [ぁ-ゟ]+ \"。\"", {"あ。", "ぁゟ。"}, {"ア。", "。"}},
             {"root ::= [^\\uD800-\\uDFFF]", {"a", "\xEE\x80\x80"}, {"\xED\xA0\x80"}},
             {"root ::= . .", {"ab", "\n\n", "é😀"}, {"a", "abc"}}});
}

TEST(Gbnf, Counts) {
  expectCases(
      gbnf, {{"root ::= \"ab\"*", {"", "ab", "abab"}, {"aba"}},
             {"root ::= \"ab\"+ \"c\"?", {"ab", "ababc"}, {"", "c"}},
             {"root ::= [a-z]{3}", {"abc"}, {"ab", "abcd"}},
             {"root ::= [a-z]{2,}", {"ab", "abcd"}, {"a"}},
             {"root ::= [a-z]{ 1 , 3 } \"!\"", {"a!", "abc!"}, {"!", "abcd!"}},
             {"root ::= \"a\"{0,2}", {"", "aa"}, {"aaa"}},
             {"root ::= \"a\"{0}", {""}, {"a"}},
             {"root ::= \"a\"+?", {"", "aaa"}, {"b"}},
             {"root ::= (\"a\" | x){2,3}\nx ::= \"(\" x? \")\"", {"aa", "(())a()"}, {"a", "aaaa"}},
             {"root ::= x{2,}\nx ::= \"(\" x? \")\"", {"()()", "()()()"}, {"()", "(()"}},
             {"root ::= \"a\" *\n", {"aa"}, {"a "}},
             {"root ::= \"a\"{1,1000000000} x\nx ::= \"b\" x | \"c\"", {"ac", "aabbc"}, {"c"}}});
}

TEST(Gbnf, Lines) {
  expectCases(
      gbnf,
      {{"root ::=\n  \"a\" |\n  \"b\"\n", {"a", "b"}, {"ab"}},
       {"root ::= \"a\"\n  | \"b\" # or\n\n  | \"c\"\r\nother ::= \"d\"", {"a", "b", "c"}, {"d"}},
       {"root ::= (\n # first\n \"a\"\n\n \"b\"\n)\n", {"ab"}, {"a"}},
       {"root ::= \"a\"\n  \"b\"\nx ::= \"c\"", {"ab"}, {"a", "abc"}},
       {"\n\n# head\nx_1 ::= \"c\"\nroot ::= x_1 ws x_1\nws ::= | \" \"", {"cc", "c c"}, {"c  c"}},
       {"root ::= a |\na ::= \"b\"", {"", "b"}, {"a"}},
       {"root ::=", {""}, {"a"}},
       {"root ::= () | (\"a\" | )", {"", "a"}, {"aa"}}});
}

TEST(Gbnf, Recursion) {
  expectCases(gbnf,
              {{"root ::= root \"+\" t | t\nt ::= [0-9]+", {"1", "1+22+3"}, {"1+", "+1"}},
               {"root ::= \"(\" root \")\" | \"\"", {"", "()", "(((())))"}, {"(()", ")("}},
               {"root ::= a\na ::= b \"x\" | \"y\"\nb ::= a | \"z\"", {"y", "zx", "yxxx"}, {"x"}},
               {"root ::= root root | \"a\" |", {"", "a", "aaaa"}, {"b"}},
               {"root ::= (root \",\")? [a-z]", {"a", "a,b,c"}, {"a,", ",a"}}});
}

TEST(Gbnf, RefusalsNameLineAndColumn) {
  expectRefused(
      gbnf,
      {{"root ::= \"a", "INGOT-E6620", "line 1, column 10", "literal without an end"},
       {"x ::= \"é\" $\nroot ::= x", "INGOT-E6620", "line 1, column 11", "'$'"},
       {"root ::= \"a\\q\"", "INGOT-E6620", "line 1, column 12", "escape"},
       {"root ::= \"\\xZ1\"", "INGOT-E6620", "line 1, column 13", "hexadecimal"},
       {"root ::= \"\\uD800\"", "INGOT-E6620", "line 1, column 11", "Unicode"},
       {"root ::= \"\\UFFFFFFFF\"", "INGOT-E6620", "line 1, column 11", "Unicode"},
       {"root ::= [a", "INGOT-E6620", "line 1, column 10", "class without an end"},
       {"root ::= []", "INGOT-E6620", "line 1, column 10", "without characters"},
       {"root ::= [z-a]", "INGOT-E6620", "line 1, column 11", "backwards"},
       {"root ::= (\"a\"\n\n", "INGOT-E6620", "line 1, column 10", "parenthesis"},
       {"root ::= \"a\")", "INGOT-E6620", "line 1, column 13", "')'"},
       {"root ::= * \"a\"", "INGOT-E6620", "line 1, column 10", "'*'"},
       {"root ::= \"a\"{3,1}", "INGOT-E6620", "line 1, column 13", "minimum"},
       {"root ::= \"a\"{x}", "INGOT-E6620", "line 1, column 14", "number"},
       {"root ::= \"a\"{1", "INGOT-E6620", "line 1, column 15", "ends"},
       {"root ::= \"a\"{,3}", "INGOT-E6620", "line 1, column 14", "','"},
       {"root ::= \"a\"{99999999999}", "INGOT-E6623", "line 1, column 14", "1000000000"},
       {"root ::= <think> \"a\"", "INGOT-E6620", "line 1, column 10", "no such token"},
       {"root ::= !<[1000]>*", "INGOT-E6620", "line 1, column 11", "no such token"},
       {"root = \"a\"", "INGOT-E6620", "line 1, column 6", "'::='"},
       {"root ::= \"a\"\n::= \"b\"", "INGOT-E6620", "line 2, column 1", "':'"},
       {"root ::= \"\xFF\"", "INGOT-E6620", "line 1, column 11", "UTF-8"},
       {"root ::= a\n\n  b ::= c", "INGOT-E6621", "line 1, column 10", "'a' is not defined"},
       {"root ::= \"a\"\nx ::= nowhere", "INGOT-E6621", "line 2, column 7", "'nowhere'"},
       {"root ::= \"a\"\nroot ::= \"b\"", "INGOT-E6621", "line 2, column 1", "defined twice"},
       {"main ::= \"a\"", "INGOT-E6621", "'root'", "has no rule"},
       {"# nothing", "INGOT-E6621", "'root'", "has no rule"},
       {"root ::= \"a\" x\nx ::= \"b\" x", "INGOT-E6622", "line 2, column 1",
        "'x' derives no text"},
       {"root ::= \"a\" | y\n\ny ::= z\nz ::= \"b\" y", "INGOT-E6622", "line 3", "needs itself"},
       {"root ::= root", "INGOT-E6622", "line 1, column 1", "'root'"},
       {"root ::= x\nx ::= [^\\x00-\\U0010FFFF]", "INGOT-E6622", "line 2", "matches no text"}});
}

TEST(Gbnf, WhatIsLargeIsRefusedOrQuick) {
  expectRefused(gbnf, {{"root ::= " + times(100000, "("), "INGOT-E6623", "column 210", "200 deep"},
                       {"root ::= \"a\"" + times(100000, "?"), "INGOT-E6623", "line 1", "in a row"},
                       {times(2 << 20, "#"), "INGOT-E6623", "line 1", "bytes"}});
  std::string doubling = "root ::= x0\n", chain = "root ::= x0\n", words = "root ::= \"w\"";
  for (int i = 0; i < 60; ++i)
    doubling += "x" + std::to_string(i) + " ::= x" + std::to_string(i + 1) + " x" +
                std::to_string(i + 1) + "\n";
  doubling += "x60 ::= \"a\"";
  for (int i = 0; i < 20000; ++i)
    chain += "x" + std::to_string(i) + " ::= \"a\" x" + std::to_string(i + 1) + " | \"b\"\n";
  chain += "x20000 ::= \"a\"";
  for (int i = 0; i < 50000; ++i)
    words += " | \"word" + std::to_string(i) + "\"";
  expectQuick(
      gbnf,
      {doubling, chain, words, "root ::= \"a\"{1,1000000000}", "root ::= ((((\"a\"*)*)*)*)*",
       "root ::= x{1,1000000000}\nx ::= \"a\" | \"(\" x \")\"",
       "root ::= (((\"a\"{0,1000}){0,1000}){0,1000}){0,1000}",
       "root ::= (((x{0,999}){0,999}){0,999}){0,999}\nx ::= \"a\" | \"(\" x \")\"",
       "root ::= " + times(150, "(") + "\"a\"" + times(150, "?)*"),
       "root ::= " + times(60000, "[ab] "), "root ::= " + times(60000, "x ") + "\nx ::= \"a\" x |",
       "root ::= root root root | \"a\" | root? root*", "root ::= " + times(50000, "\"a\"? "),
       "root ::= ([^\\n]* \"a\" [^\\n]{60}){40}", times(200000, "\n") + "root ::= \"a\"",
       "root ::= \"a\"" + times(200000, "\n") + "\"b\""});
}

TEST(Gbnf, Tokens) {
  const std::string open = specialBytes("<think>"), close = specialBytes("</think>");
  expectCases(gbnfOfTokens,
              {{"root ::= <think> !</think>* </think> .*",
                {open + close, open + "a<think>\n" + open + "</think>" + close + "é"},
                {open, "<think>" + close, open + close + close, open + "\xFF" + close}},
               {"root ::= <[3]> (!<[4]>+ <[4]>){2}",
                {open + "a" + close + "b" + close},
                {open + close + close, open + "a" + close}},
               {"root ::= <[1]> <b>? \"<think>\"", {"ab<b><think>", "ab<think>"}, {"ab" + open}},
               {"root ::= !<think>{1,} <think>", {"a" + open, close + open}, {open}}});
  expectRefused(gbnfOfTokens,
                {{"root ::= <[5]>", "INGOT-E6620", "line 1, column 10", "no such token"},
                 {"root ::= <[6]>", "INGOT-E6620", "line 1, column 10", "no such token"},
                 {"root ::= <abc>", "INGOT-E6620", "line 1, column 10", "no such token"},
                 {"root ::= <[x]>", "INGOT-E6620", "line 1, column 12", "number"},
                 {"root ::= <[1>", "INGOT-E6620", "line 1, column 10", "<[1000]>"},
                 {"root ::= <think", "INGOT-E6620", "line 1, column 10", "without an end"},
                 {"root ::= <thi\nnk>", "INGOT-E6620", "line 1, column 10", "without an end"},
                 {"root ::= !\"a\"", "INGOT-E6620", "line 1, column 11", "angle brackets"},
                 {"root ::= !<b>*", "INGOT-E6620", "line 1, column 10", "special"},
                 {"root ::= !<think>", "INGOT-E6620", "line 1, column 10", "* or +"},
                 {"root ::= !<think>?", "INGOT-E6620", "line 1, column 10", "* or +"},
                 {"root ::= !<think>{2,}", "INGOT-E6620", "line 1, column 10", "* or +"}});
}

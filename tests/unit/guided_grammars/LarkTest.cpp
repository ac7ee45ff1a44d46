// SPDX-License-Identifier: Apache-2.0
// Lark, part by part.
#include "runtime/guided/grammars/Lark.h"

#include "tests/unit/guided_grammars/GrammarCases.h"

using namespace ingot::runtime::guided;

TEST(Lark, RulesAndTerminals) {
  expectCases(
      larkGrammar,
      {{"start: \"a\" B c\nB: \"b\"\nc: \"c\"", {"abc"}, {"a", "a b c"}},
       {"?start: x | _y\n!x: \"x\"\n_y: \"y\"", {"x", "y"}, {"xy"}},
       {"start: A -> first\n     | \"b\" -> second\nA: \"a\"\n", {"a", "b"}, {"ab"}},
       {"start.2: A\nA.-1: \"a\"", {"a"}, {""}},
       {"start: (\"a\" | \"b\") [\"c\" | \"d\"] \"e\"", {"ae", "bde"}, {"e", "acde"}},
       {"start: \"a\"* \"b\"+ \"c\"?", {"b", "aabbc"}, {"a", "acc"}},
       {"start: \"a\"~2 \"b\"~1..3 \"c\" ~ 2", {"aabcc", "aabbbcc"}, {"abcc", "aabbbbcc"}},
       {"start: \"a\"{2} \"b\"{1,3} \"c\"{,2} \"d\"{1,}",
        {"aabd", "aabbbccdd"},
        {"aab", "aabcccd"}},
       {"start: \"a\" start \"b\" |", {"", "aabb"}, {"aab"}},
       {"start: start \"+\" N | N\nN: /[0-9]+/", {"1", "1+2+3"}, {"1+"}},
       {"start: A\nA: B+ | \"-\" B~2\nB: C | \"x\"\nC: \"0\"..\"9\"",
        {"0x9", "-1x"},
        {"-1", "-xxx"}},
       {"start: a-b\na-b: \"x\" -> y", {"x"}, {}},
       {"start: \"é\"..\"ü\" \"\\u3042\"..\"\\u3044\"", {"éあ", "öい"}, {"aあ"}},
       {"// head\n# head\n\nstart: A // why\n\n  | \"b\" # not\n\nA: \"a\"", {"a", "b"}, {}},
       {"start: (\n  \"a\"\n  \"b\"\n)", {"ab"}, {}},
       {"%llguidance {}\nstart: \"a\"", {"a"}, {}}});
}

TEST(Lark, Literals) {
  expectCases(larkGrammar, {{R"(start: "a\n\t\r\f\\\"\x41\u00e9\U0001F600\ud83d\ude00")",
                             {"a\n\t\r\f\\\"A\u00E9\U0001F600\U0001F600"},
                             {"a"}},
                            {"start: \"aé1\"i", {"aé1", "AÉ1", "aÉ1"}, {"ae1"}},
                            {"start: \"\" \"// no comment\"", {"// no comment"}, {""}},
                            {"start: \"if\"i \"if\"", {"IFif"}, {"ifIF"}}});
}

TEST(Lark, Expressions) {
  expectCases(larkGrammar, {{R"(start: /[a-z\/]+/ /\d{2,3}/)", {"a/b12", "x123"}, {"12", "a1"}},
                            {"start: /ab./i", {"abx", "ABé", "aB\r"}, {"ab", "ab\n"}},
                            {"start: /a.b/s /c/u /(?i:d)/", {"a\nbcD"}, {"acd"}}});
}

TEST(Lark, WhatIsIgnored) {
  expectCases(
      larkGrammar,
      {{"start: A B\nA: \"a\" \"a\"\nB: \"b\"\n%ignore \" \"",
        {"aab", " aa  b "},
        {"a ab", "aa\tb"}},
       {"%import common.WS\n%ignore WS\n%ignore /#[^\\n]*/\nstart: \"a\"*",
        {"", " ", "a\n# x\na", "aa"},
        {"b", "a x"}},
       {"start: \"x\" [\",\" start]\n%ignore (\" \" | \"\\t\")+", {"x,x", " x , x\t,x "}, {"x x"}},
       {"start: \"a\"..\"c\" \"d\"i\n%ignore \"_\"", {"b_D__", "_cd"}, {"b-d"}}});
}

TEST(Lark, Imports) {
  expectCases(larkGrammar, {{"%import common.INT -> NUM\n%import common (CNAME, NEWLINE)\n"
                             "start: CNAME \"=\" NUM NEWLINE",
                             {"x_1=20\r\n", "_=0\n\n"},
                             {"1x=2\n", "x=2"}}});
  // A terminal, texts of it, and texts that are not.
  const GrammarCase terminals[] = {
      {"DIGIT", {"7"}, {"77"}},
      {"HEXDIGIT", {"f", "A", "0"}, {"g"}},
      {"INT", {"0012"}, {"-1", ""}},
      {"SIGNED_INT", {"+1", "-12", "3"}, {"--1"}},
      {"DECIMAL", {"1.", ".5", "1.25"}, {".", "1"}},
      {"FLOAT", {"1e5", "1.5E-3", ".5"}, {"1", "-1.5"}},
      {"SIGNED_FLOAT", {"-1e5", "+.5"}, {"-1", "-"}},
      {"NUMBER", {"1", "1.5", "2e+10", "1.e2"}, {"-1", "e5"}},
      {"SIGNED_NUMBER", {"-1", "+2.5", "3"}, {"- 1"}},
      {"ESCAPED_STRING", {R"("")", R"("a\"b\\")"}, {R"("a)", R"("\")", "\"\n\""}},
      {"LCASE_LETTER", {"z"}, {"Z"}},
      {"UCASE_LETTER", {"Z"}, {"z"}},
      {"LETTER", {"z", "A"}, {"1", "zz"}},
      {"WORD", {"aBc"}, {"a1", ""}},
      {"CNAME", {"_a1", "B"}, {"1a"}},
      {"WS_INLINE", {" \t "}, {"\n", ""}},
      {"WS", {" \t\f\r\n"}, {"a"}},
      {"CR", {"\r"}, {"\n"}},
      {"LF", {"\n"}, {"\r"}},
      {"NEWLINE", {"\n", "\r\n\n"}, {"\r"}},
      {"SH_COMMENT", {"# a", "#"}, {"a"}},
      {"CPP_COMMENT", {"// a"}, {"/ a"}},
      {"C_COMMENT", {"/* a * / **/"}, {"/* a */ */"}},
      {"SQL_COMMENT", {"-- a"}, {"- a"}}};
  for (const auto &[name, accepted, refused] : terminals)
    expectCases(larkGrammar, {{"%import common." + name + "\nstart: " + name, accepted, refused}});
}

TEST(Lark, RefusalsNameLineAndColumn) {
  expectRefused(
      larkGrammar,
      {{"start: \"a\n\"", "INGOT-E6620", "line 1, column 8", "without an end"},
       {"start: \"a\\q\"", "INGOT-E6620", "line 1, column 10", "escape"},
       {"start: \"\\ud800\"", "INGOT-E6620", "line 1, column 9", "Unicode"},
       {"start: /a\n/", "INGOT-E6620", "line 1, column 8", "without an end"},
       {"start: A\nA: /(a/", "INGOT-E6602", "line 2, column 4", "byte 0"},
       {"start: /(a)\\1/", "INGOT-E6602", "line 1, column 8", "byte 3"},
       {"start: /a/x", "INGOT-E6620", "line 1, column 11", "flag"},
       {"start: /a/m", "INGOT-E6620", "line 1, column 11", "flag"},
       {"start: /a*?b/", "INGOT-E6620", "line 1, column 11", "lazy"},
       {"start: /a{2,3}?b/", "INGOT-E6620", "line 1, column 15", "lazy"},
       {"start: /^a/", "INGOT-E6620", "line 1, column 9", "anchors"},
       {"start: /a(?=b)/", "INGOT-E6620", "line 1, column 10", "look-around"},
       {"start: (\"a\"", "INGOT-E6620", "line 1, column 8", "bracket"},
       {"start: (\"a\"]", "INGOT-E6620", "line 1, column 12", "']'"},
       {"start: \"a\")", "INGOT-E6620", "line 1, column 11", "')'"},
       {"start: \"a\"~3..1", "INGOT-E6620", "line 1, column 11", "minimum"},
       {"start: \"ab\"..\"c\"", "INGOT-E6620", "line 1, column 8", "range"},
       {"start: \"b\"..\"a\"", "INGOT-E6620", "line 1, column 8", "backwards"},
       {"start: fooBar", "INGOT-E6620", "line 1, column 8", "lower case"},
       {"start: A\nA: b\nb: \"c\"", "INGOT-E6620", "line 2, column 4", "rule 'b'"},
       {"start: <think>", "INGOT-E6620", "line 1, column 8", "angle brackets"},
       {"start: %json {\"type\": \"object\"}", "INGOT-E6620", "line 1, column 8", "%json"},
       {"start: A & B", "INGOT-E6620", "line 1, column 10", "&"},
       {"start: @other", "INGOT-E6620", "line 1, column 8", "@"},
       {"start[lazy]: /a/", "INGOT-E6620", "line 1, column 6", "options"},
       {"start: _list{A}\n_list{x}: x\nA: \"a\"", "INGOT-E6620", "line 1, column 13", "templates"},
       {"_list{x}: x", "INGOT-E6620", "line 1, column 6", "templates"},
       {"%declare A\nstart: A", "INGOT-E6620", "line 1, column 1", "%declare"},
       {"%extend A: \"a\"", "INGOT-E6620", "line 1, column 1", "%extend"},
       {"%override A: \"a\"", "INGOT-E6620", "line 1, column 1", "%override"},
       {"%llguidance {\"no_forcing\": true}", "INGOT-E6620", "line 1, column 1", "options"},
       {"%import python.NAME", "INGOT-E6620", "line 1, column 9", "common"},
       {"%import common.NOPE", "INGOT-E6621", "line 1, column 16", "NOPE"},
       {"start \"a\"", "INGOT-E6620", "line 1, column 7", "':'"},
       {"start: a", "INGOT-E6621", "line 1, column 8", "'a' is not defined"},
       {"start: \"a\"\n%ignore WS", "INGOT-E6621", "line 2, column 9", "'WS'"},
       {"start: \"a\"\nstart: \"b\"", "INGOT-E6621", "line 2, column 1", "twice"},
       {"begin: \"a\"", "INGOT-E6621", "'start'", "has no rule"},
       {"start: A\nA: \"a\" B\nB: \"b\" | A", "INGOT-E6621", "line 2, column 1",
        "refers to itself"},
       {"start: x\nx: \"a\" x", "INGOT-E6622", "line 2, column 1", "'x' derives no text"},
       {"start: A\nA: /[^\\s\\S]/", "INGOT-E6622", "line 2, column 1", "'A' matches no text"}});
}

TEST(Lark, WhatIsLargeIsRefusedOrQuick) {
  std::string doubling = "start: X0\n", chain = "start: X0\n", many = "%ignore \" \"\nstart: \"w\"";
  for (int i = 0; i < 60; ++i)
    doubling += "X" + std::to_string(i) + ": X" + std::to_string(i + 1) + " X" +
                std::to_string(i + 1) + "\n";
  doubling += "X60: \"a\"";
  for (int i = 0; i < 20000; ++i)
    chain += "X" + std::to_string(i) + ": \"a\" X" + std::to_string(i + 1) + " | \"b\"\n";
  chain += "X20000: \"a\"";
  for (int i = 0; i < 5000; ++i)
    many += " | \"word" + std::to_string(i) + "\"";
  expectRefused(larkGrammar, {{doubling, "INGOT-E6623", "line", "too large"},
                              {chain, "INGOT-E6623", "line", "too large"},
                              {"start: " + times(100000, "["), "INGOT-E6623", "line 1", "deep"},
                              {"start: \"a\"~9999999999", "INGOT-E6623", "line 1", "count"}});
  expectQuick(larkGrammar,
              {many, "start: \"a\"~1..1000000000", "start: x~1000000\nx: \"a\" | \"(\" x \")\"",
               "start: ((((\"a\"*)*)*)*)*\n%ignore /a*/", "start: /((a{0,1000}){0,1000}){0,1000}/",
               "start: /(.*a.*){40}/+", "start: start start | A start* | A\nA: \"a\"?\n%ignore A",
               "start: " + times(20000, "A ") + "\nA: \"a\"?\n%ignore \"a\""});
}

// SPDX-License-Identifier: Apache-2.0
// Where text came from: what a stranger wrote stays known through every operation.
#include "tests/unit/jinja/Rendering.h"

namespace ingot::test {
namespace {

/// The prompt with what came from the input in angle quotes.
std::string marked(const std::string &text) {
  static const Json variables = Json::parse(R"({
    "messages": [{"role": "user", "content": " Hi, You "}], "bos": "<s>",
    "tools": [{"name": "f", "n": 1}]})");
  const Result<RenderedPrompt> prompt = tryRender(text, variables);
  if (!prompt.ok())
    return prompt.status().toString();
  std::string out;
  size_t at = 0;
  for (const runtime::Span &span : prompt->input) {
    EXPECT_TRUE(at == 0 || span.begin > at) << "spans are in order and apart";
    EXPECT_LT(span.begin, span.end);
    out += prompt->text.substr(at, span.begin - at) + "«" +
           prompt->text.substr(span.begin, span.end - span.begin) + "»";
    at = span.end;
  }
  return out + prompt->text.substr(at);
}

TEST(Provenance, PrintedText) {
  EXPECT_EQ(marked("{{ bos }}a{{ messages[0].content }}b"), "<s>a« Hi, You »b");
  EXPECT_EQ(marked("{{ messages[0].role }}{{ messages[0].content }}"), "«user Hi, You »");
  EXPECT_EQ(marked("{{ messages|length }}"), "1");
}

TEST(Provenance, OperationsOnText) {
  const std::pair<const char *, const char *> cases[] = {
      {"c + '.'", "« Hi, You »."},
      {"'<' ~ c ~ '>'", "<« Hi, You »>"},
      {"c.strip()", "«Hi, You»"},
      {"c|trim ~ '!'", "«Hi, You»!"},
      {"c[1:3]", "«Hi»"},
      {"('ab' ~ c)[1:4]", "b« H»"},
      {"('ab' ~ c)[::-1]", "« uoY ,iH »ba"},
      {"('a' ~ c)[0] ~ ('a' ~ c)[2]", "a«H»"},
      {"c|upper ~ 'x'|upper", "« HI, YOU »X"},
      {"('x' ~ c)|title", "X« Hi, You »"},
      {"c.replace('i', '!')", "« H»!«, You »"},
      {"'a-b'.replace('-', c)", "a« Hi, You »b"},
      {"c.split(',')[1] ~ '|'", "« You »|"},
      {"c.split()|join('+')", "«Hi,»+«You»"},
      {"'-'.join([c, 'x'])", "« Hi, You »-x"},
      {"c|replace('H', 'h')", "« »h«i, You »"},
      {"'%s|%5s' % (c, 'x')", "« Hi, You »|    x"},
      {"'{}|{:>3}'.format(c, 'x')", "« Hi, You »|  x"},
      {"'<%s>'|format(c)", "<« Hi, You »>"},
      {"c|e ~ '<'|e", "« Hi, You »&lt;"},
      {"c|indent(2, true)", "  « Hi, You »"},
      {"c|center(13)", "  « Hi, You »  "},
      {"c|list|last ~ c|first", "«  »"},
      {"c|truncate(8, true, '~', 0)", "« Hi, Yo»~"},
      {"c|wordwrap(4)", "« Hi,»\n«You»"},
      {"c|urlencode", "«%20Hi%2C%20You%20»"},
      {"c|reverse", "« uoY ,iH »"},
  };
  for (const auto &[expression, expected] : cases)
    EXPECT_EQ(marked("{% set c = messages[0].content %}{{ " + std::string(expression) + " }}"),
              expected)
        << expression;
}

TEST(Provenance, DumpsOfInputAreInput) {
  EXPECT_EQ(marked("{{ tools[0]|tojson }}|"), "«{\"name\": \"f\", \"n\": 1}»|");
  EXPECT_EQ(marked("{{ tools }}|"), "«[{'name': 'f', 'n': 1}]»|");
  EXPECT_EQ(marked("{{ {'a': tools[0].name}|tojson }}"), "{\"a\": \"«f»\"}");
  EXPECT_EQ(marked("{{ {'a': tools[0]}|tojson }}"), "{\"a\": «{\"name\": \"f\", \"n\": 1}»}");
  EXPECT_EQ(marked("{% for k, v in tools[0].items() %}{{ k }}={{ v }};{% endfor %}"),
            "«name»=«f»;«n»=1;");
}

TEST(Provenance, ThroughStatements) {
  EXPECT_EQ(marked("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(messages[0].content) }}"),
            "<« Hi, You »>");
  EXPECT_EQ(marked("{% set t %}[{{ messages[0].content }}]{% endset %}{{ t|trim }}{{ t|length }}"),
            "[« Hi, You »]11");
  EXPECT_EQ(marked("{% filter upper %}a{{ messages[0].content }}{% endfilter %}"), "A« HI, YOU »");
  EXPECT_EQ(marked("{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t ~ '<' "
                   "~ m.role %}{% endfor %}{{ ns.t }}"),
            "<«user»");
  EXPECT_EQ(marked("{% for c in messages[0].role %}{{ c }}.{% endfor %}"), "«u».«s».«e».«r».");
}

} // namespace
} // namespace ingot::test

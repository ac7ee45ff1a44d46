// SPDX-License-Identifier: Apache-2.0
// Errors of templates: their codes, where they are, and the limits of a render.
#include "tests/unit/jinja/Rendering.h"

namespace ingot::test {
namespace {

void expectError(const std::string &text, std::string_view code, std::string_view part,
                 const Json &variables = Json::object(), const RenderSettings &settings = {}) {
  const Result<RenderedPrompt> prompt = tryRender(text, variables, settings);
  ASSERT_FALSE(prompt.ok()) << text << ": " << prompt->text;
  EXPECT_EQ(prompt.status().code(), code) << text;
  EXPECT_NE(prompt.status().message().find(part), std::string_view::npos)
      << text << ": " << prompt.status().message();
}

TEST(JinjaErrors, SyntaxSaysWhere) {
  expectError("a\n {{ 1 + }}", "INGOT-E6060", "t:2:9: expected an expression, not '}}'");
  for (const char *text : {"{{ 1",
                           "{% if 1 %}",
                           "{% endif %}",
                           "{{ (1] }}",
                           "{{ 'a }}",
                           "{# a",
                           "{% raw %}",
                           "{% for x %}{% endfor %}",
                           "{{ a.1b }}",
                           "{% set 1 = 2 %}",
                           "{{ f(a=1, 2) }}",
                           "{% break %}",

                           "{{ 99999999999999999999 }}",
                           "{{ '\\x1' }}",
                           "{% block a %}{% endblock %}{% block a %}{% endblock %}",
                           "{% macro m(a=1, b) %}{% endmacro %}",
                           "{% nosuch %}",
                           "{{ $ }}",
                           "{% call 1 %}{% endcall %}",
                           "{{ }}"})
    expectError(text, "INGOT-E6060", "t:1:");
  expectError(std::string("a\xff", 2), "INGOT-E6060", "not UTF-8 at byte 1");
}

TEST(JinjaErrors, OtherTemplatesAreRefusedByName) {
  for (const char *tag : {"import 'a' as b", "from 'a' import b", "include 'a'", "extends 'a'"})
    expectError(std::string("{% ") + tag + " %}", "INGOT-E6061", "reads other templates");
}

TEST(JinjaErrors, UseOfUndefined) {
  expectError("\n\n  {{ a.b }}", "INGOT-E6063", "t:3:7: 'a' is undefined");
  expectError("{{ m.x.y }}", "INGOT-E6063", "'dict object' has no attribute 'x'",
              {{"m", Json::object()}});
  expectError("{{ nosuch() }}", "INGOT-E6063", "'nosuch' is undefined");
  expectError("{{ nosuch + 1 }}", "INGOT-E6063", "'nosuch' is undefined");
}

TEST(JinjaErrors, OperationsThatDoNotFit) {
  for (const char *text :
       {"{{ 'a' + 1 }}", "{{ none|length }}", "{{ 1 / 0 }}", "{{ [] < 1 }}", "{{ {[]: 1} }}",
        "{% for x in 1 %}{% endfor %}", "{{ 'a' in none }}", "{{ 9223372036854775807 + 1 }}",
        "{{ 'a'.upper(1) }}", "{{ 'a'|join(nosuch=1) }}", "{{ range(100001) }}",
        "{{ range|tojson }}", "{{ [1]|map('upper')|tojson }}", "{% set a, b = [1] %}",
        "{{ '%d' % 'a' }}", "{{ '{'.format() }}", "{{ 'a'.nosuch.more }}",
        "{% set n = 1 %}{% set n.x = 1 %}"})
    EXPECT_FALSE(tryRender(text, Json::object()).ok()) << text;
  expectError("{{ 'a' + 1 }}", "INGOT-E6064", "can only concatenate str (not \"int\") to str");
}

TEST(JinjaErrors, TemplatesRaiseTheirOwn) {
  expectError("{{ raise_exception('Roles must ' ~ 'alternate') }}", "INGOT-E6065",
              "Roles must alternate");
}

TEST(JinjaErrors, NothingIsChanged) {
  expectError("{{ [1].append(2) }}", "INGOT-E6069",
              "access to attribute 'append' of 'list' object is unsafe");
  EXPECT_EQ(renderText("{{ [1].append is defined }}{{ {}.update }}"), "False");
}

TEST(JinjaErrors, UnknownFiltersAreFoundWhenCompiling) {
  expectError("{% for x in [] %}{{ x|nosuch }}{% endfor %}", "INGOT-E6068", "no filter 'nosuch'");
  expectError("{% if true %}{{ 1 is nosuch }}{% endif %}", "INGOT-E6068", "no test 'nosuch'");
  EXPECT_EQ(renderText("{% if false %}{{ 1|nosuch }}{% endif %}{{ 1 if true else 2|nosuch }}"),
            "1");
}

TEST(JinjaErrors, VariablesAreAnObjectOfUtf8) {
  expectError("", "INGOT-E6070", "no JSON object", Json::array());
  expectError("{{ a }}", "INGOT-E6070", "not UTF-8", {{"a", "\xff"}});
}

TEST(JinjaLimits, Steps) {
  RenderSettings few;
  few.limits.steps = 100;
  expectError("{% for a in range(1000) %}x{% endfor %}", "INGOT-E6066", "100 steps", Json::object(),
              few);
}

TEST(JinjaLimits, Memory) {
  for (const char *text :
       {"{{ 'a' * 1000000000000 }}", "{{ [1] * 10000000000 }}", "{{ 'a'.center(10000000000) }}",
        "{{ '%1000000000000s' % 1 }}", "{{ '{:1000000000000}'.format(1) }}",
        "{{ 'a'|indent(10000000000) }}", "{{ [1]|batch(10000000000, 0)|list }}",
        "{{ 'a\tb'.expandtabs(10000000000) }}", "{{ 'a'.zfill(10000000000) }}",
        "{% set ns = namespace(s='abcdefgh') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s "
        "%}{% endfor %}"})
    expectError(text, "INGOT-E6067", "bytes");
}

TEST(JinjaLimits, Depth) {
  auto repeated = [](const std::string &text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i)
      all += text;
    return all;
  };
  expectError("{{ " + repeated("(", 100000) + "1" + repeated(")", 100000) + " }}", "INGOT-E6062",
              "levels");
  expectError("{{ " + repeated("[", 100000), "INGOT-E6060", "t:1:");
  expectError("{{ 1" + repeated("+1", 100000) + " }}", "INGOT-E6062", "levels");
  expectError("{{ a" + repeated(".b", 100000) + " }}", "INGOT-E6062", "levels");
  expectError("{{ a" + repeated("|e", 100000) + " }}", "INGOT-E6062", "levels");
  expectError("{{ " + repeated("not ", 100000) + "1 }}", "INGOT-E6062", "levels");
  expectError("{{ " + repeated("-", 100000) + "1 }}", "INGOT-E6062", "levels");
  expectError(repeated("{% if 1 %}", 100000), "INGOT-E6062", "levels");
  expectError("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "INGOT-E6062", "calls itself");
  expectError("{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% "
              "endfor %}{{ ns.l }}",
              "INGOT-E6062", "levels");
  expectError(std::string(2u << 20, 'a'), "INGOT-E6062", "1048576 is the most");
  EXPECT_EQ(renderText("{{ 1" + repeated("+1", 150) + " }}"), "151");
}

TEST(JinjaLimits, ExtremeNumbers) {
  const std::string least = "(-9223372036854775807 - 1)";
  for (const char *text : {"'a'.center(N)",
                           "'a'.zfill(N)",
                           "'a b'.split(none, N)",
                           "'a b'.rsplit(' ', N)",
                           "'aa'.replace('a', 'b', N)",
                           "'abc'[N:]",
                           "'abc'[::N]",
                           "'abc'.find('a', N)",
                           "N // -1",
                           "-N",
                           "N|abs",
                           "N * N",
                           "N % -1",
                           "1.5|round(N)",
                           "7|round(N)",
                           "range(N, 9223372036854775807)",
                           "range(0, 9223372036854775807, 4611686018427387904)[1::2]",
                           "[1][N]",
                           "'%*d' % (N, 1)",
                           "[1]|batch(N)|list",
                           "'abc'|truncate(N)",
                           "'abc'|wordwrap(N)",
                           "'a'|indent(N)",
                           "N ** 3",
                           "2 ** N"}) {
    std::string with = text;
    for (size_t at = with.find('N'); at != with.npos; at = with.find('N', at + 1))
      with.replace(at, 1, least);
    // What becomes of it is Python's affair; here nothing overflows that the sanitizers see.
    const Result<RenderedPrompt> prompt = tryRender("{{ " + with + " }}", Json::object());
    if (!prompt.ok())
      EXPECT_TRUE(prompt.status().code() == "INGOT-E6064" ||
                  prompt.status().code() == "INGOT-E6067")
          << with << ": " << prompt.status().toString();
  }
}

TEST(JinjaLimits, SearchIsLinear) {
  // Each of these takes the product of both lengths, 10^10, where a search is naive.
  const Json variables = {{"a", std::string(200'000, 'a')},
                          {"b", std::string(100'000, 'a') + "b"},
                          {"c", "b" + std::string(100'000, 'a')}};
  for (const char *text :
       {"{{ b in a }}", "{{ a.find(b) }}", "{{ a.rfind(c) }}", "{{ a.count(b) }}",
        "{{ a.split(b)|length }}", "{{ a.rsplit(c)|length }}", "{{ a.replace(b, '')|length }}",
        "{{ a.rpartition(c)|length }}"})
    EXPECT_TRUE(tryRender(text, variables).ok()) << text;
}

TEST(JinjaLimits, AValueInItselfIsFreed) {
  EXPECT_EQ(
      renderText("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns.self.self is defined }}"),
      "True");
}

} // namespace
} // namespace ingot::test

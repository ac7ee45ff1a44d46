// SPDX-License-Identifier: Apache-2.0
// What each part of the language does; the texts are those of Python's Jinja2 3.1.6.
#include "tests/unit/jinja/Rendering.h"

namespace ingot::test {
namespace {

class JinjaLanguage : public testing::Test {
protected:
  static std::string render(const std::string &text) {
    static const Json variables = Json::parse(R"({
      "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yo",
         "tool_calls": [{"name": "f", "arguments": {"a": 1, "b": [true, null, 1.5]}}]}],
      "text": "Grüße, Welt", "n": 7, "items": {"k": "v"}})");
    return renderText(text, variables);
  }
};

TEST_F(JinjaLanguage, Expressions) {
  EXPECT_EQ(render("{{ 1 + 2 * 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** "
                   "-1 }} {{ -2 ** 2 }}"),
            "7 -4 2 3.5 1024 0.5 4");
  EXPECT_EQ(render("{{ 1 < 2 <= 2 }} {{ 3 > 2 > 2 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ '1' == 1 }} "
                   "{{ 'a' < 'b' }}"),
            "True False True True False True");
  EXPECT_EQ(
      render(
          "{{ 'a' 'b' }} {{ 'a' ~ 1 ~ none }} {{ 'ab' * 2 }} {{ [1] + [2] }} {{ (1, 2) + (3,) }}"),
      "ab a1None abab [1, 2] (1, 2, 3)");
  EXPECT_EQ(render("{{ 'x' if false }}|{{ 'x' if true else 'y' }}|{{ 1 if 0 else 2 if 0 else 3 }}"),
            "|x|3");
  EXPECT_EQ(render("{{ not true or true and false }} {{ 1 and 0 or 'q' }} {{ none or '' }}"),
            "False q ");
  EXPECT_EQ(render("{{ 1 in [1, 2] }} {{ 'a' not in 'bc' }} {{ 'k' in {'k': 1} }}"),
            "True True True");
  EXPECT_EQ(render("{{ [1, 2, 3][-1] }} {{ [1, 2, 3][::-1] }} {{ 'hello'[1:3] }} {{ 'hello'[::-2] "
                   "}} {{ text[2:4] }} {{ 'abc'[5:] }}"),
            "3 [3, 2, 1] el olh üß ");
  EXPECT_EQ(render("{{ {'a': 1, 2: [none, true, 1.0, 'x\\'y']} }} {{ () }} {{ (1,) }}"),
            "{'a': 1, 2: [None, True, 1.0, \"x'y\"]} () (1,)");
  EXPECT_EQ(render("{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1e3 }} {{ 1.5e-7 }} {{ 1e16 "
                   "}} {{ 123456789.125 }}"),
            "31 5 15 1000 1000.0 1.5e-07 1e+16 123456789.125");
  EXPECT_EQ(render("{{ '\\u00e9\\x41\\n\\t\\101\\'' }}{{ \"\\U0001F389\" }}{{ '\\d' }}"),
            "éA\n\tA'🎉\\d");
  EXPECT_EQ(render("{{ messages[1].tool_calls[0]['arguments'].b[2] }} {{ messages.0.role }} {{ n.x "
                   "is defined }}"),
            "1.5 user False");
}

TEST_F(JinjaLanguage, Undefined) {
  EXPECT_EQ(render("{{ missing }}|{{ missing is defined }}|{{ missing|default('d') }}|{{ "
                   "missing|length }}|{% for x in missing %}x{% else %}none{% endfor %}"),
            "|False|d|0|none");
  EXPECT_EQ(render("{{ missing == other }} {{ missing ~ 'x' }} {{ not missing }} {{ messages[9] }} "
                   "{{ messages[0].nope }}"),
            "True x True  ");
}

TEST_F(JinjaLanguage, Statements) {
  EXPECT_EQ(render("{% if n > 8 %}a{% elif n == 7 %}b{% else %}c{% endif %}"), "b");
  EXPECT_EQ(render("{% for a, b in [[1, 2], [3, 4]] if a > 1 %}{{ a }}{{ b }}{{ loop.length }}{% "
                   "else %}no{% endfor %}"),
            "341");
  EXPECT_EQ(
      render(
          "{% for i in range(6) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% break "
          "%}{% endif %}{{ i }}{{ loop.cycle('a', 'b') }}{{ loop.changed(i // 2) }} {% endfor %}"),
      "0aTrue 2aTrue 3bFalse ");
  EXPECT_EQ(render("{% for i in [1, [2, [3]]] recursive %}{% if i is number %}{{ i }}@{{ "
                   "loop.depth }}{% else %}<{{ loop(i) }}>{% endif %}{% endfor %}"),
            "1@1<2@2<3@3>>");
  EXPECT_EQ(
      render("{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}"),
      "231");
  EXPECT_EQ(render("{% set ns = namespace(c=0) %}{% for i in [1, 2] %}{% set ns.c = ns.c + i %}{% "
                   "endfor %}{{ ns.c }}{{ ns.zz }}"),
            "3");
  EXPECT_EQ(render("{% set a, b = 1, 'q' %}{{ a }}{{ b }}{% set t | upper %}x{{ a }}y{% endset "
                   "%}{{ t }}{{ t|length }}"),
            "1qX1Y3");
  EXPECT_EQ(render("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}"), "3");
  EXPECT_EQ(render("{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}{% "
                   "endmacro %}{{ m(1) }} {{ m(1, 3, 4, 5, z=6) }} {{ m(b='x', a=0) }}"),
            "121(){} 134(5,){'z': 6} 0x0(){}");
  EXPECT_EQ(render("{% macro box(t) %}[{{ t }}:{{ caller('in') }}]{% endmacro %}{% call(v) "
                   "box('T') %}{{ v }}!{% endcall %}"),
            "[T:in!]");
  EXPECT_EQ(render("{% filter upper|replace('A', 'b') %}a{{ text }}{% endfilter %}"),
            "bGRÜSSE, WELT");
  EXPECT_EQ(render("{% generation %}{{ n }}{% set n = 9 %}{% endgeneration %}{{ n }}"), "77");
  EXPECT_EQ(render("{% block one %}1{{ self.two() }}{% endblock %}{% block two %}2{% endblock %}"),
            "122");
  EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}{# gone #}{% print 1, 'a' %}"), "{{ x }}1a");
  EXPECT_EQ(render("{% autoescape true %}{{ '<a>' }}{{ '<a>'|safe }}{{ text|e ~ '>' }}"
                   "{% endautoescape %}{{ '<'|e }}"),
            "&lt;a&gt;<a>Grüße, Welt&gt;&lt;");
  EXPECT_EQ(
      render("{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}"
             "{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.nextitem }};{% endfor %}"),
      "102TrueFalse2{'role': 'assistant', 'content': 'Yo', 'tool_calls': [{'name': 'f', "
      "'arguments': {'a': 1, 'b': [True, None, 1.5]}}]};211FalseTrue2;");
  EXPECT_EQ(render("{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% "
                   "set j = joiner('-') %}{{ j() }}{{ j() }}{{ dict(a=1, b=2) }}"),
            "aba-{'a': 1, 'b': 2}");
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y %H:%M:%S, %A, %j') }}"),
            "26 Jul 2024 12:34:56, Friday, 208");
}

TEST_F(JinjaLanguage, WhiteSpace) {
  EXPECT_EQ(render("a\n  {% if true %}\n  b\n  {% endif %}\nc\n"), "a\n  b\nc");
  EXPECT_EQ(render("a\n  {%- if true -%}\n  b\n  {%+ endif +%}\nc\n\n"), "ab\n  \nc\n");
  EXPECT_EQ(render("x {{- 1 -}} y {{ 2 }}\n z\n  {# c #}\n  w {#- c -#} v"), "x1y 2\n z\n  wv");
  EXPECT_EQ(render("{% raw -%}\n a {{ }}\n {%- endraw %}\nb\r\nc\rd"), "a {{ }}b\nc\nd");
  EXPECT_EQ(render("  {% set x = 1 %}  {{ x }}  {% set x = 2 %}\n|"), "  1  |");
}

TEST_F(JinjaLanguage, Filters) {
  EXPECT_EQ(render("{{ [3, 1, 2]|sort }} {{ ['b', 'A']|sort }} {{ ['b', "
                   "'A']|sort(case_sensitive=true) }} {{ [1, 2]|sort(reverse=true) }}"),
            "[1, 2, 3] ['A', 'b'] ['A', 'b'] [2, 1]");
  EXPECT_EQ(render("{{ messages|map(attribute='role')|join(', ') }} {{ messages|selectattr('role', "
                   "'equalto', 'user')|list|length }} {{ "
                   "messages|rejectattr('tool_calls')|map(attribute='content')|first }}"),
            "user, assistant 1 Hi");
  EXPECT_EQ(render("{{ [1, 2, 3, 4, 5]|batch(2, 0)|list }} {{ [1, 2, 3, 4, 5]|slice(2)|list }} {{ "
                   "[1, 1.0, 'a', 'A']|unique|list }} {{ [1, 2]|sum }}"),
            "[[1, 2], [3, 4], [5, 0]] [[1, 2, 3], [4, 5]] [1, 'a'] 3");
  EXPECT_EQ(render("{{ {'b': 1, 'A': 2}|dictsort }} {{ {'b': 1}|items|list }} {{ [{'a': 1, 'n': "
                   "'x'}, {'a': 1, 'n': 'y'}]|groupby('a') }}"),
            "[('A', 2), ('b', 1)] [('b', 1)] [(1, [{'a': 1, 'n': 'x'}, {'a': 1, 'n': 'y'}])]");
  EXPECT_EQ(render("{{ messages[1].tool_calls[0].arguments|tojson }} {{ {'é': '\"\\n'}|tojson }} "
                   "{{ {'é': 1}|tojson(ensure_ascii=true) }}\n{{ [1, {'a': []}]|tojson(indent=2) "
                   "}} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true, separators=(',', ':')) }}"),
            "{\"a\": 1, \"b\": [true, null, 1.5]} {\"é\": \"\\\"\\n\"} {\"\\u00e9\": 1}\n[\n  1,\n "
            " {\n    \"a\": []\n  }\n] {\"a\":2,\"b\":1}");
  EXPECT_EQ(render("{{ ' x '|trim }} {{ 'a-b c'|title }} {{ 'aBC'|capitalize }} {{ 'abc'|center(7) "
                   "}}| {{ 'a\\nb\\n\\nc'|indent(2) }} {{ 'foo bar baz qux'|truncate(9) }}"),
            "x A-B C Abc   abc  | a\n  b\n\n  c foo...");
  EXPECT_EQ(render("{{ 'a b c d e f'|wordwrap(5) }} {{ 'one two'|wordcount }} {{ '<b>x &amp; "
                   "y</b>'|striptags }} {{ 'a b/c?é'|urlencode }} {{ {'a': 1}|xmlattr }}"),
            "a b c\nd e f 2 x & y a%20b/c%3F%C3%A9  a=\"1\"");
  EXPECT_EQ(render("{{ '12.5'|int }} {{ 'ff'|int(0, 16) }} {{ 'x'|int(-1) }} {{ '1e3'|float }} {{ "
                   "2.5|round }} {{ 2.345|round(2) }} {{ 7|round(-1) }} {{ 2.1|round(0, 'ceil') }} "
                   "{{ 1500|filesizeformat }}"),
            "12 255 -1 1000.0 2.0 2.35 10 3.0 1.5 kB");
  EXPECT_EQ(render("{{ 'see example.com, me@b.org.'|urlize }} {{ '%s-%05.1f'|format('a', 2.25) }} "
                   "{{ [1, 2]|random is number }}"),
            "see <a href=\"https://example.com\" rel=\"noopener\">example.com</a>, <a "
            "href=\"mailto:me@b.org\">me@b.org</a>. a-002.2 True");
}

TEST_F(JinjaLanguage, Methods) {
  EXPECT_EQ(
      render(
          "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a b "
          "c'.rsplit(none, 1) }} {{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'k=v=w'.partition('=') }}"),
      "['a', 'b', '', 'c'] ['a', 'b'] ['a', 'b c'] ['a b', 'c'] ['a', 'b', 'c'] ('k', '=', 'v=w')");
  EXPECT_EQ(render("{{ 'Hello'.startswith(('He', 'x')) }} {{ 'abab'.replace('ab', 'x', 1) }} {{ "
                   "'xxaxx'.strip('x') }} {{ 'abc'.find('c') }} {{ 'x'.zfill(3) }} {{ "
                   "'-'.join(['a', 'b']) }}"),
            "True xab a 2 00x a-b");
  EXPECT_EQ(render("{{ '{} {0}'.replace('0', 'x') }} {{ '{:>5}|{:.2f}|{!r}'.format('a', 1.234, "
                   "'q') }} {{ '{a[b]}'.format(a={'b': 1}) }} {{ '%s %r %d%%' % ('a', 'b', 3) }} "
                   "{{ '%(x)s' % {'x': 1} }}"),
            "{} {x}     a|1.23|'q' 1 a 'b' 3% 1");
  EXPECT_EQ(render("{{ items.items() }} {{ items['items'] is defined }} {{ {'a': 1}.get('b', 2) }} "
                   "{{ {'a': 1}.keys()|list }} {{ [1, 2, 1].count(1) }} {{ text.upper() }} {{ "
                   "'ΑΣ'.lower() }} {{ 'ß'.upper() }}"),
            "dict_items([('k', 'v')]) True 2 ['a'] 2 GRÜSSE, WELT ας SS");
}

TEST_F(JinjaLanguage, Tests) {
  EXPECT_EQ(render("{{ 1 is integer }}{{ true is integer }}{{ 1.0 is float }}{{ 1 is number }}{{ "
                   "'a' is string }}{{ {} is mapping }}{{ [] is sequence }}{{ 'a' is iterable }}{{ "
                   "none is none }}{{ 3 is odd }}{{ 4 is divisibleby 2 }}{{ 1 is in [1] }}{{ 'a' "
                   "is lower }}{{ 2 is gt(1) }}{{ 1 is not eq 2 }}{{ range is callable }}{{ 'trim' "
                   "is filter }}{{ 'odd' is test }}"),
            "TrueFalseTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrueTrue");
}

TEST_F(JinjaLanguage, ItemsOfLoopsWithAConditionAreTuples) {
  EXPECT_EQ(render("{% for a, b in [[1, 2], [3, 4]] if a %}{{ loop.nextitem }}{% endfor %}"),
            "(3, 4)");
  EXPECT_EQ(render("{% for a, b in [[1, 2], [3, 4]] %}{{ loop.nextitem }}{% endfor %}"), "[3, 4]");
}

TEST_F(JinjaLanguage, ScopesOfNames) {
  EXPECT_EQ(render("{% if true %}{% set x = 1 %}{% endif %}{{ x }}"), "1");
  EXPECT_EQ(render("{% macro m() %}{{ x }}{% endmacro %}{% set x = 5 %}{{ m() }}"), "5");
  EXPECT_EQ(render("{% for i in [1, 2] %}{{ y }}{% set y = i %}{% endfor %}|{{ i }}{{ loop }}"),
            "|");
}

} // namespace
} // namespace ingot::test

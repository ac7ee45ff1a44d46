// SPDX-License-Identifier: Apache-2.0
// Chat templates and what they are given: a template, a byte 0, and the JSON of its variables,
// which is also read as the body of a chat request.
#include "runtime/chat/ConversationPrompt.h"
#include "runtime/serving/Unicode.h"
#include "tests/fuzz/targets/Target.h"

using namespace ingot;
using namespace ingot::fuzz;
using namespace ingot::runtime;

static std::string input(std::string_view text, std::string_view variables) {
  return std::string(text) + '\0' + std::string(variables);
}

constexpr std::string_view conversation = R"({"messages": [
  {"role": "system", "content": "Be brief"},
  {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
  {"role": "assistant", "content": null, "reasoning": "r", "tool_calls": [
    {"id": "1", "type": "function",
     "function": {"name": "f", "arguments": "{\"a\": [1, 2.5, true]}"}}]},
  {"role": "tool", "content": "Zürich", "tool_call_id": "1"}],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
  "bos_token": "<s>", "n": -7, "x": 2.5, "s": "a b,c\n<d>"})";

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> inputs;
  for (
      const char *text : {
          "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m['content'] | trim }}\n"
          "{%- for c in m.tool_calls %}{{ c.function.arguments|tojson(indent=2) }}{% endfor %}{% "
          "endfor %}",
          "{% macro m(a, b=2) %}{{ a }}{{ varargs }}{{ kwargs }}{{ caller() }}{% endmacro %}"
          "{% call(x) m(1, *[2], **{'k': 3}) %}{{ x }}{% endcall %}{{ m(s)|upper }}",
          "{% set ns = namespace(c=0) %}{% for k, v in tools[0].items() if k %}{% set ns.c = ns.c "
          "+ loop.index %}"
          "{% if ns.c > 3 %}{% break %}{% else %}{% continue %}{% endif %}{% else %}-{% endfor "
          "%}{{ ns.c }}",
          "{% for i in [1, [2]] recursive %}{{ loop.depth }}{{ loop(i) if i is sequence }}{{ "
          "loop.cycle('a') }}"
          "{{ loop.changed(i) }}{{ loop.previtem }}{% endfor %}{% raw %}{{ x }}{% endraw %}{# c #}",
          "{% set t | upper %}{{ s[::-1] }}{{ s[1:3] }}{% endset %}{{ t }}{% with a = 1 %}{{ a "
          "}}{% endwith %}"
          "{% filter indent(2) %}{{ s }}{% endfilter %}{% generation %}g{% endgeneration %}",
          "{{ s.split(',')|map('upper')|list }}{{ s.replace('a', s)|title }}{{ s.strip('a') }}{{ "
          "s.center(20) }}"
          "{{ s.partition(' ') }}{{ s.splitlines() }}{{ s.find('b') }}{{ s.rsplit(none, 1) }}{{ "
          "s.zfill(12) }}",
          "{{ '%s %05.2f %r' % (s, x, n) }}{{ '{:>8}{:,}{a[b]!r}'.format(s, n, a={'b': 1}) }}{{ "
          "'%(a)d' % {'a': n} }}",
          "{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|join(', ') }}"
          "{{ [3, 1]|sort(reverse=true) }}{{ messages|groupby('role') }}{{ [1, 2, 3]|batch(2, "
          "0)|list }}",
          "{{ s|wordwrap(3) }}{{ s|truncate(5) }}{{ s|urlize }}{{ s|striptags }}{{ s|urlencode "
          "}}{{ {'a': s}|xmlattr }}"
          "{{ x|round(1) }}{{ n|abs }}{{ '12'|int + 3 }}{{ n // 2 }}{{ n % 3 }}{{ 2 ** 8 }}{{ s|e "
          "}}",
          "{% autoescape true %}{{ s }}{{ s|safe ~ s }}{% endautoescape %}{% block b %}{{ self.b "
          "}}{% endblock %}"
          "{% if n is odd and s is string or not x %}{{ 1 < n <= 3 }}{% elif n in [1] %}{% endif "
          "%}",
          "{{ cycler(1, 2).next() }}{{ joiner()() }}{{ dict(a=1)|dictsort }}{{ range(3)|sum }}{{ "
          "strftime_now('%Y') }}"
          "{{ raise_exception('no') if missing is defined else missing|default('d') }}{{ lipsum(1) "
          "}}",
      })
    inputs.push_back(input(text, conversation));
  return inputs;
}

std::vector<std::string> fuzz::words() {
  std::vector<std::string> words;
  for (const char *word :
       {"{{",       "}}",       "{%",         "%}",         "{#",        "#}",      "-%}",
        "{%-",      "for ",     " in ",       "endfor",     "if ",       "else",    "endif",
        "set ",     "endset",   "macro ",     "endmacro",   "call ",     "filter ", "is ",
        "not ",     "|tojson",  "|join",      "|list",      "|sort",     "|map(",   "|int",
        "|replace", "|indent(", "|wordwrap(", "|unique",    "|items",    "range(",  "loop.",
        "[::-1]",   ".split(",  ".format(",   "namespace(", "recursive", "\\u00e9", "**",
        "//",       "~",        "{:>9}"})
    words.push_back(word);
  return words;
}

static void checkPrompt(const RenderedPrompt &prompt) {
  EXPECT_EQ(validUtf8Prefix(prompt.text), prompt.text.size());
  uint32_t end = 0;
  for (const Span &span : prompt.input) {
    EXPECT_TRUE(span.begin < span.end && span.end <= prompt.text.size());
    EXPECT_TRUE(span.begin > end || end == 0);
    end = span.end;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view all(reinterpret_cast<const char *>(data), size);
  const size_t split = std::min(all.find('\0'), size);
  const std::string_view json = all.substr(std::min(split + 1, size));
  const Result<ChatTemplate> compiled = ChatTemplate::compile("t", all.substr(0, split));
  expectCode(compiled.status().code());
  Result<nlohmann::ordered_json> variables =
      Conversation::parse(json.empty() ? conversation : json);
  expectCode(variables.status().code());
  if (!compiled.ok() || !variables.ok())
    return 0;
  RenderSettings settings;
  settings.now.emplace();
  settings.limits.steps = 100'000;
  settings.limits.bytes = size_t(8) << 20;
  const Result<RenderedPrompt> prompt = compiled->render(*variables, settings);
  expectCode(prompt.status().code());
  if (prompt.ok())
    checkPrompt(*prompt);
  const Result<Conversation> read = Conversation::read(*variables);
  expectCode(read.status().code());
  if (!read.ok())
    return 0;
  for (const bool takes : {true, false}) {
    TemplateTraits traits;
    traits.system.text = traits.user.text = traits.assistant.text = traits.tool.text = takes;
    traits.system.parts = traits.user.parts = traits.assistant.parts = traits.tool.parts = !takes;
    traits.knowsSystem = traits.knowsDeveloper = traits.wantsObjects = takes;
    traits.takesMoreSystem = traits.takesLateSystem = traits.takesRepeats = takes;
    traits.takesParallelCalls = traits.takesTextWithCalls = traits.takesAnyId = takes;
    traits.knowsTools = traits.knowsToolCalls = true;
    traits.takesNull = traits.takesAbsent = !takes;
    const Result<RenderedPrompt> rendered =
        renderConversation(*read, *compiled, traits, nlohmann::ordered_json::object(), settings);
    if (rendered.ok())
      checkPrompt(*rendered);
  }
  return 0;
}

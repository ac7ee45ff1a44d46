// SPDX-License-Identifier: Apache-2.0
// The table of families. A row stands before those whose templates its own markers are part of.
#include "runtime/chat/AnswerFamilies.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

using Kind = HeadPart::Kind;
using Form = ArgumentForm;
using Tokens = std::string_view;

constexpr CallForm harmonyForm(std::string_view open, bool readOnly) {
  return {.open = open,
          .head = {{{Kind::Name, ""}, {Kind::Other, "<|message|>", " <|constrain|>json"}}},
          .callClose = "<|call|>",
          .readOnly = readOnly};
}
constexpr CallForm harmonyForms[] = {harmonyForm("<|channel|>commentary to=", false),
                                     harmonyForm("<|channel|>analysis to=", true),
                                     harmonyForm("<|start|>assistant to=", true)};
constexpr Tokens harmonyTokens[] = {"<|start|>",   "<|channel|>", "<|constrain|>",
                                    "<|message|>", "<|end|>",     "<|call|>"};

constexpr CallForm gemmaForms[] = {{.open = "<|tool_call>call:",
                                    .head = {{{Kind::Name, ""}}},
                                    .arguments = Form::Gemma,
                                    .callClose = "<tool_call|>"}};
constexpr Tokens gemmaTokens[] = {"<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>",
                                  "<|\"|>"};

constexpr CallForm dsmlForm(std::string_view open, std::string_view close) {
  return {.open = open,
          .callOpen = "<｜DSML｜invoke name=\"",
          .head = {{{Kind::Name, "\">"}}},
          .arguments = Form::Tagged,
          .tags = {.key = "<｜DSML｜parameter name=\"",
                   .keyEnd = "\">",
                   .valueEnd = "</｜DSML｜parameter>",
                   .ofString = "\" string=\"true",
                   .ofJson = "\" string=\"false"},
          .callClose = "</｜DSML｜invoke>",
          .close = close};
}
constexpr CallForm dsmlForms[] = {dsmlForm("<｜DSML｜function_calls>", "</｜DSML｜function_calls>"),
                                  dsmlForm("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>")};
constexpr Tokens dsmlTokens[] = {"｜DSML｜"};

constexpr CallForm deepseekV3Forms[] = {
    {.open = "<｜tool▁calls▁begin｜>",
     .callOpen = "<｜tool▁call▁begin｜>",
     .head = {{{Kind::Other, "<｜tool▁sep｜>", "function"}, {Kind::Name, "```json"}}},
     .argumentsClose = "```",
     .callClose = "<｜tool▁call▁end｜>",
     .close = "<｜tool▁calls▁end｜>"}};
constexpr CallForm deepseekV31Forms[] = {{.open = "<｜tool▁calls▁begin｜>",
                                          .callOpen = "<｜tool▁call▁begin｜>",
                                          .head = {{{Kind::Name, "<｜tool▁sep｜>"}}},
                                          .callClose = "<｜tool▁call▁end｜>",
                                          .close = "<｜tool▁calls▁end｜>"}};
constexpr Tokens deepseekTokens[] = {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
                                     "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>",
                                     "<｜tool▁sep｜>"};

constexpr CallForm kimiForms[] = {{.open = "<|tool_calls_section_begin|>",
                                   .callOpen = "<|tool_call_begin|>",
                                   .head = {{{Kind::Id, "<|tool_call_argument_begin|>"}}},
                                   .callClose = "<|tool_call_end|>",
                                   .close = "<|tool_calls_section_end|>"}};
constexpr Tokens kimiTokens[] = {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
                                 "<|tool_call_begin|>", "<|tool_call_end|>",
                                 "<|tool_call_argument_begin|>"};

constexpr CallKeys idLast = {.id = "id", .idText = "[a-zA-Z0-9]{9}"};
constexpr CallForm mistralForms[] = {
    {.open = "[TOOL_CALLS]",
     .isList = true,
     .arguments = Form::JsonCall,
     .idFollows = true,
     .keys = idLast},
    {.open = "[TOOL_CALLS]", .head = {{{Kind::Name, "[CALL_ID]"}, {Kind::Id, "[ARGS]"}}}}};
constexpr Tokens mistralTokens[] = {"[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]"};

constexpr CallForm minimaxForms[] = {
    {.open = "<minimax:tool_call>",
     .callOpen = "<invoke name=\"",
     .head = {{{Kind::Name, "\">"}}},
     .arguments = Form::Tagged,
     .tags = {.key = "<parameter name=\"", .keyEnd = "\">", .valueEnd = "</parameter>"},
     .callClose = "</invoke>",
     .close = "</minimax:tool_call>"}};
constexpr Tokens minimaxTokens[] = {"<minimax:tool_call>", "</minimax:tool_call>"};

constexpr CallForm seedForms[] = {
    {.open = "<seed:tool_call>",
     .callOpen = "<function=",
     .head = {{{Kind::Name, ">"}}},
     .arguments = Form::Tagged,
     .tags = {.key = "<parameter=", .keyEnd = ">", .valueEnd = "</parameter>"},
     .callClose = "</function>",
     .close = "</seed:tool_call>"}};
constexpr Tokens seedTokens[] = {"<seed:tool_call>", "</seed:tool_call>", "<seed:think>",
                                 "</seed:think>"};

constexpr CallForm glmForms[] = {{.open = "<tool_call>",
                                  .head = {{{Kind::Name, ""}}},
                                  .arguments = Form::Tagged,
                                  .tags = {.key = "<arg_key>",
                                           .keyEnd = "</arg_key>",
                                           .value = "<arg_value>",
                                           .valueEnd = "</arg_value>"},
                                  .callClose = "</tool_call>"}};
constexpr Tokens glmTokens[] = {"<tool_call>", "</tool_call>", "<arg_key>",
                                "</arg_key>",  "<arg_value>",  "</arg_value>"};

constexpr ArgumentTags qwen3Tags = {
    .key = "<parameter=", .keyEnd = ">", .valueEnd = "</parameter>", .onLines = true};
constexpr CallForm qwen3XmlForms[] = {{.open = "<tool_call>",
                                       .callOpen = "<function=",
                                       .head = {{{Kind::Name, ">"}}},
                                       .arguments = Form::Tagged,
                                       .tags = qwen3Tags,
                                       .callClose = "</function>",
                                       .close = "</tool_call>"},
                                      // Some calls lack the outer markers.
                                      {.open = "<function=",
                                       .head = {{{Kind::Name, ">"}}},
                                       .arguments = Form::Tagged,
                                       .tags = qwen3Tags,
                                       .callClose = "</function>",
                                       .readOnly = true}};
constexpr Tokens toolCallTokens[] = {"<tool_call>", "</tool_call>"};

constexpr CallForm functionaryV31Forms[] = {
    {.open = "<function=", .head = {{{Kind::Name, ">"}}}, .callClose = "</function>"}};
constexpr CallForm functionaryV32Forms[] = {{.open = ">>>", .head = {{{Kind::Name, "\n"}}}}};

constexpr CallForm apertusForms[] = {{.open = "<|tools_prefix|>",
                                      .isList = true,
                                      .arguments = Form::NamedJson,
                                      .close = "<|tools_suffix|>"}};
constexpr Tokens apertusTokens[] = {"<|tools_prefix|>", "<|tools_suffix|>", "<|inner_prefix|>",
                                    "<|inner_suffix|>"};

constexpr CallForm nemotronForms[] = {
    {.open = "<TOOLCALL>", .isList = true, .arguments = Form::JsonCall, .close = "</TOOLCALL>"}};
constexpr Tokens nemotronTokens[] = {"<TOOLCALL>", "</TOOLCALL>"};

constexpr CallForm aprielForms[] = {{.open = "<tool_calls>",
                                     .isList = true,
                                     .arguments = Form::JsonCall,
                                     .idFollows = true,
                                     .keys = idLast,
                                     .close = "</tool_calls>"}};
constexpr Tokens aprielTokens[] = {"<tool_calls>", "</tool_calls>", "[BEGIN FINAL RESPONSE]",
                                   "[END FINAL RESPONSE]"};

constexpr CallForm hunyuanForms[] = {{.open = "<tool_calls>",
                                      .isList = true,
                                      .arguments = Form::JsonCall,
                                      .close = "</tool_calls>"}};
constexpr Tokens hunyuanTokens[] = {"<tool_calls>", "</tool_calls>", "<think>",
                                    "</think>",     "<answer>",      "</answer>"};

constexpr CallForm cohereForms[] = {{.open = "<|START_ACTION|>",
                                     .isList = true,
                                     .arguments = Form::JsonCall,
                                     .keys = {.name = "tool_name",
                                              .arguments = "parameters",
                                              .id = "tool_call_id",
                                              .idText = "[0-9]{1,3}",
                                              .idFirst = true},
                                     .close = "<|END_ACTION|>"}};
constexpr Tokens cohereTokens[] = {"<|START_ACTION|>", "<|END_ACTION|>",     "<|START_THINKING|>",
                                   "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"};

constexpr CallForm commandRForms[] = {{.open = "Action:\n```json",
                                       .isList = true,
                                       .arguments = Form::JsonCall,
                                       .keys = {.name = "tool_name", .arguments = "parameters"},
                                       .close = "```"}};

constexpr CallForm gigachat31Forms[] = {{.open = "<|function_call|>", .arguments = Form::JsonCall}};
constexpr Tokens gigachat31Tokens[] = {"<|function_call|>"};
constexpr CallForm gigachat3Forms[] = {
    {.open = "<|message_sep|>\n\nfunction call<|role_sep|>\n", .arguments = Form::JsonCall}};
constexpr Tokens gigachat3Tokens[] = {"<|message_sep|>", "<|role_sep|>"};

constexpr CallForm solarForms[] = {
    {.open = "<|tool_calls|>",
     .callOpen = "<|tool_call:begin|>",
     .head = {{{Kind::Id, "<|tool_call:name|>"}, {Kind::Name, "<|tool_call:args|>"}}},
     .callClose = "<|tool_call:end|>",
     .close = "<|calls|>"}};
constexpr Tokens solarTokens[] = {
    "<|begin|>",          "<|content|>",      "<|think|>",           "<|end|>",
    "<|tool_calls|>",     "<|calls|>",        "<|tool_call:begin|>", "<|tool_call:name|>",
    "<|tool_call:args|>", "<|tool_call:end|>"};

constexpr CallForm firefunctionForms[] = {
    {.open = "functools", .isList = true, .arguments = Form::JsonCall}};

constexpr CallForm lfm2Forms[] = {{.open = "<|tool_call_start|>",
                                   .isList = true,
                                   .head = {{{Kind::Name, ""}}},
                                   .arguments = Form::PythonCall,
                                   .close = "<|tool_call_end|>"}};
constexpr Tokens lfm2Tokens[] = {"<|tool_call_start|>", "<|tool_call_end|>"};

constexpr CallForm phi4Forms[] = {
    {.open = "functools", .isList = true, .arguments = Form::JsonCall},
    {.open = "<|tool_call|>",
     .isList = true,
     .arguments = Form::JsonCall,
     .close = "<|/tool_call|>"}};
constexpr Tokens phi4Tokens[] = {"<|tool_call|>", "<|/tool_call|>"};

constexpr CallForm granite3Forms[] = {
    {.open = "<|tool_call|>", .isList = true, .arguments = Form::JsonCall},
    {.open = "<tool_call>", .isList = true, .arguments = Form::JsonCall}};
constexpr Tokens granite3Tokens[] = {"<|tool_call|>", "<tool_call>"};

constexpr CallForm longcatForms[] = {{.open = "<longcat_tool_call>",
                                      .arguments = Form::JsonCall,
                                      .callClose = "</longcat_tool_call>"}};
constexpr Tokens longcatTokens[] = {"<longcat_tool_call>", "</longcat_tool_call>"};

constexpr CallForm hermesForms[] = {
    {.open = "<tool_call>", .arguments = Form::JsonCall, .callClose = "</tool_call>"}};

constexpr CallForm llama3Form(std::string_view open, char bare) {
  return {.open = open,
          .bare = bare,
          .separator = ';',
          .arguments = Form::JsonCall,
          .keys = {.arguments = "parameters"}};
}
constexpr CallForm llama3Forms[] = {llama3Form("<|python_tag|>", 0), llama3Form("", '{')};
constexpr Tokens llama3Tokens[] = {"<|python_tag|>"};

constexpr CallForm pythonicForms[] = {{.open = "<|python_start|>",
                                       .isList = true,
                                       .head = {{{Kind::Name, ""}}},
                                       .arguments = Form::PythonCall,
                                       .close = "<|python_end|>"},
                                      {.open = "",
                                       .bare = '[',
                                       .isList = true,
                                       .head = {{{Kind::Name, ""}}},
                                       .arguments = Form::PythonCall}};
constexpr Tokens pythonicTokens[] = {"<|python_start|>", "<|python_end|>"};

constexpr Tokens thinkTokens[] = {"<think>", "</think>"};

constexpr AnswerFamily families[] = {
    {.name = "harmony",
     .aliases = "openai gpt_oss openai_gptoss",
     .description = "gpt-oss",
     .toolsIn = {"<|channel|>analysis"},
     .reasoningIn = {"<|channel|>analysis"},
     .forms = harmonyForms,
     .namePrefix = "functions.",
     .reasoningOpen = "<|channel|>analysis<|message|>",
     .reasoningClose = "<|end|>",
     .reasonsAnywhere = true,
     .frames = {"<|channel|>final<|message|>", "<|channel|>commentary<|message|>",
                "<|start|>assistant", "<|end|>", "<|return|>"},
     .framesAnywhere = true,
     .promptPrefix = "<|start|>assistant",
     .tokens = harmonyTokens},
    {.name = "gemma4",
     .aliases = "gemma",
     .description = "Gemma 4",
     .toolsIn = {"<|tool_call>call:"},
     .reasoningIn = {"<|channel>thought"},
     .forms = gemmaForms,
     .callsEndReasoning = true,
     .reasoningOpen = "<|channel>thought",
     .reasoningClose = "<channel|>",
     .reasonsAnywhere = true,
     .tokens = gemmaTokens},
    {.name = "deepseek_v32",
     .aliases = "deepseek_v4",
     .description = "DeepSeek V3.2, V4",
     .toolsIn = {"｜DSML｜"},
     .forms = dsmlForms,
     .callsEndReasoning = true,
     .tokens = dsmlTokens},
    {.name = "deepseek_v3",
     .description = "DeepSeek V3 and R1",
     .toolsIn = {"<｜tool▁sep｜>", "```json"},
     .forms = deepseekV3Forms,
     .callsEndReasoning = true,
     .tokens = deepseekTokens},
    {.name = "deepseek_v31",
     .aliases = "deepseek",
     .description = "DeepSeek V3.1",
     .toolsIn = {"<｜tool▁sep｜>"},
     .forms = deepseekV31Forms,
     .callsEndReasoning = true,
     .tokens = deepseekTokens},
    {.name = "kimi_k2",
     .aliases = "kimi",
     .description = "Kimi K2",
     .toolsIn = {"<|tool_call_argument_begin|>"},
     .forms = kimiForms,
     .namePrefix = "functions.",
     .callsEndReasoning = true,
     .tokens = kimiTokens},
    {.name = "mistral",
     .aliases = "magistral ministral",
     .description = "Mistral, Magistral, Devstral, Ministral",
     .toolsIn = {"[TOOL_CALLS]"},
     .reasoningIn = {"[THINK]"},
     .forms = mistralForms,
     .callsEndReasoning = true,
     .reasoningOpen = "[THINK]",
     .reasoningClose = "[/THINK]",
     .reasonsAnywhere = true,
     .tokens = mistralTokens},
    {.name = "minimax_m2",
     .aliases = "minimax",
     .description = "MiniMax M2",
     .toolsIn = {"<minimax:tool_call>"},
     .forms = minimaxForms,
     .callsEndReasoning = true,
     .tokens = minimaxTokens},
    {.name = "seed_oss",
     .description = "Seed-OSS",
     .toolsIn = {"seed:tool_call>"},
     .reasoningIn = {"seed:think>"},
     .forms = seedForms,
     .reasoningOpen = "<seed:think>",
     .reasoningClose = "</seed:think>",
     .tokens = seedTokens},
    {.name = "glm",
     .aliases = "glm4 glm45 glm47",
     .description = "GLM 4.5 to 4.7",
     .toolsIn = {"<arg_key>"},
     .forms = glmForms,
     .callsEndReasoning = true,
     .tokens = glmTokens},
    {.name = "qwen3_xml",
     .aliases = "qwen3_coder step3p5 nemotron3",
     .description = "Qwen3-Coder, Qwen3.5, Nemotron 3, Step 3.5",
     .toolsIn = {"<function=", "<parameter="},
     .forms = qwen3XmlForms,
     .callsEndReasoning = true,
     .tokens = toolCallTokens},
    {.name = "functionary_v31",
     .description = "Functionary 3.1",
     .toolsIn = {"<function="},
     .forms = functionaryV31Forms},
    {.name = "functionary_v32",
     .description = "Functionary 3.2",
     .toolsIn = {">>>all"},
     .forms = functionaryV32Forms,
     .frames = {">>>all\n"},
     .framesAnywhere = true,
     .promptPrefix = ">>>"},
    {.name = "apertus",
     .description = "Apertus",
     .toolsIn = {"<|tools_prefix|>"},
     .reasoningIn = {"<|inner_prefix|>"},
     .forms = apertusForms,
     .callsEndReasoning = true,
     .reasoningOpen = "<|inner_prefix|>",
     .reasoningClose = "<|inner_suffix|>",
     .reasonsAnywhere = true,
     .tokens = apertusTokens},
    {.name = "nemotron",
     .aliases = "nemotron_nano_v2",
     .description = "Nemotron Nano 2",
     .toolsIn = {"<TOOLCALL>"},
     .forms = nemotronForms,
     .tokens = nemotronTokens},
    {.name = "hunyuan",
     .aliases = "hunyuan_a13b",
     .description = "Hunyuan A13B",
     .toolsIn = {"<tool_calls>", "<answer>"},
     .reasoningIn = {"<answer>", "think>"},
     .forms = hunyuanForms,
     .reasoningOpen = "<think>",
     .reasoningClose = "</think>",
     .frames = {"<answer>", "</answer>"},
     .framesAnywhere = true,
     .tokens = hunyuanTokens},
    {.name = "apriel",
     .description = "Apriel",
     .toolsIn = {"<tool_calls>"},
     .reasoningIn = {"[BEGIN FINAL RESPONSE]"},
     .forms = aprielForms,
     .reasoningOpen = "Here are my reasoning steps:",
     .reasoningClose = "[BEGIN FINAL RESPONSE]",
     .frames = {"[END FINAL RESPONSE]"},
     .framesAnywhere = true,
     .tokens = aprielTokens},
    {.name = "cohere",
     .aliases = "cohere2 command_r7b command_a",
     .description = "Command R7B, Command A",
     .toolsIn = {"<|START_ACTION|>"},
     .reasoningIn = {"<|START_THINKING|>"},
     .forms = cohereForms,
     .callsEndReasoning = true,
     .reasoningOpen = "<|START_THINKING|>",
     .reasoningClose = "<|END_THINKING|>",
     .reasonsAnywhere = true,
     .frames = {"<|START_RESPONSE|>", "<|END_RESPONSE|>"},
     .framesAnywhere = true,
     .tokens = cohereTokens},
    {.name = "command_r",
     .description = "Command R, R+",
     .toolsIn = {"Action:", "```json"},
     .forms = commandRForms},
    {.name = "gigachat31",
     .description = "GigaChat 3.1",
     .toolsIn = {"<|function_call|>"},
     .forms = gigachat31Forms,
     .tokens = gigachat31Tokens},
    {.name = "gigachat3",
     .description = "GigaChat 3",
     .toolsIn = {"<|role_sep|>", "function call"},
     .forms = gigachat3Forms,
     .tokens = gigachat3Tokens},
    {.name = "solar_open",
     .aliases = "solar",
     .description = "Solar Open",
     .toolsIn = {"<|tool_call:begin|>"},
     .reasoningIn = {"<|think|>", "<|begin|>assistant"},
     .forms = solarForms,
     .callsEndReasoning = true,
     .reasoningOpen = "<|think|>",
     .reasoningClose = "<|end|>",
     .reasonsAnywhere = true,
     .frames = {"<|begin|>assistant", "<|content|>", "<|end|>"},
     .framesAnywhere = true,
     .tokens = solarTokens},
    {.name = "firefunction",
     .description = "FireFunction 2",
     .toolsIn = {"functools["},
     .forms = firefunctionForms},
    {.name = "lfm2",
     .description = "LFM2, LFM2.5",
     .toolsIn = {"List of tools: "},
     .forms = lfm2Forms,
     .tokens = lfm2Tokens},
    {.name = "phi4_mini",
     .aliases = "phi4_mini_json",
     .description = "Phi-4-mini",
     .toolsIn = {"<|/tool|>"},
     .forms = phi4Forms,
     .tokens = phi4Tokens},
    {.name = "granite3",
     .aliases = "granite",
     .description = "Granite 3",
     .toolsIn = {"<|tool_call|>"},
     .reasoningIn = {"<response>", "<think></think>"},
     .forms = granite3Forms,
     .reasoningOpen = "<think>",
     .reasoningClose = "</think>",
     .frames = {"<response>", "</response>"},
     .tokens = granite3Tokens},
    {.name = "longcat",
     .description = "LongCat",
     .toolsIn = {"<longcat_tool_call>"},
     .forms = longcatForms,
     .tokens = longcatTokens},
    {.name = "hermes",
     .aliases = "qwen2_5 qwen25 qwen3 granite4 reka bielik mimo ernie45 exaone4",
     .description = "Hermes, Qwen2.5, Qwen3, Granite 4, MiMo, SmolLM3 and many others",
     .toolsIn = {"<tool_call>"},
     .forms = hermesForms,
     .tokens = toolCallTokens},
    {.name = "llama3",
     .aliases = "llama llama3_json llama4_json",
     .description = "Llama 3.1 to 3.3",
     .toolsIn = {"{\"name\": function name, \"parameters\":"},
     .forms = llama3Forms,
     .tokens = llama3Tokens},
    {.name = "pythonic",
     .aliases = "llama4_pythonic",
     .description = "Llama 4, ToolACE and others that write Python",
     .toolsIn = {"[func_name1("},
     .forms = pythonicForms,
     .tokens = pythonicTokens},
    {.name = "think",
     .aliases = "deepseek deepseek_r1 deepseek_v3 deepseek_v31 deepseek_v4 qwen3 glm45 kimi_k2 "
                "minimax_m2 nemotron "
                "step3p5 olmo3",
     .description = "DeepSeek R1, Qwen3, QwQ, GLM, Kimi, MiniMax and others",
     .reasoningIn = {"think>"},
     .reasoningOpen = "<think>",
     .reasoningClose = "</think>",
     .tokens = thinkTokens},
};

constexpr AnswerFamily none = {.name = "none", .description = "all is text"};

bool isNamed(const AnswerFamily &family, std::string_view name) {
  if (family.name == name)
    return true;
  std::string_view rest = family.aliases;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == name)
      return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

const AnswerFamily *named(std::string_view name, bool (AnswerFamily::*has)() const) {
  if (name == none.name)
    return &none;
  for (const AnswerFamily &family : families)
    if ((family.*has)() && isNamed(family, name))
      return &family;
  return nullptr;
}

bool containsAll(std::string_view text, std::span<const std::string_view> needles) {
  return !needles[0].empty() && std::ranges::all_of(needles, [&](std::string_view needle) {
    return text.find(needle) != std::string_view::npos;
  });
}

} // namespace

const AnswerFamily &noFamily() { return none; }

const AnswerFamily *toolFamily(std::string_view name) {
  return named(name, &AnswerFamily::hasTools);
}

const AnswerFamily *reasoningFamily(std::string_view name) {
  return named(name, &AnswerFamily::hasReasoning);
}

std::span<const AnswerFamily> answerFamilies() { return families; }

AnswerFamilies chooseFamilies(std::string_view chatTemplate) {
  AnswerFamilies chosen = {&none, &none};
  for (const AnswerFamily &family : families) {
    if (chosen.tools == &none && containsAll(chatTemplate, family.toolsIn))
      chosen.tools = &family;
    if (chosen.reasoning == &none && containsAll(chatTemplate, family.reasoningIn))
      chosen.reasoning = &family;
  }
  return chosen;
}

/// Templates end a line with the opening marker, or do not.
static std::string_view withoutSpaceAtEnd(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \n") + 1);
}

bool isThinking(const AnswerFamily &family, std::string_view promptTail) {
  const std::string_view open = withoutSpaceAtEnd(family.reasoningOpen);
  const size_t opened = open.empty() ? std::string_view::npos : promptTail.rfind(open);
  return opened != std::string_view::npos &&
         promptTail.find(withoutSpaceAtEnd(family.reasoningClose), opened + open.size()) ==
             std::string_view::npos;
}

std::vector<std::string_view> callsEndingThoughts(const AnswerFamily &tools) {
  std::vector<std::string_view> opens;
  if (!tools.callsEndReasoning)
    return opens;
  for (const CallForm &form : tools.forms)
    if (std::ranges::any_of(tools.tokens, [&](std::string_view token) {
          return form.open.find(token) != std::string_view::npos;
        }))
      opens.push_back(form.open);
  return opens;
}

std::span<const std::string_view> markers(const AnswerFamily &family) { return family.tokens; }

} // namespace ingot::runtime

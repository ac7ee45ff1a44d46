// SPDX-License-Identifier: Apache-2.0
// The table of families, and which of them a template chooses.
#include "runtime/chat/AnswerFamilies.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>

using namespace ingot::runtime;

TEST(AnswerFamilies, NamesFindTheirFamily) {
  std::set<std::string_view> names;
  for (const AnswerFamily &family : answerFamilies()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_TRUE(family.hasTools() || family.hasReasoning()) << family.name;
    EXPECT_FALSE(family.description.empty());
    EXPECT_EQ(toolFamily(family.name), family.hasTools() ? &family : nullptr);
    if (family.hasReasoning()) {
      EXPECT_EQ(reasoningFamily(family.name), &family);
    }
  }
  EXPECT_EQ(toolFamily("qwen3_coder"), toolFamily("qwen3_xml"));
  EXPECT_EQ(reasoningFamily("deepseek_r1"), reasoningFamily("think"));
  EXPECT_EQ(toolFamily("none"), &noFamily());
  EXPECT_EQ(reasoningFamily("none"), &noFamily());
  for (const char *name : {"", "x", "HERMES", "glm4 glm45", "hermes "})
    EXPECT_EQ(toolFamily(name), nullptr) << name;
}

TEST(AnswerFamilies, RowsAreWhole) {
  for (const AnswerFamily &family : answerFamilies()) {
    EXPECT_EQ(family.reasoningOpen.empty(), family.reasoningClose.empty()) << family.name;
    for (const CallForm &form : family.forms) {
      EXPECT_NE(form.open.empty(), form.bare == 0) << family.name;
      EXPECT_EQ(form.arguments == ArgumentForm::Tagged, !form.tags.key.empty()) << family.name;
      if (form.arguments == ArgumentForm::Tagged) {
        EXPECT_FALSE(form.tags.keyEnd.empty() || form.tags.valueEnd.empty() ||
                     form.callClose.empty())
            << family.name;
      }
    }
  }
}

TEST(AnswerFamilies, TheManualListsThem) {
  std::ifstream file(INGOT_SOURCE_DIR "/docs/tool-calls.md");
  const std::string manual(std::istreambuf_iterator<char>(file), {});
  size_t at = 0;
  for (const AnswerFamily &family : answerFamilies()) {
    at = manual.find("\n| " + std::string(family.name) + " |", at);
    ASSERT_NE(at, std::string::npos) << family.name << " is missing, or not in the table's order";
  }
}

TEST(AnswerFamilies, TemplatesChoose) {
  const std::filesystem::path folder =
      std::filesystem::path(INGOT_SHARED_DIR) / "data/chat-templates";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no shared test data";
  struct Case {
    const char *file, *reasoning, *tools;
  };
  const Case cases[] = {{"Apertus-8B-Instruct", "apertus", "apertus"},
                        {"Apriel-1.6-15b-Thinker-fixed", "apriel", "apriel"},
                        {"Bielik-11B-v3.0-Instruct", "think", "hermes"},
                        {"ByteDance-Seed-OSS", "seed_oss", "seed_oss"},
                        {"CohereForAI-c4ai-command-r-plus-tool_use", "none", "command_r"},
                        {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "cohere", "cohere"},
                        {"GLM-4.6", "think", "glm"},
                        {"GLM-4.7-Flash", "think", "glm"},
                        {"GigaChat3-10B-A1.8B", "none", "gigachat3"},
                        {"GigaChat3.1-10B-A1.8B", "none", "gigachat31"},
                        {"Kimi-K2-Instruct", "none", "kimi_k2"},
                        {"Kimi-K2-Thinking", "think", "kimi_k2"},
                        {"LFM2-8B-A1B", "none", "lfm2"},
                        {"LFM2.5-Instruct", "think", "lfm2"},
                        {"MiMo-VL", "none", "hermes"},
                        {"MiniMax-M2", "think", "minimax_m2"},
                        {"Mistral-Small-3.2-24B-Instruct-2506", "none", "mistral"},
                        {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "think", "qwen3_xml"},
                        {"NVIDIA-Nemotron-Nano-v2", "think", "nemotron"},
                        {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "none", "hermes"},
                        {"Qwen-QwQ-32B", "think", "hermes"},
                        {"Qwen-Qwen2.5-7B-Instruct", "none", "hermes"},
                        {"Qwen-Qwen3-0.6B", "think", "hermes"},
                        {"Qwen3-Coder", "none", "qwen3_xml"},
                        {"Qwen3.5-4B", "think", "qwen3_xml"},
                        {"Reka-Edge", "think", "hermes"},
                        {"StepFun3.5-Flash", "think", "qwen3_xml"},
                        {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "think", "deepseek_v3"},
                        {"deepseek-ai-DeepSeek-V3.1", "think", "deepseek_v31"},
                        {"deepseek-ai-DeepSeek-V3.2", "think", "deepseek_v32"},
                        {"llama-cpp-deepseek-r1", "think", "deepseek_v3"},
                        {"fireworks-ai-llama-3-firefunction-v2", "none", "firefunction"},
                        {"google-gemma-2-2b-it", "none", "none"},
                        {"google-gemma-4-31B-it", "gemma4", "gemma4"},
                        {"ibm-granite-granite-3.3-2B-Instruct", "granite3", "granite3"},
                        {"ibm-granite-granite-4.0", "none", "hermes"},
                        {"meetkai-functionary-medium-v3.1", "none", "functionary_v31"},
                        {"meetkai-functionary-medium-v3.2", "none", "functionary_v32"},
                        {"meta-llama-Llama-3.1-8B-Instruct", "none", "llama3"},
                        {"meta-llama-Llama-3.2-3B-Instruct", "none", "llama3"},
                        {"microsoft-Phi-3.5-mini-instruct", "none", "none"},
                        {"mistralai-Ministral-3-14B-Reasoning-2512", "mistral", "mistral"},
                        {"mistralai-Mistral-Nemo-Instruct-2407", "none", "mistral"},
                        {"moonshotai-Kimi-K2", "none", "kimi_k2"},
                        {"openai-gpt-oss-120b", "harmony", "harmony"},
                        {"unsloth-Apriel-1.5", "apriel", "apriel"},
                        {"upstage-Solar-Open-100B", "solar_open", "solar_open"}};
  for (const Case &one : cases) {
    std::ifstream file(folder / (std::string(one.file) + ".jinja"));
    ASSERT_TRUE(file) << one.file;
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const AnswerFamilies chosen = chooseFamilies(text);
    EXPECT_EQ(chosen.reasoning->name, one.reasoning) << one.file;
    EXPECT_EQ(chosen.tools->name, one.tools) << one.file;
  }
}

TEST(AnswerFamilies, NothingChoosesNone) {
  for (const char *text : {"", "{{ messages }}", "tool_call think"}) {
    EXPECT_EQ(chooseFamilies(text).reasoning, &noFamily());
    EXPECT_EQ(chooseFamilies(text).tools, &noFamily());
  }
}

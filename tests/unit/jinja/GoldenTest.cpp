// SPDX-License-Identifier: Apache-2.0
// Real chat templates, rendered as Python's Jinja2 renders them, byte for byte.
#include "tests/unit/jinja/Rendering.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ingot::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path sharedData() { return std::filesystem::path(INGOT_SHARED_DIR) / "data"; }

std::string readFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The text of a golden's template: a file, or "cfg:" and the tokenizer_config.json that holds it.
std::string templateText(const std::string &name) {
  constexpr std::string_view inConfig = "cfg:";
  if (!name.starts_with(inConfig))
    return readFile(sharedData() / "chat-templates" / name);
  const Json config = Json::parse(readFile(sharedData() / name.substr(inConfig.size())));
  return config["chat_template"].get<std::string>();
}

TEST(ChatTemplateGolden, EqualsJinja2) {
  if (!std::filesystem::exists(sharedData()))
    GTEST_SKIP() << "no shared test data at " << sharedData();
  const Json golden = Json::parse(readFile(sharedData() / "golden_chat_templates.json"));
  RenderSettings settings;
  settings.now = test::fixedTime();
  size_t rendered = 0, refused = 0;
  for (const auto &[name, cases] : golden["golden"].items()) {
    const Result<ChatTemplate> compiled = ChatTemplate::compile(name, templateText(name));
    ASSERT_TRUE(compiled.ok()) << compiled.status().toString();
    for (const auto &[title, expected] : cases.items()) {
      Json variables = golden["cases"][title];
      variables["bos_token"] = golden["env"]["bos_token"];
      variables["eos_token"] = golden["env"]["eos_token"];
      // As Hugging Face's apply_chat_template: these are always there.
      for (const char *always : {"tools", "documents"})
        if (!variables.contains(always))
          variables[always] = nullptr;
      const Result<RenderedPrompt> prompt = compiled->render(variables, settings);
      if (expected.contains("error")) {
        ++refused;
        EXPECT_FALSE(prompt.ok()) << name << ", " << title << ": expected "
                                  << expected["error"].get<std::string>();
        continue;
      }
      ++rendered;
      ASSERT_TRUE(prompt.ok()) << name << ", " << title << ": " << prompt.status().toString();
      EXPECT_EQ(prompt->text, expected["ok"].get<std::string>()) << name << ", " << title;
    }
  }
  EXPECT_EQ(rendered, 383u);
  EXPECT_EQ(refused, 58u);
}

} // namespace
} // namespace ingot::runtime

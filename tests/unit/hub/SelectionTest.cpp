// SPDX-License-Identifier: Apache-2.0
// Which files make a model.
#include "compiler/hub/Selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot::hub {
namespace {

using testing::ElementsAre;
constexpr uint64_t kGiB = uint64_t{1} << 30;

std::vector<NamedSize> filesOf(std::initializer_list<const char *> names, uint64_t bytes = 1000) {
  std::vector<NamedSize> files;
  for (const char *name : names)
    files.push_back({name, bytes});
  return files;
}

Selection select(const std::vector<NamedSize> &files, const std::string &part = "",
                 uint64_t memory = 64 * kGiB) {
  auto selection = selectFiles(files, part, memory, "org/model");
  EXPECT_TRUE(selection) << selection.error().str();
  return selection ? *selection : Selection();
}

std::string codeOf(const std::vector<NamedSize> &files, const std::string &part = "",
                   uint64_t memory = 64 * kGiB) {
  auto selection = selectFiles(files, part, memory, "org/model");
  return selection ? "" : selection.error().code;
}

TEST(Selection, TakesOneFormOfTheWeights) {
  EXPECT_THAT(
      select(filesOf({"config.json", "model.safetensors", "model-00001-of-00001.safetensors",
                      "consolidated.safetensors", "model.safetensors.index.json",
                      "sub/model.safetensors", "LICENSE", "tokenizer.model"}))
          .files,
      ElementsAre("config.json", "model.safetensors", "tokenizer.model"));
  EXPECT_THAT(select(filesOf({"params.json", "consolidated.safetensors", "tekken.json"})).files,
              ElementsAre("params.json", "consolidated.safetensors", "tekken.json"));
}

TEST(Selection, PrefersAFolderToGgufUnlessOneIsNamed) {
  const auto files = filesOf({"config.json", "model.safetensors", "m-Q8_0.gguf"});
  EXPECT_EQ(select(files).model, "");
  EXPECT_EQ(select(files, "q8_0").model, "m-Q8_0.gguf");
  EXPECT_EQ(codeOf(files, "Q4_0"), "INGOT-E7315");
  EXPECT_EQ(codeOf(filesOf({"config.json", "model.safetensors"}), "Q4_0"), "INGOT-E7315");
}

TEST(Selection, SaysWhichFilesRunPrograms) {
  const auto selection = select(filesOf(
      {"config.json", "model.safetensors", "pytorch_model.bin", "modeling.py", "optimizer.pt"}));
  EXPECT_THAT(selection.skipped, ElementsAre("pytorch_model.bin", "modeling.py", "optimizer.pt"));
  EXPECT_EQ(codeOf(filesOf({"config.json", "pytorch_model.bin"})), "INGOT-E7314");
  EXPECT_EQ(codeOf({}), "INGOT-E7314");
  EXPECT_EQ(codeOf(filesOf({"model.safetensors"})), "INGOT-E7314");
}

TEST(Selection, TakesAllPartsOrNone) {
  EXPECT_THAT(select(filesOf({"m-Q4_0-00002-of-00002.gguf", "m-Q4_0-00001-of-00002.gguf"})).files,
              ElementsAre("m-Q4_0-00001-of-00002.gguf", "m-Q4_0-00002-of-00002.gguf"));
  EXPECT_EQ(codeOf(filesOf({"m-Q4_0-00001-of-00002.gguf"})), "INGOT-E7314");
  EXPECT_EQ(select(filesOf({"m-Q4_0-00001-of-00002.gguf", "m-Q2_K.gguf"})).model, "m-Q2_K.gguf");
}

TEST(Selection, TellsNamesThatAreTwo) {
  const auto files = filesOf({"m-Q4_K_XL.gguf", "m-UD-Q4_K_XL.gguf", "mmproj-m-Q4_K_XL.gguf"});
  EXPECT_EQ(codeOf(files, "Q4_K_XL"), "INGOT-E7315");
  EXPECT_EQ(select(files, "UD-Q4_K_XL").model, "m-UD-Q4_K_XL.gguf");
  EXPECT_EQ(select(files, "m-Q4_K_XL.gguf").model, "m-Q4_K_XL.gguf");
}

TEST(Selection, ChoosesWhatFits) {
  const std::vector<NamedSize> files = {{"m-Q2_K.gguf", 2 * kGiB},
                                        {"m-Q4_K_M.gguf", 4 * kGiB},
                                        {"m-IQ4_XS.gguf", 3 * kGiB},
                                        {"m-Q8_0.gguf", 8 * kGiB},
                                        {"m-F16.gguf", 16 * kGiB}};
  EXPECT_EQ(select(files).model, "m-Q4_K_M.gguf");
  EXPECT_EQ(select(files, "", 5 * kGiB).model, "m-Q4_K_M.gguf");
  EXPECT_EQ(select(files, "", 5 * kGiB - 1).model, "m-IQ4_XS.gguf");
  EXPECT_EQ(select(files, "", 3 * kGiB).model, "m-Q2_K.gguf");
  EXPECT_EQ(codeOf(files, "", 3 * kGiB - 1), "INGOT-E7316");
  EXPECT_THAT(select(files).why, testing::HasSubstr("4.0 GiB"));
  // Without Q4_K_M, the largest; without quantization only where there is nothing else.
  EXPECT_EQ(select({files[0], files[3], files[4]}).model, "m-Q8_0.gguf");
  EXPECT_EQ(select({files[4]}).model, "m-F16.gguf");
  EXPECT_EQ(select({files[4]}).why, "");
}

} // namespace
} // namespace ingot::hub

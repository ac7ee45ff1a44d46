// SPDX-License-Identifier: Apache-2.0
// Sequences that are no longer than what stands in front of each, and texts that are too short.
#include "compiler/quantize/CalibrationText.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::quantize;
using Ids = std::vector<int32_t>;

namespace {

std::filesystem::path fileOf(const std::string &name, const std::string &text) {
  std::filesystem::path path = testing::TempDir() + "ingot-calibration-" + name;
  std::ofstream(path) << text;
  return path;
}

/// An id for each byte.
checkpoint::Expected<Ids> bytesOf(const Document &document) {
  return Ids(document.words.begin(), document.words.end());
}

TEST(CalibrationTextTest, SequencesHaveATokenBehindThePrefix) {
  const Ids prefix = {1, 2};
  TextOptions text;
  text.files = {fileOf("ten.txt", "0123456789")};
  text.lengthOption = "--length";
  for (int64_t length : {-1, 0, 1, 2}) {
    text.length = length;
    const auto read = readCalibrationText(text, prefix, bytesOf);
    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().code, "INGOT-E2113");
    EXPECT_EQ(read.error().where, "--length");
    EXPECT_FALSE(checkLength(text, prefix.size(), 100));
  }
  text.length = 3;
  const auto read = readCalibrationText(text, prefix, bytesOf);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sequences.size(), 10u);
  EXPECT_EQ(read->sequences.front(), (Ids{1, 2, '0'}));
  EXPECT_TRUE(checkLength(text, prefix.size(), 3));
  EXPECT_FALSE(checkLength(text, prefix.size(), 2));
  // Without a prefix a sequence has a token to predict, too.
  text.length = 1;
  EXPECT_FALSE(checkLength(text, 0, 100));
  text.length = 2;
  EXPECT_TRUE(checkLength(text, 0, 100));
  text.samples = 0;
  EXPECT_FALSE(checkLength(text, 0, 100));
}

TEST(CalibrationTextTest, ShortTextsAreFoundWithoutATokenizer) {
  TextOptions text;
  text.files = {fileOf("ten.txt", "0123456789")};
  text.length = 20;
  const auto checked = checkTexts(text, 0);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "INGOT-E2120");
  // Nothing is advised that the command does not have.
  EXPECT_EQ(checked.error().fix, "give more text");
  text.lengthOption = "--length";
  EXPECT_EQ(checkTexts(text, 0).error().fix, "give more text, or a smaller --length");
  text.length = 10;
  EXPECT_TRUE(checkTexts(text, 0));
  text.files = {fileOf("absent.txt", "x").string() + ".none"};
  EXPECT_EQ(checkTexts(text, 0).error().code, "INGOT-E7001");
  text.files = {fileOf("lines.jsonl", "{\"text\": \"0123456789\"}\n[]\n")};
  EXPECT_EQ(checkTexts(text, 0).error().code, "INGOT-E2143");
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Pictures that were read before are not decoded again.
#include "runtime/serving/pictures/PictureReader.h"
#include "tests/unit/images/SmallPictures.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::runtime;

namespace {

class PictureReaderTest : public testing::Test {
protected:
  void SetUp() override {
    const float values[] = {0.5f, 0.5f, 0.5f};
    auto mean = builder.CreateVector(values, 3), deviation = builder.CreateVector(values, 3);
    schema::ImagesBuilder table(builder);
    table.add_rule(schema::SizeRule(images::SizeRule::Stretch));
    table.add_width(side);
    table.add_height(side);
    table.add_patch(8);
    table.add_mean(mean);
    table.add_deviation(deviation);
    builder.Finish(table.Finish());
  }

  PictureReader reader() {
    images::PictureDecoder::Options options;
    options.program = INGOT_IMAGES;
    return PictureReader(*flatbuffers::GetRoot<schema::Images>(builder.GetBufferPointer()),
                         options);
  }

  flatbuffers::FlatBufferBuilder builder;
  uint32_t side = 16;
};

TEST_F(PictureReaderTest, DecodesAFileOnce) {
  PictureReader reader = this->reader();
  const test::Bytes file = test::pngOf(test::slopes(20, 30)),
                    other = test::pngOf(test::slopes(9, 9));
  auto first = reader.read(file), second = reader.read(other), again = reader.read(file);
  ASSERT_TRUE(first.ok() && second.ok() && again.ok()) << first.status().message();
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *second);
  EXPECT_NE((*first)->name, (*second)->name);
  EXPECT_EQ((*first)->bytes(), 16u * 16u * 3u);
  EXPECT_TRUE(reader.isAlike(**first));
  // What cannot be read is tried anew.
  test::Bytes damaged(file.begin(), file.begin() + 20);
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE(reader.read(damaged).ok());
}

TEST_F(PictureReaderTest, ForgetsThoseOfLongAgo) {
  side = 2048; // 12 MiB each, of 64
  SetUp();
  PictureReader reader = this->reader();
  auto fileOf = [](uint32_t width) { return test::pngOf(test::slopes(width, 1)); };
  std::shared_ptr<const PromptPicture> first = *reader.read(fileOf(1));
  for (uint32_t width = 2; width < 6; ++width)
    ASSERT_TRUE(reader.read(fileOf(width)).ok());
  EXPECT_EQ(*reader.read(fileOf(1)), first);
  for (uint32_t width = 6; width < 11; ++width)
    ASSERT_TRUE(reader.read(fileOf(width)).ok());
  EXPECT_NE(*reader.read(fileOf(1)), first);
}

TEST_F(PictureReaderTest, KnowsPicturesOfOthers) {
  PictureReader reader = this->reader();
  auto picture = reader.read(test::pngOf(test::slopes(20, 30)));
  ASSERT_TRUE(picture.ok());
  side = 24;
  SetUp();
  EXPECT_FALSE(this->reader().isAlike(**picture));
}

TEST_F(PictureReaderTest, CountsTheTokensOfAConversation) {
  PictureReader reader = this->reader();
  const std::string source =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA"
      "DUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  ReadPicture read = reader.ofConversation(10);
  ASSERT_TRUE(read(source).ok());
  ASSERT_TRUE(read(source).ok());
  auto third = read(source);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.status().code(), "INGOT-E6004");
  EXPECT_TRUE(reader.ofConversation(10)(source).ok());
}

} // namespace

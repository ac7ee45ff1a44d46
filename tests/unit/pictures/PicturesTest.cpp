// SPDX-License-Identifier: Apache-2.0
// Where pictures stand in a prompt, and what follows from it.
#include "runtime/core/Base64.h"
#include "runtime/serving/Sequence.h"
#include "runtime/serving/pictures/LruCache.h"
#include "runtime/serving/pictures/PictureSource.h"
#include "runtime/serving/pictures/PictureWords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::runtime;
using testing::ElementsAre;

namespace {

constexpr int32_t kToken = 9;

/// An engine's table with what stands for pictures.
class ImageTable {
public:
  explicit ImageTable(bool seesAhead = false, bool hasTiles = false, int32_t stepToken = -1) {
    auto placeholder = builder.CreateString("<image>"), token = builder.CreateString("<t>"),
         before = builder.CreateString("["), after = builder.CreateString("]"),
         beforeTile = builder.CreateString(hasTiles ? "({row},{column})" : ""),
         afterTileRow = builder.CreateString(hasTiles ? "/" : ""),
         afterTiles = builder.CreateString(hasTiles ? "+" : "");
    schema::ImagesBuilder table(builder);
    table.add_placeholder(placeholder);
    table.add_token(token);
    table.add_token_id(kToken);
    table.add_before(before);
    table.add_after(after);
    table.add_before_tile(beforeTile);
    table.add_after_tile_row(afterTileRow);
    table.add_after_tiles(afterTiles);
    table.add_sees_ahead(seesAhead);
    table.add_step_token(stepToken);
    builder.Finish(table.Finish());
  }
  const schema::Images &operator*() const {
    return *flatbuffers::GetRoot<schema::Images>(builder.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder;
};

/// A picture of tiles of so many rows and columns of tokens, the last the whole.
std::shared_ptr<const PromptPicture> picture(std::vector<std::pair<uint32_t, uint32_t>> tiles,
                                             uint64_t name, uint32_t tileColumns = 0) {
  auto made = std::make_shared<PromptPicture>();
  for (auto [rows, columns] : tiles) {
    images::Tile tile;
    tile.tokenRows = rows;
    tile.tokenColumns = columns;
    made->layout.tiles.push_back(tile);
  }
  made->layout.tileColumns = tileColumns;
  made->layout.tileRows = tileColumns ? uint32_t(tiles.size() - 1) / tileColumns : 0;
  made->name = {name, 0};
  return made;
}

template <class T> std::string codeOf(const Result<T> &result) {
  return result.ok() ? "" : std::string(result.status().code());
}

std::shared_ptr<const SequencePictures> placed(const std::vector<int32_t> &prompt,
                                               PromptPictures pictures, const ImageTable &words) {
  auto result = SequencePictures::place(prompt, std::move(pictures), *words);
  EXPECT_TRUE(result.ok()) << result.status().toString();
  return result.ok() ? *result : nullptr;
}

} // namespace

TEST(Pictures, StandInTheTextWhereItsPlaceholdersAre) {
  ImageTable words;
  auto prompt =
      putPictures("a <image> b<image>", {}, {picture({{1, 2}}, 1), picture({{1, 1}}, 2)}, *words);
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(prompt->text, "a [<t><t>] b[<t>]");
  EXPECT_THAT(prompt->literal, ElementsAre());
}

TEST(Pictures, WordsOfStrangersAreNoPlaceholders) {
  ImageTable words;
  // "x<image>" was written by somebody, as was what is around.
  const std::string text = "u x<image> <image> v";
  const std::vector<Span> literal = {{2, 10}, {19, 20}};
  EXPECT_EQ(countPlaceholders(text, literal, *words), 1u);
  auto prompt = putPictures(text, literal, {picture({{1, 1}}, 1)}, *words);
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(prompt->text, "u x<image> [<t>] v");
  EXPECT_THAT(prompt->literal, ElementsAre(Span{2, 10}, Span{17, 18}));
  // One that is in part a stranger's is none.
  EXPECT_EQ(countPlaceholders("<image>", std::vector<Span>{{6, 7}}, *words), 0u);
  EXPECT_THAT(outsidePlaceholders("a<image>b", *words), ElementsAre(Span{0, 1}, Span{8, 9}));
}

TEST(Pictures, AreAsManyAsPlaceholders) {
  ImageTable words;
  for (const char *text : {"", "<image><image>"})
    EXPECT_EQ(codeOf(putPictures(text, {}, {picture({{1, 1}}, 1)}, *words)), "INGOT-E6811");
}

TEST(Pictures, AreCutIntoNumberedTiles) {
  ImageTable words(false, true);
  auto prompt =
      putPictures("<image>", {}, {picture({{1, 1}, {1, 2}, {1, 1}, {1, 1}, {2, 1}}, 1, 2)}, *words);
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(prompt->text, "(1,1)<t>(1,2)<t><t>/(2,1)<t>(2,2)<t>/+[<t><t>]");
}

TEST(Pictures, MayHaveStepsReadAnotherToken) {
  for (int32_t stepToken : {-1, 0}) {
    auto pictures =
        placed({1, kToken, 2}, {picture({{1, 1}}, 1)}, ImageTable(false, false, stepToken));
    ASSERT_TRUE(pictures);
    EXPECT_EQ(pictures->tokenOfStep(0, 1), 1);
    EXPECT_EQ(pictures->tokenOfStep(1, kToken), stepToken < 0 ? kToken : stepToken);
    EXPECT_EQ(pictures->tokenOfStep(2, 2), 2);
    EXPECT_EQ(pictures->tokenOfStep(3, kToken), kToken); // an answer's
  }
}

TEST(Pictures, HavePlacesInThePrompt) {
  ImageTable words;
  auto pictures = placed({1, kToken, kToken, 2, kToken, kToken, kToken, kToken, 3},
                         {picture({{1, 2}}, 1), picture({{2, 2}}, 2)}, words);
  ASSERT_TRUE(pictures);
  ASSERT_EQ(pictures->runs().size(), 2u);
  EXPECT_EQ(pictures->runs()[1].begin, 4);
  EXPECT_EQ(pictures->runs()[1].end, 8);
  EXPECT_EQ(pictures->firstBehind(2)->begin, 1);
  EXPECT_EQ(pictures->firstBehind(3)->begin, 4);
  EXPECT_EQ(pictures->firstBehind(8), nullptr);
  EXPECT_EQ(pictures->rowsIn(0, 9), 6);
  EXPECT_EQ(pictures->rowsIn(2, 4), 3);
  // A picture of two rows and columns takes two positions.
  using Axes = std::array<int32_t, 3>;
  EXPECT_EQ(pictures->axes(0), (Axes{0, 0, 0}));
  EXPECT_EQ(pictures->axes(2), (Axes{1, 1, 2}));
  EXPECT_EQ(pictures->axes(3), (Axes{3, 3, 3}));
  EXPECT_EQ(pictures->axes(7), (Axes{4, 5, 5}));
  EXPECT_EQ(pictures->axes(8), (Axes{6, 6, 6}));
  EXPECT_EQ(pictures->axes(20), (Axes{18, 18, 18}));
  EXPECT_EQ(pictures->reach(5), 5);
}

TEST(Pictures, HaveNoOtherTokensThanTheirs) {
  ImageTable words;
  for (std::vector<int32_t> prompt : {std::vector<int32_t>{1, kToken},
                                      {kToken, kToken, kToken},
                                      {kToken, 1, kToken},
                                      {kToken, kToken, 1, kToken}})
    EXPECT_EQ(codeOf(SequencePictures::place(prompt, {picture({{1, 2}}, 1)}, *words)),
              "INGOT-E6812");
}

TEST(Pictures, ThatSeeAheadAreOnePiece) {
  ImageTable words(true);
  Sequence sequence;
  sequence.tokens = {1, 2, kToken, kToken, kToken, 3, 4};
  sequence.promptTokens = 7;
  sequence.pictures = placed(sequence.tokens, {picture({{1, 3}}, 1)}, words);
  ASSERT_TRUE(sequence.pictures);
  EXPECT_EQ(sequence.pictures->reach(2), 4);
  EXPECT_EQ(sequence.pictures->reach(5), 5);
  // Up to the picture until it is encoded.
  EXPECT_EQ(sequence.chunk(7), 2);
  sequence.encoded = {std::make_shared<EncodedPicture>()};
  EXPECT_EQ(sequence.chunk(7), 7);
  EXPECT_EQ(sequence.chunk(4), 2);
  EXPECT_EQ(sequence.chunk(5), 5);
  EXPECT_EQ(sequence.leastChunk(), 1);
  sequence.computed = 2;
  EXPECT_EQ(sequence.chunk(2), 0);
  EXPECT_EQ(sequence.chunk(3), 3);
  EXPECT_EQ(sequence.leastChunk(), 3);
  // Where others had the beginning, what is left of it.
  sequence.computed = 3;
  EXPECT_EQ(sequence.leastChunk(), 2);
  EXPECT_EQ(sequence.chunk(1), 0);
}

TEST(Pictures, NameBlocksByTheirPixelsAndPlaces) {
  ImageTable words;
  const std::vector<int32_t> prompt = {1, kToken, kToken, 2};
  auto wordsOf = [&](uint64_t name, int64_t first, int64_t end) {
    std::vector<uint64_t> found;
    placed(prompt, {picture({{1, 2}}, name)}, words)->describe(first, end, found);
    return found;
  };
  EXPECT_NE(wordsOf(1, 0, 2), wordsOf(2, 0, 2));
  EXPECT_EQ(wordsOf(1, 0, 2), wordsOf(1, 0, 2));
  EXPECT_NE(wordsOf(1, 0, 2), wordsOf(1, 2, 4));
  EXPECT_TRUE(wordsOf(1, 3, 4).empty());
  EXPECT_TRUE(wordsOf(1, 0, 1).empty());
}

TEST(Pictures, AreKeptWithinTheBudget) {
  LruCache<EncodedPicture> kept(100);
  auto encoded = [](size_t floats) {
    auto made = std::make_shared<EncodedPicture>();
    made->rows = {std::vector<float>(floats)};
    return made;
  };
  kept.keep({1, 0}, encoded(10));
  kept.keep({2, 0}, encoded(10));
  EXPECT_TRUE(kept.find({1, 0}));
  kept.keep({3, 0}, encoded(10)); // the second was used the longest ago
  EXPECT_FALSE(kept.find({2, 0}));
  EXPECT_TRUE(kept.find({1, 0}));
  kept.keep({4, 0}, encoded(26));
  EXPECT_FALSE(kept.find({4, 0}));
  EXPECT_TRUE(kept.find({3, 0}));
}

TEST(PictureSources, AreDataOrFiles) {
  auto bytes = readPictureSource("data:image/png;base64,QUJD", PictureSources::Data, 10);
  ASSERT_TRUE(bytes.ok());
  EXPECT_THAT(*bytes, ElementsAre('A', 'B', 'C'));
  EXPECT_TRUE(readPictureSource("DATA:;base64,QUI=", PictureSources::Data, 10).ok());
  for (const char *source :
       {"http://127.0.0.1/a.png", "https://127.0.0.1/a.png", "HTTPS://127.0.0.1/a.png",
        "file:///etc/passwd", "ftp://127.0.0.1/a", "data:image/png,ABC",
        "data:image/png;base64,QU?D", "data:;base64", "data:;base64,QUJ\n"})
    for (PictureSources allowed : {PictureSources::Data, PictureSources::DataAndFiles})
      EXPECT_EQ(codeOf(readPictureSource(source, allowed, 10)), "INGOT-E6815") << source;
  EXPECT_EQ(codeOf(readPictureSource("/etc/passwd", PictureSources::Data, 10)), "INGOT-E6815");
  EXPECT_EQ(
      codeOf(readPictureSource("data:;base64,QUJDQUJDQUJDQUJDQUJDQUJD", PictureSources::Data, 10)),
      "INGOT-E6804");
  EXPECT_EQ(codeOf(readPictureSource("/no/such", PictureSources::DataAndFiles, 10)), "INGOT-E7101");
}

TEST(Base64, IsStrict) {
  EXPECT_THAT(*decodeBase64("QQ=="), ElementsAre('A'));
  EXPECT_THAT(*decodeBase64("QQ"), ElementsAre('A'));
  EXPECT_TRUE(decodeBase64("")->empty());
  for (const char *wrong : {"Q", "QR", "QQ=", "Q===", "QQ==QQ==", "Q-==", "QUI=QUI=", "=", "QUJD="})
    EXPECT_FALSE(decodeBase64(wrong)) << wrong;
}

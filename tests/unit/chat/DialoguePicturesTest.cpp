// SPDX-License-Identifier: Apache-2.0
// Prompts of conversations with pictures: what stands for each, and that no words of users do.
#include "runtime/chat/Dialogue.h"
#include "tests/unit/serving/TokenizerFixture.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ingot::test {
namespace {

using Json = nlohmann::ordered_json;
using namespace runtime;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t a = 0, begin = 10, pad = 11, end = 12;

/// Characters as pieces, and the special tokens "<s>", "<p>", which stands for rows of pictures,
/// and "<e>".
LoadedTokenizer loadSeeingTokenizer() {
  nlohmann::json root = {
      {"decoder", {{"type", "Fuse"}}},
      {"model", {{"type", "BPE"}, {"merges", nlohmann::json::array({"a a"})}, {"unk_token", "?"}}}};
  root["model"]["vocab"] = {{"a", a}, {"<", 1}, {">", 2}, {"p", 3},
                            {"s", 4}, {"e", 5}, {"?", 6}, {"aa", 7}};
  for (const auto &[id, content] : {std::pair(begin, "<s>"), {pad, "<p>"}, {end, "<e>"}})
    root["added_tokens"].push_back(
        {{"id", id}, {"content", content}, {"special", true}, {"normalized", false}});
  return loadJson(root.dump());
}

class DialoguePictures : public testing::Test {
protected:
  DialoguePictures() {
    builder.Finish(schema::CreateImagesDirect(
        builder, schema::SizeRule::Smart, schema::ResizeFilter::Bicubic, 28, 784, 50176, 1, 0, 0, 0,
        0, 0, &mean, &mean, 14, 2, 2, schema::ValueOrder::ChannelRowColumn, 0,
        schema::PositionRule::None, 0, "<p>", "<p>", pad, "<s>", "<e>"));
    images = flatbuffers::GetRoot<schema::Images>(builder.GetBufferPointer());
  }

  Dialogue dialogue(const schema::Images *images) {
    DialogueOptions options;
    options.templateName = "t";
    options.templateText =
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
        "{% for p in m.content %}{% if p.type == 'image' %}<p>{% else %}{{ p.text }}{% endif %}"
        "{% endfor %}{% endif %}{% endfor %}";
    Result<Dialogue> made = Dialogue::make(&*tokenizer, options, images);
    EXPECT_TRUE(made.ok()) << made.status().toString();
    return *std::move(made);
  }

  /// A picture of as many tokens as its source has characters.
  static Result<std::shared_ptr<const PromptPicture>> read(const std::string &source) {
    if (source == "bad")
      return Status::error("INGOT-E6801", "no picture", "send one");
    auto picture = std::make_shared<PromptPicture>();
    images::Tile tile;
    tile.tokenRows = 1;
    tile.tokenColumns = uint32_t(source.size());
    picture->layout.tiles.push_back(tile);
    return std::shared_ptr<const PromptPicture>(picture);
  }

  static Json body(std::initializer_list<Json> parts) {
    return {{"messages", {{{"role", "user"}, {"content", Json::array_t(parts)}}}}};
  }
  static Json text(const char *words) { return {{"type", "text"}, {"text", words}}; }
  static Json picture(const char *source) {
    return {{"type", "image_url"}, {"image_url", {{"url", source}}}};
  }

  const std::vector<float> mean = {0.5f, 0.5f, 0.5f};
  LoadedTokenizer tokenizer = loadSeeingTokenizer();
  flatbuffers::FlatBufferBuilder builder;
  const schema::Images *images;
};

TEST_F(DialoguePictures, StandInTheirPlaces) {
  const Result<Dialogue::Turn> turn = dialogue(images).begin(
      body({text("a"), picture("xxx"), text("a"), picture("x")}), {}, {}, {}, read);
  ASSERT_TRUE(turn.ok()) << turn.status().toString();
  EXPECT_THAT(turn->tokens, ElementsAre(a, begin, pad, pad, pad, end, a, begin, pad, end));
  ASSERT_EQ(turn->pictures.size(), 2u);
  EXPECT_EQ(turn->pictures[0]->tokens(), 3u);
  EXPECT_EQ(turn->pictures[1]->tokens(), 1u);
}

TEST_F(DialoguePictures, WordsOfUsersStayWords) {
  const Result<Dialogue::Turn> turn =
      dialogue(images).begin(body({text("<p>"), picture("x"), text("<s><p>")}), {}, {}, {}, read);
  ASSERT_TRUE(turn.ok()) << turn.status().toString();
  EXPECT_THAT(turn->tokens, ElementsAre(1, 3, 2, begin, pad, end, 1, 4, 2, 1, 3, 2));
  const Result<Dialogue::Turn> without =
      dialogue(images).begin({{"messages", {{{"role", "user"}, {"content", "<p>"}}}}}, {});
  ASSERT_TRUE(without.ok()) << without.status().toString();
  EXPECT_THAT(without->tokens, ElementsAre(1, 3, 2));
}

TEST_F(DialoguePictures, ErrorsNameThePicture) {
  const Result<Dialogue::Turn> turn =
      dialogue(images).begin(body({picture("x"), picture("bad")}), {}, {}, {}, read);
  ASSERT_FALSE(turn.ok());
  EXPECT_THAT(turn.status().toString(), HasSubstr("INGOT-E6801"));
  EXPECT_THAT(turn.status().toString(), HasSubstr("picture 2"));
}

TEST_F(DialoguePictures, EnginesWithoutThemSayIt) {
  const Result<Dialogue::Turn> turn =
      dialogue(nullptr).begin(body({picture("x")}), {}, {}, {}, read);
  ASSERT_FALSE(turn.ok());
  EXPECT_EQ(turn.status().code(), "INGOT-E6814");
  const Result<RenderedPrompt> prompt = dialogue(nullptr).render(body({picture("x")}));
  ASSERT_FALSE(prompt.ok());
  EXPECT_EQ(prompt.status().code(), "INGOT-E6814");
}

} // namespace
} // namespace ingot::test

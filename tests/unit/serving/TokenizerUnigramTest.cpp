// SPDX-License-Identifier: Apache-2.0
// Unigram models, character maps and the normalizers that come with them. The ids expected are
// those of the tokenizers (0.23) and sentencepiece (0.2) libraries on the same models.
#include "compiler/checkpoint/tokenizer/Base64.h"
#include "tests/unit/serving/SentencePieceFixture.h"
#include "tests/unit/serving/TokenizerFixture.h"

#include <nlohmann/json.hpp>

namespace ingot::test {
namespace {

using Ids = std::vector<int32_t>;
using nlohmann::json;

/// A Unigram tokenizer.json over a few pieces of "a", "b" and "c".
json smallUnigram() {
  return json::parse(R"({
  "added_tokens": [{"id": 0, "content": "<unk>", "special": true, "normalized": false},
                   {"id": 1, "content": "<s>", "special": true, "normalized": false},
                   {"id": 2, "content": "</s>", "special": true, "normalized": false}],
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
  "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
  "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [
    ["<unk>", 0], ["<s>", 0], ["</s>", 0], ["▁", -3.0], ["a", -4.0], ["b", -4.5], ["c", -5.0],
    ["ab", -6.0], ["bc", -5.5], ["abc", -9.75], ["▁a", -4.25], ["▁the", -3.5], ["é", -6.0],
    ["▁▁", -4.0], ["ca", -8.0]]}})");
}

json withBytePieces(json root) {
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    root["model"]["vocab"].push_back({name, -20.0});
  }
  root["model"]["byte_fallback"] = true;
  root["decoder"] = {{"type", "Sequence"},
                     {"decoders", {{{"type", "ByteFallback"}}, root["decoder"]}}};
  return root;
}

Ids encodeWith(const json &root, std::string_view text) {
  return encode(loadJson(root.dump()), text);
}

TEST(TokenizerUnigram, TakesTheMostProbableSpelling) {
  const json root = smallUnigram();
  EXPECT_EQ(encodeWith(root, "abc"), (Ids{10, 8}));
  EXPECT_EQ(encodeWith(root, "abcab the"), (Ids{10, 8, 7, 11}));
  EXPECT_EQ(encodeWith(root, "cabca"), (Ids{3, 14, 8, 4}));
  EXPECT_EQ(encodeWith(root, "  the  ab"), (Ids{3, 11, 3, 10, 5}));
  EXPECT_EQ(encodeWith(root, "the</s>a"), (Ids{11, 2, 10}));
  const LoadedTokenizer tokenizer = loadJson(root.dump());
  EXPECT_EQ(tokenizer->decode(encode(tokenizer, "abcab the")), "abcab the");
  EXPECT_EQ(encode(tokenizer, "</s>", false, /*parseSpecial=*/false), (Ids{3, 0}))
      << "a special token that is not to be parsed is plain text";
}

TEST(TokenizerUnigram, UnknownCharacters) {
  EXPECT_EQ(encodeWith(smallUnigram(), "xyz"), (Ids{3, 0}));
  EXPECT_EQ(encodeWith(smallUnigram(), "a xéx"), (Ids{10, 3, 0, 12, 0}));
  EXPECT_EQ(encodeWith(smallUnigram(), "日本ab語"), (Ids{3, 0, 7, 0}));
  json root = withBytePieces(smallUnigram());
  EXPECT_EQ(encodeWith(root, "xyz"), (Ids{3, 135, 136, 137}));
  EXPECT_EQ(encodeWith(root, "aü b"), (Ids{10, 210, 203, 3, 5}));
  // Without the piece of one byte the whole run is unknown.
  root["model"]["vocab"][15 + 0xBC][0] = "<zzz>";
  EXPECT_EQ(encodeWith(root, "aü b"), (Ids{10, 0, 3, 5}));
  EXPECT_EQ(encodeWith(root, "axü"), (Ids{10, 0}));
  EXPECT_EQ(encodeWith(root, "ax"), (Ids{10, 135}));
}

/// Whatever the length of the text: the work is proportional to it, the memory bounded by the
/// places where pieces overlap.
TEST(TokenizerUnigram, LongTextWithoutPreTokenizer) {
  json root = smallUnigram();
  root.erase("pre_tokenizer");
  std::string text = "cab";
  Ids expected = {14};
  for (int i = 1; i < 200'000; ++i) {
    text += "cab";
    expected.insert(expected.end(), {8, 4});
  }
  expected.back() = 7;
  EXPECT_EQ(encodeWith(root, text), expected);
}

TEST(TokenizerUnigram, Normalizers) {
  json root = smallUnigram();
  for (const char *piece : {"1", "2", "3", "e", "x"})
    root["model"]["vocab"].push_back({piece, -7.0});
  root["normalizer"] = json::parse(R"({"type": "Sequence", "normalizers": [
      {"type": "Precompiled"}, {"type": "Lowercase"}, {"type": "StripAccents"},
      {"type": "Nmt"}]})");
  root["normalizer"]["normalizers"][0]["precompiled_charsmap"] = characterMap;
  EXPECT_EQ(encodeWith(root, "Aé e\u0301 \uFF21\u3000\t12 x\u00AD\uAC00 e\u0301\u0301\u0301 1 12 "
                             "A\u0301"),
            (Ids{10, 18, 3, 18, 18, 10, 3, 3, 15, 16, 3, 19, 0, 3, 18, 3, 15, 3, 15, 16, 10}));
  EXPECT_EQ(encodeWith(root, "ABC\u0001\u0130\uFEFFC"), (Ids{10, 8, 0, 3, 6}));
}

TEST(TokenizerUnigram, ReaderRefusesDamagedModels) {
  auto refusalOf = [](const std::function<void(json &)> &change) {
    json root = smallUnigram();
    change(root);
    auto spec = checkpoint::parseTokenizerJson(root.dump(), "tokenizer.json");
    return spec ? "" : spec.error().code;
  };
  using J = json &;
  EXPECT_EQ(refusalOf([](J) {}), "");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["unk_id"] = nullptr; }), "INGOT-E1422");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["unk_id"] = 15; }), "INGOT-E1006");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"] = json::array(); }), "INGOT-E1422");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"][3] = "a"; }), "INGOT-E1422");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"][3] = {"", 0}; }), "INGOT-E1422");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"][3] = {"a", nullptr}; }), "INGOT-E1422");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"][3] = {std::string(2000, 'x'), 0}; }),
            "INGOT-E1422");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"][3] = {"a", 0}; }), "INGOT-E1404");
  for (const char *map : {"", "AAAA", "AAQAA===", "????", "BAAAAAAAAAD/"})
    EXPECT_EQ(refusalOf([&](J r) {
                r["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", map}};
              }),
              "INGOT-E1411")
        << map;
}

struct SentencePieceCase {
  const char *text;
  Ids plain, bytes, mapped; ///< without and with byte pieces; with these and the character map
};

LoadedTokenizer loadSmallModel(const SentencePieceSettings &settings) {
  return load(expectValue(checkpoint::parseSentencePiece(smallModel(settings), "tokenizer.model")));
}

TEST(TokenizerSentencePiece, UnigramAndBpe) {
  const std::string map = *checkpoint::decodeBase64(characterMap);
  const SentencePieceCase unigram[] = {
      {"once on  one ",
       {262, 266, 267, 262, 262, 267},
       {262, 266, 267, 262, 262, 267},
       {262, 266, 267, 262, 262, 267}},
      {"  on", {262}, {262}, {262}},
      {"ü on xyé",
       {265, 0, 262, 265, 0},
       {265, 198, 191, 262, 265, 123, 124, 198, 172},
       {265, 198, 191, 262, 265, 123, 124, 267}},
      {"<0x41> on",
       {265, 0, 262},
       {265, 63, 51, 123, 55, 52, 65, 262},
       {265, 63, 51, 123, 55, 52, 65, 262}},
      {"on<tool>e", {262, 259, 267}, {262, 259, 267}, {262, 259, 267}},
      {"A e\u0301o\u3000 on\tn",
       {265, 0, 265, 267, 0, 263, 0, 262, 0, 264},
       {265, 68, 265, 267, 207, 132, 263, 230, 131, 131, 262, 12, 264},
       {265, 100, 265, 267, 267, 263, 262, 265, 264}},
  };
  for (const unsigned kind : {1u, 2u}) {
    const LoadedTokenizer plain = loadSmallModel({.kind = kind});
    const LoadedTokenizer bytes = loadSmallModel({.kind = kind, .byteFallback = true});
    const LoadedTokenizer mapped = loadSmallModel({.kind = kind, .byteFallback = true, .map = map});
    for (const SentencePieceCase &test : unigram) {
      EXPECT_EQ(encode(plain, test.text), test.plain) << kind << " " << test.text;
      EXPECT_EQ(encode(bytes, test.text), test.bytes) << kind << " " << test.text;
      EXPECT_EQ(encode(mapped, test.text), test.mapped) << kind << " " << test.text;
    }
    EXPECT_EQ(bytes->decode(encode(bytes, "ü on xyé")), "ü on xyé");
  }
}

TEST(TokenizerSentencePiece, RefusesWhatItCannotExpress) {
  auto refusalOf = [](const std::string &model) {
    auto spec = checkpoint::parseSentencePiece(model, "tokenizer.model");
    return spec ? "" : spec.error().code;
  };
  EXPECT_EQ(refusalOf(smallModel({.kind = 3})), "INGOT-E1403");
  EXPECT_EQ(refusalOf(smallModel({.map = "nonsense"})), "INGOT-E1413");
  std::string unused;
  putBytes(unused, 1, "one");
  putNumber(unused, 3, 5);
  std::string merging = smallModel({});
  putBytes(merging, 1, unused);
  EXPECT_EQ(refusalOf(merging), "INGOT-E1409") << "sentencepiece merges it, then takes it apart";
  std::string suffix, normalizer;
  putNumber(suffix, 24, 1);
  std::string model = smallModel({});
  putBytes(model, 2, suffix);
  EXPECT_EQ(refusalOf(model), "INGOT-E1409");
  putBytes(normalizer, 2, "map");
  model = smallModel({});
  putBytes(model, 5, normalizer);
  EXPECT_EQ(refusalOf(model), "INGOT-E1409");
}

TEST(TokenizerSentencePiece, NamesTheByteOfAFieldThatCannotBeRead) {
  auto placeOf = [](const std::string &model) {
    auto spec = checkpoint::parseSentencePiece(model, "tokenizer.model");
    return spec ? "" : spec.error().where;
  };
  std::string one, model;
  putBytes(one, 1, "one");
  putBytes(model, 1, one); // 7 bytes
  EXPECT_EQ(placeOf(model + "\x0a\x7f"), "tokenizer.model: byte 7") << "longer than the file";
  EXPECT_EQ(placeOf(model + "\x0a\x02\x0a\x7f" + model), "tokenizer.model: byte 7")
      << "a piece whose text is longer than the piece";
  EXPECT_EQ(placeOf(model + std::string(11, '\xff')), "tokenizer.model: byte 7");
}

} // namespace
} // namespace ingot::test

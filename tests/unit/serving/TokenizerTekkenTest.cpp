// SPDX-License-Identifier: Apache-2.0
// tekken.json: small ones, damaged ones, and Llama 3's vocabulary written as one.
#include "compiler/checkpoint/tokenizer/TekkenReader.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"
#include "tests/fuzz/FuzzSession.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/serving/TokenizerFixture.h"

#include <nlohmann/json.hpp>

namespace ingot::test {
namespace {

using Ids = std::vector<int32_t>;
using nlohmann::json;

/// A vocabulary of all bytes, "ab" and one more that its size leaves no room for, behind `specials`
/// special tokens.
json small(uint64_t specials = 4) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  json vocab = json::array();
  for (unsigned byte = 0; byte < 256; ++byte)
    vocab.push_back(
        {{"rank", byte},
         {"token_bytes", std::string{digits[byte >> 2], digits[(byte & 3) << 4]} + "=="},
         {"token_str", nullptr}});
  vocab.push_back({{"rank", 256}, {"token_bytes", "YWI="}, {"token_str", "ab"}});
  vocab.push_back({{"rank", 257}, {"token_bytes", "YmM="}, {"token_str", "bc"}});
  return {{"config",
           {{"pattern", R"(\p{L}+|\P{L})"},
            {"num_vocab_tokens", 258},
            {"default_vocab_size", 257 + specials},
            {"default_num_special_tokens", specials},
            {"version", "v3"}}},
          {"vocab", std::move(vocab)}};
}

std::string refusal(const json &file) {
  auto spec = checkpoint::parseTekken(file.dump(), "tekken.json");
  return spec ? "" : spec.error().code;
}

LoadedTokenizer loadTekken(const json &file) {
  return load(expectValue(checkpoint::parseTekken(file.dump(), "tekken.json")));
}

TEST(Tekken, SpecialTokensHaveTheFirstIds) {
  json file = small();
  const LoadedTokenizer older = loadTekken(file);
  EXPECT_EQ(encode(older, "abc", true), (Ids{1, 4 + 256, 4 + 'c'})) << "<s> comes first";
  EXPECT_EQ(encode(older, "bc"), (Ids{4 + 'b', 4 + 'c'})) << "the last rank has no room";
  EXPECT_EQ(older->addedToken("[INST]"), 3);
  EXPECT_EQ(older->eosId(), 2);
  EXPECT_EQ(older->size(), 261u);

  file["special_tokens"] = {{{"rank", 0}, {"token_str", "<unk>"}, {"is_control", true}},
                            {{"rank", 1}, {"token_str", "<s>"}, {"is_control", true}},
                            {{"rank", 2}, {"token_str", "[THINK]"}, {"is_control", true}}};
  const LoadedTokenizer listed = loadTekken(file);
  EXPECT_EQ(listed->addedToken("[THINK]"), 2);
  EXPECT_EQ(listed->addedToken("<SPECIAL_3>"), 3);
  EXPECT_EQ(listed->addedToken("[INST]"), std::nullopt);
}

TEST(Tekken, RefusesWhatDoesNotFit) {
  auto with = [](auto change) {
    json file = small();
    change(file);
    return refusal(file);
  };
  EXPECT_EQ(with([](json &) {}), "");
  EXPECT_EQ(with([](json &file) { file["config"].erase("pattern"); }), "INGOT-E1423");
  EXPECT_EQ(with([](json &file) { file["config"]["default_vocab_size"] = 4; }), "INGOT-E1423");
  EXPECT_EQ(with([](json &file) { file["config"]["default_vocab_size"] = 263; }), "INGOT-E1423");
  EXPECT_EQ(with([](json &file) { file["vocab"][7]["rank"] = 8; }), "INGOT-E1420");
  EXPECT_EQ(with([](json &file) { file["vocab"][7]["token_bytes"] = "Bw"; }), "INGOT-E1420");
  EXPECT_EQ(with([](json &file) { file["vocab"][7]["token_bytes"] = "CA=="; }), "INGOT-E1420");
  EXPECT_EQ(with([](json &file) { file["config"]["pattern"] = "("; }), "INGOT-E1410");
  EXPECT_EQ(with([](json &file) { file.erase("config"); }), "INGOT-E1005");
  EXPECT_EQ(with([](json &file) { file["special_tokens"] = {{{"rank", 4}}}; }), "INGOT-E1006");
  EXPECT_EQ(with([](json &file) { file["special_tokens"] = json::object({{"a", 1}}); }),
            "INGOT-E1004");
  EXPECT_EQ(with([](json &file) {
              const json token = {{"rank", 0}, {"token_str", "<s>"}};
              file["special_tokens"] = {token, {{"rank", 1}, {"token_str", "<s>"}}};
            }),
            "INGOT-E1404");
}

TEST(Tekken, MutatedFilesAreRefused) {
  fuzz::FuzzSession session("tekken", 17);
  session.mutator.setWords(
      {"\"rank\":", "\"token_bytes\":", "null", "[]", "{}", "4194304", "YWI="});
  session.run(1000, {small().dump(), small(30).dump()}, [](const std::string &bytes) {
    auto spec = checkpoint::parseTekken(bytes, "tekken.json");
    return spec ? "" : spec.error().code;
  });
  session.check();
}

/// Llama 3's ranks and words behind three special tokens: all ids are three more.
TEST(Tekken, ARealVocabulary) {
  REQUIRE_SHARED_DATA();
  const auto path = sharedData() / "tokenizers/llama3/tokenizer.model";
  TemporaryDirectory llama, tekken;
  const std::string lines = readFile(path);
  llama.write("tokenizer.model", lines);
  json vocab = json::array();
  for (size_t begin = 0; begin < lines.size();) {
    const size_t space = lines.find(' ', begin);
    vocab.push_back({{"rank", vocab.size()}, {"token_bytes", lines.substr(begin, space - begin)}});
    begin = lines.find('\n', space) + 1;
  }
  const json file = {{"config",
                      {{"pattern", checkpoint::wordRegex(R"(\p{N}{1,3})")},
                       {"default_vocab_size", vocab.size() + 3},
                       {"default_num_special_tokens", 3}}},
                     {"vocab", vocab}};
  tekken.write("tekken.json", file.dump());
  const LoadedTokenizer theirs = loadDirectory(llama.path()), ours = loadDirectory(tekken.path());
  const auto corpus =
      json::parse(readFile(sharedData() / "tokenizer-golden/iree_tokenizer_corpus.json"));
  size_t tokens = 0;
  for (const auto &test : corpus.at("models").at("unsloth/Llama-3.2-3B").at("tests")) {
    const auto text = test.at("input").get<std::string>();
    Ids expected = encode(theirs, text, false);
    if (text.find("<|") != std::string::npos) // special tokens there, not here
      continue;
    for (int32_t &id : expected)
      id += 3;
    EXPECT_EQ(encode(ours, text, false), expected) << text;
    tokens += expected.size();
  }
  EXPECT_GT(tokens, 100u);
}

} // namespace
} // namespace ingot::test

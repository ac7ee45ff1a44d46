// SPDX-License-Identifier: Apache-2.0
// tiktoken files: damaged ones, unknown families, and those of real models against their
// tokenizer.json.
#include "compiler/checkpoint/tokenizer/Base64.h"
#include "compiler/checkpoint/tokenizer/TiktokenReader.h"
#include "tests/fuzz/FuzzSession.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/serving/TokenizerFixture.h"

#include <nlohmann/json.hpp>

namespace ingot::test {
namespace {

using Ids = std::vector<int32_t>;

std::string refusal(const std::string &bytes) {
  auto spec = checkpoint::parseTiktoken(bytes, "x.tiktoken", true);
  return spec ? "" : spec.error().code;
}

TEST(Base64, Rfc4648) {
  const std::pair<const char *, const char *> vectors[] = {{"", ""},
                                                           {"Zg==", "f"},
                                                           {"Zm8=", "fo"},
                                                           {"Zm9v", "foo"},
                                                           {"Zm9vYg==", "foob"},
                                                           {"Zm9vYmE=", "fooba"},
                                                           {"Zm9vYmFy", "foobar"},
                                                           {"+/+/", "\xFB\xFF\xBF"}};
  for (const auto &[text, bytes] : vectors)
    EXPECT_EQ(checkpoint::decodeBase64(text), bytes) << text;
  for (const char *text : {"Z", "Zg", "Zg=", "Z===", "Zm9v=", "Zg==Zg==", "Zm-v", "Zm9\n"})
    EXPECT_EQ(checkpoint::decodeBase64(text), std::nullopt) << text;
}

/// A line for every byte, its rank the byte; then `tail`.
std::string everyByte(const std::string &tail) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string lines;
  for (unsigned byte = 0; byte < 256; ++byte)
    lines += std::string{digits[byte >> 2], digits[(byte & 3) << 4]} +
             "== " + std::to_string(byte) + "\n";
  return lines + tail;
}

TEST(Tiktoken, RefusesDamagedFilesAndUnknownFamilies) {
  EXPECT_TRUE(checkpoint::isTiktoken("IQ== 0\nIg== 1\n"));
  for (const char *other : {"", "{\"a\": 1}", "\x0A\x0E\x0A\x05<unk>", "IQ== -1\n", "IQ==\n"})
    EXPECT_FALSE(checkpoint::isTiktoken(other)) << other;
  EXPECT_EQ(refusal(everyByte("YWI= 256\r\n\n")), "INGOT-E1421")
      << "a good file of no known family";
  for (const char *tail : {"YWI=256\n", "YWI= x\n", "YWI= 256 1\n", "YW= 256\n", " 256\n",
                           "YWI= 255\n", "YWI= 4194304\n", "YWI= 99999999999\n", "YQ== 300\n"})
    EXPECT_EQ(refusal(everyByte(tail)), "INGOT-E1420") << tail;
  EXPECT_EQ(refusal("YWI= 0\n"), "INGOT-E1420") << "bytes without a rank";
  EXPECT_EQ(refusal(everyByte("")), "INGOT-E1406");
  EXPECT_EQ(refusal(everyByte(std::string(1000, 'Y') + " 256\n")), "INGOT-E1420");
}

TEST(Tiktoken, MutatedFilesAreRefused) {
  fuzz::FuzzSession session("tiktoken", 14);
  session.mutator.setWords({"==", " ", "\r\n", "YWI= 256\n", "YQ=="});
  session.run(2000, {everyByte("YWI= 256\nYWJj 257\nIGFi 258\n"), everyByte("")},
              [](const std::string &bytes) {
                checkpoint::isTiktoken(bytes);
                const std::string code = refusal(bytes);
                return code == "INGOT-E1421" ? "" : code; // a good file, but of no known family
              });
  session.check();
}

/// Those of make_kimi_goldens.py: a small vocabulary whose last rank is that of Kimi's.
TEST(Tiktoken, KimiTakesTextsApartAsTiktokenDoes) {
  const auto goldens = nlohmann::json::parse(readFile(INGOT_KIMI_GOLDENS));
  std::string lines;
  unsigned rank = 256;
  const auto &tokens = goldens["tokens"];
  for (const std::string &token : tokens)
    lines += token + " " + std::to_string(rank - 255 == tokens.size() ? 163583 : rank) + "\n",
        ++rank;
  TemporaryDirectory named, plain;
  for (const TemporaryDirectory *folder : {&named, &plain})
    folder->write("tiktoken.model", everyByte(lines));
  named.write("tokenizer_config.json", R"({"added_tokens_decoder": {
      "163584": {"content": "[BOS]", "special": true},
      "163585": {"content": "[EOS]", "special": true},
      "163586": {"content": "<|im_end|>", "special": true},
      "163595": {"content": "<|tool_calls_section_begin|>", "special": false}}})");
  const LoadedTokenizer kimi = loadDirectory(named.path());
  ASSERT_GE(goldens["cases"].size(), 100u);
  for (const auto &golden : goldens["cases"]) {
    const std::string text = golden[0];
    const Ids ids = golden[1];
    EXPECT_EQ(encode(kimi, text, true), ids) << text;
    EXPECT_EQ(kimi->decode(ids), text);
  }
  EXPECT_EQ(encode(kimi, "0<|im_end|>0<|tool_calls_section_begin|>"),
            (Ids{'0', 163586, '0', 163595}));
  EXPECT_EQ(kimi->eosId(), 163585);
  EXPECT_EQ(kimi->addedToken("<|reserved_token_163590|>"), std::nullopt);
  const LoadedTokenizer unnamed = loadDirectory(plain.path());
  EXPECT_EQ(unnamed->addedToken("<|reserved_token_163839|>"), 163839);
  EXPECT_EQ(unnamed->size(), 163840u);
}

TEST(Tiktoken, DirectoriesOfRealModels) {
  REQUIRE_SHARED_DATA();
  const auto data = sharedData() / "tokenizers";
  TemporaryDirectory llama, configured, qwen;
  llama.write("tokenizer.model", readFile(data / "llama3/tokenizer.model"));
  llama.write("tokenizer_config.json", R"({"added_tokens_decoder": {}})");
  configured.write("tokenizer.model", readFile(data / "llama3/tokenizer.model"));
  configured.write("tokenizer_config.json",
                   readFile(data / "llama3/llama3-8B-instruct.tokenizer_config.json"));
  qwen.write("qwen.tiktoken", readFile(data / "qwen/qwen.tiktoken"));
  const std::string chat =
      "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>";
  const Ids chatIds = {128000, 128006, 882, 128007, 271, 13347, 128009};

  const LoadedTokenizer known = loadDirectory(llama.path());
  EXPECT_EQ(encode(known, chat), chatIds);
  EXPECT_EQ(encode(known, "Hi", true), (Ids{128000, 13347}));
  EXPECT_EQ(known->addedToken("<|python_tag|>"), 128010);
  EXPECT_EQ(known->addedToken("<|reserved_special_token_247|>"), 128255);
  EXPECT_EQ(known->size(), 128256u);
  EXPECT_EQ(known->eosId(), 128001);

  const LoadedTokenizer listed = loadDirectory(configured.path());
  EXPECT_EQ(encode(listed, chat), chatIds);
  EXPECT_EQ(encode(listed, "Hi", true), (Ids{128000, 13347}));
  EXPECT_EQ(listed->addedToken("<|python_tag|>"), std::nullopt) << "Llama 3 has none";
  EXPECT_EQ(listed->addedToken("<|reserved_special_token_250|>"), 128255);
  EXPECT_TRUE(listed->chatTemplate());

  const LoadedTokenizer qwens = loadDirectory(qwen.path());
  EXPECT_EQ(encode(qwens, "<|im_start|>e\u0301", true), (Ids{151644, 963})) << "NFC, no beginning";
  EXPECT_EQ(qwens->addedToken("<|extra_204|>"), 151850);
  EXPECT_EQ(checkpoint::tokenizerFiles(qwen.path()), std::vector{qwen.path() / "qwen.tiktoken"});
  qwen.write("other.tiktoken", "IQ== 0\n");
  EXPECT_TRUE(failsWith(checkpoint::readTokenizer(qwen.path()), "INGOT-E1401"));
}

} // namespace
} // namespace ingot::test

// SPDX-License-Identifier: Apache-2.0
// GGUF files that are written and read back, and those that never appear.
#include "compiler/quantize/ggml/GgufWriter.h"
#include "compiler/checkpoint/gguf/Gguf.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"

#include <nlohmann/json.hpp>

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::test;
using ingot::quantize::GgufKeys;

static std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

static size_t filesIn(const std::filesystem::path &folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

static std::string textOf(const std::filesystem::path &path) {
  return readText(path, 1 << 20).operator bool() ? *readText(path, 1 << 20) : "";
}

/// Keys of every type survive with their types, and a file that is only copied keeps its bytes.
TEST(GgufWriter, CopiesKeysAndTensors) {
  const TemporaryDirectory folder;
  test::GgufWriter source;
  source.string("general.architecture", "llama").u32("a.u32", 7).f32("a.f32", 0.1f);
  source.boolean("a.bool", true).strings("a.strings", {"x", "", "yz"});
  source.numbers("a.ints", std::vector<int32_t>{-1, 2}).key("a.u8", 0, "\x05");
  source.key("a.i16", 3, "\xff\xff").key("a.u64", 10, test::GgufWriter::number<uint64_t>(1));
  source.key("a.f64", 12, test::GgufWriter::number<uint64_t>(0x3ff0000000000000));
  source.key("a.nested", 9, test::GgufWriter::array(9, 1, test::GgufWriter::array(1, 2, "ab")));
  source.tensor("one", 0, {2, 2}, "0123456789abcdef");
  source.tensor("two", 2, {32, 1}, "0123456789abcdefgh");
  const auto in = folder.write("in.gguf", source.str()), out = folder.path() / "out.gguf";
  const auto file = File::open(in);
  ASSERT_TRUE(succeeds(file));
  const auto gguf = readGguf(*file);
  ASSERT_TRUE(succeeds(gguf));
  auto keys = GgufKeys::read(*file, gguf->tensors.front().offset);
  ASSERT_TRUE(succeeds(keys));
  EXPECT_EQ(keys->size(), 11u);
  auto writer = quantize::GgufWriter::create(
      out, *keys, {{"one", DType::F32, {2, 2}}, {"two", DType::Q4_0, {1, 32}}});
  ASSERT_TRUE(succeeds(writer));
  // In parts, as a stream comes.
  for (const char *part : {"0123", "456789abcdef", "0123456789abcdefgh"})
    ASSERT_TRUE(succeeds(writer->append(bytesOf(part))));
  ASSERT_TRUE(succeeds(writer->finish()));
  std::string expected = source.str();
  expected.resize((expected.size() + 31) / 32 * 32); // ggml pads the last tensor too
  EXPECT_EQ(textOf(out), expected);
}

TEST(GgufWriter, KeysAreSetInPlaceAndRemoved) {
  const TemporaryDirectory folder;
  GgufKeys keys;
  keys.setString("first", "a");
  keys.setU32("general.alignment", 64);
  keys.setU32("split.no", 0);
  keys.setU32("split.count", 1);
  keys.setStrings("list", {"x", "y"});
  keys.setU32("first", 5);
  keys.remove("split.*");
  keys.remove("absent");
  EXPECT_EQ(keys.size(), 3u);
  auto writer = quantize::GgufWriter::create(folder.path() / "out.gguf", keys, {});
  ASSERT_TRUE(succeeds(writer));
  ASSERT_TRUE(succeeds(writer->finish()));
  const auto file = File::open(folder.path() / "out.gguf");
  ASSERT_TRUE(succeeds(file));
  const auto gguf = readGguf(*file);
  ASSERT_TRUE(succeeds(gguf));
  EXPECT_EQ(gguf->metadata.keys(), (std::vector<std::string>{"first", "list"}));
  EXPECT_EQ(*gguf->metadata.find("first")->unsignedInteger(), 5u);
  EXPECT_EQ(gguf->metadata.find("list")->size(), 2u);
}

TEST(GgufWriter, KeysHaveTheTypesOfTheirValues) {
  const TemporaryDirectory folder;
  const nlohmann::json keys = {{"bool", true},
                               {"float", 0.5},
                               {"floats", {-1.5, 2.0}},
                               {"ints", {-1, 2}},
                               {"none", nlohmann::json::array()},
                               {"text", "a"},
                               {"texts", {"x", ""}},
                               {"unsigned", 7u}};
  const auto out = folder.path() / "out.gguf";
  auto writer = quantize::GgufWriter::create(out, GgufKeys::of(keys), {});
  ASSERT_TRUE(succeeds(writer));
  ASSERT_TRUE(succeeds(writer->finish()));
  test::GgufWriter expected;
  expected.boolean("bool", true).f32("float", 0.5f);
  expected.numbers("floats", std::vector<float>{-1.5f, 2});
  expected.numbers("ints", std::vector<int32_t>{-1, 2}).strings("none", {}).string("text", "a");
  expected.strings("texts", {"x", ""}).u32("unsigned", 7);
  std::string bytes = expected.str();
  bytes.resize((bytes.size() + 31) / 32 * 32);
  EXPECT_EQ(textOf(out), bytes);
}

/// Without all bytes there is no file, and an older one of the name stays.
TEST(GgufWriter, WholeOrNotAtAll) {
  const TemporaryDirectory folder;
  const auto out = folder.write("out.gguf", "before");
  {
    auto writer = quantize::GgufWriter::create(out, {}, {{"t", DType::F32, {2}}});
    ASSERT_TRUE(succeeds(writer));
    ASSERT_TRUE(succeeds(writer->append(bytesOf("0123"))));
    EXPECT_EQ(filesIn(folder.path()), 2u);
    EXPECT_TRUE(failsWith(writer->append(bytesOf("0123456")), "INGOT-E1131"));
    EXPECT_TRUE(failsWith(writer->finish(), "INGOT-E1131"));
  }
  EXPECT_EQ(filesIn(folder.path()), 1u);
  EXPECT_EQ(textOf(out), "before");
}

TEST(GgufWriter, RefusesPlacesAndTensorsThatCannotBe) {
  const TemporaryDirectory folder;
  EXPECT_TRUE(failsWith(quantize::GgufWriter::create(folder.path() / "no/out.gguf", {}, {}),
                        "INGOT-E7010"));
  EXPECT_TRUE(failsWith(quantize::GgufWriter::create(folder.path(), {}, {}), "INGOT-E7010"));
  const auto out = folder.path() / "out.gguf";
  for (const quantize::GgufTensorPlan &plan :
       std::vector<quantize::GgufTensorPlan>{{"t", DType::Q4_K, {1, 255}},
                                             {"t", DType::F8E4M3, {1}},
                                             {"t", DType::F32, {}},
                                             {"t", DType::F32, {1, 1, 1, 1, 1}}})
    EXPECT_TRUE(failsWith(quantize::GgufWriter::create(out, {}, {plan}), "INGOT-E1131"));
  EXPECT_EQ(filesIn(folder.path()), 0u);
}

TEST(GgufKeys, EndsEarly) {
  const TemporaryDirectory folder;
  const std::string whole = test::GgufWriter().string("key", "value").str();
  const auto path = folder.write("in.gguf", whole);
  const auto file = File::open(path);
  ASSERT_TRUE(succeeds(file));
  EXPECT_TRUE(succeeds(GgufKeys::read(*file, whole.size())));
  EXPECT_TRUE(failsWith(GgufKeys::read(*file, 40), "INGOT-E1102"));
}

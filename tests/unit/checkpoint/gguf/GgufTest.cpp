// SPDX-License-Identifier: Apache-2.0
// The GGUF container: real files, every value type, split models, and every way to be refused.
#include "compiler/checkpoint/gguf/Gguf.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"

#include <nlohmann/json.hpp>

using namespace ingot::checkpoint;
using namespace ingot::test;

using Writer = GgufWriter;

static Expected<Gguf> readBytes(std::string_view bytes, uint32_t fileIndex = 0) {
  TemporaryDirectory directory;
  auto file = File::open(directory.write("m.gguf", bytes));
  if (!file)
    return file.error();
  return readGguf(*file, fileIndex);
}

static const std::string four(16, '\0'); ///< four f32 elements

TEST(Gguf, ReadsEveryValueType) {
  Writer writer;
  writer.key("u8", 0, "\xff").key("i8", 1, "\xff").key("u16", 2, Writer::number<uint16_t>(65535));
  writer.key("i16", 3, Writer::number<int16_t>(-2)).u32("u32", 4294967295u);
  writer.key("i32", 5, Writer::number<int32_t>(-3)).f32("f32", 0.5f).boolean("bool", true);
  writer.string("string", "\u2581text").key("u64", 10, Writer::number<uint64_t>(UINT64_MAX));
  writer.key("i64", 11, Writer::number<int64_t>(INT64_MIN));
  writer.key("f64", 12, Writer::number(std::bit_cast<uint64_t>(0.1)));
  writer.strings("strings", {"a", ""});
  writer.key("nested", 9,
             Writer::array(9, 2, Writer::array(0, 2, "\1\2") + Writer::array(7, 1, "\1")));
  auto file = readBytes(writer.str());
  ASSERT_TRUE(succeeds(file));
  const nlohmann::json expected = {{"u8", 255},
                                   {"i8", -1},
                                   {"u16", 65535},
                                   {"i16", -2},
                                   {"u32", 4294967295u},
                                   {"i32", -3},
                                   {"f32", 0.5},
                                   {"bool", true},
                                   {"string", "\u2581text"},
                                   {"u64", UINT64_MAX},
                                   {"i64", INT64_MIN},
                                   {"f64", 0.1},
                                   {"strings", {"a", ""}},
                                   {"nested", {{1, 2}, nlohmann::json::array({true})}}};
  EXPECT_EQ(file->metadata.raw(), expected);
}

TEST(Gguf, PlacesTensors) {
  for (uint32_t version : {2u, 3u}) {
    auto bytes = Writer(version)
                     .tensor("b", 0, {2, 2}, four)
                     .tensor("a", 12, {256, 2, 3}, std::string(6 * 144, 'x'))
                     .str();
    auto file = readBytes(bytes, 7);
    ASSERT_TRUE(succeeds(file));
    ASSERT_EQ(file->tensors.size(), 2u);
    const Tensor &a = file->tensors[1];
    EXPECT_EQ(a.name, "a");
    EXPECT_EQ(a.dtype, DType::Q4_K);
    EXPECT_EQ(a.shape, (std::vector<uint64_t>{3, 2, 256}));
    EXPECT_EQ(a.bytes, 6u * 144);
    EXPECT_EQ(a.offset, bytes.size() - a.bytes);
    EXPECT_EQ(a.fileIndex, 7u);
    EXPECT_EQ(file->tensors[0].offset, a.offset - 32);
  }
}

TEST(Gguf, RefusesOtherFilesAndVersions) {
  EXPECT_TRUE(failsWith(readBytes(""), "INGOT-E1100"));
  EXPECT_TRUE(failsWith(readBytes("GGU"), "INGOT-E1100"));
  EXPECT_TRUE(failsWith(readBytes("FUGG and more bytes than a header has"), "INGOT-E1100"));
  EXPECT_TRUE(failsWith(readBytes("GGUF"), "INGOT-E1102"));
  EXPECT_TRUE(failsWith(readBytes(Writer(1).str()), "INGOT-E1101", {"version 1"}));
  EXPECT_TRUE(failsWith(readBytes(Writer(4).str()), "INGOT-E1101", {"version 4"}));
  EXPECT_TRUE(failsWith(readBytes(Writer(3u << 24).str()), "INGOT-E1101", {"big-endian"}));
}

TEST(Gguf, RefusesEveryTruncation) {
  const std::string whole =
      Writer().string("s", "text").strings("list", {"a", "b"}).tensor("t", 0, {2, 2}, four).str();
  ASSERT_TRUE(succeeds(readBytes(whole)));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(readBytes(std::string_view(whole).substr(0, size))) << size;
}

TEST(Gguf, RefusesAbsurdCounts) {
  auto header = [](uint64_t tensors, uint64_t keys) {
    return "GGUF" + Writer::number<uint32_t>(3) + Writer::number(tensors) + Writer::number(keys) +
           std::string(64, '\0');
  };
  EXPECT_TRUE(failsWith(readBytes(header(UINT64_MAX, 0)), "INGOT-E1103", {"byte 8"}));
  EXPECT_TRUE(failsWith(readBytes(header(3, 0)), "INGOT-E1103", {"3 tensors"}));
  EXPECT_TRUE(failsWith(readBytes(header(0, UINT64_MAX)), "INGOT-E1103", {"byte 16"}));
  EXPECT_TRUE(failsWith(readBytes(header(0, 6)), "INGOT-E1103", {"6 metadata keys"}));
  auto array = [](uint32_t type, uint64_t count) {
    return readBytes(Writer().key("a", 9, Writer::array(type, count, "")).str());
  };
  EXPECT_TRUE(succeeds(array(8, 0)));
  EXPECT_TRUE(failsWith(array(0, UINT64_MAX), "INGOT-E1103"));
  EXPECT_TRUE(failsWith(array(12, UINT64_MAX / 8 + 2), "INGOT-E1103"));
  EXPECT_TRUE(failsWith(array(9, 1u << 20), "INGOT-E1103"));
  // 5 Mi booleans are in the file, but more than is kept.
  EXPECT_TRUE(failsWith(
      readBytes(Writer().key("a", 9, Writer::array(7, 5 << 20, std::string(5 << 20, 0))).str()),
      "INGOT-E1103", {"4194304"}));
  EXPECT_TRUE(failsWith(readBytes(Writer().key("a", 8, Writer::number<uint64_t>(UINT64_MAX)).str()),
                        "INGOT-E1102"));
  EXPECT_TRUE(failsWith(readBytes(Writer().u32(std::string(65536, 'k'), 1).str()), "INGOT-E1103"));
}

TEST(Gguf, RefusesBadValues) {
  EXPECT_TRUE(failsWith(readBytes(Writer().key("a", 13, four).str()), "INGOT-E1104", {"type 13"}));
  EXPECT_TRUE(failsWith(readBytes(Writer().key("a", 7, "\2").str()), "INGOT-E1104", {"byte 24"}));
  EXPECT_TRUE(failsWith(readBytes(Writer().key("a", 9, Writer::array(13, 0, "")).str()),
                        "INGOT-E1104", {"type 13"}));
  std::string deep = Writer::array(0, 0, "");
  for (int i = 0; i < 3; ++i)
    deep = Writer::array(9, 1, deep);
  EXPECT_TRUE(succeeds(readBytes(Writer().key("a", 9, deep).str())));
  deep = Writer::array(9, 1, deep);
  EXPECT_TRUE(failsWith(readBytes(Writer().key("a", 9, deep).str()), "INGOT-E1104", {"deep"}));
  EXPECT_TRUE(succeeds(readBytes(Writer().u32("a", 1).u32("a", 1).str())));
  EXPECT_TRUE(failsWith(readBytes(Writer().u32("a", 1).u32("a", 2).str()), "INGOT-E1105",
                        {"\"a\"", "byte 41"}));
  EXPECT_TRUE(
      failsWith(readBytes(Writer().tensor("t", 0, {4}, four).tensor("t", 0, {4}, four).str()),
                "INGOT-E1105", {"\"t\""}));
}

TEST(Gguf, RefusesBadAlignments) {
  auto aligned = [](uint32_t alignment) {
    return readBytes(Writer().u32("general.alignment", alignment).str());
  };
  EXPECT_TRUE(succeeds(aligned(64)));
  for (uint32_t bad : {0u, 48u, 1u << 21, 1u << 31})
    EXPECT_TRUE(failsWith(aligned(bad), "INGOT-E1106")) << bad;
  EXPECT_TRUE(
      failsWith(readBytes(Writer().string("general.alignment", "32").str()), "INGOT-E1106"));
}

TEST(Gguf, RefusesBadTensors) {
  auto one = [](uint32_t type, const std::vector<uint64_t> &dims, uint64_t offset = 0) {
    return readBytes(Writer().tensorAt("weird", type, dims, offset, std::string(64, 'x')).str());
  };
  EXPECT_TRUE(succeeds(one(0, {4, 4})));
  EXPECT_TRUE(succeeds(one(0, {0, 4})));
  EXPECT_TRUE(failsWith(one(4, {4}), "INGOT-E1107", {"\"weird\"", "type 4"}));
  EXPECT_TRUE(failsWith(one(0, {}), "INGOT-E1107", {"0 dimensions"}));
  EXPECT_TRUE(failsWith(one(0, {1, 1, 1, 1, 1}), "INGOT-E1107", {"5 dimensions"}));
  EXPECT_TRUE(failsWith(one(2, {16, 2}), "INGOT-E1107", {"16 elements", "Q4_0"}));
  EXPECT_TRUE(failsWith(one(0, {UINT64_MAX, UINT64_MAX}), "INGOT-E1107"));
  EXPECT_TRUE(failsWith(one(0, {uint64_t{1} << 40, uint64_t{1} << 40}), "INGOT-E1107"));
  EXPECT_TRUE(failsWith(one(0, {4}, 8), "INGOT-E1108", {"multiple of 32"}));
  EXPECT_TRUE(failsWith(one(0, {4}, 64), "INGOT-E1108", {"do not lie"}));
  EXPECT_TRUE(failsWith(one(0, {17}), "INGOT-E1108", {"68 bytes"}));
  EXPECT_TRUE(failsWith(one(0, {4}, UINT64_MAX - 31), "INGOT-E1108"));
  auto two = [](uint64_t second) {
    return readBytes(Writer()
                         .tensorAt("a", 0, {12}, 0, std::string(128, 'x'))
                         .tensorAt("b", 0, {4}, second, "")
                         .str());
  };
  EXPECT_TRUE(succeeds(two(64)));
  EXPECT_TRUE(succeeds(two(96))); // a hole is harmless
  EXPECT_TRUE(failsWith(two(32), "INGOT-E1108", {"\"b\" overlaps tensor \"a\""}));
  EXPECT_TRUE(failsWith(two(0), "INGOT-E1108", {"overlaps"}));
}

//===- Split models -------------------------------------------------------------------------===//

/// Part `number` of `count` with one tensor.
static std::string part(uint32_t number, uint32_t count, std::string_view tensor,
                        uint32_t tensors) {
  Writer writer;
  writer.key("split.no", 2, Writer::number<uint16_t>(static_cast<uint16_t>(number)));
  writer.key("split.count", 2, Writer::number<uint16_t>(static_cast<uint16_t>(count)));
  writer.key("split.tensors.count", 5, Writer::number(tensors));
  writer.tensor(tensor, 0, {4}, four);
  return writer.str();
}

class GgufSplit : public testing::Test {
protected:
  GgufSplit() {
    write(1, part(0, 3, "a", 3));
    write(2, part(1, 3, "b", 3));
    write(3, part(2, 3, "c", 3));
  }

  std::filesystem::path path(int number) {
    return directory.path() / message("m-0000", number, "-of-00003.gguf");
  }
  void write(int number, std::string_view bytes) {
    directory.write(path(number).filename().string(), bytes);
  }

  TemporaryDirectory directory;
};

TEST_F(GgufSplit, OpensAllPartsFromAny) {
  for (int number : {1, 2, 3}) {
    auto model = openGguf(path(number));
    ASSERT_TRUE(succeeds(model));
    ASSERT_EQ(model->files.size(), 3u);
    EXPECT_EQ(model->files[2].path(), path(3));
    ASSERT_EQ(model->tensors.size(), 3u);
    EXPECT_EQ(model->tensors[1].name, "b");
    EXPECT_EQ(model->tensors[1].fileIndex, 1u);
    EXPECT_EQ(*model->metadata.find("split.no")->unsignedInteger(), 0u);
  }
}

TEST_F(GgufSplit, RefusesPartsThatDoNotBelongTogether) {
  std::filesystem::remove(path(2));
  EXPECT_TRUE(failsWith(openGguf(path(3)), "INGOT-E1110", {"m-00002-of-00003.gguf"}));
  write(2, part(2, 3, "b", 3));
  EXPECT_TRUE(failsWith(openGguf(path(1)), "INGOT-E1109", {"split.no 2"}));
  write(2, part(1, 2, "b", 3));
  EXPECT_TRUE(failsWith(openGguf(path(1)), "INGOT-E1109", {"split.count 2"}));
  write(2, part(1, 3, "a", 3));
  EXPECT_TRUE(failsWith(openGguf(path(1)), "INGOT-E1105", {"\"a\""}));
  write(2, part(1, 3, "b", 3));
  write(1, part(0, 3, "a", 4));
  EXPECT_TRUE(failsWith(openGguf(path(1)), "INGOT-E1109", {"split.tensors.count is 4"}));
  write(1, part(7, 3, "a", 3));
  EXPECT_TRUE(failsWith(openGguf(path(1)), "INGOT-E1006", {"split.no"}));
  for (const char *name : {"model.gguf", "-00001-of-00003.gguf", "m-0001-of-00003.gguf",
                           "m-00001-of-00004.gguf", "m_00001-of-00003.gguf"})
    EXPECT_TRUE(
        failsWith(openGguf(directory.write(name, part(0, 3, "a", 3))), "INGOT-E1109", {"name"}))
        << name;
}

TEST(Gguf, IsKnownBySuffixOrFirstBytes) {
  TemporaryDirectory directory;
  EXPECT_TRUE(isGguf(directory.write("a.gguf", "")));
  EXPECT_TRUE(isGguf(directory.write("b.bin", "GGUF and more")));
  EXPECT_FALSE(isGguf(directory.write("c.bin", "GGU")));
  EXPECT_FALSE(isGguf(directory.path()));
  std::filesystem::create_directory(directory.path() / "d.gguf");
  EXPECT_FALSE(isGguf(directory.path() / "d.gguf"));
  // Opening it then says that it is not there.
  EXPECT_TRUE(isGguf(directory.path() / "absent.gguf"));
  EXPECT_FALSE(isGguf(directory.path() / "absent"));
  EXPECT_TRUE(failsWith(openGguf(directory.path() / "absent.gguf"), "INGOT-E7001"));
}

TEST(Gguf, ReadsRealFiles) {
  INGOT_NEEDS_SHARED_DATA();
  auto tensors = [](std::string_view name) {
    auto model = openGguf(sharedData(name));
    EXPECT_TRUE(succeeds(model)) << name;
    return model ? model->tensors.size() : SIZE_MAX;
  };
  EXPECT_EQ(tensors("container-mini/empty.gguf"), 0u);
  EXPECT_EQ(tensors("container-mini/single.gguf"), 1u);
  EXPECT_EQ(tensors("container-mini/single_v2.gguf"), 1u);
  EXPECT_EQ(tensors("container-mini/multiple.gguf"), 3u);
  size_t models = 0, vocabularies = 0;
  for (const auto &entry : std::filesystem::directory_iterator(sharedData("gguf"))) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(tensors("gguf/" + name), name.starts_with("stories") ? 48u
                                       : name.starts_with("rot")   ? 21u
                                                                   : 20u)
        << name;
    ++models;
  }
  for (const auto &entry : std::filesystem::directory_iterator(sharedData("gguf-vocab")))
    if (entry.path().extension() == ".gguf") {
      EXPECT_EQ(tensors("gguf-vocab/" + entry.path().filename().string()), 0u);
      ++vocabularies;
    }
  EXPECT_GE(models, 16u);
  EXPECT_GE(vocabularies, 3u);
  auto multiple = openGguf(sharedData("container-mini/multiple.gguf"));
  EXPECT_EQ(multiple->tensors[2].shape, (std::vector<uint64_t>{4, 3}));
  EXPECT_EQ(multiple->metadata.find("metadata_strs")->size(), 3u);
}

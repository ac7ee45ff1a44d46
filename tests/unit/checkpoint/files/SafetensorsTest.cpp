// SPDX-License-Identifier: Apache-2.0
// Safetensors headers: real files, every element type, and every way to be refused.
#include "compiler/checkpoint/files/Safetensors.h"
#include "tests/unit/checkpoint/Fixtures.h"

using namespace ingot::checkpoint;
using namespace ingot::test;

/// A header for a file with `dataBytes` bytes of data behind it.
static Expected<SafetensorsHeader> parse(std::string_view json, uint64_t dataBytes) {
  return parseSafetensors(json, 8 + json.size() + dataBytes, "f.safetensors");
}

static std::string entry(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return message(R"({"t": {"dtype": ")", dtype, R"(", "shape": )", shape, R"(, "data_offsets": )",
                 offsets, "}}");
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  std::string json = R"({"__metadata__": {"format": "pt"},
    "b": {"dtype": "F32", "shape": [2, 3], "data_offsets": [4, 28]},
    "a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
    "none": {"dtype": "I64", "shape": [0, 18446744073709551615], "data_offsets": [28, 28]},
    "scalar": {"dtype": "U8", "shape": [], "data_offsets": [28, 29]}})";
  auto header = parseSafetensors(json, 8 + json.size() + 29, "f", 3);
  ASSERT_TRUE(succeeds(header));
  EXPECT_EQ(header->metadata.at("format"), "pt");
  ASSERT_EQ(header->tensors.size(), 4u);
  EXPECT_EQ(header->tensors[0].name, "a");
  const Tensor &b = header->tensors[1];
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.dtype, DType::F32);
  EXPECT_EQ(b.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(b.offset, 8 + json.size() + 4);
  EXPECT_EQ(b.bytes, 24u);
  EXPECT_EQ(b.fileIndex, 3u);
  EXPECT_EQ(header->tensors[3].bytes, 1u);
}

TEST(Safetensors, KnowsEveryElementType) {
  for (auto [name, bytesOfEight] :
       {std::pair{"BOOL", 8}, {"U8", 8},          {"I8", 8},      {"U16", 16},    {"I16", 16},
        {"U32", 32},          {"I32", 32},        {"U64", 64},    {"I64", 64},    {"F4", 4},
        {"F6_E2M3", 6},       {"F6_E3M2", 6},     {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
        {"F8_E4M3FNUZ", 8},   {"F8_E5M2FNUZ", 8}, {"F16", 16},    {"BF16", 16},   {"F32", 32},
        {"F64", 64},          {"C64", 64}}) {
    auto header = parse(entry(name, "[8]", message("[0, ", bytesOfEight, "]")), bytesOfEight);
    ASSERT_TRUE(succeeds(header)) << name;
    EXPECT_EQ(dtypeName(header->tensors[0].dtype), name);
  }
}

TEST(Safetensors, RefusesBadLengths) {
  TemporaryDirectory directory;
  auto read = [&](std::string_view content) {
    auto file = File::open(directory.write("f", content));
    return readSafetensors(*file);
  };
  EXPECT_TRUE(succeeds(read(safetensorsFile("{}"))));
  EXPECT_TRUE(failsWith(read(""), "INGOT-E1010"));
  EXPECT_TRUE(failsWith(read("1234567"), "INGOT-E1010", {"7 bytes"}));
  EXPECT_TRUE(failsWith(read(safetensorsFile("{}").substr(0, 9)), "INGOT-E1010"));
  EXPECT_TRUE(failsWith(read(std::string(16, '\xff')), "INGOT-E1010"));
  std::string huge = safetensorsFile("{}");
  huge[3] = 0x10; // 256 MiB
  EXPECT_TRUE(failsWith(read(huge), "INGOT-E1010", {"100000000", "byte 0"}));
}

TEST(Safetensors, RefusesBadHeaders) {
  EXPECT_TRUE(failsWith(parse("[]", 0), "INGOT-E1011", {"byte 8"}));
  EXPECT_TRUE(failsWith(parse(" {}", 0), "INGOT-E1011"));
  EXPECT_TRUE(failsWith(parse("{", 0), "INGOT-E1001"));
  EXPECT_TRUE(failsWith(parse("{\"t\": 1}", 0), "INGOT-E1004"));
  EXPECT_TRUE(failsWith(parse("{\"t\": {}}", 0), "INGOT-E1005", {"dtype"}));
  EXPECT_TRUE(failsWith(parse(R"({"t": {"x": 1}})", 0), "INGOT-E1011", {"\"x\""}));
  EXPECT_TRUE(failsWith(parse(R"({"t": {}, "t": {}})", 0), "INGOT-E1003", {"byte 21"}));
  EXPECT_TRUE(failsWith(parse(R"({"t": [[[[[]]]]]})", 0), "INGOT-E1002"));
  EXPECT_TRUE(failsWith(parse(R"({"__metadata__": []})", 0), "INGOT-E1017"));
  EXPECT_TRUE(failsWith(parse(R"({"__metadata__": {"a": 1}})", 0), "INGOT-E1017"));
}

TEST(Safetensors, RefusesBadEntries) {
  auto refused = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                    std::string_view code) {
    auto header = parse(entry(dtype, shape, offsets), 4);
    return failsWith(header, code, {"f.safetensors: t", ", byte "});
  };
  EXPECT_TRUE(succeeds(parse(entry("F32", "[1]", "[0, 4]"), 4)));
  EXPECT_TRUE(refused("F12", "[1]", "[0, 4]", "INGOT-E1012"));
  EXPECT_TRUE(refused("F32", "[-1]", "[0, 4]", "INGOT-E1006"));
  EXPECT_TRUE(refused("F32", "[1.0]", "[0, 4]", "INGOT-E1004"));
  EXPECT_TRUE(refused("F32", "1", "[0, 4]", "INGOT-E1004"));
  EXPECT_TRUE(refused("F32", "[4294967296, 4294967296]", "[0, 4]", "INGOT-E1013"));
  EXPECT_TRUE(refused("F32", "[18446744073709551615, 2]", "[0, 4]", "INGOT-E1013"));
  EXPECT_TRUE(refused("F4", "[7]", "[0, 4]", "INGOT-E1013"));
  EXPECT_TRUE(refused("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]", "[0, 4]", "INGOT-E1013"));
  EXPECT_TRUE(refused("F32", "[1]", "[0]", "INGOT-E1004"));
  EXPECT_TRUE(refused("F32", "[1]", "[4, 0]", "INGOT-E1014"));
  EXPECT_TRUE(refused("F32", "[2]", "[0, 8]", "INGOT-E1014"));
  EXPECT_TRUE(refused("F32", "[1]", "[18446744073709551612, 4]", "INGOT-E1014"));
  EXPECT_TRUE(refused("F32", "[2]", "[0, 4]", "INGOT-E1015"));
  EXPECT_TRUE(refused("F32", "[0]", "[0, 4]", "INGOT-E1015"));
}

TEST(Safetensors, RefusesHolesAndOverlaps) {
  auto two = [](std::string_view a, std::string_view b, uint64_t dataBytes) {
    return parse(message(R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": )", a,
                         R"(}, "b": {"dtype": "U8", "shape": [4], "data_offsets": )", b, "}}"),
                 dataBytes);
  };
  EXPECT_TRUE(succeeds(two("[4, 8]", "[0, 4]", 8)));
  EXPECT_TRUE(failsWith(two("[0, 4]", "[3, 7]", 7), "INGOT-E1016", {"\"b\" overlaps"}));
  EXPECT_TRUE(failsWith(two("[0, 4]", "[0, 4]", 4), "INGOT-E1016", {"overlaps"}));
  EXPECT_TRUE(failsWith(two("[0, 4]", "[5, 9]", 9), "INGOT-E1016", {"before tensor \"b\""}));
  EXPECT_TRUE(failsWith(two("[0, 4]", "[4, 8]", 9), "INGOT-E1016", {"byte 8", "at 9"}));
  EXPECT_TRUE(failsWith(parse("{}", 1), "INGOT-E1016"));
}

TEST(Safetensors, ReadsRealFiles) {
  INGOT_NEEDS_SHARED_DATA();
  auto count = [](std::string_view name) {
    auto file = File::open(sharedData(name));
    EXPECT_TRUE(succeeds(file));
    auto header = readSafetensors(*file);
    EXPECT_TRUE(succeeds(header));
    return header ? header->tensors.size() : 0;
  };
  EXPECT_EQ(count("container-mini/empty.safetensors"), 0u);
  EXPECT_EQ(count("container-mini/single.safetensors"), 1u);
  EXPECT_EQ(count("container-mini/multiple.safetensors"), 3u);
  EXPECT_EQ(count("stories260K-hf/model.safetensors"), 47u);
  size_t files = 0;
  for (const auto &variant : std::filesystem::directory_iterator(sharedData("quantized"))) {
    if (!variant.is_directory())
      continue;
    std::string name = "quantized/" + variant.path().filename().string();
    EXPECT_GT(count(name + "/model.safetensors"), 0u) << name;
    ++files;
  }
  EXPECT_GE(files, 16u);
}

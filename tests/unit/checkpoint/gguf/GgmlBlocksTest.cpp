// SPDX-License-Identifier: Apache-2.0
// ggml's tensor types: sizes, and decoded values bit for bit against ggml's own.
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/checkpoint/files/Digest.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgmlGoldens.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

using namespace ingot::checkpoint;
using namespace ingot::test;

static std::vector<std::byte> bytesOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string read = text.str();
  const auto bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

TEST(GgmlBlocks, DecodeLikeGgmlItself) {
  INGOT_NEEDS_SHARED_DATA();
  const std::filesystem::path folder = sharedData("ggml-quant-golden");
  std::ifstream index(folder / "INDEX.tsv");
  size_t compared = 0;
  for (std::string line; std::getline(index, line);) {
    std::istringstream fields(line);
    std::string name;
    uint32_t number = 0;
    fields >> name >> number;
    const auto dtype = dtypeFromGgml(number);
    ASSERT_TRUE(dtype) << name;
    EXPECT_EQ(dtypeName(*dtype), name);
    const auto blocks = bytesOf(folder / (name + ".blk"));
    const auto golden = bytesOf(folder / (name + ".f32"));
    const std::vector<uint64_t> shape{64, 256};
    EXPECT_EQ(storedBytes(*dtype, shape), blocks.size()) << name;
    std::vector<float> values(golden.size() / sizeof(float));
    ASSERT_TRUE(succeeds(decodeGgml(*dtype, blocks, values))) << name;
    EXPECT_EQ(std::memcmp(values.data(), golden.data(), golden.size()), 0) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 19u);
}

static std::vector<float> decode(DType dtype, std::vector<uint8_t> bytes) {
  std::vector<float> values(bytes.size() * 8 / dtypeUnit(dtype).bits * dtypeUnit(dtype).elements);
  EXPECT_TRUE(succeeds(decodeGgml(dtype, std::as_bytes(std::span(bytes)), values)));
  return values;
}

/// MXFP4: e2m1 codes times a power of two; low halves are the first 16 values.
TEST(GgmlBlocks, DecodeMxfp4) {
  std::vector<uint8_t> block(17);
  block[0] = 128; // 2
  for (uint8_t j = 0; j < 16; ++j)
    block[1 + j] = static_cast<uint8_t>(j | (15 - j) << 4);
  const float codes[] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.f, -.5f, -1, -1.5f, -2, -3, -4, -6};
  const auto values = decode(DType::MXFP4, block);
  for (int j = 0; j < 16; ++j) {
    EXPECT_EQ(values[j], 2 * codes[j]);
    EXPECT_EQ(values[16 + j], 2 * codes[15 - j]);
  }
  block[0] = 0; // 2^-127
  EXPECT_EQ(decode(DType::MXFP4, block)[7], std::ldexp(6.0f, -127));
  block[0] = 255;
  EXPECT_TRUE(std::isnan(decode(DType::MXFP4, block)[7]));
}

/// NVFP4: four times 16 values with an e4m3 scale each; the low halves of a scale's eight bytes
/// are its first eight values.
TEST(GgmlBlocks, DecodeNvfp4) {
  std::vector<uint8_t> block(36);
  block[0] = 0x38; // 1
  block[1] = 0x45; // 1.625 * 2
  block[2] = 0x01; // 2^-9
  block[3] = 0x7f; // not a number: ggml takes zero
  for (int sub = 0; sub < 4; ++sub)
    for (int j = 0; j < 8; ++j)
      block[4 + 8 * sub + j] = static_cast<uint8_t>(j | 15 << 4);
  const float codes[] = {0, .5f, 1, 1.5f, 2, 3, 4, 6}, scales[] = {1, 3.25f, 1.0f / 512, 0};
  const auto values = decode(DType::NVFP4, block);
  for (int sub = 0; sub < 4; ++sub)
    for (int j = 0; j < 8; ++j) {
      EXPECT_EQ(values[16 * sub + j], scales[sub] * codes[j]);
      EXPECT_EQ(values[16 * sub + 8 + j], scales[sub] * -6);
    }
}

static DType dtypeNamed(std::string_view name) {
  const auto dtypes = ggmlTypes();
  return *std::find_if(dtypes.begin(), dtypes.end(),
                       [&](DType dtype) { return dtypeName(dtype) == name; });
}

/// The byte with the high bits of a block's half.
static size_t highestByte(DType dtype) { return dtype == DType::IQ1_M ? 55 : 1; }

/// Random blocks of which no half is infinite or not a number.
static std::vector<uint8_t> gridBlocks(DType dtype, size_t count) {
  const size_t size = dtypeUnit(dtype).bits / 8;
  std::vector<uint8_t> bytes(count * size);
  uint32_t state = 1;
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  for (size_t block = 0; block < count; ++block)
    bytes[block * size + highestByte(dtype)] &= 0xbf;
  return bytes;
}

TEST(GgmlBlocks, DecodeRowsOfGrids) {
  for (const auto &[name, eighths] : gridGoldens) {
    const DType dtype = dtypeNamed(name);
    auto block = gridBlocks(dtype, 1);
    if (dtype == DType::IQ1_M) { // Its half is the high nibbles of four words.
      constexpr uint8_t one[] = {0, 0, 0xc0, 0x30};
      for (size_t i = 0; i < 4; ++i)
        block[49 + 2 * i] = static_cast<uint8_t>((block[49 + 2 * i] & 15) | one[i]);
    } else {
      block[0] = 0;
      block[1] = 0x3c;
    }
    const auto values = decode(dtype, block);
    ASSERT_EQ(eighths.size(), values.size());
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(8 * values[i], eighths[i]) << name << " at " << i;
  }
}

/// Every row of every grid.
TEST(GgmlBlocks, DecodeWholeGrids) {
  for (const auto &[name, digest] : gridDigests) {
    const DType dtype = dtypeNamed(name);
    const auto values = decode(dtype, gridBlocks(dtype, gridBlockCount));
    Sha256 hash;
    hash.update(std::as_bytes(std::span(values)));
    const auto ours = hash.finish();
    ASSERT_TRUE(ours);
    EXPECT_EQ(hex(*ours), digest) << name;
  }
}

/// Blocks of any bits are decoded; sanitizers watch the bounds.
TEST(GgmlBlocks, DecodeAnyBits) {
  for (const DType dtype : ggmlTypes())
    if (ggmlEncoding(dtype))
      for (const uint8_t byte : {0x00, 0x55, 0xaa, 0xff})
        decode(dtype, std::vector<uint8_t>(dtypeUnit(dtype).bits / 8, byte));
}

TEST(GgmlBlocks, RefuseSizesThatDoNotFit) {
  std::vector<float> values(32);
  const std::vector<std::byte> bytes(36);
  EXPECT_TRUE(succeeds(decodeGgml(DType::Q4_0, std::span(bytes).first(18), values)));
  EXPECT_TRUE(
      failsWith(decodeGgml(DType::Q4_0, std::span(bytes).first(17), values), "INGOT-E1118"));
  EXPECT_TRUE(failsWith(decodeGgml(DType::Q4_0, bytes, values), "INGOT-E1118"));
  EXPECT_TRUE(failsWith(decodeGgml(DType::F8E4M3, bytes, values), "INGOT-E1118", {"F8_E4M3"}));
  EXPECT_TRUE(failsWith(decodeGgml(DType::Q8_K, bytes, values), "INGOT-E1118", {"Q8_K"}));
}

TEST(GgmlBlocks, KnowTheNumbersInUse) {
  const std::map<uint32_t, std::string_view> known = {
      {0, "F32"},     {1, "F16"},      {2, "Q4_0"},   {3, "Q4_1"},    {6, "Q5_0"},
      {7, "Q5_1"},    {8, "Q8_0"},     {9, "Q8_1"},   {10, "Q2_K"},   {11, "Q3_K"},
      {12, "Q4_K"},   {13, "Q5_K"},    {14, "Q6_K"},  {15, "Q8_K"},   {16, "IQ2_XXS"},
      {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},
      {22, "IQ2_S"},  {23, "IQ4_XS"},  {24, "I8"},    {25, "I16"},    {26, "I32"},
      {27, "I64"},    {28, "F64"},     {29, "IQ1_M"}, {30, "BF16"},   {34, "TQ1_0"},
      {35, "TQ2_0"},  {39, "MXFP4"},   {40, "NVFP4"}};
  for (uint32_t number = 0; number < 64; ++number) {
    const auto dtype = dtypeFromGgml(number);
    const auto row = known.find(number);
    ASSERT_EQ(dtype.has_value(), row != known.end()) << number;
    if (dtype)
      EXPECT_EQ(dtypeName(*dtype), row->second);
  }
}

TEST(GgmlBlocks, SizesCountWholeBlocks) {
  using Shape = std::vector<uint64_t>;
  EXPECT_EQ(storedBytes(DType::Q4_K, Shape{3, 512}), 3u * 2 * 144);
  EXPECT_EQ(storedBytes(DType::Q4_K, Shape{512, 3}), std::nullopt);
  EXPECT_EQ(storedBytes(DType::Q4_0, Shape{}), std::nullopt);
  EXPECT_EQ(storedBytes(DType::Q4_0, Shape{0}), 0u);
  EXPECT_EQ(storedBytes(DType::Q8_0, Shape{uint64_t{1} << 60, 32}), std::nullopt);
  EXPECT_EQ(storedBytes(DType::F32, Shape{}), 4u);
}

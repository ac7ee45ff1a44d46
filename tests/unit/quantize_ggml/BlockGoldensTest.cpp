// SPDX-License-Identifier: Apache-2.0
// Against ggml's own blocks: the bytes of parts taken apart and joined again, and the error of our
// blocks beside theirs.
#include "compiler/quantize/ggml/BlockBytes.h"
#include "tests/unit/quantize_ggml/Encoded.h"

#include <cstring>
#include <sstream>

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::test;

static std::string textOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

static std::vector<float> floatsOf(const std::filesystem::path &path) {
  const std::string text = textOf(path);
  std::vector<float> values(text.size() / sizeof(float));
  std::memcpy(values.data(), text.data(), values.size() * sizeof(float));
  return values;
}

TEST(BlockGoldens, PartsBecomeTheBytesTheyCameFrom) {
  INGOT_NEEDS_SHARED_DATA();
  for (const DType dtype : encodedTypes) {
    const std::string blocks =
        textOf(sharedData("ggml-quant-golden") / (std::string(dtypeName(dtype)) + ".blk"));
    const size_t bytes = dtypeUnit(dtype).bits / 8;
    ASSERT_GT(blocks.size(), bytes) << dtypeName(dtype);
    for (size_t at = 0; at < blocks.size(); at += bytes) {
      GgmlBlock parts;
      splitGgml(dtype, reinterpret_cast<const std::byte *>(blocks.data() + at), parts);
      std::vector<std::byte> joined(bytes);
      quantize::joinGgml(dtype, parts, joined.data());
      ASSERT_EQ(std::memcmp(joined.data(), blocks.data() + at, bytes), 0)
          << dtypeName(dtype) << ", byte " << at;
    }
  }
}

TEST(BlockGoldens, ErrorsAreAtMostThoseOfGgml) {
  INGOT_NEEDS_SHARED_DATA();
  const std::filesystem::path folder = sharedData("ggml-quant-golden");
  const std::vector<float> input = floatsOf(folder / "input.f32");
  ASSERT_EQ(input.size(), 64u * 256u);
  for (const DType dtype : encodedTypes) {
    const auto theirs = floatsOf(folder / (std::string(dtypeName(dtype)) + ".f32"));
    ASSERT_EQ(theirs.size(), input.size());
    const auto ours = decoded(dtype, encoded(dtype, input, 256));
    // Of all rows, of which the largest decide, and as the mean over rows that have an error.
    EXPECT_LE(squaredError(input, ours), squaredError(input, theirs)) << dtypeName(dtype);
    double ratios = 0;
    int rows = 0;
    for (size_t row = 0; row < 64; ++row) {
      const auto x = std::span(input).subspan(row * 256, 256);
      const double their = squaredError(x, std::span(theirs).subspan(row * 256, 256));
      const double our = squaredError(x, std::span(ours).subspan(row * 256, 256));
      EXPECT_LE(our, their * 1.02) << dtypeName(dtype) << " row " << row;
      ratios += their > 0 ? our / their : 1;
      ++rows;
    }
    EXPECT_LT(ratios / rows, 0.98) << dtypeName(dtype);
  }
}

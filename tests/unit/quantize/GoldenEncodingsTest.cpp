// SPDX-License-Identifier: Apache-2.0
// Books, codes and scales are those that the formats' own programs made of the same weights.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/quantize/methods/FourBitFloats.h"
#include "compiler/weights/WeightNumerics.h"
#include "tests/unit/checkpoint/Fixtures.h"

#include <cstring>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Checkpoint;
using test::sharedData;

namespace {

constexpr char kModule[] = "model.layers.0.mlp.down_proj";

std::vector<std::byte> bytesOf(const Checkpoint &model, const std::string &name) {
  auto tensor = model.get(name);
  EXPECT_TRUE(test::succeeds(tensor));
  if (!tensor)
    return {};
  std::vector<std::byte> bytes((*tensor)->bytes);
  EXPECT_TRUE(bool(model.read(**tensor, 0, bytes)));
  return bytes;
}

template <class T> std::vector<T> numbersOf(const Checkpoint &model, const std::string &part) {
  const auto bytes = bytesOf(model, kModule + part);
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

/// The codes of nibbles, the first in the low half; minus zero is zero.
std::vector<uint8_t> codesOf(const std::vector<uint8_t> &bytes) {
  std::vector<uint8_t> codes;
  for (uint8_t byte : bytes)
    for (int half : {byte & 15, byte >> 4})
      codes.push_back(static_cast<uint8_t>(half == 8 ? 0 : half));
  return codes;
}

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;
};

/// What the goldens were made of, in bf16.
Matrix plainMatrix() {
  auto model = Checkpoint::open(sharedData("quantized/plain-bf16"));
  EXPECT_TRUE(test::succeeds(model));
  const std::string name = std::string(kModule) + ".weight";
  const auto &shape = (*model->get(name))->shape;
  Matrix matrix{static_cast<int64_t>(shape[0]), static_cast<int64_t>(shape[1]), {}};
  const auto bytes = bytesOf(*model, name);
  matrix.values.resize(bytes.size() / 2);
  compiler::widen(kBf16, bytes.data(), matrix.values.data(), matrix.rows * matrix.columns);
  return matrix;
}

} // namespace

TEST(GoldenEncodings, BooksAreThoseOfBitsandbytes) {
  INGOT_NEEDS_SHARED_DATA();
  for (auto [folder, book] :
       {std::pair{"quantized/bnb-nf4", CodeBook::NF4}, {"quantized/bnb-fp4", CodeBook::FP4}}) {
    auto model = Checkpoint::open(sharedData(folder));
    ASSERT_TRUE(test::succeeds(model));
    const auto values = valuesOf(book);
    EXPECT_EQ(numbersOf<float>(*model, ".weight.quant_map"),
              std::vector<float>(values.begin(), values.end()))
        << folder;
    const Matrix plain = plainMatrix();
    auto matrix = roundToBook(plain.values.data(), plain.rows, plain.columns, {.book = book});
    ASSERT_TRUE(test::succeeds(matrix));
    EXPECT_EQ(numbersOf<float>(*model, ".weight.absmax"), matrix->scales);
  }
}

TEST(GoldenEncodings, Nvfp4IsThatOfCompressedTensors) {
  INGOT_NEEDS_SHARED_DATA();
  auto model = Checkpoint::open(sharedData("quantized/ct-nvfp4a16"));
  ASSERT_TRUE(test::succeeds(model));
  const Matrix plain = plainMatrix();
  auto matrix = roundToNvfp4(plain.values.data(), plain.rows, plain.columns, {}, {});
  ASSERT_TRUE(test::succeeds(matrix));
  EXPECT_EQ(numbersOf<float>(*model, ".weight_global_scale"),
            std::vector<float>{matrix->globalScale});
  EXPECT_EQ(numbersOf<uint8_t>(*model, ".weight_scale"), matrix->scales);
  EXPECT_EQ(codesOf(numbersOf<uint8_t>(*model, ".weight_packed")), matrix->codes);
}

/// Its scales leave no value out of range, where the usual rule may.
TEST(GoldenEncodings, Mxfp4HasTheCodesOfEqualScales) {
  INGOT_NEEDS_SHARED_DATA();
  auto model = Checkpoint::open(sharedData("quantized/mxfp4-blocks-scales"));
  ASSERT_TRUE(test::succeeds(model));
  const Matrix plain = plainMatrix();
  auto matrix = roundToMxfp4(plain.values.data(), plain.rows, plain.columns, {}, {});
  ASSERT_TRUE(test::succeeds(matrix));
  const auto scales = numbersOf<uint8_t>(*model, ".weight_scales");
  const auto codes = codesOf(numbersOf<uint8_t>(*model, ".weight_blocks"));
  ASSERT_EQ(scales.size(), matrix->scales.size());
  ASSERT_EQ(codes.size(), matrix->codes.size());
  size_t alike = 0;
  for (size_t block = 0; block < scales.size(); ++block) {
    const int more = scales[block] - matrix->scales[block];
    EXPECT_TRUE(more == 0 || more == 1) << more;
    if (more != 0)
      continue;
    ++alike;
    EXPECT_TRUE(
        std::equal(&codes[block * 32], &codes[block * 32] + 32, &matrix->codes[block * 32]));
  }
  EXPECT_GT(alike, scales.size() / 4);
}

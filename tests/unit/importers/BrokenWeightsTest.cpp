// SPDX-License-Identifier: Apache-2.0
// Real checkpoints of every stored format whose tensors have other types, shapes and names than
// they should: each is refused or becomes valid IR.
#include "compiler/importers/Importer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "tests/unit/checkpoint/CheckpointFiles.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Tensor;

namespace {

const std::filesystem::path quantized = std::filesystem::path(INGOT_SHARED_DIR) / "data/quantized";

/// Another type of the same size.
DType otherType(DType type, std::mt19937 &random) {
  std::vector<DType> equal;
  for (DType other : checkpoint::elementTypes())
    if (checkpoint::dtypeUnit(other).bits == checkpoint::dtypeUnit(type).bits)
      equal.push_back(other);
  return equal[random() % equal.size()];
}

/// Another shape of as many elements.
std::vector<uint64_t> otherShape(std::vector<uint64_t> shape, std::mt19937 &random) {
  uint64_t count = 1;
  for (uint64_t extent : shape)
    count *= extent;
  switch (random() % 4) {
  case 0:
    std::reverse(shape.begin(), shape.end());
    return shape;
  case 1:
    return {count};
  case 2:
    return {1, count};
  default:
    return count % 2 == 0 ? std::vector<uint64_t>{count / 2, 2} : std::vector<uint64_t>{count, 1};
  }
}

/// Breaks one to three tensors; or lets two parts, say scales and zeros, exchange their names.
void breakTensors(std::vector<Tensor> &tensors, std::mt19937 &random) {
  for (auto count = 1 + random() % 3; count > 0; --count) {
    Tensor &tensor = tensors[random() % tensors.size()];
    switch (random() % 4) {
    case 0:
      tensor.dtype = otherType(tensor.dtype, random);
      break;
    case 1:
      tensor.shape = otherShape(tensor.shape, random);
      break;
    case 2:
      std::swap(tensor.name, tensors[random() % tensors.size()].name);
      break;
    default:
      tensor.name += "_gone";
    }
  }
}

void write(const std::filesystem::path &path, const std::vector<Tensor> &tensors,
           std::string_view data, uint64_t begin) {
  std::string header = "{";
  for (const Tensor &tensor : tensors) {
    header += (header.size() > 1 ? "," : "") + checkpoint::inQuotes(tensor.name) +
              ":{\"dtype\":" + checkpoint::inQuotes(dtypeName(tensor.dtype)) + ",\"shape\":[";
    for (size_t i = 0; i < tensor.shape.size(); ++i)
      header += (i > 0 ? "," : "") + std::to_string(tensor.shape[i]);
    header += "],\"data_offsets\":[" + std::to_string(tensor.offset - begin) + "," +
              std::to_string(tensor.offset - begin + tensor.bytes) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t size = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&size), sizeof(size)) << header << data;
}

/// A checkpoint, and what its configuration says otherwise.
struct Subject {
  const char *name;
  std::string_view stated = "", instead = "";
};

void PrintTo(const Subject &subject, std::ostream *stream) { *stream << subject.name; }

class BrokenWeights : public testing::TestWithParam<Subject> {};

TEST_P(BrokenWeights, areRefusedOrValid) {
  if (!std::filesystem::exists(quantized))
    GTEST_SKIP() << "../shared/data is absent";
  constexpr int kCases = 60;
  test::TemporaryDirectory folder;
  const std::filesystem::path source = quantized / GetParam().name;
  std::stringstream config;
  config << std::ifstream(source / "config.json").rdbuf();
  std::string text = config.str();
  size_t at = text.find(GetParam().stated);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().stated.size(), GetParam().instead);
  std::ofstream(folder.path() / "config.json") << text;
  auto file = checkpoint::File::open(source / "model.safetensors");
  ASSERT_TRUE(file);
  auto header = checkpoint::readSafetensors(*file);
  ASSERT_TRUE(header);
  const std::vector<Tensor> good = header->tensors;
  uint64_t begin = good.front().offset;
  std::string data(file->size() - begin, '\0');
  ASSERT_TRUE(file->readAt(begin, std::as_writable_bytes(std::span(data))));

  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect, llm::LlmDialect,
                      engine::EngineDialect>();
  std::mt19937 random(17);
  int refused = 0;
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    std::vector<Tensor> tensors = good;
    breakTensors(tensors, random);
    write(folder.path() / "model.safetensors", tensors, data, begin);
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      said += diagnostic.str();
      return success();
    });
    auto model = checkpoint::Checkpoint::open(folder.path());
    if (!model) {
      EXPECT_TRUE(model.error().code.starts_with("INGOT-E1")) << model.error().str();
      ++refused;
      continue;
    }
    auto module = importModel(&context, *model, {64, true, true});
    if (failed(module)) {
      EXPECT_NE(said.find("INGOT-E1"), std::string::npos) << said;
      ++refused;
      continue;
    }
    EXPECT_TRUE(succeeded(verify(**module))) << said;
  }
  EXPECT_GT(refused, kCases / 2);
}

std::string nameOf(const testing::TestParamInfo<Subject> &info) {
  std::string name = std::string(info.param.name) + (info.param.stated.empty() ? "" : "-changed");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr Subject subjects[] = {{"awq-gemm-w4-g64"},
                                {"awq-gemm-w4-g64", "\"gemm\"", "\"gemv\""},
                                {"gptq-w4-g32-sym-desc_act"},
                                {"gptq_v2-w4-g32-asym"},
                                {"gptq-w8-g64-sym"},
                                {"gptq-w8-g64-sym", "\"sym\": true", "\"sym\": false"},
                                {"ct-w4a16-g64-sym"},
                                {"ct-w8a8-int8-dynamic"},
                                {"ct-fp8-dynamic"},
                                {"fp8-block128"},
                                {"modelopt-fp8"},
                                {"bnb-int8"},
                                {"bnb-nf4"},
                                {"ct-nvfp4a16"},
                                {"mxfp4-blocks-scales"}};
INSTANTIATE_TEST_SUITE_P(Variants, BrokenWeights, testing::ValuesIn(subjects), nameOf);

} // namespace

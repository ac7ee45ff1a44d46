// SPDX-License-Identifier: Apache-2.0
// Real checkpoints of every stored format: the expressions that the importer makes of their
// matrices are evaluated and compared with what the formats' own programs decoded.
#include "compiler/importers/StoredWeights.h"
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/importers/Importer.h"
#include "passes/FusionReport.h"
#include "tests/unit/checkpoint/Layers.h"
#include "tests/unit/importers/EvaluatedWeights.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using test::floatsOf, test::storeQuantized, test::streamed;

namespace {

const std::filesystem::path quantized = std::filesystem::path(INGOT_SHARED_DIR) / "data/quantized";

/// A variant, and how far a value may be from its golden one, as a share of it.
struct Variant {
  const char *name;
  double tolerance = 0;
};

void PrintTo(const Variant &variant, std::ostream *stream) { *stream << variant.name; }

class StoredMatrices : public testing::Test {
protected:
  StoredMatrices() { test::loadDialects(context); }

  MLIRContext context;
};

class StoredWeights : public StoredMatrices, public testing::WithParamInterface<Variant> {
protected:
  void SetUp() override {
    if (!std::filesystem::exists(quantized))
      GTEST_SKIP() << "../shared/data is absent";
  }
};

/// The values of every quantized matrix of a checkpoint, by name.
std::map<std::string, std::vector<float>> valuesOf(MLIRContext &context,
                                                   const checkpoint::Checkpoint &model) {
  auto module = importModel(&context, model, {64});
  EXPECT_TRUE(succeeded(module));
  if (failed(module))
    return {};
  return streamed(storeQuantized(**module), model);
}

TEST_P(StoredWeights, areTheGoldenValues) {
  auto directory = quantized / GetParam().name;
  auto model = checkpoint::Checkpoint::open(directory);
  ASSERT_TRUE(model) << model.error().str();
  auto values = valuesOf(context, *model);
  auto file = checkpoint::File::open(directory / "golden.dequant.safetensors");
  ASSERT_TRUE(file) << file.error().str();
  auto golden = checkpoint::readSafetensors(*file);
  ASSERT_TRUE(golden) << golden.error().str();
  EXPECT_EQ(values.size(), golden->tensors.size());
  for (const checkpoint::Tensor &tensor : golden->tensors) {
    SCOPED_TRACE(tensor.name);
    std::vector<std::byte> bytes(tensor.bytes);
    ASSERT_TRUE(file->readAt(tensor.offset, bytes));
    std::vector<float> wanted = floatsOf(bytes), actual = values[tensor.name];
    ASSERT_EQ(actual.size(), wanted.size());
    size_t different = 0;
    for (size_t i = 0; i < wanted.size(); ++i)
      different += std::abs(actual[i] - wanted[i]) > GetParam().tolerance * std::abs(wanted[i]);
    EXPECT_EQ(different, 0u) << "of " << wanted.size();
  }
}

/// A folder with a model of one layer that `method` describes, which the tests give one matrix.
std::filesystem::path folderWith(const std::string &name, const std::string &method) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << R"({"architectures": ["LlamaForCausalLM"],
      "model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1,
      "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 272,
      "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "torch_dtype": "bfloat16", "tie_word_embeddings": false, "quantization_config": {)"
                                        << method << "}}";
  return folder;
}

constexpr int64_t kRows = 32, kColumns = 64;

/// The values of the matrix that `folder` has.
std::vector<float> onlyMatrix(MLIRContext &context, const checkpoint::Checkpoint &model) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  const std::string name = "model.layers.0.self_attn.k_proj.weight";
  compiler::StoredWeights weights(builder, model);
  EXPECT_TRUE(weights.isQuantized(name));
  auto matrix = weights.matrix(name, {kRows, kColumns});
  EXPECT_TRUE(matrix) << matrix.error().str();
  if (!matrix)
    return {};
  // The values may be in operations before it that are matrices too: they are not named so.
  return streamed(storeQuantized(*module), model)[name];
}

/// A matrix that torchao saved, beside its values; there is no whole model of it.
TEST_F(StoredMatrices, ofTorchAoAreItsValues) {
  const std::filesystem::path folder =
      folderWith("ingot-torchao-int4", R"("quant_method": "torchao", "quant_type": {
        "default": {"_type": "Int4WeightOnlyConfig"}})");
  std::filesystem::copy_file(
      std::filesystem::path(INGOT_SOURCE_DIR) / "tests/e2e/torchao_int4.safetensors",
      folder / "model.safetensors", std::filesystem::copy_options::overwrite_existing);
  auto model = checkpoint::Checkpoint::open(folder);
  ASSERT_TRUE(model) << model.error().str();
  std::vector<float> values = onlyMatrix(context, *model), wanted(values.size());
  const checkpoint::Tensor *golden = model->find("values");
  ASSERT_EQ(golden->bytes, wanted.size() * sizeof(float));
  ASSERT_TRUE(model->read(*golden, 0, std::as_writable_bytes(std::span(wanted))));
  EXPECT_EQ(values, wanted);
  std::filesystem::remove_all(folder);
}

/// How HQQ stores a matrix: groups of 32, scales and zero points that bf16 holds.
class HqqMatrices : public StoredMatrices, public testing::WithParamInterface<int64_t> {};

TEST_P(HqqMatrices, areTheirValues) {
  const int64_t bits = GetParam(), parts = 8 / bits, group = 32, count = kRows * kColumns / group;
  const std::string module = "model.layers.0.self_attn.k_proj.";
  auto bf16 = [](float number) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(number) >> 16);
  };
  std::vector<uint8_t> stored(count / parts * group);
  std::vector<uint16_t> scales, zeros;
  std::vector<float> wanted;
  for (int64_t row = 0; row < count; ++row) {
    const float scale = float(row % 31 + 1) / 1024,
                zero = float(row * 7 % 61) / 64 * float(1 << bits);
    scales.push_back(bf16(scale));
    zeros.push_back(bf16(zero));
    for (int64_t k = 0; k < group; ++k) {
      const int64_t code = (row * 5 + k * 3) % (1 << bits), part = row / (count / parts);
      stored[row % (count / parts) * group + k] |= code << (parts - 1 - part) * bits;
      wanted.push_back(static_cast<float>((double(code) - zero) * scale));
    }
  }
  const std::filesystem::path folder = folderWith(
      "ingot-hqq-" + std::to_string(bits),
      checkpoint::message(R"("quant_method": "hqq", "quant_config": {"weight_quant_params": {
        "nbits": )",
                          bits, R"(, "group_size": 32, "axis": 1}})"));
  const size_t bytes = stored.size(), numbers = 2 * size_t(count);
  std::string header = checkpoint::message(
      R"({")", module, R"(W_q": {"dtype": "U8", "shape": [)", count / parts, ", ", group,
      R"(], "data_offsets": [0, )", bytes, R"(]}, ")", module,
      R"(scale": {"dtype": "BF16", "shape": [)", count, R"(, 1], "data_offsets": [)", bytes, ", ",
      bytes + numbers, R"(]}, ")", module, R"(zero": {"dtype": "BF16", "shape": [)", count,
      R"(, 1], "data_offsets": [)", bytes + numbers, ", ", bytes + 2 * numbers, "]}}");
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t size = header.size();
  std::ofstream(folder / "model.safetensors", std::ios::binary)
      .write(reinterpret_cast<const char *>(&size), sizeof size)
      .write(header.data(), static_cast<std::streamsize>(size))
      .write(reinterpret_cast<const char *>(stored.data()), static_cast<std::streamsize>(bytes))
      .write(reinterpret_cast<const char *>(scales.data()), static_cast<std::streamsize>(numbers))
      .write(reinterpret_cast<const char *>(zeros.data()), static_cast<std::streamsize>(numbers));
  auto model = checkpoint::Checkpoint::open(folder);
  ASSERT_TRUE(model) << model.error().str();
  EXPECT_EQ(onlyMatrix(context, *model), wanted);
  std::filesystem::remove_all(folder);
}
INSTANTIATE_TEST_SUITE_P(Bits, HqqMatrices, testing::Values(2, 4, 8));

/// Blocks of a GGUF file against their plain decoder; rows of q and k in the model's order.
class StoredBlocks : public StoredWeights {};

TEST_P(StoredBlocks, areTheirDecodedValues) {
  auto model = checkpoint::Checkpoint::open(quantized.parent_path() / "gguf" / GetParam().name);
  ASSERT_TRUE(model) << model.error().str();
  auto values = valuesOf(context, *model);
  auto half = static_cast<size_t>(test::attentionOf(model->config()).headDim / 2);
  size_t compared = 0;
  for (const checkpoint::Tensor &tensor : model->tensors()) {
    if (!checkpoint::isBlockType(tensor.dtype))
      continue;
    SCOPED_TRACE(tensor.name);
    std::vector<std::byte> blocks(tensor.bytes);
    ASSERT_TRUE(model->read(tensor, 0, blocks));
    size_t columns = tensor.shape[1], rows = tensor.shape[0];
    std::vector<float> stored(rows * columns);
    ASSERT_TRUE(checkpoint::decodeGgml(tensor.dtype, blocks, stored));
    bool byPairs = llvm::StringRef(tensor.name).contains("q_proj") ||
                   llvm::StringRef(tensor.name).contains("k_proj");
    std::vector<float> wanted;
    for (size_t row = 0; row < rows; ++row) {
      size_t place = row % (2 * half);
      size_t from = byPairs ? row - place + place % half * 2 + place / half : row;
      wanted.insert(wanted.end(), stored.begin() + from * columns,
                    stored.begin() + (from + 1) * columns);
    }
    auto found = values.find(tensor.name);
    // A tied matrix has the name of either use.
    if (found == values.end())
      found = values.find("lm_head.weight");
    ASSERT_NE(found, values.end());
    EXPECT_EQ(found->second, wanted);
    ++compared;
  }
  EXPECT_GE(compared, 15u);
}

constexpr Variant files[] = {{"TinyStories-656K.Q4_0.gguf"},
                             {"TinyStories-656K.Q8_0.gguf"},
                             {"TinyStories-656K.Q4_1.gguf"},
                             {"TinyStories-656K.Q5_0.gguf"},
                             {"TinyStories-656K.IQ4_NL.gguf"},
                             {"TinyStories-656K.Q4_K_M.gguf"},
                             {"rot256.Q8_0.gguf"},
                             {"rot256.Q2_K.gguf"},
                             {"rot256.Q4_K_S.gguf"},
                             {"rot256.Q4_K_M.gguf"},
                             {"rot256.Q5_K_M.gguf"},
                             {"rot256.Q6_K.gguf"}};

std::string nameOf(const testing::TestParamInfo<Variant> &info) {
  std::string name = info.param.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, StoredBlocks, testing::ValuesIn(files), nameOf);

/// bitsandbytes multiplies by the magnitude before it divides by 127; the golden NVFP4 values are
/// multiplied by their scale before it is divided.
constexpr Variant variants[] = {{"awq-gemm-w4-g64"},
                                {"gptq-w2-g32-asym-v2"},
                                {"gptq-w4-g32-sym"},
                                {"gptq-w8-g64-sym"},
                                {"gptq_v2-w4-g32-asym"},
                                {"ct-w4a16-g64-sym"},
                                {"ct-w8a8-int8-dynamic"},
                                {"ct-fp8-dynamic"},
                                {"fp8-block128"},
                                {"modelopt-fp8"},
                                {"bnb-int8", 2.5e-7},
                                {"bnb-nf4"},
                                {"bnb-fp4"},
                                {"ct-nvfp4a16", 1.2e-7},
                                {"mxfp4-blocks-scales"}};
INSTANTIATE_TEST_SUITE_P(Variants, StoredWeights, testing::ValuesIn(variants), nameOf);

} // namespace

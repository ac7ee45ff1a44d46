// SPDX-License-Identifier: Apache-2.0
// What each layout writes of a matrix means, to the importer, what the matrix was encoded to.
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/importers/StoredWeights.h"
#include "compiler/quantize/layouts/Layouts.h"
#include "compiler/recipe/RecipeWords.h"
#include "tests/unit/importers/EvaluatedWeights.h"

#include <filesystem>
#include <fstream>
#include <random>

using namespace ingot;
using namespace ingot::quantize;
using recipe::NumberFormat;
using recipe::WeightFormat;

namespace {

struct Case {
  const char *layout;
  WeightFormat format;
  int64_t columns = 128;
  NumberFormat inputs = NumberFormat::Stored;
};

void PrintTo(const Case &value, std::ostream *stream) {
  *stream << value.layout << " " << recipe::wordFor(recipe::Format, value.format.type) << " of "
          << value.format.group << ", " << value.columns << " columns";
}

constexpr int64_t kRows = 32;
constexpr char kModule[] = "model.layers.0.mlp.down_proj";

class StoredLayouts : public testing::TestWithParam<Case> {
protected:
  StoredLayouts() {
    test::loadDialects(context);
    std::filesystem::create_directories(folder);
  }
  ~StoredLayouts() override { std::filesystem::remove_all(folder); }

  /// A model of one layer, of which there is this matrix alone.
  void write(const StoredLayout &layout, const ModuleRecord &record, const EncodedMatrix &matrix) {
    const std::string kept[] = {"lm_head"};
    auto quantization = layout.configuration({&record, 1}, kept, NumberFormat::Stored);
    ASSERT_TRUE(quantization);
    const nlohmann::ordered_json config = {{"architectures", {"LlamaForCausalLM"}},
                                           {"model_type", "llama"},
                                           {"hidden_size", 64},
                                           {"intermediate_size", GetParam().columns},
                                           {"num_hidden_layers", 1},
                                           {"num_attention_heads", 4},
                                           {"vocab_size", 272},
                                           {"max_position_embeddings", 128},
                                           {"rms_norm_eps", 1e-5},
                                           {"torch_dtype", "bfloat16"},
                                           {"quantization_config", *quantization}};
    std::ofstream(folder / "config.json") << config.dump();
    ASSERT_TRUE(writeSafetensors(folder / "model.safetensors", layout.tensors(record, matrix)));
  }

  std::vector<float> readBack() {
    auto model = checkpoint::Checkpoint::open(folder);
    EXPECT_TRUE(model) << model.error().str();
    if (!model)
      return {};
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
    const std::string name = std::string(kModule) + ".weight";
    compiler::StoredWeights weights(builder, *model);
    EXPECT_TRUE(weights.isQuantized(name));
    auto matrix = weights.matrix(name, {kRows, GetParam().columns});
    EXPECT_TRUE(matrix) << matrix.error().str();
    return matrix ? test::streamed(test::storeQuantized(*module), *model)[name]
                  : std::vector<float>();
  }

  mlir::MLIRContext context;
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "ingot-stored-layouts";
};

TEST_P(StoredLayouts, MeanWhatTheMatrixDoes) {
  const auto &[name, format, columns, inputs] = GetParam();
  std::mt19937 numbers(5);
  std::vector<float> weight(static_cast<size_t>(kRows * columns));
  for (float &value : weight)
    value = static_cast<float>(numbers() >> 8) * 0x1p-23f - 1;
  weight[3] = 4;
  const StoredLayout *layout = findLayout(name);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout->holds(format.type));
  ModuleRecord record{kModule, format, inputs, inputs == NumberFormat::Stored ? 0 : 0.5f, 0, ""};
  EXPECT_EQ(layout->refusal(record, kRows, columns), "");
  for (auto method : {recipe::Method::Round, recipe::Method::RoundMse}) {
    auto encoded =
        encodeMatrix(weight.data(), kRows, columns,
                     {format, method, layout->scaleType(checkpoint::DType::BF16)}, nullptr);
    ASSERT_TRUE(encoded) << encoded.error().str();
    write(*layout, record, encoded->matrix);
    std::vector<float> meant(weight.size());
    std::visit([&](const auto &matrix) { matrix.dequantize(meant.data()); }, encoded->matrix);
    // ModelOpt multiplies by the inverse of what NVFP4's scales are divided by.
    EXPECT_THAT(readBack(), testing::Pointwise(testing::FloatEq(), meant));
    double error = 0, power = 0;
    for (size_t i = 0; i < meant.size(); ++i) {
      error += std::pow(double(meant[i] - weight[i]), 2);
      power += std::pow(double(weight[i]), 2);
    }
    EXPECT_LT(error, 0.03 * power);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, StoredLayouts,
    testing::Values(
        Case{"compressed-tensors", {NumberFormat::Int4, 32}},
        Case{"compressed-tensors", {NumberFormat::Int4, 64, true}},
        Case{"compressed-tensors", {NumberFormat::Int8}},
        Case{"compressed-tensors", {NumberFormat::Int8}, 128, NumberFormat::Int8},
        Case{"compressed-tensors", {NumberFormat::Int8}, 122, NumberFormat::Int8Static},
        Case{"compressed-tensors", {NumberFormat::E4M3}, 128, NumberFormat::E4M3},
        Case{"compressed-tensors",
             {NumberFormat::E4M3, recipe::kWholeTensor},
             128,
             NumberFormat::E4M3Static},
        Case{"compressed-tensors", {NumberFormat::NVFP4}, 48},
        Case{"compressed-tensors", {NumberFormat::MXFP4}, 96},
        Case{"awq", {NumberFormat::Int4, 32, true}}, Case{"gptq", {NumberFormat::Int4, 64}},
        Case{"gptq", {NumberFormat::Int4, 64, true}}, Case{"gptq", {NumberFormat::Int8}},
        Case{"bitsandbytes", {NumberFormat::NF4}}, Case{"bitsandbytes", {NumberFormat::FP4}},
        Case{"bitsandbytes", {NumberFormat::NF4}, 88},
        Case{"modelopt", {NumberFormat::E4M3, recipe::kWholeTensor}, 128, NumberFormat::E4M3Static},
        Case{"modelopt", {NumberFormat::E4M3}, 122, NumberFormat::E4M3},
        Case{"modelopt", {NumberFormat::NVFP4}, 48}, Case{"modelopt", {NumberFormat::Int4, 32}},
        Case{"modelopt", {NumberFormat::Int8}},
        Case{"modelopt", {NumberFormat::Int8}, 122, NumberFormat::Int8Static}));

TEST(StoredLayoutsList, TheFirstThatHoldsARecipe) {
  auto layoutOf = [](std::vector<NumberFormat> types) {
    recipe::Recipe recipe;
    for (NumberFormat type : types)
      recipe.weights.push_back({"*", {.type = type}});
    return layoutFor(recipe).name();
  };
  using enum NumberFormat;
  EXPECT_EQ(layoutOf({}), "compressed-tensors");
  EXPECT_EQ(layoutOf({Stored, Int4, NVFP4}), "compressed-tensors");
  EXPECT_EQ(layoutOf({Stored, BF16, NF4}), "bitsandbytes");
  EXPECT_EQ(layoutOf({NF4, Int3}), "compressed-tensors");
  EXPECT_EQ(findLayout("exl2"), nullptr);
}

TEST(StoredLayoutsList, RefuseWhatTheyCannotStore) {
  auto refusal = [](const char *layout, WeightFormat format, int64_t rows, int64_t columns) {
    return findLayout(layout)->refusal({kModule, format}, rows, columns);
  };
  EXPECT_NE(refusal("compressed-tensors", {NumberFormat::NVFP4}, 8, 24), "");
  EXPECT_NE(refusal("compressed-tensors", {NumberFormat::MXFP4}, 8, 48), "");
  EXPECT_NE(refusal("compressed-tensors", {NumberFormat::Int8}, 8, 6), "");
  EXPECT_NE(refusal("bitsandbytes", {NumberFormat::NF4}, 8, 4), "");
  EXPECT_NE(refusal("awq", {NumberFormat::Int4, 32}, 4, 64), "");
  EXPECT_NE(refusal("modelopt", {NumberFormat::E4M3}, 8, 64), ""); // with inputs as stored
  EXPECT_NE(refusal("modelopt", {NumberFormat::NVFP4}, 8, 24), "");
  EXPECT_NE(refusal("modelopt", {NumberFormat::Int4, 32, true}, 8, 64), "");
  EXPECT_NE(refusal("modelopt", {NumberFormat::Int4, 32}, 7, 64), "");
  EXPECT_NE(refusal("modelopt", {NumberFormat::Int4}, 8, 64), "");
  const ModuleRecord mixed[] = {{kModule, {NumberFormat::NF4}}, {kModule, {NumberFormat::FP4}}};
  auto configuration =
      findLayout("bitsandbytes")->configuration(mixed, {}, NumberFormat::Int8Static);
  ASSERT_FALSE(configuration);
  EXPECT_EQ(configuration.error().code, "INGOT-E2109");
}

TEST(StoredLayoutsList, ModulesOfSeveralFormatsAreGroups) {
  const ModuleRecord mixed[] = {{"a", {NumberFormat::NVFP4}},
                                {"b", {NumberFormat::E4M3}, NumberFormat::E4M3Static, 0.5f},
                                {"c", {NumberFormat::Int4, 64}}};
  auto configuration =
      *findLayout("compressed-tensors")->configuration(mixed, {}, NumberFormat::Int8Static);
  EXPECT_EQ(configuration["format"], "mixed-precision");
  EXPECT_EQ(configuration["kv_cache_scheme"]["type"], "int");
  std::map<std::string, nlohmann::ordered_json> byTarget;
  for (const auto &group : configuration["config_groups"])
    byTarget[group["targets"][0]] = group;
  EXPECT_EQ(byTarget["a"]["format"], "nvfp4-pack-quantized");
  EXPECT_EQ(byTarget["a"]["weights"]["group_size"], 16);
  EXPECT_EQ(byTarget["b"]["input_activations"]["strategy"], "tensor");
  EXPECT_EQ(byTarget["b"]["input_activations"]["dynamic"], false);
  EXPECT_EQ(byTarget["c"]["format"], "pack-quantized");
}

TEST(StoredLayoutsList, ModelOptNamesItsAlgorithm) {
  const StoredLayout &layout = *findLayout("modelopt");
  const std::string kept[] = {"lm_head"};
  auto configured = [&](const ModuleRecord &record, NumberFormat kvCache) {
    return *layout.configuration({&record, 1}, kept, kvCache);
  };
  // Scales of rows have no algorithm with static inputs, and one of all no algorithm without.
  ModuleRecord record{kModule, {NumberFormat::E4M3}, NumberFormat::E4M3Static, 0.5f};
  EXPECT_EQ(layout.nearest(record).group, recipe::kWholeTensor);
  auto configuration = configured(record, NumberFormat::E4M3Static);
  EXPECT_EQ(configuration["quant_algo"], "FP8");
  EXPECT_EQ(configuration["kv_cache_scheme"]["type"], "float");
  auto companion = layout.companions(configuration).at("hf_quant_config.json");
  EXPECT_EQ(companion["quantization"]["kv_cache_quant_algo"], "FP8");
  EXPECT_EQ(companion["quantization"]["exclude_modules"], nlohmann::ordered_json({"lm_head"}));
  record = {kModule, {NumberFormat::E4M3, recipe::kWholeTensor}, NumberFormat::E4M3};
  EXPECT_EQ(layout.nearest(record).group, recipe::kWholeRow);
  configuration = configured({kModule, {NumberFormat::NVFP4}}, NumberFormat::Stored);
  companion = layout.companions(configuration).at("hf_quant_config.json");
  EXPECT_EQ(companion["quantization"]["quant_algo"], "W4A16_NVFP4");
  EXPECT_EQ(companion["quantization"]["group_size"], 16);
  EXPECT_TRUE(companion["quantization"]["kv_cache_quant_algo"].is_null());
  configuration = configured({kModule, {NumberFormat::Int4, 64}}, NumberFormat::Stored);
  companion = layout.companions(configuration).at("hf_quant_config.json");
  EXPECT_EQ(companion["quantization"]["group_size"], 64);
  EXPECT_EQ(companion["quantization"]["has_zero_point"], false);
  EXPECT_FALSE(layout.cacheScales(NumberFormat::Int8Static));
}

} // namespace

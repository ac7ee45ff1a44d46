// SPDX-License-Identifier: Apache-2.0
// Predicted and least times of kernels, against the sums that they are made of.
#include "codegen/cuda/LaunchCost.h"
#include "codegen/cuda/KernelEvidence.h"
#include "codegen/cuda/MatmulCost.h"
#include "dialects/engine/EngineOps.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace ingot;
using namespace ingot::codegen;

namespace {

/// A product of 4096 x 8192 bf16 for all rows, a norm for few, and attention with 8 KV heads of 128
/// columns in blocks of 16 positions; input_type 2 is bf16.
constexpr const char *kUnit = R"(
engine.dim @T "step" 1 to 512
engine.dim @S "step" 1 to 64
engine.dim @B "load" 1 to 128
engine.weight @weight tensor<4096x8192xbf16>
engine.unit @gpu <"sm_90a", backend = "cuda", arch = "sm_90a", preference = 90> {
  engine.kv_group @global "global" block 16
  engine.buffer @x "arena" bf16 [#engine.expr<"T">, #engine.expr<"8192">] bytes <"T * 16384">
  engine.buffer @y "arena" bf16 [#engine.expr<"T">, #engine.expr<"4096">] bytes <"T * 8192">
  engine.buffer @w "weight" bf16 [#engine.expr<"4096">, #engine.expr<"8192">] bytes <"67108864">
      weight @weight
  engine.buffer @kv "kv" bf16 [#engine.expr<"32768">] bytes <"65536"> group @global
  engine.buffer @workspace "arena" i8 [#engine.expr<"1048576">] bytes <"1048576"> zeroed
  engine.kernel @product from "MatmulTensor" constants {rows_dim = 0 : i64, rows_each = 1 : i64,
      weight_rows = 4096 : i64, k = 8192 : i64, segment = 512 : i64, input_type = 2 : i64,
      warps_along = 8 : i64, row_tiles = 1 : i64, warps_across = 1 : i64, token_blocks = 1 : i64}
  engine.kernel @norm from "Norm" constants {columns = 4096 : i64}
  engine.kernel @attention from "AttentionDecode" constants {query_heads = 64 : i64,
      head_dim = 128 : i64, value_dim = 128 : i64, block_tokens = 16 : i64}
  engine.program @step dims [@T] inputs [] outputs [] {
    engine.launch "product" [#engine.variant<@product grid [#engine.expr<"32">, #engine.expr<"T">]>]
        args [@x, @w, @y, @workspace, #engine.expr<"T">]
    engine.launch "norm" [#engine.variant<@norm where [#engine.range<"T", 1, 16>]
        grid [#engine.expr<"T">]>] args [@y, @y]
    engine.launch "attention" [#engine.variant<@attention grid [#engine.expr<"T">]>]
        args [@x, @kv, @x, @workspace]
  }
})";

/// A fact as numbers by tokens.
std::map<int, double> numbers(engine::UnitOp unit, llvm::StringRef kernel, llvm::StringRef fact) {
  std::map<int, double> values;
  auto facts = unit.lookupSymbol<engine::KernelOp>(kernel).getFacts();
  auto text = facts ? facts->getAs<StringAttr>(fact) : StringAttr();
  EXPECT_TRUE(text) << kernel.str();
  llvm::SmallVector<llvm::StringRef> parts;
  if (text)
    text.getValue().split(parts, ' ');
  for (llvm::StringRef part : parts) {
    auto [tokens, value] = part.split(':');
    values[std::stoi(tokens.str())] = std::stod(value.str());
  }
  return values;
}

TEST(LaunchCost, CountsInstructionsOfTheBinaryAndKnowsFamilies) {
  MLIRContext context;
  context.loadDialect<engine::EngineDialect>();
  auto module = parseSourceString<ModuleOp>(kUnit, &context);
  ASSERT_TRUE(module);
  engine::UnitOp unit = *module->getOps<engine::UnitOp>().begin();
  const CudaArchitecture &hopper = *findCudaArchitecture("sm_90a");
  auto kernel = unit.lookupSymbol<engine::KernelOp>("product");
  Builder builder(&context);
  auto seconds = [&](std::optional<int64_t> instructions, const char *source) {
    kernel.setSource(source);
    NamedAttrList facts;
    if (instructions)
      facts.set(kLoopInstructions, builder.getStringAttr(std::to_string(*instructions)));
    kernel.setFactsAttr(facts.getDictionary(&context));
    stateCosts(unit, hopper);
    EXPECT_EQ(kernel.getFacts()->getAs<StringAttr>("predicted_error").getValue(),
              "+-" + std::to_string(std::lround(100 * kPredictedError)) + " %");
    return numbers(unit, "product", "predicted_us").at(512);
  };
  const char *mma = "MatmulTensor";
  double estimated = seconds(std::nullopt, mma), few = seconds(20, mma), many = seconds(2000, mma);
  EXPECT_LT(few, estimated);
  EXPECT_GT(many, 3 * estimated);
  EXPECT_LT(seconds(20, "MatmulGroup"), few);
  auto bound = [&] { return kernel.getFacts()->getAs<StringAttr>("bound_by").getValue(); };
  EXPECT_TRUE(bound().starts_with("1:memory ")) << bound().str();
  seconds(2000, mma);
  EXPECT_TRUE(bound().contains(" 512:issue ")) << bound().str();
}

TEST(LaunchCost, StatesWhatEachLaunchMovesAndComputes) {
  MLIRContext context;
  context.loadDialect<engine::EngineDialect>();
  auto module = parseSourceString<ModuleOp>(kUnit, &context);
  ASSERT_TRUE(module);
  engine::UnitOp unit = *module->getOps<engine::UnitOp>().begin();
  const CudaArchitecture &hopper = *findCudaArchitecture("sm_90a");
  stateCosts(unit, hopper);
  const CudaPart &part = hopper.typicalPart();
  double bandwidth = part.gigabytesPerSecond * 1e3, rate = part.sheet.halves * 1e6; // per us

  auto floor = numbers(unit, "product", "floor_us");
  EXPECT_NEAR(floor.at(1), (67108864.0 + 16384 + 8192) / bandwidth, 0.01);
  EXPECT_NEAR(floor.at(512), 2.0 * 4096 * 8192 * 512 / rate, 0.01);
  auto predicted = numbers(unit, "product", "predicted_us");
  ASSERT_EQ(predicted.size(), floor.size());
  for (auto [tokens, value] : predicted)
    EXPECT_GT(value, floor.at(tokens)) << tokens;

  auto norm = numbers(unit, "norm", "floor_us");
  EXPECT_EQ(norm.size(), 3u); // 1, 10 and 16 tokens
  EXPECT_NEAR(norm.at(16), 2 * 16 * 8192 / bandwidth, 0.006);

  // Decoding reads 1024 positions of each sequence; a prompt of 512 attends to half of all pairs.
  auto attention = numbers(unit, "attention", "floor_us");
  EXPECT_NEAR(attention.at(64), 64.0 * (1024 / 16 * 65536 + 2 * 16384) / bandwidth, 0.01);
  EXPECT_NEAR(attention.at(512),
              std::max(4.0 * 64 * 128 * 512 * 513 / 2 / rate,
                       (512 / 16 * 65536 + 512 * 2 * 16384) / bandwidth),
              0.01);
}

} // namespace

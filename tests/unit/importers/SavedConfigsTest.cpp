// SPDX-License-Identifier: Apache-2.0
// Configurations of one model as releases of transformers write them mean one graph.
#include "compiler/importers/Importer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "tests/unit/checkpoint/CheckpointFiles.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

/// What is computed of a model with this configuration, as text; an error's otherwise.
std::string graphOf(MLIRContext &context, const std::string &config) {
  const test::TemporaryDirectory folder;
  folder.write("config.json", config);
  auto model = checkpoint::Checkpoint::openWithoutWeights(folder.path());
  if (!model)
    return model.error().str();
  auto tensors = tensorsOfFamily(&context, *model);
  if (failed(tensors))
    return "no tensors";
  model->expectTensors(*std::move(tensors));
  auto module = importModel(&context, *model, {.maxContext = 96});
  if (failed(module))
    return "no graph";
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream);
  return text;
}

/// The first line of `one` that `other` does not have in its place.
std::string difference(const std::string &one, const std::string &other) {
  std::istringstream ours(one), theirs(other);
  for (std::string line, counterpart; std::getline(ours, line);)
    if (!std::getline(theirs, counterpart) || line != counterpart)
      return line + "\nis\n" + counterpart;
  return "";
}

TEST(SavedConfigs, OfOneModelMeanOneGraph) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect, llm::LlmDialect,
                      engine::EngineDialect>();
  std::ifstream file(INGOT_SOURCE_DIR "/tests/families/saved_configs.json");
  const auto saved = nlohmann::json::parse(file);
  EXPECT_GT(saved.size(), 60u);
  for (const auto &[name, releases] : saved.items()) {
    std::string first;
    for (const auto &[release, config] : releases.items()) {
      SCOPED_TRACE(testing::Message() << name << " by " << release);
      const std::string graph = graphOf(context, config.dump());
      EXPECT_TRUE(graph.starts_with("module")) << graph;
      if (first.empty())
        first = graph;
      EXPECT_EQ(difference(graph, first), "");
    }
  }
}

} // namespace

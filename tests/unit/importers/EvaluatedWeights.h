// SPDX-License-Identifier: Apache-2.0
// Evaluates the weight expressions of an importer.
#pragma once

#include "compiler/weights/WeightStreamer.h"
#include "dialects/llm/LlmWeightOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>

namespace ingot::test {

using namespace mlir;
using compiler::StreamedWeight, compiler::WeightStreamer;

inline void loadDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect, llm::LlmDialect,
                      engine::EngineDialect>();
}

/// The expression behind `value`, cloned to where `builder` is.
inline Value copy(OpBuilder &builder, Value value, IRMapping &moved) {
  if (Value known = moved.lookupOrNull(value))
    return known;
  for (Value operand : value.getDefiningOp()->getOperands())
    copy(builder, operand, moved);
  builder.clone(*value.getDefiningOp(), moved);
  return moved.lookup(value);
}

/// A function that stores the values of every quantized matrix of `module`, under its name.
inline func::FuncOp storeQuantized(ModuleOp module) {
  SmallVector<llm::DequantizeOp> matrices;
  module.walk([&](llm::DequantizeOp op) {
    // Scales may be dequantized themselves.
    if (llvm::none_of(op->getUsers(),
                      [](Operation *user) { return isa<llm::DequantizeOp, llm::ConvertOp>(user); }))
      matrices.push_back(op);
  });
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, module.getLoc(), "weights", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping moved;
  for (llm::DequantizeOp op : matrices) {
    Value value = copy(builder, op.getResult(), moved);
    auto name = op.getLoc()->findInstanceOf<NameLoc>().getName();
    llm::StoreWeightOp::create(builder, op.getLoc(), name, value, StringAttr());
  }
  func::ReturnOp::create(builder, module.getLoc());
  return function;
}

inline std::vector<float> floatsOf(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// What is stored by a function that storeQuantized made, by name.
inline std::map<std::string, std::vector<float>> streamed(func::FuncOp weights,
                                                          const checkpoint::Checkpoint &model) {
  std::map<std::string, std::vector<float>> values;
  auto streamer = WeightStreamer::create({weights}, model, {});
  EXPECT_TRUE(streamer) << streamer.error().str();
  if (!streamer)
    return values;
  std::vector<std::byte> bytes(streamer->totalBytes());
  auto done = streamer->run([&](uint64_t offset, std::span<const std::byte> piece) {
    std::memcpy(bytes.data() + offset, piece.data(), piece.size());
    return checkpoint::Outcome();
  });
  EXPECT_TRUE(done) << done.error().str();
  for (const StreamedWeight &weight : streamer->weights())
    values[weight.name] = floatsOf(std::span(bytes).subspan(weight.offset, weight.bytes));
  return values;
}

} // namespace ingot::test

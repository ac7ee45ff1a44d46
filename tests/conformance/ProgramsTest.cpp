// SPDX-License-Identifier: Apache-2.0
// Engines of several programs, from llm IR to bits: a draft beside a step, and adapters that rows
// of one step choose. Values against plain loops in double precision.
#include "tests/conformance/Targets.h"

#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

HostTensor randomTensor(llvm::StringRef element, int64_t rows, int64_t columns, uint64_t seed) {
  HostTensor tensor(elementType(element), rows, columns);
  std::mt19937_64 random(seed);
  fillRandom(tensor, random, 0.5);
  return tensor;
}

HostTensor indices(std::initializer_list<int32_t> values) {
  HostTensor tensor(IntegerType::get(&sharedContext(), 32), int64_t(values.size()), 1);
  std::copy(values.begin(), values.end(), tensor.codes.begin());
  return tensor;
}

/// Compares `found` with the products of `input` and `weight`, row by row.
void expectProducts(const HostTensor &found, const HostTensor &input, const HostTensor &weight) {
  ASSERT_EQ(found.rows, input.rows);
  ASSERT_EQ(found.columns, weight.rows);
  for (int64_t row = 0; row < found.rows; ++row)
    for (int64_t n = 0; n < found.columns; ++n) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < input.columns; ++k) {
        sum += input.at(row, k) * weight.at(n, k);
        size += std::abs(input.at(row, k) * weight.at(n, k));
      }
      ASSERT_NEAR(found.at(row, n), sum, 1e-5 * size + 1e-6) << row << ", " << n;
    }
}

} // namespace

TEST(Programs, ADraftHasItsOwnWeightsRowsAndResults) {
  std::string step = "func.func @f(%x: tensor<?x96xf32, \"T\">, %w: tensor<64x96xf32>) -> "
                     "tensor<?x64xf32, \"T\"> {\n"
                     "  %y = llm.matmul %x, %w : tensor<?x96xf32, \"T\">, tensor<64x96xf32> -> "
                     "tensor<?x64xf32, \"T\">\n  return %y : tensor<?x64xf32, \"T\">\n}\n",
              draft = "func.func @draft(%x: tensor<?x40xf32, \"P\">, %w: tensor<128x40xf32>) -> "
                      "tensor<?x128xf32, \"P\"> {\n"
                      "  %y = llm.matmul %x, %w : tensor<?x40xf32, \"P\">, tensor<128x40xf32> -> "
                      "tensor<?x128xf32, \"P\">\n  return %y : tensor<?x128xf32, \"P\">\n}\n";
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    auto compiled = CompiledFunction::compile(sharedContext(), target, step + draft);
    ASSERT_TRUE(compiled);
    // Both take all sizes of their own dim, whatever the other's is.
    for (auto [tokens, rows] : {std::pair<int64_t, int64_t>(1, 33), {33, 1}, {5, 5}}) {
      Dims dims;
      dims.T = tokens;
      dims.P = rows;
      std::vector<HostValue> of(2), ofDraft(2);
      of[0].tensor = randomTensor("f32", tokens, 96, 1);
      of[1].tensor = randomTensor("f32", 64, 96, 2);
      ofDraft[0].tensor = randomTensor("f32", rows, 40, 3);
      ofDraft[1].tensor = randomTensor("f32", 128, 40, 4);
      std::vector<HostValue> found = compiled->run(of, dims),
                             drafted = compiled->run(ofDraft, dims, 1);
      ASSERT_EQ(found.size(), 1u);
      ASSERT_EQ(drafted.size(), 1u);
      expectProducts(found[0].tensor, of[0].tensor, of[1].tensor);
      expectProducts(drafted[0].tensor, ofDraft[0].tensor, ofDraft[1].tensor);
    }
  }
}

/// Two adapters of rank 16 and none (zeros), by row: x W' + (x A') B', with A and B of the row's.
TEST(Programs, RowsChooseAmongAdapters) {
  const std::string x = "tensor<?x96xf32, \"T\">", y = "tensor<?x64xf32, \"T\">",
                    low = "tensor<?x16xf32, \"T\">", index = "tensor<?xi32, \"T\">",
                    starts = "tensor<4xi32>", w = "tensor<64x96xf32>", a = "tensor<48x96xf32>",
                    b = "tensor<192x16xf32>",
                    groups = " groups(%o, %s : " + index + ", " + starts + ")";
  const std::string text =
      "func.func @f(%x: " + x + ", %e: " + index + ", %w: " + w + ", %a: " + a + ", %b: " + b +
      ") -> " + y + " {\n  %o, %s = llm.group_rows %e : " + index + " -> " + index + ", " + starts +
      "\n  %y = llm.matmul %x, %w : " + x + ", " + w + " -> " + y + "\n  %d = llm.matmul %x, %a" +
      groups + " : " + x + ", " + a + " -> " + low + "\n  %u = llm.matmul %d, %b" + groups + " : " +
      low + ", " + b + " -> " + y + "\n  %z = llm.pointwise %y, %u : (" + y + ", " + y + ") -> " +
      y +
      " {\n  ^bb0(%p: f32, %q: f32):\n    %r = arith.addf %p, %q : f32\n    llm.yield %r : f32\n"
      "  }\n  return %z : " +
      y + "\n}\n";
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    auto compiled = CompiledFunction::compile(sharedContext(), target, text);
    ASSERT_TRUE(compiled);
    std::vector<HostValue> arguments(5);
    arguments[0].tensor = randomTensor("f32", 9, 96, 1);
    arguments[1].tensor = indices({2, 0, 1, 1, 2, 0, 1, 2, 2});
    arguments[2].tensor = randomTensor("f32", 64, 96, 2);
    arguments[3].tensor = randomTensor("f32", 48, 96, 3);
    HostTensor &factors = arguments[4].tensor = randomTensor("f32", 192, 16, 4);
    std::fill(factors.codes.begin() + 128 * 16, factors.codes.end(), 0); // of none
    Dims dims;
    dims.T = 9;
    std::vector<HostValue> results = compiled->run(arguments, dims);
    ASSERT_EQ(results.size(), 1u);
    for (int64_t row = 0; row < dims.T; ++row)
      for (int64_t n = 0; n < 64; ++n) {
        auto adapter = int64_t(arguments[1].tensor.codes[row]);
        double sum = 0;
        for (int64_t k = 0; k < 96; ++k) {
          double weight = arguments[2].tensor.at(n, k);
          for (int64_t r = 0; r < 16; ++r)
            weight += factors.at(adapter * 64 + n, r) * arguments[3].tensor.at(adapter * 16 + r, k);
          sum += arguments[0].tensor.at(row, k) * weight;
        }
        ASSERT_NEAR(results[0].tensor.at(row, n), sum, 1e-4 * (1 + std::abs(sum)))
            << row << ", " << n << ", adapter " << adapter;
      }
  }
}

/// Rows and sequences under other names give the same bits, at sizes that T and S do not have.
TEST(Programs, RowsAreCountedByTheDimsOfTheirFunction) {
  constexpr size_t kEach = 29;
  std::vector<std::string> names = typicalTargets();
  size_t index = 0;
  for (const Case &which : allCases()) {
    bool isRun = !which.fused && !which.full && !which.fp8Products && !which.nativeOnly &&
                 !which.referenceOnly && which.plain.find("\"L") == std::string::npos;
    if (!isRun || index++ % kEach != 0)
      continue;
    std::string renamed = which.plain;
    for (auto [from, to] : {std::pair("@f(", "@encode("), {"\"T", "\"P"}, {"\"S", "\"Q"}})
      for (size_t at = 0; (at = renamed.find(from, at)) != std::string::npos; at += strlen(to))
        renamed.replace(at, strlen(from), to);
    const std::string &target = names[index / kEach % names.size()];
    SCOPED_TRACE(which.name + " on " + target);
    auto usual = CompiledFunction::compile(sharedContext(), target, which.plain),
         other = CompiledFunction::compile(sharedContext(), target, renamed);
    ASSERT_TRUE(usual && other);
    for (int64_t tokens : {2, 17}) {
      Inputs inputs = makeInputs(usual->function(), which, tokens, 5), same = inputs;
      std::swap(same.dims.T, same.dims.P);
      std::swap(same.dims.S, same.dims.Q);
      std::vector<HostValue> wanted = usual->run(inputs.arguments, inputs.dims),
                             found = other->run(same.arguments, same.dims);
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(found[i].tensor.codes, wanted[i].tensor.codes);
      for (size_t i = 0; i < inputs.arguments.size(); ++i)
        EXPECT_EQ(same.arguments[i].memory, inputs.arguments[i].memory);
    }
  }
}

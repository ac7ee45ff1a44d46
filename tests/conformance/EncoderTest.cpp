// SPDX-License-Identifier: Apache-2.0
// Encoders: sequences that stand beside each other, and a program of its own rows in one engine
// with a step.
#include "tests/conformance/Targets.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;
using llvm::formatv;

namespace {

HostTensor integers(const std::vector<int64_t> &values) {
  HostTensor tensor(elementType("i32"), int64_t(values.size()), 1);
  for (size_t i = 0; i < values.size(); ++i)
    tensor.codes[i] = uint32_t(values[i]);
  return tensor;
}

HostTensor drawn(const std::string &element, int64_t rows, int64_t columns, double scale,
                 std::mt19937_64 &random) {
  HostTensor tensor(elementType(element), rows, columns);
  fillRandom(tensor, random, scale);
  return tensor;
}

/// The sequence of each row, and where sequences of such lengths begin and end.
struct Sequences {
  explicit Sequences(const std::vector<int64_t> &lengths) : offsets{0} {
    for (size_t i = 0; i < lengths.size(); ++i) {
      ofRow.insert(ofRow.end(), size_t(lengths[i]), int64_t(i));
      offsets.push_back(offsets.back() + lengths[i]);
    }
  }
  int64_t rows() const { return offsets.back(); }
  int64_t count() const { return int64_t(offsets.size()) - 1; }

  std::vector<int64_t> ofRow, offsets;
};

constexpr int64_t kHeads = 6, kKvHeads = 2, kKeyDim = 40, kValueDim = 24;

/// Attention of bf16 over sequences in the rows of a step.
std::string attentionText() {
  std::string query = activation(kHeads * kKeyDim, "bf16"),
              keys = activation(kKvHeads * kKeyDim, "bf16"),
              values = activation(kKvHeads * kValueDim, "bf16"),
              result = activation(kHeads * kValueDim, "bf16");
  return formatv(R"(func.func @f(%q: {0}, %k: {1}, %v: {2}, %s: tensor<?xi32, "T">,
                        %o: tensor<?xi32, "S + 1">) -> {3} {{
      %y = llm.encoder_attention %q, %k, %v of %s, %o kv_heads 2 scale 0.2
        : {0}, {1}, {2}, tensor<?xi32, "T">, tensor<?xi32, "S + 1"> -> {3}
      return %y : {3}
    })",
                 query, keys, values, result);
}

/// Query, keys and values of one sequence.
using Rows = std::array<HostTensor, 3>;

/// The rows of sequences that stand in this order, each with its results.
std::vector<std::vector<uint32_t>> attend(CompiledFunction &compiled, llvm::ArrayRef<Rows> parts) {
  std::vector<HostValue> arguments(5);
  std::vector<int64_t> lengths;
  for (const Rows &part : parts)
    lengths.push_back(part.front().rows);
  Sequences sequences(lengths);
  for (size_t i = 0; i < 3; ++i) {
    HostTensor &all = arguments[i].tensor;
    all = HostTensor(elementType("bf16"), sequences.rows(), parts.front()[i].columns);
    auto to = all.codes.begin();
    for (const Rows &part : parts)
      to = std::copy(part[i].codes.begin(), part[i].codes.end(), to);
  }
  arguments[3].tensor = integers(sequences.ofRow);
  arguments[4].tensor = integers(sequences.offsets);
  Dims dims;
  dims.T = sequences.rows();
  dims.S = sequences.count();
  std::vector<HostValue> results = compiled.run(arguments, dims);
  std::vector<std::vector<uint32_t>> found;
  for (size_t i = 0; i < parts.size() && results.size() == 1; ++i) {
    auto codes = results.front().tensor.codes.begin();
    found.emplace_back(codes + sequences.offsets[i] * kHeads * kValueDim,
                       codes + sequences.offsets[i + 1] * kHeads * kValueDim);
  }
  return found;
}

} // namespace

TEST(Encoder, SequencesDoNotDependOnTheirNeighbours) {
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    auto compiled = CompiledFunction::compile(sharedContext(), target, attentionText());
    ASSERT_TRUE(compiled);
    // Of more than a segment where that is no simulated GPU's.
    bool isSimulated = llvm::is_contained(simulatedTargets(), target);
    std::mt19937_64 random(11);
    std::vector<Rows> parts;
    for (int64_t rows : {int64_t(5), int64_t(isSimulated ? 33 : 300), int64_t(1), int64_t(17)})
      parts.push_back({drawn("bf16", rows, kHeads * kKeyDim, 1, random),
                       drawn("bf16", rows, kKvHeads * kKeyDim, 1, random),
                       drawn("bf16", rows, kKvHeads * kValueDim, 1, random)});
    auto together = attend(*compiled, parts);
    ASSERT_EQ(together.size(), parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      auto alone = attend(*compiled, parts[i]);
      ASSERT_EQ(alone.size(), 1u);
      EXPECT_EQ(alone.front(), together[i]) << "sequence " << i << " alone";
    }
    std::vector<Rows> others(parts.rbegin(), parts.rend() - 1);
    auto turned = attend(*compiled, others);
    ASSERT_EQ(turned.size(), others.size());
    for (size_t i = 0; i < others.size(); ++i)
      EXPECT_EQ(turned[i], together[parts.size() - 1 - i]) << "sequence " << i << " of others";
  }
}

//===- A program ----------------------------------------------------------------------------===//

namespace {

constexpr int64_t kPatch = 27, kWidth = 40, kProgramHeads = 4, kProgramKvHeads = 2, kHead = 10;
constexpr int64_t kKvWidth = kProgramKvHeads * kHead;

/// A layer of an encoder over patches, beside a step of one norm.
std::string programText() {
  std::string row = activation(kWidth, "f32"), patch = activation(kPatch, "f32", "P"),
              wide = activation(kWidth, "f32", "P"), narrow = activation(kKvWidth, "f32", "P");
  auto weight = [](int64_t rows, int64_t columns) {
    return formatv("tensor<{0}x{1}xbf16>", rows, columns).str();
  };
  std::string step = formatv(R"(func.func @f(%x: {0}) -> {0} {{
      %y = llm.norm %x eps 1.0e-5 : {0} -> {0}
      return %y : {0}
    })",
                             row);
  std::string encode = formatv(
      R"(func.func @encode(%x: {0}, %s: tensor<?xi32, "P">, %o: tensor<?xi32, "Q + 1">, %e: {3},
                           %n: tensor<{6}xf32>, %q: {4}, %k: {5}, %v: {5}, %w: {4}) -> {1} {{
      %0 = llm.matmul %x, %e : {0}, {3} -> {1}
      %1 = llm.norm %0 weight(%n : tensor<{6}xf32>) eps 1.0e-5 : {1} -> {1}
      %2 = llm.matmul %1, %q : {1}, {4} -> {1}
      %3 = llm.matmul %1, %k : {1}, {5} -> {2}
      %4 = llm.matmul %1, %v : {1}, {5} -> {2}
      %5 = llm.encoder_attention %2, %3, %4 of %s, %o kv_heads {7} scale 0.3
        : {1}, {2}, {2}, tensor<?xi32, "P">, tensor<?xi32, "Q + 1"> -> {1}
      %6 = llm.matmul %5, %w : {1}, {4} -> {1}
      %7 = llm.pointwise %0, %6 : ({1}, {1}) -> {1} {{
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        llm.yield %c : f32
      }
      return %7 : {1}
    })",
      patch, wide, narrow, weight(kWidth, kPatch), weight(kWidth, kWidth), weight(kKvWidth, kWidth),
      kWidth, kProgramKvHeads);
  return step + "\n" + encode;
}

/// Rows of numbers.
using Matrix = std::vector<std::vector<double>>;

Matrix toMatrix(const HostTensor &tensor) {
  Matrix rows(size_t(tensor.rows), std::vector<double>(size_t(tensor.columns)));
  for (int64_t i = 0; i < tensor.size(); ++i)
    rows[size_t(i / tensor.columns)][size_t(i % tensor.columns)] = tensor.at(i);
  return rows;
}

/// x times the transpose of the weight.
Matrix product(const Matrix &x, const HostTensor &weight) {
  Matrix result(x.size(), std::vector<double>(size_t(weight.rows)));
  for (size_t row = 0; row < x.size(); ++row)
    for (int64_t n = 0; n < weight.rows; ++n)
      for (int64_t k = 0; k < weight.columns; ++k)
        result[row][size_t(n)] += x[row][size_t(k)] * weight.at(n, k);
  return result;
}

Matrix normed(Matrix x, const HostTensor &weight) {
  for (std::vector<double> &row : x) {
    double squares = 0;
    for (double value : row)
      squares += value * value;
    double root = std::sqrt(squares / double(row.size()) + double(1e-5f));
    for (size_t i = 0; i < row.size(); ++i)
      row[i] *= weight.at(int64_t(i)) / root;
  }
  return x;
}

Matrix attended(const Matrix &query, const Matrix &keys, const Matrix &values,
                const Sequences &sequences) {
  Matrix result(query.size(), std::vector<double>(size_t(kWidth)));
  auto scoreOf = [&](size_t row, size_t at, size_t head) {
    double score = 0;
    for (size_t i = 0; i < kHead; ++i)
      score += query[row][head * kHead + i] * keys[at][head / 2 * kHead + i];
    return score * double(0.3f);
  };
  for (size_t row = 0; row < query.size(); ++row)
    for (size_t head = 0; head < kProgramHeads; ++head) {
      auto sequence = size_t(sequences.ofRow[row]);
      auto begin = size_t(sequences.offsets[sequence]),
           end = size_t(sequences.offsets[sequence + 1]);
      double sum = 0, largest = -INFINITY;
      for (size_t at = begin; at < end; ++at)
        largest = std::max(largest, scoreOf(row, at, head));
      for (size_t at = begin; at < end; ++at) {
        double weight = std::exp(scoreOf(row, at, head) - largest);
        sum += weight;
        for (size_t i = 0; i < kHead; ++i)
          result[row][head * kHead + i] += weight * values[at][head / 2 * kHead + i];
      }
      for (size_t i = 0; i < kHead; ++i)
        result[row][head * kHead + i] /= sum;
    }
  return result;
}

/// What @encode makes of `arguments`.
Matrix encoded(const std::vector<HostValue> &arguments, const Sequences &sequences) {
  auto weight = [&](size_t i) -> const HostTensor & { return arguments[i].tensor; };
  Matrix embedded = product(toMatrix(arguments[0].tensor), weight(3));
  Matrix input = normed(embedded, weight(4));
  Matrix mixed = attended(product(input, weight(5)), product(input, weight(6)),
                          product(input, weight(7)), sequences);
  Matrix result = product(mixed, weight(8));
  for (size_t row = 0; row < result.size(); ++row)
    for (size_t i = 0; i < result[row].size(); ++i)
      result[row][i] += embedded[row][i];
  return result;
}

} // namespace

TEST(Encoder, AProgramOfItsOwnRowsStandsBesideAStep) {
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    auto compiled = CompiledFunction::compile(sharedContext(), target, programText());
    ASSERT_TRUE(compiled);
    std::mt19937_64 random(5);
    std::vector<HostValue> arguments(9);
    const std::pair<int64_t, int64_t> shapes[] = {{kWidth, kPatch},   {kWidth, 1},
                                                  {kWidth, kWidth},   {kKvWidth, kWidth},
                                                  {kKvWidth, kWidth}, {kWidth, kWidth}};
    for (size_t i = 0; i < std::size(shapes); ++i)
      arguments[3 + i].tensor =
          drawn(i == 1 ? "f32" : "bf16", shapes[i].first, shapes[i].second, 0.3, random);
    for (const std::vector<int64_t> &lengths :
         {std::vector<int64_t>{1}, {9, 1, 25}, {16, 16}, {2, 3, 1, 1, 41}}) {
      Sequences sequences(lengths);
      arguments[0].tensor = drawn("f32", sequences.rows(), kPatch, 1, random);
      arguments[1].tensor = integers(sequences.ofRow);
      arguments[2].tensor = integers(sequences.offsets);
      Dims dims;
      dims.P = sequences.rows();
      dims.Q = sequences.count();
      std::vector<HostValue> results = compiled->run(arguments, dims, /*place=*/1);
      ASSERT_EQ(results.size(), 1u);
      Matrix wanted = encoded(arguments, sequences);
      for (int64_t row = 0; row < sequences.rows(); ++row)
        for (int64_t i = 0; i < kWidth; ++i)
          ASSERT_NEAR(results.front().tensor.at(row, i), wanted[size_t(row)][size_t(i)], 1e-4)
              << "row " << row << " of " << sequences.rows() << ", column " << i;
    }
    // The step of the same engine.
    Dims dims;
    dims.T = 3;
    std::vector<HostValue> step(1);
    step[0].tensor = drawn("f32", dims.T, kWidth, 1, random);
    std::vector<HostValue> results = compiled->run(step, dims);
    ASSERT_EQ(results.size(), 1u);
    HostTensor ones(elementType("f32"), kWidth, 1);
    for (int64_t i = 0; i < kWidth; ++i)
      ones.set(i, 1);
    Matrix wanted = normed(toMatrix(step[0].tensor), ones);
    for (int64_t i = 0; i < results.front().tensor.size(); ++i)
      ASSERT_NEAR(results.front().tensor.at(i), wanted[size_t(i / kWidth)][size_t(i % kWidth)],
                  1e-5);
  }
}

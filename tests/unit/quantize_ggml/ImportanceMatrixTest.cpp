// SPDX-License-Identifier: Apache-2.0
// Importance matrices in both forms, and damaged ones.
#include "compiler/quantize/ggml/ImportanceMatrix.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"
#include "tests/unit/quantize_ggml/ImportanceFiles.h"

#include <limits>

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::quantize;
using namespace ingot::test;

TEST(ImportanceMatrix, ReadsTheGgufForm) {
  const TemporaryDirectory folder;
  const auto matrix = ImportanceMatrix::read(folder.write("a.gguf", ggufImportance()));
  ASSERT_TRUE(succeeds(matrix));
  EXPECT_EQ(matrix->datasets, std::vector<std::string>{"text.txt"});
  EXPECT_EQ(matrix->chunkCount, 5u);
  EXPECT_EQ(matrix->chunkSize, 512u);
  ASSERT_EQ(matrix->entries.size(), 2u);
  const auto means = matrix->means("a.weight", 1, 4);
  ASSERT_TRUE(succeeds(means));
  EXPECT_EQ(**means, (std::vector<float>{0.5f, 1, 1.5f, 2}));
  // The second expert was never asked.
  const auto experts = matrix->means("exps.weight", 2, 2);
  ASSERT_TRUE(succeeds(experts));
  EXPECT_EQ(**experts, (std::vector<float>{2, 4, 1, 1}));
}

TEST(ImportanceMatrix, ReadsTheOlderForm) {
  const TemporaryDirectory folder;
  const auto matrix = ImportanceMatrix::read(folder.write("a.dat", oldImportance()));
  ASSERT_TRUE(succeeds(matrix));
  EXPECT_EQ(matrix->chunkCount, 9u);
  EXPECT_EQ(matrix->datasets, std::vector<std::string>{"words.txt"});
  const auto means = matrix->means("a.weight", 1, 3);
  ASSERT_TRUE(succeeds(means));
  EXPECT_EQ(**means, (std::vector<float>{1, 2, 3}));
  // What follows the entries may be missing.
  const std::string whole = oldImportance();
  const std::string tail = oldInt(9) + oldInt(9) + "words.txt";
  const auto shorter =
      ImportanceMatrix::read(folder.write("b.dat", whole.substr(0, whole.size() - tail.size())));
  ASSERT_TRUE(succeeds(shorter));
  EXPECT_EQ(shorter->entries.size(), 2u);
}

TEST(ImportanceMatrix, WhatIsWrittenIsReadBack) {
  const TemporaryDirectory folder;
  ImportanceMatrix matrix;
  matrix.entries["b"] = {{1, 2, 3, 4, 5, 6}, {2, 0}};
  matrix.entries["a"] = {{0.25f}, {3}};
  matrix.datasets = {"x", "y"};
  matrix.chunkCount = 3;
  matrix.chunkSize = 256;
  ASSERT_TRUE(succeeds(matrix.write(folder.path() / "m.gguf")));
  const auto read = ImportanceMatrix::read(folder.path() / "m.gguf");
  ASSERT_TRUE(succeeds(read));
  EXPECT_EQ(read->datasets, matrix.datasets);
  EXPECT_EQ(read->chunkCount, 3u);
  EXPECT_EQ(read->chunkSize, 256u);
  ASSERT_EQ(read->entries.size(), 2u);
  EXPECT_EQ(read->entries.at("b").sums, matrix.entries["b"].sums);
  EXPECT_EQ(read->entries.at("b").counts, matrix.entries["b"].counts);
}

TEST(ImportanceMatrix, MeansMustFitTheTensor) {
  ImportanceMatrix matrix;
  matrix.entries["t"] = {{1, 2, 3, 4}, {1, 1}};
  EXPECT_TRUE(succeeds(matrix.means("t", 2, 2)));
  for (const auto &[matrices, columns] :
       std::vector<std::pair<uint64_t, uint64_t>>{{1, 4}, {2, 3}, {4, 2}, {1, 0}, {0, 4}})
    EXPECT_TRUE(failsWith(matrix.means("t", matrices, columns), "INGOT-E1133", {"\"t\""}));
  const auto absent = matrix.means("other", 1, 4);
  ASSERT_TRUE(succeeds(absent));
  EXPECT_FALSE(*absent);
}

/// Cut anywhere, the older form is refused or, where its tail begins, read.
TEST(ImportanceMatrix, CutOldFiles) {
  const TemporaryDirectory folder;
  const std::string whole = oldImportance();
  size_t readable = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto matrix = ImportanceMatrix::read(folder.write("cut", whole.substr(0, size)));
    readable += bool(matrix);
    if (!matrix)
      EXPECT_TRUE(failsWith(matrix, "INGOT-E1132"));
  }
  EXPECT_EQ(readable, 2u);
}

TEST(ImportanceMatrix, HostileOldFiles) {
  const TemporaryDirectory folder;
  const std::string one = oldEntry("t", 1, {1});
  const std::vector<std::string> damaged = {
      oldInt(0),
      oldInt(-1) + one,
      oldInt(0x7fffffff) + one,
      oldInt(1) + oldInt(-5) + "t",
      oldInt(1) + oldInt(0x7fffffff) + std::string(100, 't'),
      oldInt(1) + oldInt(1) + "t" + oldInt(1) + oldInt(-1),
      oldInt(1) + oldInt(1) + "t" + oldInt(1) + oldInt(0x40000000) + std::string(64, '\0'),
      oldInt(2) + one + one,
      oldInt(1) + one + oldInt(1) + oldInt(-2),
      oldInt(1) + one + oldInt(1) + oldInt(0) + "more",
  };
  for (size_t i = 0; i < damaged.size(); ++i)
    EXPECT_TRUE(failsWith(ImportanceMatrix::read(folder.write("x", damaged[i])), "INGOT-E1132"))
        << i;
  for (const float bad :
       {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    EXPECT_TRUE(
        failsWith(ImportanceMatrix::read(folder.write("x", oldInt(1) + oldEntry("t", 1, {bad}))),
                  "INGOT-E1130", {"\"t\""}));
}

TEST(ImportanceMatrix, HostileGgufFiles) {
  const TemporaryDirectory folder;
  auto reads = [&](const test::GgufWriter &file) {
    return ImportanceMatrix::read(folder.write("x.gguf", file.str()));
  };
  const std::string four(16, '\0');
  auto begun = [] { return test::GgufWriter().string("general.type", "imatrix"); };
  EXPECT_TRUE(failsWith(reads(begun()), "INGOT-E1132", {"no tensor"}));
  EXPECT_TRUE(failsWith(reads(test::GgufWriter().string("general.type", "model")), "INGOT-E1132",
                        {"general.type"}));
  EXPECT_TRUE(
      failsWith(reads(begun().tensor("t.in_sum2", 0, {4}, four)), "INGOT-E1132", {"0 counts"}));
  EXPECT_TRUE(
      failsWith(reads(begun().tensor("t.counts", 0, {4}, four)), "INGOT-E1132", {"0 sums"}));
  EXPECT_TRUE(failsWith(
      reads(
          begun().tensor("t.in_sum2", 0, {4}, four).tensor("t.counts", 0, {3}, four.substr(0, 12))),
      "INGOT-E1132", {"4 sums and 3 counts"}));
  EXPECT_TRUE(
      failsWith(reads(begun().tensor("t.in_sum2", 1, {8}, four)), "INGOT-E1132", {"not F32"}));
  EXPECT_TRUE(failsWith(reads(begun()
                                  .tensor("t.in_sum2", 0, {1}, floatBytes({-1}))
                                  .tensor("t.counts", 0, {1}, floatBytes({1}))),
                        "INGOT-E1130"));
  EXPECT_TRUE(failsWith(reads(begun().string("imatrix.chunk_count", "x")), "INGOT-E1004"));
  EXPECT_TRUE(failsWith(reads(begun().numbers("imatrix.datasets", std::vector<int32_t>{1})),
                        "INGOT-E1004"));
  EXPECT_TRUE(failsWith(ImportanceMatrix::read(folder.write("y", "GGUF")), "INGOT-E1102"));
  EXPECT_TRUE(failsWith(ImportanceMatrix::read(folder.path() / "absent"), "INGOT-E7001"));
}

// SPDX-License-Identifier: Apache-2.0
// The cost model of products: what it must tell apart, and how far it is from what others measured.
#include "codegen/cuda/MatmulCost.h"
#include "tests/bench/published/PublishedKernels.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace ingot;
using namespace ingot::codegen;

namespace {

const CudaPart &h200() { return findCudaArchitecture("sm_90a")->typicalPart(); }

/// A product of 4-bit weights, as MatmulTensor forms it for few tokens.
MatmulWork fewTokens() {
  return {.rows = 27648,
          .k = 5120,
          .tokens = 16,
          .weightBits = 4.125,
          .inputBits = 16,
          .type = ProductType::Halves,
          .family = MmaFamily::MmaSync,
          .tileRows = 128,
          .tileTokens = 16,
          .depth = 128,
          .stages = 6,
          .warps = 8,
          .residents = 2,
          .instructions = 8 * 190,
          .sharedBytes = 8 * 5000};
}

/// A prompt in 16 bits by wgmma.
MatmulWork prompt() {
  return {.rows = 8192,
          .k = 8192,
          .tokens = 8192,
          .weightBits = 16,
          .inputBits = 16,
          .type = ProductType::Halves,
          .family = MmaFamily::WgmmaShared,
          .tileRows = 256,
          .tileTokens = 128,
          .depth = 64,
          .stages = 4,
          .persistent = true,
          .multicast = 2};
}

/// That more of anything never takes less.
template <class Change> void expectMonotone(MatmulWork work, Change change) {
  double before = 0;
  for (int64_t step = 1; step <= 64; ++step) {
    MatmulWork more = work;
    change(more, step);
    double seconds = matmulSeconds(h200(), more);
    EXPECT_GE(seconds, before * (1 - 1e-12)) << "step " << step;
    before = seconds;
  }
}

TEST(MatmulCost, ratesOfPartsAreThoseReached) {
  for (const CudaArchitecture &architecture : cudaArchitectures())
    for (const CudaPart &part : architecture.parts)
      for (ProductType type : {ProductType::Halves, ProductType::Float8, ProductType::Integers})
        for (MmaFamily family :
             {MmaFamily::MmaSync, MmaFamily::WgmmaRegisters, MmaFamily::WgmmaShared}) {
          EXPECT_GT(part.rate(type, family), 0) << part.name.str();
          EXPECT_LE(part.rate(type, family), part.peak(type)) << part.name.str();
        }
  EXPECT_EQ(h200().rate(ProductType::Float8, MmaFamily::WgmmaShared), 1580e12);
  EXPECT_EQ(h200().rate(ProductType::Halves, MmaFamily::WgmmaRegisters), 790e12);
  EXPECT_LT(h200().rate(ProductType::Halves, MmaFamily::MmaSync), 790e12);
}

TEST(MatmulCost, moreWorkTakesNoLess) {
  for (const MatmulWork &work : {fewTokens(), prompt()}) {
    expectMonotone(work, [](MatmulWork &more, int64_t step) { more.tokens = 64 * step; });
    expectMonotone(work, [](MatmulWork &more, int64_t step) { more.rows = 640 * step; });
    expectMonotone(work, [](MatmulWork &more, int64_t step) { more.k = 512 * step; });
    expectMonotone(work,
                   [](MatmulWork &more, int64_t step) { more.instructions = 100 * double(step); });
    expectMonotone(work,
                   [](MatmulWork &more, int64_t step) { more.sharedBytes = 2000 * double(step); });
    // Bits that the instructions multiply as they are need no conversion.
    expectMonotone(work, [](MatmulWork &more, int64_t step) { more.weightBits = step / 5.0; });
  }
}

TEST(MatmulCost, secondsAreOfTheFastestPossibleOrder) {
  MatmulWork work = prompt();
  double least = 2.0 * 8192 * 8192 * 8192 / h200().rate(work.type, work.family);
  EXPECT_GT(matmulSeconds(h200(), work), least);
  EXPECT_LT(matmulSeconds(h200(), work), 1.15 * least);
  work = fewTokens();
  double bytes = double(work.rows * work.k) * work.weightBits / 8;
  EXPECT_GT(matmulSeconds(h200(), work), bytes / (h200().copiedPerSecond * 1e9));
}

TEST(MatmulCost, aTileMoreThanAWaveTakesAnotherOne) {
  MatmulWork work = prompt();
  work.tokens = 128;
  work.rows = h200().multiprocessors * work.tileRows;
  double full = matmulSeconds(h200(), work);
  work.rows -= work.tileRows;
  EXPECT_GT(matmulSeconds(h200(), work), 0.97 * full);
  work.rows += 2 * work.tileRows;
  EXPECT_GT(matmulSeconds(h200(), work), 1.3 * full);
  // Work that is cut evenly has no waves.
  work.streams = true;
  EXPECT_LT(matmulSeconds(h200(), work), 1.1 * full);
}

TEST(MatmulCost, fewBlocksCannotAskForAllBandwidth) {
  MatmulWork work = fewTokens();
  work.instructions = work.sharedBytes = 0;
  work.stages = 2;
  work.residents = 1;
  work.rows = 8 * work.tileRows;
  double narrow = matmulSeconds(h200(), work);
  work.rows *= 8;
  EXPECT_LT(matmulSeconds(h200(), work), 1.2 * narrow); // 64 blocks beside 8
}

TEST(MatmulCost, convertingBoundByIssueIsSlower) {
  MatmulWork work = fewTokens();
  double real = matmulSeconds(h200(), work);
  work.instructions *= 3;
  double bound = matmulSeconds(h200(), work);
  // Now issue decides, and each instruction counts.
  work.instructions *= 2;
  EXPECT_GT(matmulSeconds(h200(), work), 1.5 * bound);
  EXPECT_GT(bound, 1.3 * real);
  // Where wgmma takes weights from registers, nothing else of the same work shows as much.
  MatmulWork registers = fewTokens();
  registers.family = MmaFamily::WgmmaRegisters;
  EXPECT_LT(matmulSeconds(h200(), registers), real);
}

TEST(MatmulCost, saysWhatDecides) {
  EXPECT_EQ(matmulBound(h200(), prompt()), "multiply");
  MatmulWork work = fewTokens();
  work.instructions = 0;
  EXPECT_EQ(matmulBound(h200(), work), "memory");
  work.instructions = 8 * 1000;
  EXPECT_EQ(matmulBound(h200(), work), "issue");
  work.sharedBytes *= 30;
  EXPECT_EQ(matmulBound(h200(), work), "shared");
  work.tileTokens = 2048;
  work.sharedBytes = 0;
  work.type = ProductType::Integers;
  work.weightBits = 8;
  work.inputBits = 64;
  work.tokens = 4096;
  EXPECT_EQ(matmulBound(h200(), work), "cache");
}

TEST(MatmulCost, sharesPayForTheirSums) {
  MatmulWork work = fewTokens();
  work.rows = 5120;
  work.k = 27648;
  work.segments = 6;
  double alone = matmulSeconds(h200(), work);
  work.shares = 3;
  EXPECT_LT(matmulSeconds(h200(), work), alone); // 120 of 132 multiprocessors for 40
  MatmulWork more = work;
  more.segments = 54;
  EXPECT_GT(matmulSeconds(h200(), more), matmulSeconds(h200(), work));
}

TEST(MatmulCost, instructionsBeforeAKernelIsCompiledAreNearThoseCounted) {
  // docs/cuda-kernels-tried.md: bf16 and int4 for 8 and 64 tokens.
  auto count = [](int64_t rows, int64_t blocks, double bits, int64_t depth) {
    return instructionsOf({rows, blocks, bits, 16, depth, ProductType::Halves, MmaFamily::MmaSync});
  };
  EXPECT_NEAR(count(1, 1, 16, 64), 65, 10);
  EXPECT_NEAR(count(2, 4, 16, 64), 102, 15);
  EXPECT_NEAR(count(1, 1, 4, 128), 168, 20);
  EXPECT_NEAR(count(2, 4, 4, 128), 365, 35);
}

std::string textOf(const std::string &path) {
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(MatmulCost, isAsNearToPublishedTimingsAsPredictionsSay) {
  auto kernels = bench::readPublished(textOf("tests/bench/published/published.json"));
  EXPECT_GE(kernels.size(), 12u);
  size_t fitted = 0;
  for (const bench::PublishedKernel &kernel : kernels) {
    EXPECT_NEAR(kernel.ratio(), 1, kPredictedError) << kernel.row.dump();
    fitted += kernel.isFitted() ? 1 : 0;
  }
  EXPECT_LE(2 * fitted, kernels.size() + 1);
  EXPECT_EQ(bench::comparisonTable(kernels), textOf("docs/results/published-kernels.json"));
  EXPECT_EQ(bench::errorTable(kernels), textOf("docs/results/published-errors.json"));
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// llm.sample against a sampler written from its description with sorts and double precision.
#include "codegen/native/kernels/Philox.h"
#include "tests/conformance/Cases.h"
#include "tests/conformance/Targets.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr int64_t kSlots = 4;
constexpr int64_t kBiasColumns = INGOT_MAX_BIAS;
constexpr int64_t kTopColumns = INGOT_MAX_LOGPROBS;

/// One row of a sampling step.
struct Row {
  std::vector<float> logits;
  IngotSampleParams params = {0, 0, 1, 0, 1, 1, 0, 0, 0, 0, -1, 0, 0, -1};
  std::vector<int32_t> biasIds;
  std::vector<float> biasValues;
  std::vector<bool> allowed;
};

struct Drawn {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  std::vector<int32_t> topTokens;
  std::vector<float> topLogprobs;
};

/// The operation compiled for one vocabulary, with its counts.
class Sampler {
public:
  Sampler(const std::string &target, int64_t vocabulary, CudaCode code = CudaCode::Ptx)
      : vocabulary(vocabulary) {
    std::string words = std::to_string((vocabulary + 31) / 32);
    std::string text = llvm::formatv(
        R"(func.func @f(%l: tensor<?x{0}xf32, "L">, %p: tensor<?x16xi32, "L">,
             %bi: tensor<?x{2}xi32, "L">, %bv: tensor<?x{2}xf32, "L">,
             %m: tensor<?x{1}xi32, "L">, %c: !llm.state<tensor<{0}xi32>>)
           -> (tensor<?xi32, "L">, tensor<?xf32, "L">, tensor<?x{3}xi32, "L">,
               tensor<?x{3}xf32, "L">) {{
         %t, %lp, %tt, %tl = llm.sample %l, %p, %bi, %bv, %m, %c
           : (tensor<?x{0}xf32, "L">, tensor<?x16xi32, "L">, tensor<?x{2}xi32, "L">,
              tensor<?x{2}xf32, "L">, tensor<?x{1}xi32, "L">, !llm.state<tensor<{0}xi32>>)
           -> (tensor<?xi32, "L">, tensor<?xf32, "L">, tensor<?x{3}xi32, "L">,
               tensor<?x{3}xf32, "L">)
         return %t, %lp, %tt, %tl : tensor<?xi32, "L">, tensor<?xf32, "L">,
             tensor<?x{3}xi32, "L">, tensor<?x{3}xf32, "L">
       })",
        vocabulary, words, kBiasColumns, kTopColumns);
    compiled = CompiledFunction::compile(sharedContext(), target, text, {}, code);
    counts.assign(kSlots * vocabulary, 0);
  }

  /// Draws a token for each row, a step of at most kRows at a time.
  Drawn draw(const std::vector<Row> &rows);

  int64_t vocabulary;
  std::vector<uint32_t> counts; ///< of all slots, updated by draws
  std::unique_ptr<CompiledFunction> compiled;

private:
  static constexpr size_t kRows = 256;
  void drawStep(llvm::ArrayRef<Row> rows, Drawn &drawn);
};

Drawn Sampler::draw(const std::vector<Row> &rows) {
  Drawn drawn;
  for (size_t first = 0; first < rows.size(); first += kRows)
    drawStep(llvm::ArrayRef(rows).slice(first, std::min(kRows, rows.size() - first)), drawn);
  return drawn;
}

void Sampler::drawStep(llvm::ArrayRef<Row> rows, Drawn &drawn) {
  Dims dims;
  dims.L = static_cast<int64_t>(rows.size());
  auto i32 = elementType("i32"), f32 = elementType("f32");
  int64_t words = (vocabulary + 31) / 32;
  std::vector<HostValue> arguments(6);
  arguments[0].tensor = HostTensor(f32, dims.L, vocabulary);
  arguments[1].tensor = HostTensor(i32, dims.L, 16);
  arguments[2].tensor = HostTensor(i32, dims.L, kBiasColumns);
  arguments[3].tensor = HostTensor(f32, dims.L, kBiasColumns);
  arguments[4].tensor = HostTensor(i32, dims.L, words);
  for (int64_t r = 0; r < dims.L; ++r) {
    const Row &row = rows[r];
    for (int64_t i = 0; i < vocabulary; ++i)
      arguments[0].tensor.codes[r * vocabulary + i] = llvm::bit_cast<uint32_t>(row.logits[i]);
    static_assert(sizeof(IngotSampleParams) == 64);
    std::memcpy(&arguments[1].tensor.codes[r * 16], &row.params, sizeof(row.params));
    for (size_t i = 0; i < row.biasIds.size(); ++i) {
      arguments[2].tensor.codes[r * kBiasColumns + i] = row.biasIds[i];
      arguments[3].tensor.set(r * kBiasColumns + i, row.biasValues[i]);
    }
    for (size_t i = 0; i < row.allowed.size(); ++i)
      arguments[4].tensor.codes[r * words + i / 32] |= uint32_t(row.allowed[i]) << (i % 32);
  }
  auto *bytes = reinterpret_cast<uint8_t *>(counts.data());
  arguments[5].memory.assign(bytes, bytes + counts.size() * 4);
  std::vector<HostValue> results = compiled->run(arguments, dims);
  std::memcpy(counts.data(), arguments[5].memory.data(), counts.size() * 4);
  for (int64_t i = 0; i < dims.L; ++i) {
    drawn.tokens.push_back(int32_t(results[0].tensor.at(i)));
    drawn.logprobs.push_back(float(results[1].tensor.at(i)));
  }
  for (int64_t i = 0; i < dims.L * kTopColumns; ++i) {
    drawn.topTokens.push_back(int32_t(results[2].tensor.at(i)));
    drawn.topLogprobs.push_back(float(results[3].tensor.at(i)));
  }
}

/// A token that may be drawn, with its probability among all that may.
struct Candidate {
  int32_t id;
  double probability;
};

void normalize(std::vector<Candidate> &candidates) {
  double sum = 0;
  for (const Candidate &candidate : candidates)
    sum += candidate.probability;
  for (Candidate &candidate : candidates)
    candidate.probability /= sum;
}

/// Keeps the shortest prefix of at least one that reaches `limit`, and normalises.
void keepPrefix(std::vector<Candidate> &candidates, double limit) {
  double sum = 0;
  size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || sum < limit))
    sum += candidates[kept++].probability;
  candidates.resize(kept);
  normalize(candidates);
}

/// `value` as f32 holds it, without becoming infinite.
float saturated(double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return float(std::clamp(value, -kLargest, kLargest));
}

std::vector<float> modified(const Row &row, const uint32_t *counts) {
  std::vector<float> x = row.logits;
  for (int32_t i = 0; i < row.params.biasCount; ++i)
    x[row.biasIds[i]] = saturated(double(x[row.biasIds[i]]) + row.biasValues[i]);
  for (size_t i = 0; i < x.size(); ++i) {
    if (row.params.useMask && !row.allowed[i])
      x[i] = -INFINITY;
    if (!counts || counts[i] == 0)
      continue;
    float logit = x[i];
    x[i] = x[i] > 0 ? x[i] / row.params.repetitionPenalty : x[i] * row.params.repetitionPenalty;
    uint32_t generated = counts[i] & ~INGOT_COUNT_IN_PROMPT;
    if (generated)
      x[i] = (x[i] - row.params.presencePenalty) - row.params.frequencyPenalty * float(generated);
    x[i] = std::isfinite(logit) ? saturated(x[i]) : x[i];
  }
  return x;
}

/// What may be drawn, most probable first.
std::vector<Candidate> candidatesOf(const Row &row, const std::vector<float> &x) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] > -INFINITY)
      candidates.push_back({int32_t(i), double(x[i] / row.params.temperature)});
  auto byProbability = [](const Candidate &a, const Candidate &b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  };
  std::sort(candidates.begin(), candidates.end(), byProbability);
  if (row.params.topK > 0 && size_t(row.params.topK) < candidates.size())
    candidates.resize(row.params.topK);
  double largest = candidates.front().probability;
  for (Candidate &candidate : candidates)
    candidate.probability = std::exp(candidate.probability - largest);
  normalize(candidates);
  if (row.params.typicalP < 1) {
    double entropy = 0;
    for (const Candidate &candidate : candidates)
      entropy -= candidate.probability * std::log(candidate.probability);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](const Candidate &a, const Candidate &b) {
                       return std::abs(-std::log(a.probability) - entropy) <
                              std::abs(-std::log(b.probability) - entropy);
                     });
    keepPrefix(candidates, row.params.typicalP);
    std::sort(candidates.begin(), candidates.end(), byProbability);
  }
  if (row.params.topP < 1)
    keepPrefix(candidates, row.params.topP);
  double least = candidates.front().probability * row.params.minP;
  std::erase_if(candidates, [&](const Candidate &c) { return c.probability < least; });
  normalize(candidates);
  return candidates;
}

int32_t expectedToken(const Row &row, const uint32_t *counts) {
  std::vector<float> x = modified(row, counts);
  if (row.params.temperature == 0)
    return int32_t(std::max_element(x.begin(), x.end()) - x.begin());
  std::vector<Candidate> candidates = candidatesOf(row, x);
  double random = uniform(row.params.seed, row.params.step), sum = 0;
  for (const Candidate &candidate : candidates) {
    sum += candidate.probability;
    if (sum > random)
      return candidate.id;
  }
  return candidates.back().id;
}

Row randomRow(int64_t vocabulary, std::mt19937_64 &random) {
  Row row;
  std::normal_distribution<float> normal(0, 3);
  for (int64_t i = 0; i < vocabulary; ++i)
    row.logits.push_back(normal(random));
  row.params.seed = random();
  row.params.step = random() % 1000;
  return row;
}

/// Rows with each filter and many of their combinations.
std::vector<Row> filteredRows(int64_t vocabulary, int count) {
  std::mt19937_64 random(5);
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    Row row = randomRow(vocabulary, random);
    row.params.temperature = i % 7 == 0 ? 0.0f : 0.3f + 0.2f * float(i % 5);
    row.params.topK = i % 3 == 0 ? int32_t(1 + i % 40) : 0;
    row.params.topP = i % 4 == 1 ? 0.1f + 0.08f * float(i % 11) : 1.0f;
    row.params.minP = i % 5 == 2 ? 0.02f * float(i % 9) : 0.0f;
    row.params.typicalP = i % 6 == 3 ? 0.2f + 0.1f * float(i % 8) : 1.0f;
    if (i % 8 == 4) {
      row.params.useMask = 1;
      for (int64_t token = 0; token < vocabulary; ++token)
        row.allowed.push_back(random() % 3 == 0);
    }
    if (i % 5 == 1) {
      row.params.biasCount = 3;
      row.biasIds = {3, 900, 1236};
      row.biasValues = {4.0f, -5.0f, 11.0f};
    }
    rows.push_back(row);
  }
  return rows;
}

/// Rows so long that several blocks share one, with penalties, biases and logprobs.
std::vector<Row> longRows(int64_t vocabulary, int count) {
  std::mt19937_64 random(19);
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    Row row = randomRow(vocabulary, random);
    row.params.temperature = i % 2 ? 0.7f : 0.0f;
    row.params.topK = i % 4 == 3 ? 20 : 0;
    row.params.topP = i % 4 == 1 ? 0.8f : 1.0f;
    row.params.minP = i % 5 == 4 ? 0.05f : 0.0f;
    row.params.logprobs = i % 3 == 0 ? INGOT_MAX_LOGPROBS : -1;
    row.params.repetitionPenalty = 1.2f;
    row.params.countsSlot = i % 3 == 1 ? i % int(kSlots) : -1;
    row.params.biasCount = 4;
    row.biasIds = {5, int32_t(vocabulary) - 1, 5, 9000};
    row.biasValues = {3.0f, 9.0f, 4.0f, 12.0f};
    if (i == 8) {
      // Some parts of the row are excluded altogether.
      row.params.useMask = 1;
      row.allowed.assign(vocabulary, false);
      for (int64_t token = 300; token < 380; ++token)
        row.allowed[token] = true;
    }
    rows.push_back(row);
  }
  return rows;
}

void fillCounts(std::vector<uint32_t> &counts) {
  for (size_t i = 0; i < counts.size(); i += 7)
    counts[i] = i % 2 ? INGOT_COUNT_IN_PROMPT : 2;
}

/// The targets whose sampler is checked: the reference, a simulated GPU, this machine.
std::vector<std::string> samplerTargets() {
  std::vector<std::string> targets = {"reference", "sm_90a"};
  if (!fastTargets().empty())
    targets.push_back(fastTargets().front());
  return targets;
}

class Sampling : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (size_t(GetParam()) >= samplerTargets().size())
      GTEST_SKIP() << "this machine runs no target but the reference";
    target = samplerTargets()[GetParam()];
  }
  bool isSimulated() const { return target.starts_with("sm_"); }
  std::string target;
};

INSTANTIATE_TEST_SUITE_P(Targets, Sampling, testing::Values(0, 1, 2));

} // namespace

void conformance::drawSamples(const std::string &target, const SimulatedMode &mode,
                              const std::function<void(const ObservedLaunch &)> &seen) {
  constexpr int64_t kShort = 1237, kLong = 16384;
  for (auto [vocabulary, rows] :
       {std::pair(kShort, filteredRows(kShort, 16)), {kLong, longRows(kLong, 4)}}) {
    Sampler sampler(target, vocabulary, CudaCode::PtxAndBinary);
    sampler.compiled->simulateIn(mode);
    sampler.compiled->observe(seen);
    fillCounts(sampler.counts);
    // Short numbers, which compress.
    for (Row &row : rows)
      for (float &logit : row.logits)
        logit = std::round(logit * 64) / 64;
    sampler.draw(rows);
  }
}

TEST(Philox, KnownAnswers) {
  // From the authors' known-answer file.
  PhiloxBlock zeros = philox(0, 0, 0);
  EXPECT_EQ(zeros.words[0], 0x6627e8d5u);
  EXPECT_EQ(zeros.words[1], 0xe169c58du);
  EXPECT_EQ(zeros.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zeros.words[3], 0x9b00dbd8u);
  PhiloxBlock ones = philox(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones.words[0], 0x408f276du);
  EXPECT_EQ(ones.words[1], 0x41c83b0eu);
  EXPECT_EQ(ones.words[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.words[3], 0x6d5451fdu);
}

TEST_P(Sampling, GreedyTakesTheLowestOfEquals) {
  Sampler sampler(target, 1237);
  Row row;
  row.logits.assign(1237, -1.0f);
  row.logits[700] = row.logits[41] = row.logits[1236] = 2.5f;
  Row zeros;
  zeros.logits.assign(1237, -0.0f);
  zeros.logits[5] = 0.0f;
  EXPECT_EQ(sampler.draw({row, zeros}).tokens, (std::vector<int32_t>{41, 0}));
}

TEST_P(Sampling, EveryFilterDrawsWhatItsDescriptionSays) {
  constexpr int64_t kVocabulary = 1237;
  Sampler sampler(target, kVocabulary);
  std::vector<Row> rows = filteredRows(kVocabulary, isSimulated() ? 85 : 300);
  std::vector<int32_t> tokens = sampler.draw(rows).tokens;
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(tokens[i], expectedToken(rows[i], nullptr)) << "row " << i;
}

TEST_P(Sampling, PenaltiesReadAndAdvanceTheCounts) {
  constexpr int64_t kVocabulary = 97;
  Sampler sampler(target, kVocabulary);
  std::mt19937_64 random(9);
  for (int64_t i = 0; i < kVocabulary; i += 3)
    sampler.counts[2 * kVocabulary + i] = INGOT_COUNT_IN_PROMPT;
  for (uint64_t step = 0; step < (isSimulated() ? 20 : 60); ++step) {
    Row row = randomRow(kVocabulary, random);
    row.params.temperature = step % 2 ? 0.8f : 0.0f;
    row.params.repetitionPenalty = 1.3f;
    row.params.presencePenalty = 0.5f;
    row.params.frequencyPenalty = 0.25f;
    row.params.countsSlot = 2;
    std::vector<uint32_t> before = sampler.counts;
    int32_t expected = expectedToken(row, &before[2 * kVocabulary]);
    EXPECT_EQ(sampler.draw({row}).tokens[0], expected);
    ++before[2 * kVocabulary + expected];
    EXPECT_EQ(sampler.counts, before);
  }
}

TEST_P(Sampling, LogprobsAreOfTheUnmodifiedLogits) {
  constexpr int64_t kVocabulary = 257;
  Sampler sampler(target, kVocabulary);
  std::mt19937_64 random(11);
  for (int32_t wanted : {-1, 0, 1, 5, INGOT_MAX_LOGPROBS}) {
    Row row = randomRow(kVocabulary, random);
    row.logits[10] = row.logits[200]; // a tie goes to the lower id
    row.params.temperature = 2;
    row.params.topK = 3;
    row.params.logprobs = wanted;
    Drawn drawn = sampler.draw({row});
    double sum = 0;
    for (float logit : row.logits)
      sum += std::exp(double(logit));
    auto logprob = [&](int32_t id) { return double(row.logits[id]) - std::log(sum); };
    EXPECT_NEAR(drawn.logprobs[0], wanted < 0 ? 0 : logprob(drawn.tokens[0]), 2e-6);
    std::vector<int32_t> order(kVocabulary);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return row.logits[a] > row.logits[b]; });
    for (int32_t i = 0; i < kTopColumns; ++i) {
      EXPECT_EQ(drawn.topTokens[i], i < wanted ? order[i] : -1);
      EXPECT_NEAR(drawn.topLogprobs[i], i < wanted ? logprob(order[i]) : 0, 2e-6);
    }
  }
}

TEST_P(Sampling, FrequenciesFollowTheProbabilities) {
  constexpr int64_t kVocabulary = 33;
  const int64_t kDraws = isSimulated() ? 1000 : 20000;
  Sampler sampler(target, kVocabulary);
  std::mt19937_64 random(13);
  Row row = randomRow(kVocabulary, random);
  row.params.temperature = 1.5f;
  row.params.topP = 0.95f;
  std::vector<Row> rows;
  for (int64_t i = 0; i < kDraws; ++i) {
    rows.push_back(row);
    rows.back().params.seed = 77;
    rows.back().params.step = uint64_t(i);
  }
  std::vector<double> seen(kVocabulary);
  for (int32_t token : sampler.draw(rows).tokens)
    ++seen[token];
  // Chi-squared over the tokens that may be drawn; 3 degrees of freedom spare per token.
  std::vector<Candidate> candidates = candidatesOf(row, row.logits);
  double statistic = 0, total = 0;
  for (const Candidate &candidate : candidates) {
    double expected = candidate.probability * kDraws;
    statistic += (seen[candidate.id] - expected) * (seen[candidate.id] - expected) / expected;
    total += seen[candidate.id];
  }
  EXPECT_EQ(total, double(kDraws)) << "a filtered token was drawn";
  EXPECT_LT(statistic, 3.0 * double(candidates.size()) + 10);
}

TEST_P(Sampling, LargeVocabulariesAndOddLogits) {
  // Several parts of a row on every target; odd, so that rows are not aligned.
  const int64_t kVocabulary = isSimulated() ? 20011 : 262144;
  Sampler sampler(target, kVocabulary);
  std::mt19937_64 random(17);
  std::vector<Row> rows;
  for (int i = 0; i < 8; ++i) {
    rows.push_back(randomRow(kVocabulary, random));
    rows.back().params.temperature = 1;
  }
  rows[1].params.topK = 100;
  rows[1].params.typicalP = 0.9f;
  rows[2].params.topP = 0.9f;
  // All equal: the draw is the place itself.
  rows[3].logits.assign(kVocabulary, 1.0f);
  // More than a list, than a run, and all from one part of the row.
  rows[4].params.topK = 700;
  rows[5].params.topK = 3000;
  rows[6].params.topK = 200;
  for (int64_t i = 0; i < kVocabulary; ++i)
    rows[6].logits[i] += i / 128 % ((kVocabulary + 4095) / 4096) == 1 ? 40.0f : 0.0f;
  rows[7].params.typicalP = 0.5f;
  size_t known = rows.size();
  Row excluded = rows[0];
  excluded.params.useMask = 1;
  excluded.allowed.assign(kVocabulary, false);
  Row infinite = rows[0];
  infinite.logits[99] = INFINITY;
  Row overflowing = rows[0];
  overflowing.params.temperature = 1e-38f;
  Row nan = rows[1];
  nan.logits[3] = NAN;
  rows.insert(rows.end(), {excluded, infinite, overflowing, nan});
  Drawn drawn = sampler.draw(rows);
  for (size_t i = 0; i < known; ++i)
    EXPECT_EQ(drawn.tokens[i], expectedToken(rows[i], nullptr)) << "row " << i;
  EXPECT_EQ(drawn.tokens[known], -1);
  EXPECT_EQ(drawn.tokens[known + 1], 99);
  // Quotients are infinite: the likeliest token, as smaller temperatures come to.
  overflowing.params.temperature = 0;
  EXPECT_EQ(drawn.tokens[known + 2], expectedToken(overflowing, nullptr));
  nan.logits[3] = -INFINITY;
  EXPECT_EQ(drawn.tokens[known + 3], expectedToken(nan, nullptr));
}

TEST_P(Sampling, AMaskMayBeOfTheLogprobsToo) {
  constexpr int64_t kVocabulary = 9001;
  Sampler sampler(target, kVocabulary);
  std::mt19937_64 random(31);
  for (size_t some : {1, 2, 7, 3000}) {
    Row row = randomRow(kVocabulary, random);
    row.params.temperature = some % 2 ? 0.9f : 0.0f;
    row.params.logprobs = 5;
    row.params.useMask = 2;
    row.params.biasCount = 1;
    row.biasIds = {17};
    row.biasValues = {2.0f};
    row.allowed.assign(kVocabulary, false);
    std::vector<int32_t> order;
    for (size_t i = 0; i < some; ++i) {
      const auto id = int32_t((i * 2999 + 17) % kVocabulary);
      row.allowed[size_t(id)] = true;
      order.push_back(id);
    }
    double sum = 0;
    for (int32_t id : order)
      sum += std::exp(double(row.logits[id]));
    std::ranges::sort(order, [&](int32_t a, int32_t b) {
      return std::pair(-row.logits[a], a) < std::pair(-row.logits[b], b);
    });
    Drawn drawn = sampler.draw({row});
    auto logprob = [&](int32_t id) { return double(row.logits[id]) - std::log(sum); };
    ASSERT_TRUE(drawn.tokens[0] >= 0 && row.allowed[size_t(drawn.tokens[0])]);
    EXPECT_NEAR(drawn.logprobs[0], logprob(drawn.tokens[0]), 2e-6);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(drawn.topTokens[i], i < some ? order[i] : -1) << some << ", " << i;
      EXPECT_NEAR(drawn.topLogprobs[i], i < some ? logprob(order[i]) : 0, 2e-6);
    }
  }
}

TEST_P(Sampling, RowsWithoutUsableLogitsDrawNothing) {
  constexpr int64_t kVocabulary = 1237;
  Sampler sampler(target, kVocabulary);
  std::mt19937_64 random(23);
  std::vector<Row> rows;
  for (float unusable : {NAN, -INFINITY})
    for (float temperature : {0.0f, 0.8f})
      for (int32_t topK : {0, 20}) {
        rows.push_back(randomRow(kVocabulary, random)); // a neighbour that is well
        rows.back().params.countsSlot = 1;
        rows.push_back(rows.back());
        Row &row = rows.back();
        row.logits.assign(kVocabulary, unusable);
        row.params.temperature = temperature;
        row.params.topK = topK;
        row.params.logprobs = 3;
        row.params.countsSlot = 2;
      }
  for (size_t i = 0; i < rows.size(); i += 2) {
    std::vector<uint32_t> before = sampler.counts;
    Drawn drawn = sampler.draw({rows[i], rows[i + 1]});
    int32_t expected = expectedToken(rows[i], &before[kVocabulary]);
    EXPECT_EQ(drawn.tokens, (std::vector<int32_t>{expected, -1})) << "rows " << i;
    EXPECT_EQ(drawn.logprobs[1], 0);
    ++before[kVocabulary + expected];
    EXPECT_EQ(sampler.counts, before);
  }
}

TEST_P(Sampling, ParametersLargerThanF32HoldsKeepTheOrder) {
  constexpr int64_t kVocabulary = 1237;
  Sampler sampler(target, kVocabulary);
  std::mt19937_64 random(29);
  std::vector<Row> rows;
  for (float temperature : {0.0f, 1e-40f, 4e-38f, 0.01f, 1.0f}) {
    // What is beyond f32 is its largest number; between two of them the order still counts.
    Row biased = randomRow(kVocabulary, random);
    biased.params.temperature = temperature;
    biased.params.biasCount = 4;
    biased.biasIds = {900, 5, 900, 7};
    biased.biasValues = {3e38f, 1e38f, 3e38f, -3.4e38f};
    // Below all others, and yet the only ones that may be drawn.
    Row least = randomRow(kVocabulary, random);
    least.params = biased.params;
    least.params.useMask = 1;
    least.biasIds = {4, 7, 4, 8};
    least.biasValues = {-2e38f, -1e38f, -2e38f, -3e38f};
    least.allowed.assign(kVocabulary, false);
    least.allowed[4] = least.allowed[7] = least.allowed[8] = true;
    Row penalised = randomRow(kVocabulary, random);
    penalised.params.temperature = temperature;
    penalised.params.repetitionPenalty = 0.01f;
    penalised.params.countsSlot = 0;
    penalised.params.biasCount = 1;
    penalised.biasIds = {900};
    penalised.biasValues = {3.4e38f};
    rows.insert(rows.end(), {biased, least, penalised});
  }
  for (const Row &row : rows) {
    std::fill_n(sampler.counts.begin(), kVocabulary, 2);
    std::vector<uint32_t> before = sampler.counts;
    Row greedy = row;
    greedy.params.temperature = 0;
    const uint32_t *counts = row.params.countsSlot < 0 ? nullptr : before.data();
    EXPECT_EQ(sampler.draw({row}).tokens[0], expectedToken(greedy, counts))
        << row.params.temperature;
  }
}

TEST_P(Sampling, ALongRowIsPutTogetherFromItsParts) {
  const int64_t kVocabulary = isSimulated() ? 16384 : 152064;
  Sampler sampler(target, kVocabulary);
  fillCounts(sampler.counts);
  for (const Row &row : longRows(kVocabulary, 10)) {
    std::vector<uint32_t> before = sampler.counts;
    Drawn drawn = sampler.draw({row});
    const uint32_t *counts = &before[std::max(row.params.countsSlot, 0) * kVocabulary];
    EXPECT_EQ(drawn.tokens[0], expectedToken(row, row.params.countsSlot < 0 ? nullptr : counts));
    if (row.params.logprobs < 0)
      continue;
    std::vector<int32_t> order(kVocabulary);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return row.logits[a] > row.logits[b]; });
    double sum = 0;
    for (float logit : row.logits)
      sum += std::exp(double(logit));
    EXPECT_TRUE(std::equal(order.begin(), order.begin() + kTopColumns, drawn.topTokens.begin()));
    EXPECT_NEAR(drawn.logprobs[0], double(row.logits[drawn.tokens[0]]) - std::log(sum), 2e-6);
  }
}

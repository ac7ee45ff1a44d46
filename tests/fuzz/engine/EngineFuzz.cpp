// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile engine files: each is refused with a code or loads; none crashes or hangs.
// The digest is mostly made right again, so that the checks behind it are reached.
#include "runtime/devices/host/HostDevice.h"
#include "runtime/engine/TargetChoice.h"
#include "runtime/engine/WeightFill.h"
#include "runtime/schema/FileHeader.h"
#include "tests/unit/engine/ToyEngine.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace ingot::runtime;
using namespace ingot::test;
using ingot::schema::FileHeader;

namespace {

constexpr uint64_t hostile[] = {0,          1,          0x7f,       0x80,       0xff,
                                0xffff,     0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
                                ~0ull >> 1, ~0ull,      1ull << 63, 1ull << 40, 0xfffffff0};

class EngineMutator {
public:
  explicit EngineMutator(uint64_t seed) : random(seed) {}

  /// A variant of `good`; `metadataBytes` says where most of the damage goes.
  std::vector<uint8_t> mutate(const std::vector<uint8_t> &good, size_t metadataBytes) {
    std::vector<uint8_t> file = good;
    for (uint64_t left = 1 + below(4) * below(2); left > 0; --left) {
      size_t begin = below(20) ? sizeof(FileHeader) : 0;
      size_t end = below(20) ? sizeof(FileHeader) + metadataBytes : file.size();
      if (end > file.size() || begin >= end)
        continue;
      damage(file, begin + below(end - begin));
    }
    if (below(50) == 0)
      file.resize(below(file.size() + 1));
    if (below(20))
      fixMetadataDigest(file);
    return file;
  }

private:
  uint64_t below(uint64_t bound) { return random() % bound; }

  void damage(std::vector<uint8_t> &file, size_t at) {
    uint64_t value = hostile[below(std::size(hostile))];
    switch (below(5)) {
    case 0:
      file[at] ^= uint8_t(1 << below(8));
      return;
    case 1:
      file[at] = uint8_t(below(256));
      return;
    case 2: { // a small change of a 32-bit number: offsets, indices, counts
      at &= ~size_t(3);
      uint32_t number;
      std::memcpy(&number, file.data() + at, std::min(sizeof number, file.size() - at));
      number += uint32_t(below(9)) - 4;
      std::memcpy(file.data() + at, &number, std::min(sizeof number, file.size() - at));
      return;
    }
    default: { // a number that means trouble, in each width
      size_t width = size_t(1) << below(4);
      at &= ~(width - 1);
      std::memcpy(file.data() + at, &value, std::min(width, file.size() - at));
    }
    }
  }

  std::mt19937_64 random;
};

size_t metadataBytes(const std::vector<uint8_t> &file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  return size_t(header.metadataBytes);
}

/// Makes what the loader would make, in memory that has not a byte too many.
void makeWeights(const ingot::schema::Engine &engine) {
  HostDevice device(1);
  for (const ingot::schema::Weight *weight : *engine.weights())
    if (weight->fill() && weight->bytes() <= uint64_t(1) << 20) {
      std::vector<uint8_t> memory(weight->bytes());
      WeightFiller(device, 2).fill(memory.data(), *weight);
    }
}

/// Everything the loader does short of running code: verify, choose, plan. What it accepts must
/// be a plan within its own bounds.
std::string load(const std::vector<uint8_t> &file, const Device &device) {
  AlignedBytes bytes(file);
  auto opened = EngineFile::openBytes(bytes.view(), "/nonexistent");
  if (!opened.ok())
    return std::string(opened.status().code());
  const ingot::schema::Engine &engine = (*opened)->metadata();
  auto target = chooseTarget(engine, device);
  if (!target.ok())
    return std::string(target.status().code());
  auto plan = planMemory(engine, *engine.targets()->Get(*target), 2, {uint64_t(1) << 30});
  if (!plan.ok())
    return std::string(plan.status().code());
  EXPECT_LE(plan->totalBytes(), uint64_t(1) << 30);
  EXPECT_TRUE((*opened)->verifyWeights().ok() ||
              (*opened)->verifyWeights().code() == "INGOT-E5018");
  makeWeights(engine);
  return "";
}

void runCases(uint64_t seed, int cases, const ToyOptions &options) {
  HostDevice device(1);
  std::vector<uint8_t> good = makeToyEngine(options);
  ASSERT_EQ(load(good, device), "");
  EngineMutator mutator(seed);
  std::map<std::string, int> outcomes;
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(i));
    ++outcomes[load(mutator.mutate(good, metadataBytes(good)), device)];
  }
  for (const auto &[code, count] : outcomes) {
    EXPECT_TRUE(code.empty() || code.rfind("INGOT-E", 0) == 0) << code;
    testing::Test::RecordProperty(code.empty() ? "accepted" : code, count);
  }
  for (const char *code : {"", "INGOT-E5004", "INGOT-E5005", "INGOT-E5006", "INGOT-E5007",
                           "INGOT-E5008", "INGOT-E5010"})
    EXPECT_GT(outcomes[code], 0) << "never reached: " << code;
}

TEST(EngineFuzz, Plain) { runCases(1, 8000, {}); }

TEST(EngineFuzz, BucketsAndSlidingWindow) {
  ToyOptions options;
  options.window = 64;
  options.appendVariants = {{1, 1, 1, 1}, {2, 8, 2, 64}, {9, 32, 2, 64}};
  options.features = {"sse2"};
  runCases(2, 8000, options);
}

TEST(EngineFuzz, WeightsMadeAtLoad) {
  ToyOptions options;
  options.randomWeight = true;
  runCases(4, 8000, options);
}

TEST(EngineFuzz, KernelLibraries) {
  std::vector<uint8_t> good = toyLibrary();
  ASSERT_TRUE(verifySharedObject(good, "toy").ok());
  EngineMutator mutator(3);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 8000; ++i) {
    std::vector<uint8_t> code = mutator.mutate(good, i % 2 ? 1024 : good.size() / 2);
    AlignedBytes bytes(code);
    Status status = verifySharedObject(bytes.view(), "mutated");
    ++(status.ok() ? accepted : refused);
    EXPECT_TRUE(status.ok() || status.code() == "INGOT-E5015");
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

} // namespace

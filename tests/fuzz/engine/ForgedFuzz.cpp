// SPDX-License-Identifier: Apache-2.0
// Engines whose metadata was changed and whose digests were made right again: each is refused, or
// its steps run to their end. Steps run in a child, so that a crash is a finding.
#include "runtime/devices/host/HostDevice.h"
#include "tests/unit/engine/ToyEngine.h"

#include "runtime/schema/FileHeader.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot::runtime;
using namespace ingot::test;
using ingot::schema::FileHeader;

namespace {

/// A toy engine with several kernels of a launch and a workspace.
ToyOptions forgedToy() {
  ToyOptions options;
  options.appendVariants = {{1, 8, 1, 32}, {9, 32, 1, 32}};
  options.window = 64;
  return options;
}

/// One whose last kernel reads, for a device, all logits of the step by a tensor map.
ToyOptions mappedToy() {
  ToyOptions options = forgedToy();
  options.tensorMaps = {{3, 0, 256, 8, 64, ingot::kF32, 64}};
  options.mapRowsDim = "L";
  options.fencedMaps = true;
  options.cluster = {1, 1};
  return options;
}

/// Runs three requests, one of them with penalties, two with masks, until they end.
void serve(const std::vector<uint8_t> &file) {
  AlignedBytes bytes(file);
  auto opened = EngineFile::openBytes(bytes.view(), ".", {});
  if (!opened.ok())
    return;
  SessionOptions limits;
  limits.memory.memory = uint64_t(64) << 20;
  auto session = Session::createOn(std::make_unique<HostDevice>(1), std::move(*opened), limits);
  if (!session.ok())
    return;
  for (int i = 0; i < 3; ++i) {
    Request request;
    for (int j = 0; j <= 7 * i; ++j)
      request.tokens.push_back(j % 5);
    request.sampling.maxTokens = 20;
    request.sampling.ignoreEos = true;
    request.sampling.logprobs = i;
    if (i == 1) {
      request.sampling.presencePenalty = 1;
      request.sampling.allowed = {1, 2, 3};
    } else if (i == 2) {
      request.sampling.ignoreEos = false;
      request.sampling.minTokens = 3;
      request.sampling.noRepeatNgramSize = 2;
      request.sampling.promptLogprobs = 1;
    }
    (void)(*session)->submit(request);
  }
  for (int step = 0; step < 60; ++step) {
    Result<bool> active = (*session)->step();
    if (!active.ok() || !*active)
      return;
  }
}

/// How serving it ends: 0, or the signal.
int endOf(const std::vector<uint8_t> &file) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    serve(file);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/// Tries changed engines and counts what became of them.
class Forger {
public:
  explicit Forger(const ToyOptions &options) : good(makeToyEngine(options)) {
    std::memcpy(&header, good.data(), sizeof header);
  }

  uint8_t *metadata(std::vector<uint8_t> &file) const {
    return file.data() + header.metadataOffset;
  }
  size_t metadataBytes() const { return header.metadataBytes; }
  std::vector<uint8_t> copy() const { return good; }

  void attempt(std::vector<uint8_t> file, const std::string &what) {
    fixMetadataDigest(file);
    AlignedBytes bytes(file);
    auto opened = EngineFile::openBytes(bytes.view(), ".", {});
    ++outcomes[opened.ok() ? "" : std::string(opened.status().code())];
    if (opened.ok())
      EXPECT_EQ(endOf(file), 0) << what;
  }

  std::map<std::string, int> outcomes; ///< by code; "": accepted

private:
  std::vector<uint8_t> good;
  FileHeader header;
};

/// Sets a field that is present.
template <class T, class Table> void set(const Table *table, uint16_t field, T value) {
  auto *raw = const_cast<flatbuffers::Table *>(reinterpret_cast<const flatbuffers::Table *>(table));
  ASSERT_TRUE(raw->SetField<T>(field, value, T()));
}

} // namespace

TEST(ForgedFuzz, TheEngineItselfServes) { EXPECT_EQ(endOf(makeToyEngine(forgedToy())), 0); }

TEST(ForgedFuzz, EveryArgumentIsAnotherBuffer) {
  Forger forger(forgedToy());
  using namespace ingot::schema;
  std::vector<uint8_t> original = forger.copy();
  const Target &target = *GetEngine(forger.metadata(original))->targets()->Get(0);
  for (uint32_t program = 0; program < target.programs()->size(); ++program)
    for (uint32_t at = 0; at < target.programs()->Get(program)->instructions()->size(); ++at) {
      const Launch &launch =
          *target.programs()->Get(program)->instructions()->Get(at)->operation_as_Launch();
      for (uint32_t arg = 0; arg < launch.args()->size(); ++arg)
        for (uint32_t buffer = 0; buffer < target.buffers()->size(); ++buffer) {
          std::vector<uint8_t> file = forger.copy();
          auto *changed = GetEngine(forger.metadata(file))->targets()->Get(0);
          const Arg *one = changed->programs()
                               ->Get(program)
                               ->instructions()
                               ->Get(at)
                               ->operation_as_Launch()
                               ->args()
                               ->Get(arg);
          if (one->kind() != ArgKind::Buffer || one->buffer() == buffer || one->buffer() == 0)
            continue; // a default is not stored
          set<uint32_t>(one, Arg::VT_BUFFER, buffer);
          forger.attempt(std::move(file), "program " + std::to_string(program) + ", op " +
                                              std::to_string(at) + ", argument " +
                                              std::to_string(arg) + ": buffer " +
                                              std::to_string(buffer));
        }
    }
  EXPECT_GT(forger.outcomes["INGOT-E5024"], 100);
}

TEST(ForgedFuzz, EveryVariantRunsAnotherKernel) {
  Forger forger(forgedToy());
  using namespace ingot::schema;
  for (uint32_t at = 0; at < 3; ++at)
    for (uint32_t kernel = 0; kernel < 5; ++kernel) {
      std::vector<uint8_t> file = forger.copy();
      const Target *target = GetEngine(forger.metadata(file))->targets()->Get(0);
      const Launch *launch =
          target->programs()->Get(0)->instructions()->Get(at)->operation_as_Launch();
      const Variant *variant = launch->variants()->Get(0);
      if (variant->kernel() == 0 || variant->kernel() == kernel)
        continue;
      set<uint32_t>(variant, Variant::VT_KERNEL, kernel);
      forger.attempt(std::move(file), "op " + std::to_string(at));
    }
  EXPECT_GT(forger.outcomes["INGOT-E5024"] + forger.outcomes["INGOT-E5013"], 4);
}

TEST(ForgedFuzz, EveryPlaceInTheArenaIsAnothers) {
  Forger forger(forgedToy());
  using namespace ingot::schema;
  std::vector<uint8_t> original = forger.copy();
  const auto &tiers = *GetEngine(forger.metadata(original))->targets()->Get(0)->memory()->tiers();
  for (uint32_t tier = 0; tier < tiers.size(); ++tier)
    for (uint32_t i = 0; i < tiers.Get(tier)->offsets()->size(); ++i)
      for (uint32_t j = 0; j < tiers.Get(tier)->offsets()->size(); ++j) {
        std::vector<uint8_t> file = forger.copy();
        const auto *offsets = GetEngine(forger.metadata(file))
                                  ->targets()
                                  ->Get(0)
                                  ->memory()
                                  ->tiers()
                                  ->Get(tier)
                                  ->offsets();
        const_cast<flatbuffers::Vector<uint64_t> *>(offsets)->Mutate(i, offsets->Get(j));
        if (i != j)
          forger.attempt(std::move(file), "tier " + std::to_string(tier) + ", offset " +
                                              std::to_string(i) + " is " + std::to_string(j));
      }
  EXPECT_GT(forger.outcomes["INGOT-E5010"], 300);
}

TEST(ForgedFuzz, EveryNumberOfATensorMapIsAnother) {
  using namespace ingot::schema;
  constexpr uint64_t hostile[] = {0,  1,   2,   3,   15,  16,     32,         48,
                                  64, 128, 256, 272, 512, 0xffff, 0x7fffffff, 0xffffffff};
  Forger forger(mappedToy());
  ASSERT_EQ(endOf(forger.copy()), 0);
  auto change = [&](const std::string &what, auto to) {
    std::vector<uint8_t> file = forger.copy();
    const Target *target = GetEngine(forger.metadata(file))->targets()->Get(0);
    to(*target->kernels()->Get(1));
    forger.attempt(std::move(file), what);
  };
  for (uint64_t value : hostile) {
    for (uint16_t field : {TensorMap::VT_BUFFER, TensorMap::VT_BOX_ROWS, TensorMap::VT_BOX_BYTES,
                           TensorMap::VT_SWIZZLE})
      change("field " + std::to_string(field), [&](const Kernel &kernel) {
        set<uint32_t>(kernel.tensor_maps()->Get(0), field, uint32_t(value));
      });
    change("bytes of a row", [&](const Kernel &kernel) {
      set<uint64_t>(kernel.tensor_maps()->Get(0), TensorMap::VT_ROW_BYTES, value << value % 32);
    });
    change("element", [&](const Kernel &kernel) {
      set<uint8_t>(kernel.tensor_maps()->Get(0), TensorMap::VT_ELEMENT, uint8_t(value));
    });
    for (size_t axis : {0, 1})
      change("cluster", [&](const Kernel &kernel) {
        const_cast<flatbuffers::Vector<uint32_t> *>(kernel.cluster())
            ->Mutate(axis, uint32_t(value));
      });
    for (bool isDim : {true, false})
      change("rows", [&](const Kernel &kernel) {
        auto *nodes = const_cast<flatbuffers::Vector<const ExprNode *> *>(
            kernel.tensor_maps()->Get(0)->step_rows()->nodes());
        auto *node = const_cast<ExprNode *>(nodes->Get(0));
        *node = ExprNode(int64_t(value), isDim ? ExprOp::Dim : ExprOp::Const);
      });
  }
  change("fenced", [&](const Kernel &kernel) {
    set<uint8_t>(kernel.tensor_maps()->Get(0), TensorMap::VT_FENCED, 0);
  });
  EXPECT_GT(forger.outcomes["INGOT-E5006"], 90);
  EXPECT_GT(forger.outcomes["INGOT-E5007"], 5);
  EXPECT_GT(forger.outcomes[""], 5);
}

TEST(ForgedFuzz, WordsOfTheMetadataAreOthers) {
  constexpr uint32_t hostile[] = {0,      1,          2,          3,          0x7f,      0xff,
                                  0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
  Forger forger(mappedToy());
  std::mt19937_64 random(7);
  for (int i = 0; i < 6000 && !testing::Test::HasFailure(); ++i) {
    std::vector<uint8_t> file = forger.copy();
    uint8_t *metadata = forger.metadata(file);
    size_t at = random() % forger.metadataBytes();
    if (i % 4 == 0) {
      metadata[at] ^= uint8_t(1 << random() % 8);
    } else {
      at = std::min(at & ~size_t(3), (forger.metadataBytes() - 4) & ~size_t(3));
      uint32_t word;
      std::memcpy(&word, metadata + at, sizeof word);
      word = i % 2 ? word + uint32_t(random() % 9) - 4 : hostile[random() % std::size(hostile)];
      std::memcpy(metadata + at, &word, sizeof word);
    }
    forger.attempt(std::move(file), "case " + std::to_string(i) + ", byte " + std::to_string(at));
  }
  for (const char *code : {"", "INGOT-E5005", "INGOT-E5006", "INGOT-E5010", "INGOT-E5024"})
    EXPECT_GT(forger.outcomes[code], 0) << "never reached: " << code;
}

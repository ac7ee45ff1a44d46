// SPDX-License-Identifier: Apache-2.0
// Steps run without allocating memory, and taps are read where they are made.
#include "runtime/devices/host/HostDevice.h"
#include "tests/unit/engine/ToyEngine.h"

#include <atomic>
#include <gtest/gtest.h>
#include <new>
#include <set>

namespace {

std::atomic<long> allocations{0};

void *counted(std::size_t bytes) {
  ++allocations;
  void *memory = std::malloc(bytes ? bytes : 1);
  if (!memory)
    std::abort();
  return memory;
}

} // namespace

void *operator new(std::size_t bytes) { return counted(bytes); }
void *operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

TEST(ExecutorTest, StepsDoNotAllocate) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Executor &executor = toy->engine();
  KvCache cache(executor.plan().groups);
  Scheduler scheduler(executor.plan(), cache);
  auto step = StepProgram::bind(executor);
  ASSERT_TRUE(step.ok()) << step.status().toString();
  auto sample = SampleProgram::bind(executor, uint32_t(toyVocabulary));
  ASSERT_TRUE(sample.ok()) << sample.status().toString();
  for (uint64_t id = 1; id <= 12; ++id) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = id;
    sequence->promptTokens = int64_t(10 + id);
    sequence->maxNewTokens = 20;
    sequence->tokens.assign(size_t(sequence->promptTokens), int32_t(id));
    sequence->tokens.reserve(64);
    sequence->sampling.presencePenalty = 1;
    ASSERT_TRUE(scheduler.add(std::move(sequence)).ok());
  }
  std::vector<SampleRow> rows;
  rows.reserve(16);
  int64_t drawn = 0;
  long before = allocations;
  while (scheduler.active()) {
    auto batch = scheduler.planStep();
    ASSERT_FALSE(batch.empty());
    rows.clear();
    for (const BatchEntry &entry : batch) {
      if (entry.sequence->needsState)
        sample->admit(*entry.sequence);
      if (entry.logitRows)
        rows.push_back({entry.sequence, int64_t(entry.sequence->tokens.size())});
    }
    Status status = step->prepare(batch, cache);
    ASSERT_TRUE(status.ok());
    step->run();
    for (const BatchEntry &entry : batch)
      entry.sequence->computed += entry.tokens;
    if (rows.empty())
      continue;
    ASSERT_TRUE(sample->finish(sample->start(rows)).ok());
    for (size_t row = 0; row < rows.size(); ++row) {
      Sequence &sequence = *rows[row].sequence;
      sequence.tokens.push_back(sample->token(row));
      ++drawn;
      if (sequence.generated() == sequence.maxNewTokens)
        scheduler.remove(sequence);
    }
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(drawn, 12 * 20);
}

/// Sequences with their answers, as many tokens at a time as a verified draft would have.
TEST(ExecutorTest, KnownTokensThreeAtATimeAreDrawnAgain) {
  constexpr int64_t together = 3, answer = 20;
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (int32_t i = 0; i < 5; ++i) {
    ToySession toy = openToy();
    ASSERT_TRUE(toy.session);
    Request request;
    for (int32_t j = 0; j < 3 + 5 * i; ++j)
      request.tokens.push_back((j * 7 + i) % 60);
    request.sampling.maxTokens = answer;
    request.sampling.ignoreEos = true;
    request.sampling.temperature = i % 2 ? 1.0f : 0.0f;
    request.sampling.seed = uint64_t(i);
    auto sequence = std::make_unique<Sequence>();
    sequence->tokens = request.tokens;
    sequence->promptTokens = int64_t(request.tokens.size());
    sequence->sampling = request.sampling;
    ASSERT_TRUE(toy->submit(request).ok());
    for (bool active = true; active;) {
      active = *toy->step();
      while (std::optional<Event> event = toy->nextEvent())
        sequence->tokens.push_back(event->token);
    }
    ASSERT_EQ(sequence->generated(), answer);
    sequences.push_back(std::move(sequence));
  }
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Executor &executor = toy->engine();
  KvCache cache(executor.plan().groups);
  auto step = StepProgram::bind(executor);
  auto sample = SampleProgram::bind(executor, uint32_t(toyVocabulary));
  ASSERT_TRUE(step.ok() && sample.ok());
  for (size_t i = 0; i < sequences.size(); ++i) {
    sequences[i]->slot = int64_t(i);
    cache.prepare(executor.plan().maxContext, *sequences[i]);
    sample->admit(*sequences[i]);
  }
  size_t compared = 0;
  for (bool more = true; more;) {
    std::vector<BatchEntry> batch;
    std::vector<SampleRow> rows;
    for (const auto &owned : sequences) {
      Sequence &sequence = *owned;
      // The last token is not computed: nothing known follows it.
      int64_t left = int64_t(sequence.tokens.size()) - 1 - sequence.computed;
      bool inPrompt = sequence.computed < sequence.promptTokens - 1;
      int64_t prompt = std::min<int64_t>(sequence.promptTokens - 1 - sequence.computed, 7);
      int64_t tokens = std::min(left, inPrompt ? prompt : together);
      if (tokens == 0 || batch.size() == 4)
        continue;
      ASSERT_TRUE(cache.extend(sequence, tokens));
      batch.push_back({&sequence, tokens, inPrompt ? 0 : tokens});
      for (int64_t j = 0; j < batch.back().logitRows; ++j)
        rows.push_back({&sequence, sequence.computed + 1 + j});
    }
    more = !batch.empty();
    if (!more)
      break;
    ASSERT_TRUE(step->prepare(batch, cache).ok());
    step->run();
    ASSERT_TRUE(sample->finish(sample->start(rows)).ok());
    for (size_t row = 0; row < rows.size(); ++row, ++compared)
      EXPECT_EQ(sample->token(row), rows[row].sequence->tokens[size_t(rows[row].place)]);
    for (const BatchEntry &entry : batch)
      entry.sequence->computed += entry.tokens;
  }
  EXPECT_EQ(compared, sequences.size() * answer);
}

/// Sees the rows of the tensor maps that it is handed, and what is recorded.
class MapDevice final : public HostDevice {
public:
  explicit MapDevice(std::vector<uint64_t> &rows) : HostDevice(1), rows(rows) {}
  void launch(const DeviceLaunch &launch) override {
    for (const TensorMapRecipe &recipe : launch.kernel->shape.tensorMaps)
      rows.push_back(recipe.rows);
    HostDevice::launch(launch);
  }
  bool replay(uint64_t key) override { return !recorded.insert(key).second; }

private:
  std::vector<uint64_t> &rows;
  std::set<uint64_t> recorded;
};

TEST(ExecutorTest, TensorMapsHaveTheRowsOfTheStep) {
  ToyOptions options;
  options.tensorMaps = {{3, 0, 256, 8, 64, kF32, 64}};
  options.mapRowsDim = "T";
  options.fencedMaps = true;
  AlignedBytes bytes(makeToyEngine(options));
  auto file = EngineFile::openBytes(bytes.view(), ".");
  ASSERT_TRUE(file.ok()) << file.status().toString();
  std::vector<uint64_t> rows;
  auto session = Session::createOn(std::make_unique<MapDevice>(rows), std::move(*file), {});
  ASSERT_TRUE(session.ok()) << session.status().toString();
  Executor &executor = (*session)->engine();
  rows.clear();
  for (int64_t tokens : {2, 1, 2, 5}) {
    const DimSize shape[] = {{"T", tokens}, {"S", 1}, {"L", 1}};
    ASSERT_TRUE(executor.beginStep(shape).ok());
    executor.runPart(*executor.findProgram("step"), 0, 3);
  }
  EXPECT_EQ(rows, (std::vector<uint64_t>{2, 1, 2, 5}));
}

TEST(ExecutorTest, RefusesAStepOutsideThePlan) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  auto begin = [&](int64_t tokens, int64_t sequences, int64_t logitRows) {
    const DimSize shape[] = {{"T", tokens}, {"S", sequences}, {"L", logitRows}};
    return toy->engine().beginStep(shape);
  };
  EXPECT_EQ(begin(33, 1, 1).code(), "INGOT-E6015");
  EXPECT_EQ(begin(1, 0, 1).code(), "INGOT-E6015");
  EXPECT_TRUE(begin(32, 8, 32).ok());
}

TEST(ExecutorTest, TapsHoldEveryTokenWhateverTheChunks) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 70; ++i)
    tokens.push_back(i * 7 % 60);
  std::vector<float> whole;
  for (int64_t chunk : {32, 5, 1}) {
    SessionOptions limits;
    limits.memory.maxTokens = chunk;
    ToySession toy = openToy({}, limits);
    ASSERT_TRUE(toy.session);
    EXPECT_EQ(toy->taps(), (std::vector<std::string>{"hidden", "logits"}));
    const std::string_view taps[] = {"logits", "hidden"};
    std::vector<float> values[2];
    Status status = toy->record(tokens, {}, taps, [&](size_t tap, int64_t position, auto rows) {
      size_t width = tap == 0 ? size_t(toyVocabulary) : 1;
      EXPECT_EQ(values[tap].size(), size_t(position) * width);
      values[tap].insert(values[tap].end(), rows.begin(), rows.end());
    });
    ASSERT_TRUE(status.ok()) << status.toString();
    const std::vector<float> &hidden = values[1];
    ASSERT_EQ(hidden.size(), tokens.size());
    if (whole.empty())
      whole = hidden;
    EXPECT_EQ(hidden, whole);
    EXPECT_EQ(values[0].size(), tokens.size() * size_t(toyVocabulary));
    const std::string_view none[] = {"nothing"};
    EXPECT_EQ(toy->record(tokens, {}, none, [](size_t, int64_t, auto) {}).code(), "INGOT-E6009");
    // It reads tokens.
    EXPECT_EQ(toy->record(tokens, hidden, taps, [](size_t, int64_t, auto) {}).code(),
              "INGOT-E6054");
  }
  EXPECT_NE(whole[0], whole[1]);
}

} // namespace

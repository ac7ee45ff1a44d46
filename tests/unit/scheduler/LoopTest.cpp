// SPDX-License-Identifier: Apache-2.0
// The loop under many threads: what a request gets never depends on who uses it meanwhile.
#include "runtime/serving/Loop.h"
#include "tests/unit/engine/ToyEngine.h"
#include "tests/unit/scheduler/LostDevice.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace ingot::runtime;
using namespace ingot::test;
using namespace std::chrono_literals;

namespace {

/// What one answer got, and how it ended.
struct Answer {
  std::vector<int32_t> tokens;
  std::string text;
  FinishReason finish = FinishReason::None;
  Status error;
};

/// Collects the events of one request; shared with the loop's thread.
class Reader {
public:
  explicit Reader(int choices = 1) : answers(size_t(choices)) {}
  /// After so many events it wants no more until `resume`.
  void holdAfter(int count) { holdAt = count; }

  EventSink sink(std::shared_ptr<Reader> self) {
    return [self](Event &&event) { return self->take(std::move(event)); };
  }

  bool waitFor(const std::function<bool(Reader &)> &isSo) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 60s, [&] { return isSo(*this); });
  }
  std::vector<Answer> wait() {
    EXPECT_TRUE(waitFor([](Reader &reader) { return reader.ended(); })) << "it never ends";
    std::lock_guard lock(mutex);
    return answers;
  }
  int count() {
    std::lock_guard lock(mutex);
    return events;
  }
  // With `mutex` held, as in waitFor:
  int events = 0;
  bool ended() const {
    return std::all_of(answers.begin(), answers.end(),
                       [](const Answer &answer) { return answer.finish != FinishReason::None; });
  }

private:
  Demand take(Event &&event) {
    std::lock_guard lock(mutex);
    Answer &answer = answers.at(size_t(event.choice));
    EXPECT_EQ(answer.finish, FinishReason::None) << "an event after the last one";
    if (event.token >= 0)
      answer.tokens.push_back(event.token);
    answer.text += event.text;
    answer.finish = event.finish;
    answer.error = event.error;
    ++events;
    changed.notify_all();
    return holdAt && events >= holdAt ? Demand::Hold : Demand::More;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Answer> answers;
  int holdAt = 0;
};

std::shared_ptr<Reader> ask(Loop &loop, const Request &request, uint64_t *id = nullptr) {
  auto reader = std::make_shared<Reader>(request.choices);
  Result<uint64_t> submitted = loop.submit(request, reader->sink(reader));
  EXPECT_TRUE(submitted.ok()) << submitted.status().toString();
  if (submitted.ok() && id)
    *id = *submitted;
  return reader;
}

Request makeRequest(int index) {
  Request request;
  for (int i = 0; i < 1 + index * 11 % 50; ++i)
    request.tokens.push_back((index * 5 + i * 3) % 63);
  request.sampling.maxTokens = 1 + index * 7 % 30;
  request.sampling.seed = uint64_t(index);
  request.sampling.temperature = index % 3 ? 0.0f : 1.0f;
  if (index % 7 == 2)
    request.sampling.stopStrings = {std::string(1, char('a' + index % 26))};
  request.choices = index % 6 == 4 ? 3 : 1;
  return request;
}

/// A request that goes on until its context is full.
Request makeEndless() {
  Request request;
  request.tokens = {1, 2, 3};
  request.sampling.ignoreEos = true;
  return request;
}

struct ToyLoop {
  std::unique_ptr<AlignedBytes> bytes;
  std::unique_ptr<Loop> loop;
  Loop *operator->() { return loop.get(); }
};

ToyLoop openLoop(const LoopOptions &options = {}, int64_t sequences = 0,
                 const ToyOptions &toy = {}) {
  SessionOptions limits;
  limits.memory.maxSequences = sequences;
  limits.device.threads = 1;
  ToySession opened = openToy(toy, limits);
  return {std::move(opened.bytes), std::make_unique<Loop>(std::move(opened.session), options)};
}

/// What the requests of makeRequest get alone.
std::vector<std::vector<Answer>> alone(int requests) {
  ToyLoop toy = openLoop({}, 1);
  std::vector<std::vector<Answer>> answers;
  for (int i = 0; i < requests; ++i)
    answers.push_back(ask(*toy.loop, makeRequest(i))->wait());
  return answers;
}

TEST(LoopTest, ThreadsSubmitAndCancelAtRandom) {
  constexpr int requests = 48, threads = 4, rounds = 40;
  std::vector<std::vector<Answer>> expected = alone(requests);
  ToyLoop toy = openLoop();
  std::atomic<int> complete = 0, cancelled = 0;
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < rounds; ++round) {
      int index = int(random() % requests);
      uint64_t id = 0;
      std::shared_ptr<Reader> reader = ask(*toy.loop, makeRequest(index), &id);
      if (random() % 3 == 0)
        toy->cancel(id);
      std::vector<Answer> answers = reader->wait();
      for (size_t choice = 0; choice < answers.size(); ++choice) {
        const Answer &whole = expected[size_t(index)][choice];
        std::vector<int32_t> start = whole.tokens;
        start.resize(std::min(start.size(), answers[choice].tokens.size()));
        EXPECT_EQ(answers[choice].tokens, start) << index;
        bool cut = answers[choice].finish == FinishReason::Cancelled;
        EXPECT_TRUE(cut ||
                    (answers[choice].finish == whole.finish &&
                     answers[choice].tokens == whole.tokens && answers[choice].text == whole.text))
            << index;
        ++(cut ? cancelled : complete);
      }
    }
  };
  std::vector<std::thread> workers;
  for (unsigned seed = 0; seed < threads; ++seed)
    workers.emplace_back(work, seed);
  for (std::thread &worker : workers)
    worker.join();
  EXPECT_GT(complete, 0);
  EXPECT_GT(cancelled, 0);
  ASSERT_TRUE(toy->waitIdle(std::chrono::steady_clock::now() + 60s));
  LoopStatistics statistics = toy->statistics();
  EXPECT_EQ(statistics.answers, 0);
  EXPECT_EQ(statistics.gauges.running + statistics.gauges.waiting, 0);
}

TEST(LoopTest, RefusesWhatIsWrongAtOnce) {
  ToyLoop toy = openLoop();
  auto none = [](Event &&) {
    ADD_FAILURE() << "an event of a request that was refused";
    return Demand::Cancel;
  };
  Request request = makeRequest(1);
  request.sampling.temperature = -1;
  EXPECT_EQ(toy->submit(request, none).status().code(), "INGOT-E6006");
  request = makeRequest(1);
  request.tokens = {64};
  EXPECT_EQ(toy->submit(request, none).status().code(), "INGOT-E6007");
  request.tokens.clear();
  EXPECT_EQ(toy->submit(request, none).status().code(), "INGOT-E6003");
  request.text = "\xff";
  EXPECT_EQ(toy->submit(request, none).status().code(), "INGOT-E6401");
  EXPECT_EQ(toy->statistics().answers, 0);
}

TEST(LoopTest, TheQueueIsBounded) {
  ToyLoop toy = openLoop({.queueLimit = 2}, 1);
  std::vector<std::shared_ptr<Reader>> readers;
  std::vector<uint64_t> ids(3);
  for (uint64_t &id : ids) {
    auto reader = readers.emplace_back(std::make_shared<Reader>());
    reader->holdAfter(1);
    Result<uint64_t> submitted = toy->submit(makeEndless(), reader->sink(reader));
    ASSERT_TRUE(submitted.ok()) << submitted.status().toString();
    id = *submitted;
  }
  EXPECT_EQ(toy->statistics().answers, 3);
  EXPECT_EQ(toy->statistics().answerLimit, 3);
  auto refused = std::make_shared<Reader>();
  EXPECT_EQ(toy->submit(makeEndless(), refused->sink(refused)).status().code(), "INGOT-E6030");
  toy->cancel(ids[2]);
  EXPECT_EQ(readers[2]->wait()[0].finish, FinishReason::Cancelled);
  // Its place is free again.
  ask(*toy.loop, makeEndless());
}

TEST(LoopTest, ASlowReaderHoldsOnlyItself) {
  std::vector<std::vector<Answer>> expected = alone(6);
  Answer whole;
  {
    ToyLoop toy = openLoop();
    whole = ask(*toy.loop, makeEndless())->wait()[0];
  }
  ToyLoop toy = openLoop({}, 2);
  auto slow = std::make_shared<Reader>();
  slow->holdAfter(3);
  Result<uint64_t> id = toy->submit(makeEndless(), slow->sink(slow));
  ASSERT_TRUE(id.ok());
  ASSERT_TRUE(slow->waitFor([](Reader &reader) { return reader.events >= 3; }));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(ask(*toy.loop, makeRequest(i))->wait()[0].tokens, expected[size_t(i)][0].tokens);
  EXPECT_LE(slow->count(), 4);
  SessionGauges gauges = toy->statistics().gauges;
  EXPECT_EQ(gauges.running + gauges.waiting, 1); // It may have given way.
  for (int count = slow->count(); count < int(whole.tokens.size()); count = slow->count()) {
    toy->resume(*id);
    ASSERT_TRUE(slow->waitFor([&](Reader &reader) { return reader.events > count; }));
  }
  EXPECT_EQ(slow->wait()[0].tokens, whole.tokens);
}

TEST(LoopTest, AReaderMayEndItsRequest) {
  ToyLoop toy = openLoop();
  std::atomic<int> events = 0;
  auto gone = [&](Event &&) {
    if (++events == 2)
      throw std::runtime_error("the reader is gone");
    return Demand::More;
  };
  ASSERT_TRUE(toy->submit(makeEndless(), gone).ok());
  ASSERT_TRUE(toy->waitIdle(std::chrono::steady_clock::now() + 60s));
  EXPECT_EQ(events, 2);
  auto cancels = [&](Event &&) { return ++events, Demand::Cancel; };
  ASSERT_TRUE(toy->submit(makeEndless(), cancels).ok());
  ASSERT_TRUE(toy->waitIdle(std::chrono::steady_clock::now() + 60s));
  EXPECT_EQ(events, 3);
}

TEST(LoopTest, DeadlinesEndWhatIsHeld) {
  ToyLoop toy = openLoop();
  auto held = std::make_shared<Reader>();
  held->holdAfter(1);
  Request request = makeEndless();
  request.deadline = std::chrono::steady_clock::now() + 50ms;
  ASSERT_TRUE(toy->submit(request, held->sink(held)).ok());
  EXPECT_EQ(held->wait()[0].finish, FinishReason::Deadline);
}

TEST(LoopTest, DrainingLosesNothing) {
  std::vector<std::vector<Answer>> expected = alone(8);
  ToyLoop toy = openLoop({}, 2);
  std::vector<std::shared_ptr<Reader>> readers;
  for (int i = 0; i < 8; ++i)
    readers.push_back(ask(*toy.loop, makeRequest(i)));
  toy->drain();
  EXPECT_EQ(toy->state(), LoopState::Draining);
  auto late = std::make_shared<Reader>();
  EXPECT_EQ(toy->submit(makeRequest(0), late->sink(late)).status().code(), "INGOT-E6031");
  ASSERT_TRUE(toy->waitIdle(std::chrono::steady_clock::now() + 60s));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(readers[size_t(i)]->wait()[0].tokens, expected[size_t(i)][0].tokens);
}

TEST(LoopTest, AnIdleLoopKeepsNoSink) {
  ToyLoop toy = openLoop();
  // What a sink owns is slow to end, as on a machine with other work.
  struct Slow {
    std::atomic<bool> &ended;
    ~Slow() {
      std::this_thread::sleep_for(20ms);
      ended = true;
    }
  };
  std::atomic<bool> ended = false;
  auto owned = std::make_shared<Slow>(ended);
  ASSERT_TRUE(
      toy->submit(makeRequest(0), [owned = std::move(owned)](Event &&) { return Demand::More; })
          .ok());
  ASSERT_TRUE(toy->waitIdle(std::chrono::steady_clock::now() + 60s));
  EXPECT_TRUE(ended);
}

TEST(LoopTest, TheEndCancelsWhatIsLeft) {
  std::shared_ptr<Reader> held = std::make_shared<Reader>(), waiting;
  {
    ToyLoop toy = openLoop({}, 1);
    held->holdAfter(1);
    ASSERT_TRUE(toy->submit(makeEndless(), held->sink(held)).ok());
    waiting = ask(*toy.loop, makeEndless());
  }
  EXPECT_EQ(held->wait()[0].finish, FinishReason::Cancelled);
  EXPECT_EQ(waiting->wait()[0].finish, FinishReason::Cancelled);
}

/// What requests and the loop say of a device that fails while it serves.
void expectBroken(LostDevice::Failure fail, const char *code) {
  AlignedBytes bytes(makeToyEngine());
  auto file = EngineFile::openBytes(bytes.view(), ".", {true});
  ASSERT_TRUE(file.ok());
  SessionOptions limits;
  limits.memory.maxSequences = 2;
  auto session = Session::createOn(std::make_unique<LostDevice>(20, std::move(fail)),
                                   std::move(*file), limits);
  ASSERT_TRUE(session.ok()) << session.status().toString();
  Loop loop(std::move(*session));
  std::vector<std::shared_ptr<Reader>> readers;
  for (int i = 0; i < 5; ++i) {
    auto reader = std::make_shared<Reader>();
    // One that is refused already is no event's receiver.
    if (loop.submit(makeEndless(), reader->sink(reader)).ok())
      readers.push_back(reader);
  }
  ASSERT_FALSE(readers.empty());
  for (const auto &reader : readers) {
    Answer answer = reader->wait()[0];
    EXPECT_EQ(answer.finish, FinishReason::Failed);
    EXPECT_EQ(answer.error.code(), code);
  }
  EXPECT_EQ(loop.state(), LoopState::Broken);
  EXPECT_EQ(loop.failure().code(), code);
  auto late = std::make_shared<Reader>();
  EXPECT_EQ(loop.submit(makeEndless(), late->sink(late)).status().code(), "INGOT-E6032");
  EXPECT_TRUE(loop.waitIdle(std::chrono::steady_clock::now() + 60s));
}

TEST(LoopTest, ALostDeviceEndsEveryRequest) {
  expectBroken(LostDevice::loseContext, "INGOT-E6506");
}

TEST(LoopTest, AnExceptionEndsEveryRequest) {
  expectBroken([]() -> Status { throw std::runtime_error("unforeseen"); }, "INGOT-E6033");
}

TEST(LoopTest, WithoutMemoryEveryRequestEnds) {
  expectBroken([]() -> Status { throw std::bad_alloc(); }, "INGOT-E6010");
}

} // namespace

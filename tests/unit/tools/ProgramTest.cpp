// SPDX-License-Identifier: Apache-2.0
// How programs end, what they tell of long work, and of a text that repeats itself.
#include "runtime/tools/Program.h"
#include "runtime/tools/ProgressLine.h"
#include "runtime/tools/RepetitionWatch.h"

#include <cstdio>
#include <gmock/gmock.h>
#include <stdexcept>
#include <thread>

using namespace ingot::runtime;

namespace {

/// Ends this process as a program does whose work this is.
[[noreturn]] void end(int (*work)(int, char **)) {
  char name[] = "program";
  char *argv[] = {name, nullptr};
  std::exit(runProgram(1, argv, work));
}

TEST(ProgramDeathTest, ExceptionsOfEveryThreadAreErrors) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fails = testing::ExitedWithCode(1);
  EXPECT_EXIT(end([](int, char **) -> int { throw std::bad_alloc(); }), fails,
              "^error: INGOT-E6010: ");
  EXPECT_EXIT(end([](int, char **) -> int { throw std::runtime_error("odd"); }), fails,
              "^error: INGOT-E2110: odd; report this");
  EXPECT_EXIT(end([](int, char **) -> int { throw 1; }), fails, "^error: INGOT-E2110: ");
  EXPECT_EXIT(end([](int, char **) {
                std::thread([] { throw std::bad_alloc(); }).join();
                return 0;
              }),
              fails, "^error: INGOT-E6010: ");
  EXPECT_EXIT(end([](int, char **) {
                std::thread([] { throw std::runtime_error("odd"); }).join();
                return 0;
              }),
              fails, "^error: INGOT-E2110: odd; report this");
}

TEST(ProgramTest, AWrongCommandLineHasAStatusOfItsOwn) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(reportError(Status::error("INGOT-E7101", "a: cannot be read", "look")), 1);
  EXPECT_EQ(reportError(usageError("ingot-run eval", "--x: what")), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: INGOT-E7101: a: cannot be read; look\n"
            "error: INGOT-E2103: --x: what; `ingot-run eval --help` tells the options\n");
}

TEST(ProgressLineTest, WithoutATerminalThereIsALineNowAndThen) {
  testing::internal::CaptureStderr();
  int asked = 0;
  auto text = [&] { return "part " + std::to_string(++asked); };
  {
    ProgressLine often(std::chrono::milliseconds(0));
    often.update(text);
    often.update(text);
    ProgressLine rare;
    rare.update(text);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "part 1\npart 2\n");
}

/// Tokens until the watch says something; 0: it never does.
size_t watchedUntil(const std::vector<int32_t> &tokens) {
  RepetitionWatch watch;
  size_t said = 0;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (watch.add(tokens[i])) {
      EXPECT_EQ(said, 0u);
      said = i + 1;
    }
  return said;
}

TEST(RepetitionWatchTest, SaysOnceThatAPassageComesAgainAndAgain) {
  for (int32_t passage : {1, 2, 7, 64, 128}) {
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 40; ++i)
      tokens.push_back(1000 + i);
    for (int32_t i = 0; i < 2000; ++i)
      tokens.push_back(i % passage);
    const size_t said = watchedUntil(tokens);
    EXPECT_GT(said, 40u + 3 * size_t(passage)) << passage;
    EXPECT_LT(said, 40u + 4 * size_t(passage) + 100) << passage;
  }
}

TEST(RepetitionWatchTest, IsQuietOtherwise) {
  std::vector<int32_t> counting, list;
  for (int32_t i = 0; i < 2000; ++i) {
    counting.push_back(i);
    list.push_back(i % 10 ? i % 10 : i); // lines that begin alike
  }
  EXPECT_EQ(watchedUntil(counting), 0u);
  EXPECT_EQ(watchedUntil(list), 0u);
  EXPECT_EQ(watchedUntil(std::vector<int32_t>(40, 5)), 0u);
}

} // namespace

// SPDX-License-Identifier: Apache-2.0
// What a build tells meanwhile, and on which stream.
#include "compiler/build/Progress.h"

#include <gmock/gmock.h>

using namespace ingot::compiler;
using testing::HasSubstr;

namespace {

struct Told {
  std::string output, errors;
};

/// What `work` makes of a progress of this style.
template <class Work> Told told(ProgressStyle style, const Work &work) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Progress progress(style, std::chrono::milliseconds(5));
    work(progress);
  }
  Told result{testing::internal::GetCapturedStdout(), ""};
  result.errors = testing::internal::GetCapturedStderr();
  return result;
}

/// A stage that takes some intervals and tells of half its work.
void longStage(Progress &progress) {
  progress.begin("compile");
  progress.update(2, 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  progress.end("4 kernels");
}

} // namespace

TEST(Progress, ALongStageIsSeenMeanwhile) {
  Told lines = told(ProgressStyle::Lines, longStage);
  EXPECT_EQ(lines.output, "");
  EXPECT_THAT(lines.errors, HasSubstr("compile                      50 % after 0 s\n"));
  EXPECT_THAT(lines.errors, testing::EndsWith(" s  4 kernels\n"));
  Told bar = told(ProgressStyle::Bar, longStage);
  EXPECT_THAT(bar.errors, HasSubstr("\rcompile                      [################  "));
  EXPECT_THAT(bar.errors, HasSubstr("]  50%    0 s"));
  Told events = told(ProgressStyle::Json, longStage);
  EXPECT_EQ(events.errors, "");
  EXPECT_THAT(
      events.output,
      HasSubstr(R"({"event":"progress","stage":"compile","done":2,"total":4,"seconds":0.)"));
  Told silent = told(ProgressStyle::Silent, longStage);
  EXPECT_EQ(silent.output + silent.errors, "");
}

TEST(Progress, AStageOfUnknownLengthIsSeenToo) {
  Told lines = told(ProgressStyle::Lines, [](Progress &progress) {
    progress.begin("golden tokens");
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  });
  EXPECT_THAT(lines.errors, HasSubstr("golden tokens                after 0 s\n"));
}

TEST(Progress, WorkNeverGoesBack) {
  Told events = told(ProgressStyle::Json, [](Progress &progress) {
    progress.begin("compile");
    for (uint64_t done : {1, 3, 2, 4})
      progress.update(done, 4);
    progress.end();
  });
  EXPECT_THAT(events.output, HasSubstr("\"done\":3,"));
  EXPECT_THAT(events.output, testing::Not(HasSubstr("\"done\":2,")));
}

TEST(Progress, AnErrorIsAnEventAndALine) {
  for (ProgressStyle style :
       {ProgressStyle::Json, ProgressStyle::Lines, ProgressStyle::Silent, ProgressStyle::Bar}) {
    Told failed = told(style, [](Progress &progress) {
      progress.failed("INGOT-E7001: it \"is\": gone (file); look");
    });
    EXPECT_EQ(failed.errors, "error: INGOT-E7001: it \"is\": gone (file); look\n");
    EXPECT_EQ(failed.output, style != ProgressStyle::Json
                                 ? ""
                                 : "{\"event\":\"failed\",\"code\":\"INGOT-E7001\","
                                   "\"text\":\"it \\\"is\\\": gone (file); look\"}\n");
  }
}

// SPDX-License-Identifier: Apache-2.0
// selftest: golden tokens up to their margins, and the memory contract.
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using namespace ingot::runtime;
using testing::HasSubstr;

namespace {

/// A toy with the golden case that it really gives.
ToyOptions withGolden() {
  ToyOptions toy;
  toy.goldenPrompt = {3, 1, 4, 1, 5};
  ToySession session = openToy();
  Request request;
  request.tokens = toy.goldenPrompt;
  request.sampling.maxTokens = 10;
  request.sampling.ignoreEos = true;
  EXPECT_TRUE(session->submit(request).ok());
  for (bool active = true; active;) {
    active = *session->step();
    while (std::optional<Event> event = session->nextEvent())
      toy.goldenTokens.push_back(event->token);
  }
  toy.goldenMargins.assign(toy.goldenTokens.size(), 1.0f);
  return toy;
}

} // namespace

TEST(SelfTestTest, PassesWhereTokensAreEqual) {
  ToyOptions toy = withGolden();
  ASSERT_EQ(toy.goldenTokens.size(), 10u);
  ToolResult result = runTool("selftest", {toyFile(toy).path(), "--threads", "2"});
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("10 tokens of 1 case equal"));
  EXPECT_THAT(result.output, HasSubstr("passed on"));
}

TEST(SelfTestTest, FailsWhereASafeTokenDiffers) {
  ToyOptions toy = withGolden();
  toy.goldenTokens[4] ^= 1;
  ToolResult result = runTool("selftest", {toyFile(toy).path()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6020"));
  EXPECT_THAT(result.errors, HasSubstr("case 0, token 4"));
}

TEST(SelfTestTest, AllowsADifferenceWithinTheMargin) {
  ToyOptions toy = withGolden();
  toy.goldenTokens[4] ^= 1;
  toy.goldenMargins[4] = 0.01f;
  ToolResult result = runTool("selftest", {toyFile(toy).path()});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("4 tokens of 1 case equal, 1 case left at a margin"));
  EXPECT_EQ(runTool("selftest", {toyFile(toy).path(), "--tolerance", "0.001"}).status, 1);
}

TEST(SelfTestTest, SaysThatThereAreNoGoldenCasesAndChecksTheRest) {
  ToolResult result = runTool("selftest", {toyFile().path(), "--max-sequences", "4"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("no golden cases"));
  EXPECT_THAT(result.output, HasSubstr("memory    passed"));
  EXPECT_THAT(result.output, HasSubstr("batches   passed"));
}

TEST(SelfTestTest, RefusesOptionsThatWouldHaveNoEffect) {
  TemporaryFile toy = toyFile();
  for (const char *option : {"--no-graphs", "--no-dependent-launch", "--sync-each"}) {
    ToolResult result = runTool("selftest", {toy.path(), option});
    EXPECT_EQ(result.status, 1) << option;
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E6505")) << option;
  }
  EXPECT_EQ(runTool("selftest", {toy.path(), "--strict"}).status, 2);
  EXPECT_EQ(runTool("selftest", {toy.path(), "--simulated-sms", "3"}).status, 2);
}

// SPDX-License-Identifier: Apache-2.0
// selftest: golden tokens up to their margins, the memory contract, and faults that it must name.
#include "runtime/devices/host/HostDevice.h"
#include "runtime/tools/MeasuringDevice.h"
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using namespace ingot::runtime;
using testing::ContainsRegex;
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

TEST(SelfTestTest, ComputesNoMoreTokensThanItIsAskedTo) {
  ToyOptions toy = withGolden();
  toy.goldenTokens[4] ^= 1;
  TemporaryFile file = toyFile(toy);
  ToolResult result = runTool("selftest", {file.path(), "--tokens", "4"});
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("4 tokens of 1 case equal"));
  EXPECT_THAT(result.output, HasSubstr("a prompt of 4 tokens"));
  EXPECT_THAT(result.output, ContainsRegex("batches +passed +1?[0-9] tokens of 3 prompts"));
  EXPECT_EQ(runTool("selftest", {file.path(), "--tokens", "5"}).status, 1);
  EXPECT_EQ(runTool("selftest", {file.path(), "--tokens", "0"}).status, 2);
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

TEST(SelfTestTest, DoesNotPassWhereNoTokenWasCompared) {
  ToyOptions toy = withGolden();
  toy.goldenTokens[0] ^= 1;
  toy.goldenMargins[0] = 0;
  ToolResult result = runTool("selftest", {toyFile(toy).path()});
  EXPECT_EQ(result.status, 3) << result.errors;
  EXPECT_THAT(result.output,
              HasSubstr("golden    NONE       0 tokens of 1 case equal, 1 case left"));
}

TEST(SelfTestTest, DoesNotPassWithoutGoldenTokensAndChecksTheRest) {
  ToolResult result = runTool("selftest", {toyFile().path(), "--max-sequences", "4"});
  EXPECT_EQ(result.status, 3) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("golden    NONE       the engine has no golden tokens"));
  EXPECT_THAT(result.output, HasSubstr("\nno golden tokens; all else passed on "));
  EXPECT_THAT(result.output, HasSubstr("memory    passed"));
  EXPECT_THAT(result.output, HasSubstr("batches   passed"));
  EXPECT_THAT(result.output, HasSubstr("reuse     passed"));
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

TEST(SelfTestTest, NamesTheFirstTokenThatABatchChanges) {
  ToyOptions toy;
  toy.hiddenKernel = "toy_hidden_placed";
  ToolResult result = runTool("selftest", {toyFile(toy).path()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6020"));
  EXPECT_THAT(result.output,
              ContainsRegex("batches +FAILED +prompt [0-9]+ of 8, token [0-9]+ is .* alone, .* in "
                            "the batch"));
}

TEST(SelfTestTest, NamesTheFirstPositionThatStepsChange) {
  ToyOptions toy;
  toy.hiddenKernel = "toy_hidden_placed";
  toy.maxSequences = 1; // prompts are alone in any case
  toy.maxLogitRows = 16;
  ToolResult result = runTool("selftest", {toyFile(toy).path()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("batches   passed"));
  // Of a step of 32 tokens the last 16 have logits.
  EXPECT_THAT(result.output, HasSubstr("steps     FAILED     the logits of position 20 differ in "
                                       "steps of 32 instead of 16 tokens"));
}

namespace {

/// A self-test of the toy whose logits these kernels may form.
ToolResult testProduct(const std::vector<ToyProductKernel> &kernels) {
  ToyOptions toy;
  toy.productKernels = kernels;
  toy.maxSequences = 17;
  return runTool("selftest", {toyFile(toy).path()});
}

} // namespace

TEST(SelfTestTest, ComparesTheKernelsOfAProduct) {
  ToolResult result =
      testProduct({{"toy_product"}, {"toy_product"}, {"toy_product_rounded", true}});
  EXPECT_EQ(result.status, 3) << result.output << result.errors;
  EXPECT_THAT(result.output, HasSubstr("products  passed     2 kernels of 1 product equal bit for "
                                       "bit at 1, 10, 16, 17 rows, and within"));
  EXPECT_THAT(runTool("selftest", {toyFile().path()}).output,
              HasSubstr("products  -          the engine was not built with --tuning-candidates"));
}

TEST(SelfTestTest, NamesAWrongElementOfACandidate) {
  ToolResult result =
      testProduct({{"toy_product"}, {"toy_product_wrong"}, {"toy_product_rounded", true}});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6020"));
  EXPECT_THAT(result.errors,
              ContainsRegex("logits, kernel 'toy_product_wrong' \\(toy_product_wrong\\), 10 rows, "
                            "row 9, column 5 is .*, kernel 'toy_product' gives .*, the plain one "
                            ".* \\(1 of 640 elements differ\\)"));
}

TEST(SelfTestTest, NamesWhatAllCandidatesHaveWrong) {
  ToolResult result =
      testProduct({{"toy_product_wrong"}, {"toy_product_wrong"}, {"toy_product", true}});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output,
              ContainsRegex("products +FAILED .* 10 rows, row 9, column 5 is .*, the "
                            "plain kernel 'toy_product' gives .* \\+- "));
}

TEST(SelfTestTest, NamesAKernelThatLeavesItsCounters) {
  ToolResult result = testProduct({{"toy_product"}, {"toy_product_counting"}});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors,
              HasSubstr("'toy_product_counting': it leaves the workspace's counter 3 "
                        "other than zero"));
}

TEST(MeasuringDeviceTest, ForwardsRecordingsAndWhatTheDeviceSays) {
  struct Recorder final : HostDevice {
    explicit Recorder(std::string &calls) : HostDevice(1), calls(calls) {}
    bool replay(uint64_t key) override {
      calls += "replay " + std::to_string(key) + ";";
      return key == 7;
    }
    void beginRecording(uint64_t key) override { calls += "begin " + std::to_string(key) + ";"; }
    void endRecording() override { calls += "end;"; }
    void forget(uint64_t key) override { calls += "forget " + std::to_string(key) + ";"; }
    std::string findings() const override { return "a finding"; }
    int32_t driverVersion() const override { return 12080; }
    std::string &calls;
  };
  std::string calls;
  MeasuringDevice device(std::make_unique<Recorder>(calls));
  EXPECT_FALSE(device.replay(3));
  device.beginRecording(3);
  device.endRecording();
  EXPECT_TRUE(device.replay(7));
  device.forget(3);
  EXPECT_EQ(calls, "replay 3;begin 3;end;replay 7;forget 3;");
  EXPECT_EQ(device.findings(), "a finding");
  EXPECT_EQ(device.driverVersion(), 12080);
}

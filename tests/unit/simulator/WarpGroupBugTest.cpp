// SPDX-License-Identifier: Apache-2.0
// A correct use of wgmma passes however its products are completed; with one planted bug it is
// found, and with late completion its results are wrong, too.
#include "tests/unit/simulator/Gemm.h"

#include <algorithm>
#include <bit>

namespace ingot::test {
namespace {

using testing::HasSubstr;

/// Two stages of operands, all ones: 64 rows of A and 8 of B, of 16 columns.
constexpr uint32_t kBytesOfA = 2048, kStage = 2304;
constexpr float kSum = 16;

class WarpGroupBugTest : public Simulator {
protected:
  /// A product of each stage in a group of its own, `between` and the waits, and the sums.
  static std::string body() {
    auto descriptor = [](const std::string &to, uint32_t offset) {
      return "add.u32 %r3, %r20, " + std::to_string(offset) +
             "; shr.u32 %r3, %r3, 4; and.b32 %r3, %r3, 0x3fff; cvt.u64.u32 " + to +
             ", %r3; or.b64 " + to + ", " + to + ", " +
             std::to_string(uint64_t(128 / 16) << 16 | uint64_t(256 / 16) << 32) + ";";
    };
    auto product = [](const std::string &a, const std::string &b) {
      return "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r30, %r31, %r32, %r33}, " + a +
             ", " + b + ", %p3, 1, 1, 0" + (a[0] == '{' ? "" : ", 0") + ";";
    };
    return ".shared .align 128 .b8 s[" + std::to_string(2 * kStage) +
           "]; mov.u32 %r20, s; mov.u32 %r1, %tid.x; setp.eq.u32 %p3, %r1, %r1;"
           "setp.eq.u32 %p4, %r1, 0; mov.u32 %r2, %r1;"
           "FILL: setp.ge.u32 %p1, %r2, " +
           std::to_string(2 * kStage / 4) +
           "; @%p1 bra FULL; shl.b32 %r4, %r2, 2; add.u32 %r4, %r4, %r20;"
           "st.shared.u32 [%r4], 0x3f803f80; add.u32 %r2, %r2, 128; bra FILL;"
           "FULL: fence.proxy.async; bar.sync 0;" +
           descriptor("%d20", 0) + descriptor("%d21", kBytesOfA) + descriptor("%d22", kStage) +
           descriptor("%d23", kStage + kBytesOfA) +
           "mov.u32 %r30, 0; mov.u32 %r31, 0; mov.u32 %r32, 0; mov.u32 %r33, 0;"
           "mov.u32 %r40, 0x3f803f80; mov.u32 %r41, %r40; mov.u32 %r42, %r40; mov.u32 %r43, %r40;"
           "wgmma.fence.sync.aligned; /*fenced*/" +
           product("%d20", "%d21") + "wgmma.commit_group.sync.aligned; /*first*/" +
           product("{%r40, %r41, %r42, %r43}", "%d23") +
           "wgmma.commit_group.sync.aligned; /*second*/"
           "wgmma.wait_group.sync.aligned 1; /*one*/"
           "wgmma.wait_group.sync.aligned 0; /*both*/"
           "mul.wide.u32 %d12, %r1, 16; add.u64 %d0, %d0, %d12;"
           "st.global.v4.u32 [%d0], {%r30, %r31, %r32, %r33};";
  }

  /// Runs the body with every `from` replaced. What is wrong must be found, whenever products are
  /// completed; `isSeen`: late completion makes results wrong without full checks.
  void plant(const std::string &from, const std::string &to, const std::string &expected,
             bool isSeen) {
    SCOPED_TRACE(from + " -> " + to);
    for (AsyncCompletion completion : {AsyncCompletion::Late, AsyncCompletion::Early}) {
      run(from, to, completion, SimulatorChecks::Full);
      if (expected.empty())
        EXPECT_EQ(findings(), "");
      else
        EXPECT_THAT(findings(), HasSubstr(expected));
    }
    EXPECT_EQ(run(from, to, AsyncCompletion::Late, SimulatorChecks::Bounds), !isSeen);
  }

  /// Whether the sums are right.
  bool run(const std::string &from, const std::string &to, AsyncCompletion completion,
           SimulatorChecks checks) {
    configure({.architecture = "sm_90a", .asyncCompletion = completion, .checks = checks});
    std::string text = body();
    EXPECT_NE(text.find(from), std::string::npos) << from;
    Kernel test = load(kernel(replaced(text, from, to), 1, "sm_90a"));
    DeviceArray<uint32_t> out(std::vector<uint32_t>(128 * 4));
    EXPECT_EQ(launch(test, {.block = 128}, {&out.address}), DriverResult::Success) << lastError();
    std::vector<uint32_t> sums = out.read();
    return std::all_of(sums.begin(), sums.end(),
                       [](uint32_t sum) { return std::bit_cast<float>(sum) == 2 * kSum; });
  }
};

constexpr const char *kUnwaited = "reads a register with sums of a wgmma, without a";
constexpr const char *kOverwritten = "reads, which has not been waited for";

TEST_F(WarpGroupBugTest, CorrectUsesPass) {
  plant("/*fenced*/", "", "", false);
  // Compilers put copies where they like.
  plant("/*fenced*/", "mov.u32 %r44, %r30; mov.u32 %r30, 0;", "", false);
  // What the groups that are complete have read may be overwritten.
  plant("/*one*/", "@%p4 st.shared.u32 [%r20], 0;", "", false);
  plant("/*both*/", "bar.sync 0; @%p4 st.shared.u32 [%r20+4352], 0;", "", false);
  plant("/*both*/", "mov.u32 %r40, 0; add.u32 %r41, %r1, 1;", "", false);
}

TEST_F(WarpGroupBugTest, MissingWait) {
  plant("wgmma.wait_group.sync.aligned 0;", "", kUnwaited, true);
  plant("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", kUnwaited, true);
  plant("/*one*/", "add.u32 %r45, %r30, 1;", kUnwaited, false);
}

TEST_F(WarpGroupBugTest, MissingCommit) {
  plant("wgmma.commit_group.sync.aligned; /*second*/", "", kUnwaited, true);
}

TEST_F(WarpGroupBugTest, MissingFenceOfRegisters) {
  plant("wgmma.fence.sync.aligned;", "", "without a wgmma.fence before the first one", false);
  plant("/*fenced*/", "sub.u32 %r31, %r1, %r1;", "written after the last wgmma.fence", false);
  plant("/*fenced*/", "add.u32 %r40, %r40, 0;", "written after the last wgmma.fence", false);
}

TEST_F(WarpGroupBugTest, MissingFenceOfProxies) {
  const char *expected = "stored to shared memory without a fence.proxy.async since";
  plant("fence.proxy.async;", "", expected, false);
  plant("fence.proxy.async;", "fence.proxy.async.global;", expected, false);
  plant("fence.proxy.async;", "fence.acq_rel.cta;", expected, false);
}

TEST_F(WarpGroupBugTest, OverwrittenOperands) {
  plant("/*second*/", "@%p4 st.shared.u32 [%r20], 0;", kOverwritten, true);
  plant("/*one*/", "@%p4 st.shared.u32 [%r20+4352], 0;", kOverwritten, true);
  plant("/*second*/", "sub.u32 %r42, %r1, %r1;", "writes a register that a wgmma uses", true);
  plant("/*one*/", "sub.u32 %r33, %r1, %r1;", "writes a register that a wgmma uses", true);
}

} // namespace
} // namespace ingot::test

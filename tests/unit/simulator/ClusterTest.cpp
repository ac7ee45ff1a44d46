// SPDX-License-Identifier: Apache-2.0
// Blocks of a cluster reach each other's shared memory and barriers; whoever reaches the wrong
// block, or one that is gone, is found.
#include "tests/unit/simulator/Gemm.h"

namespace ingot::test {
namespace {

using testing::HasSubstr;

class ClusterTest : public Simulator {
protected:
  /// Block i of a cluster of two stores 10 * its place in the grid to the other one, tells its
  /// mbarrier, and adds 1 to what it was given.
  static std::string exchange() {
    return ".shared .align 8 .b8 s[64]; .shared .align 8 .b64 bar; mov.u32 %r1, %tid.x;"
           "mov.u32 %r2, s; mov.u32 %r3, bar; mov.u32 %r4, %cluster_ctarank; mov.u32 %r9, %ctaid.x;"
           "setp.ne.u32 %p1, %r1, 0; @%p1 bra MADE; mbarrier.init.shared.b64 [%r3], 1;"
           "fence.mbarrier_init.release.cluster; MADE: barrier.cluster.arrive.release.aligned;"
           "barrier.cluster.wait.acquire.aligned; @%p1 bra WAIT;"
           "xor.b32 %r5, %r4, 1; mapa.shared::cluster.u32 %r6, %r2, %r5;"
           "mapa.shared::cluster.u32 %r7, %r3, %r5; mul.lo.u32 %r8, %r9, 10;"
           "st.shared::cluster.u32 [%r6], %r8;"
           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];"
           "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;"
           "@%p1 bra END; ld.shared.u32 %r10, [%r2]; add.u32 %r10, %r10, 1;"
           "mul.wide.u32 %d1, %r9, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r10;"
           "END: barrier.cluster.arrive; barrier.cluster.wait;";
  }

  /// Runs the exchange with every `from` replaced, in a cluster of two and in four blocks.
  DriverResult run(const std::string &from = "", const std::string &to = "",
                   SimulatorChecks checks = SimulatorChecks::Full) {
    configure({.architecture = "sm_90", .checks = checks});
    std::string text = exchange();
    EXPECT_NE(text.find(from), std::string::npos) << from;
    Kernel test = load(kernel(from.empty() ? text : replaced(text, from, to), 1, "sm_90"));
    DeviceArray<uint32_t> out(std::vector<uint32_t>(4));
    DriverResult result = launch(test, {.grid = 4, .block = 64, .cluster = 2}, {&out.address});
    seen = result == DriverResult::Success ? out.read() : std::vector<uint32_t>();
    return result;
  }

  std::vector<uint32_t> seen;
};

TEST_F(ClusterTest, BlocksExchangeThroughSharedMemory) {
  for (SimulatorChecks checks : {SimulatorChecks::Bounds, SimulatorChecks::Full}) {
    ASSERT_EQ(run("", "", checks), DriverResult::Success) << lastError();
    EXPECT_THAT(seen, testing::ElementsAre(11u, 1u, 31u, 21u));
    EXPECT_EQ(findings(), "");
  }
}

TEST_F(ClusterTest, WrongRanksAreFound) {
  // Its own, of which the other one waits in vain; and one that the cluster does not have.
  EXPECT_NE(run("xor.b32 %r5, %r4, 1;", "mov.u32 %r5, 0;"), DriverResult::Success);
  EXPECT_THAT(findings(), testing::AnyOf(HasSubstr("deadlock: kernel test"),
                                         HasSubstr("more arrivals than the phase")));
  EXPECT_NE(run("xor.b32 %r5, %r4, 1;", "mov.u32 %r5, 2;"), DriverResult::Success);
  EXPECT_THAT(findings(), HasSubstr("shared memory of block 2 of a cluster of 2 blocks"));
  // The place in the grid is no rank.
  EXPECT_NE(run("%cluster_ctarank", "%ctaid.x"), DriverResult::Success);
  EXPECT_THAT(findings(), HasSubstr("of a cluster of 2 blocks"));
}

TEST_F(ClusterTest, BlocksThatAreGoneAreFound) {
  EXPECT_NE(run("MADE: barrier.cluster.arrive.release.aligned;"
                "barrier.cluster.wait.acquire.aligned;",
                "MADE: setp.eq.u32 %p3, %r4, 0; @%p3 ret;"),
            DriverResult::Success);
  EXPECT_THAT(findings(), HasSubstr("of block 0 of the cluster, all of whose threads have exited"));
}

TEST_F(ClusterTest, BarriersAreUsedInTurns) {
  EXPECT_NE(run("END: barrier.cluster.arrive;", "END: barrier.cluster.arrive; "
                                                "barrier.cluster.arrive;"),
            DriverResult::Success);
  EXPECT_THAT(findings(), HasSubstr("arrives twice at the barrier of the cluster"));
  EXPECT_NE(run("END: barrier.cluster.arrive;", "END: "), DriverResult::Success);
  EXPECT_THAT(findings(), HasSubstr("without having arrived"));
  EXPECT_NE(run("mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;",
                "xor.b32 %r5, %r4, 1; mapa.shared::cluster.u32 %r7, %r3, %r5;"
                "mbarrier.try_wait.parity.shared::cluster.b64 %p2, [%r7], 0;"),
            DriverResult::Success);
  EXPECT_THAT(findings(), HasSubstr("waits at an mbarrier of another block"));
}

TEST_F(ClusterTest, BlocksThatEndWhileOthersReadThemAreFound) {
  // Block i reads what the other one has stored in its own memory.
  auto readsBy = [](const std::string &end) {
    return ".shared .align 8 .b8 s[64]; mov.u32 %r2, s; mov.u32 %r4, %cluster_ctarank;"
           "st.shared.u32 [%r2], %r4; barrier.cluster.arrive; barrier.cluster.wait;"
           "xor.b32 %r5, %r4, 1; mapa.shared::cluster.u32 %r6, %r2, %r5;"
           "ld.shared::cluster.u32 %r7, [%r6]; mul.wide.u32 %d1, %r4, 4; add.u64 %d0, %d0, %d1;"
           "st.global.u32 [%d0], %r7;" +
           end;
  };
  configure({.architecture = "sm_90"});
  for (bool waits : {true, false}) {
    Kernel test = load(
        kernel(readsBy(waits ? "barrier.cluster.arrive; barrier.cluster.wait;" : ""), 1, "sm_90"));
    DeviceArray<uint32_t> out(std::vector<uint32_t>(2));
    DriverResult result = launch(test, {.grid = 2, .block = 1, .cluster = 2}, {&out.address});
    EXPECT_EQ(result == DriverResult::Success, waits) << lastError();
    if (waits)
      EXPECT_THAT(out.read(), testing::ElementsAre(1u, 0u));
    else
      EXPECT_THAT(findings(), testing::AnyOf(HasSubstr("ends its block while nothing says"),
                                             HasSubstr("all of whose threads have exited")));
  }
}

TEST_F(ClusterTest, RanksCountAlongTheAxes) {
  // Every block of a grid of 4 x 6 x 2 in clusters of 2 x 3 x 1 tells where it is.
  configure({.architecture = "sm_90"});
  Kernel test = load(kernel(
      "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;"
      "mad.lo.u32 %r4, %r3, 6, %r2; mad.lo.u32 %r4, %r4, 4, %r1; mul.wide.u32 %d1, %r4, 32;"
      "add.u64 %d0, %d0, %d1; mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_ctaid.x;"
      "mov.u32 %r7, %cluster_ctaid.y; mov.u32 %r8, %cluster_ctaid.z;"
      "mov.u32 %r9, %clusterid.x; mov.u32 %r10, %clusterid.y; mov.u32 %r11, %cluster_nctarank;"
      "mov.u32 %r12, %cluster_nctaid.y; st.global.v4.u32 [%d0], {%r5, %r6, %r7, %r8};"
      "st.global.v4.u32 [%d0+16], {%r9, %r10, %r11, %r12};",
      1, "sm_90"));
  constexpr uint32_t x = 4, y = 6, z = 2;
  DeviceArray<uint32_t> out(std::vector<uint32_t>(x * y * z * 8));
  Function function;
  ASSERT_EQ(cuKernelGetFunction(&function, test), DriverResult::Success);
  LaunchAttribute cluster{};
  cluster.id = LaunchAttributeId::ClusterDimension;
  cluster.value.clusterDimension = {2, 3, 1};
  LaunchConfig config = {x, y, z, 1, 1, 1, 0, nullptr, &cluster, 1};
  void *arguments[] = {&out.address};
  ASSERT_EQ(cuLaunchKernelEx(&config, function, arguments, nullptr), DriverResult::Success)
      << lastError();
  std::vector<uint32_t> words = out.read();
  for (uint32_t block = 0; block < x * y * z; ++block) {
    uint32_t column = block % x, row = block / x % y;
    const uint32_t expected[] = {
        row % 3 * 2 + column % 2, column % 2, row % 3, 0, column / 2, row / 3, 6, 3};
    for (uint32_t i = 0; i < 8; ++i)
      EXPECT_EQ(words[block * 8 + i], expected[i]) << "block " << block << ", number " << i;
  }
  config.gridDimY = 4;
  EXPECT_EQ(cuLaunchKernelEx(&config, function, arguments, nullptr),
            DriverResult::InvalidClusterSize);
}

} // namespace
} // namespace ingot::test

// SPDX-License-Identifier: Apache-2.0
// Correct kernels pass in every mode; the same kernels with one planted bug do not.
#include "tests/unit/simulator/Gemm.h"

namespace ingot::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr SimulatorOptions full(AsyncCompletion completion, uint64_t seed = 0) {
  SimulatorOptions options{};
  options.asyncCompletion = completion;
  options.warpOrderSeed = seed;
  options.checks = SimulatorChecks::Full;
  return options;
}

struct PlantedBugTest : GemmTest {};

TEST_F(PlantedBugTest, CorrectKernelsPassInEveryMode) {
  std::string ampere = inputFile("kernels/gemm.ptx"), hopper = inputFile("kernels/hopper_gemm.ptx");
  for (AsyncCompletion completion : {AsyncCompletion::Late, AsyncCompletion::Early})
    for (uint64_t seed : {0, 1, 2}) {
      EXPECT_EQ(runAmpere(ampere, full(completion, seed), {}), 0) << seed;
      EXPECT_EQ(findings(), "");
      EXPECT_EQ(runHopper(hopper, full(completion, seed), {.k = 256}), 0) << seed;
      EXPECT_EQ(findings(), "");
    }
  EXPECT_EQ(runAmpere(ampere, {.exactTensorCores = 1}, {.m = 128, .n = 128}), 0);
  EXPECT_EQ(runHopper(hopper, {.exactTensorCores = 1}, {.m = 128, .n = 128}), 0);
}

TEST_F(PlantedBugTest, RemovedCopyWait) {
  std::string ptx = replaced(inputFile("kernels/gemm.ptx"), "cp.async.wait_group 1;", "");
  // By its values alone, with the cheap checks: late completion leaves the old content.
  EXPECT_GT(runAmpere(ptx, {}, {}), 0);
  runAmpere(ptx, full(AsyncCompletion::Early), {});
  EXPECT_THAT(findings(), testing::AllOf(HasSubstr("async-race: kernel gemm, PTX line"),
                                         HasSubstr("cp.async"), HasSubstr("ldmatrix")));
}

TEST_F(PlantedBugTest, RemovedBarrier) {
  std::string good = inputFile("kernels/gemm.ptx");
  int barriers = 0;
  for (size_t at = good.find("bar.sync"); at != std::string::npos;
       at = good.find("bar.sync", at + 1))
    ++barriers;
  ASSERT_GE(barriers, 2);
  for (int which = 0; which < 2; ++which) {
    runAmpere(replaced(good, "bar.sync \t0;", "", which), full(AsyncCompletion::Early), {});
    EXPECT_THAT(findings(), HasSubstr("race: kernel gemm")) << which;
  }
}

TEST_F(PlantedBugTest, BoundOffByOne) {
  EXPECT_EQ(runAmpere(inputFile("kernels/gemm.ptx"), {}, {.wrongBytes = 2}), -1);
  EXPECT_THAT(findings(), testing::AllOf(HasSubstr("out-of-bounds: kernel gemm, PTX line"),
                                         HasSubstr("cp.async"), HasSubstr("thread (")));
}

TEST_F(PlantedBugTest, WrongSwizzle) {
  EXPECT_GT(runHopper(inputFile("kernels/hopper_gemm.ptx"), {},
                      {.k = 256, .swizzle = TensorMapSwizzle::None}),
            0);
}

TEST_F(PlantedBugTest, RemovedMessageBarrierWait) {
  std::string good = inputFile("kernels/hopper_gemm.ptx");
  // The consumers' waits become true at once.
  std::string ptx = replaced(good, "@P1 bra DONE;", "bra DONE;");
  EXPECT_NE(runHopper(ptx, {}, {.k = 256}), 0);
  EXPECT_NE(runHopper(ptx, full(AsyncCompletion::Early), {.k = 256}), -2);
  EXPECT_THAT(findings(), AnyOf(HasSubstr("async-race"), HasSubstr("async-protocol"),
                                HasSubstr("uninitialised")));
}

TEST_F(PlantedBugTest, TooFewBytesExpected) {
  std::string ptx = replaced(inputFile("kernels/hopper_gemm.ptx"), "mov.u32 \t%r158, 16384",
                             "mov.u32 \t%r158, 16368");
  EXPECT_NE(runHopper(ptx, {}, {.k = 256}), 0);
  ptx = replaced(inputFile("kernels/hopper_gemm.ptx"), "mov.u32 \t%r158, 16384",
                 "mov.u32 \t%r158, 16400");
  EXPECT_EQ(runHopper(ptx, {}, {.k = 256}), -1);
  EXPECT_THAT(findings(), HasSubstr("deadlock: kernel hgemm"));
}

/// A kernel that writes p0[tid] = tid, or adds p1[tid] to it, in programmatic succession.
struct ProgrammaticLaunchTest : Simulator {
  void runPair(const std::string &second, const std::string &expected) {
    SimulatorOptions options = full(AsyncCompletion::Late);
    options.architecture = "sm_90";
    configure(options);
    std::string place = "mov.u32 %r1, %tid.x; mul.wide.u32 %d10, %r1, 4; add.u64 %d0, %d0, %d10;";
    Kernel producer = load(kernel(place + "griddepcontrol.launch_dependents;"
                                          "griddepcontrol.wait; st.global.u32 [%d0], %r1;",
                                  1, "sm_90"));
    Kernel consumer = load(kernel(place + second, 1, "sm_90"));
    DeviceArray<uint32_t> data(32);
    Graph graph;
    ASSERT_EQ(cuGraphCreate(&graph, 0), DriverResult::Success);
    GraphNode nodes[2];
    void *arguments[] = {&data.address};
    for (int i = 0; i < 2; ++i) {
      GraphNodeParameters parameters{};
      parameters.type = GraphNodeType::Kernel;
      KernelNodeParameters &k = parameters.kernel;
      k = {nullptr, 1, 1, 1, 32, 1, 1, 0, arguments, nullptr, i ? consumer : producer, nullptr};
      GraphEdge edge{GraphPort::Programmatic, 0, GraphDependencyType::Programmatic, {}};
      ASSERT_EQ(cuGraphAddNode_v2(&nodes[i], graph, nodes, &edge, size_t(i), &parameters),
                DriverResult::Success)
          << lastError();
    }
    GraphExec executable;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), DriverResult::Success);
    ASSERT_EQ(cuGraphLaunch(executable, nullptr), DriverResult::Success) << lastError();
    ASSERT_EQ(cuGraphExecDestroy(executable), DriverResult::Success);
    ASSERT_EQ(cuGraphDestroy(graph), DriverResult::Success);
    if (expected.empty())
      EXPECT_EQ(findings(), "");
    else
      EXPECT_THAT(findings(), HasSubstr(expected));
  }
};

TEST_F(ProgrammaticLaunchTest, WaitsBeforeItReads) {
  runPair("griddepcontrol.wait; ld.global.u32 %r2, [%d0]; st.global.u32 [%d0], %r2;", "");
}

TEST_F(ProgrammaticLaunchTest, ReadsBeforeItWaits) {
  runPair("ld.global.u32 %r2, [%d0]; griddepcontrol.wait; st.global.u32 [%d0], %r2;",
          "reads global memory that test writes, before griddepcontrol.wait");
}

TEST_F(ProgrammaticLaunchTest, NothingBeforeASynchronizedStreamIsStillRunning) {
  SimulatorOptions options = full(AsyncCompletion::Late);
  options.architecture = "sm_90";
  configure(options);
  Kernel reader = load(kernel("ld.global.u32 %r2, [%d0]; griddepcontrol.wait; "
                              "st.global.u32 [%d0], %r2;",
                              1, "sm_90"));
  Function function = nullptr;
  ASSERT_EQ(cuKernelGetFunction(&function, reader), DriverResult::Success);
  DeviceArray<uint32_t> data(1);
  void *arguments[] = {&data.address};
  LaunchAttribute early = {};
  early.id = LaunchAttributeId::ProgrammaticStreamSerialization;
  early.value.programmaticStreamSerializationAllowed = 1;
  LaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, &early, 1};
  for (bool synchronized : {true, false}) {
    ASSERT_EQ(ingotSimulatorReset(), DriverResult::Success);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(cuLaunchKernelEx(&config, function, arguments, nullptr), DriverResult::Success);
      if (synchronized)
        ASSERT_EQ(cuStreamSynchronize(nullptr), DriverResult::Success);
    }
    EXPECT_EQ(findings().find("before griddepcontrol.wait") == std::string::npos, synchronized);
  }
}

TEST_F(ProgrammaticLaunchTest, CopiesReadBehindAFence) {
  auto copies = [](const std::string &fence) {
    return ".shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar; mov.u32 %r20, s;"
           "mov.u32 %r21, bar; setp.ne.u32 %p1, %r1, 0; @%p1 bra TRY;"
           "mbarrier.init.shared.b64 [%r21], 1; fence.proxy.async.shared::cta;"
           "mbarrier.arrive.expect_tx.shared.b64 _, [%r21], 128; griddepcontrol.wait;" +
           fence +
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%d0], 128, "
           "[%r21]; TRY: bar.warp.sync -1; W: mbarrier.try_wait.parity.shared.b64 %p2, [%r21], 0;"
           "@!%p2 bra W;";
  };
  const char *expected = "stored, without a fence.proxy.async since griddepcontrol.wait";
  runPair(copies("fence.proxy.async.global;"), "");
  runPair(copies("fence.proxy.async;"), "");
  runPair(copies(""), expected);
  runPair(copies("fence.proxy.async.shared::cta;"), expected);
}

TEST_F(ProgrammaticLaunchTest, NeverWaits) { runPair("", "without griddepcontrol.wait"); }

struct CheckerTest : Simulator {
  /// The findings of a body run by 64 threads.
  std::string check(const std::string &body, const Shape &shape = {.grid = 1, .block = 64},
                    uint64_t seed = 0) {
    configure(full(AsyncCompletion::Late, seed));
    Kernel test = load(kernel(".shared .align 16 .b8 s[1024]; mov.u32 %r1, %tid.x;"
                              "mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r4, %r2, %r3;" +
                                  body,
                              1));
    DeviceArray<uint32_t> data(64);
    launch(test, shape, {&data.address});
    std::string found = findings();
    return found;
  }
};

TEST_F(CheckerTest, SharedMemory) {
  EXPECT_EQ(check("st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r5, %r3, 128;"
                  "add.u32 %r5, %r5, %r2; ld.shared.u32 %r6, [%r5];"),
            "");
  EXPECT_THAT(check("ld.shared.u32 %r6, [%r4];"), HasSubstr("uninitialised: kernel test"));
  EXPECT_THAT(check("st.shared.u32 [%r4], %r1; xor.b32 %r5, %r3, 128;"
                    "add.u32 %r5, %r5, %r2; ld.shared.u32 %r6, [%r5];"),
              AnyOf(HasSubstr("race:"), HasSubstr("uninitialised:")));
  EXPECT_THAT(check("st.shared.u32 [%r4], %r1; xor.b32 %r5, %r3, 4;"
                    "add.u32 %r5, %r5, %r2; ld.shared.u32 %r6, [%r5];"),
              HasSubstr("without a bar.warp.sync"));
  EXPECT_EQ(check("st.shared.u32 [%r4], %r1; bar.warp.sync -1; xor.b32 %r5, %r3, 4;"
                  "add.u32 %r5, %r5, %r2; ld.shared.u32 %r6, [%r5];"),
            "");
  EXPECT_THAT(check("mov.u32 %r5, 1; st.shared.u32 [s], %r5;"), HasSubstr("race:"));
  EXPECT_THAT(check("st.shared.u32 [%r4+1000], %r1;"),
              testing::AllOf(HasSubstr("out-of-bounds:"), HasSubstr("thread (6,0,0)"),
                             HasSubstr("offset 1024")));
  EXPECT_THAT(check("st.shared.u32 [%r4+2], %r1;"), HasSubstr("misaligned:"));
  EXPECT_THAT(check("red.shared.add.u32 [s], 1;"), HasSubstr("uninitialised"));
}

TEST_F(CheckerTest, GlobalMemory) {
  EXPECT_THAT(check("ld.global.u32 %r5, [%d0+256];"),
              testing::AllOf(HasSubstr("out-of-bounds:"), HasSubstr("0 bytes behind the end of")));
  EXPECT_THAT(check("ld.global.u32 %r5, [%d0+-4];"), HasSubstr("4 bytes before the begin"));
  EXPECT_THAT(check("ld.global.v2.u32 {%r5, %r6}, [%d0+4];"), HasSubstr("misaligned:"));
  EXPECT_THAT(check("mov.u64 %d1, 0; ld.global.u32 %r5, [%d1];"), HasSubstr("out-of-bounds:"));
}

TEST_F(CheckerTest, BlocksOfALaunch) {
  const Shape two = {.grid = 2, .block = 32};
  EXPECT_THAT(check("st.global.u32 [%d0], %r1;", {.grid = 2, .block = 1}),
              HasSubstr("of the same launch wrote"));
  EXPECT_EQ(check("mov.u32 %r5, %ctaid.x; mul.wide.u32 %d1, %r5, 64; mul.wide.u32 %d2, %r1, 2;"
                  "add.u64 %d1, %d1, %d2; add.u64 %d1, %d1, %d0; cvt.u16.u32 %h1, %r1;"
                  "st.global.u16 [%d1], %h1; ld.global.u16 %h2, [%d1];",
                  two),
            "");
  EXPECT_EQ(check("atom.global.add.u32 %r5, [%d0], 1; st.global.u32 [%d0+4], %r5;",
                  {.grid = 2, .block = 1}),
            "");
}

TEST_F(CheckerTest, BarriersAndDeadlocks) {
  EXPECT_THAT(check("setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1, 64; L: bar.sync 0, 64;"),
              HasSubstr("deadlock: kernel test"));
  EXPECT_THAT(check("bar.sync 0, 33;"), HasSubstr("barrier: kernel test"));
  EXPECT_THAT(check("bar.sync 0, 96;"), HasSubstr("barrier: kernel test"));
  EXPECT_THAT(check("setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1, 32; bra M;"
                    "L: bar.sync 1, 64; M: "),
              HasSubstr("barrier: kernel test"));
  EXPECT_THAT(check("mov.u32 %r5, 17; bar.sync %r5;"), HasSubstr("does not exist"));
  EXPECT_EQ(check("setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.arrive 1, 64; bra M;"
                  "L: bar.sync 1, 64; M: "),
            "");
  EXPECT_THAT(check("and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra L;"
                    "shfl.sync.idx.b32 %r6, %r1, 0, 31, -1; ret; L: ret;"),
              AnyOf(HasSubstr("divergence"), testing::Eq("")));
}

TEST_F(CheckerTest, WaitingThreadsDoNotHoldUpTheRestOfTheirWarp) {
  // Turns end at different places in each block.
  EXPECT_EQ(check("setp.ne.u32 %p1, %r1, 0; @%p1 bra S; mbarrier.init.shared.b64 [%r2], 1;"
                  "S: bar.sync 0; @%p1 bra W; mov.u32 %r5, 0; L: add.u32 %r5, %r5, 1;"
                  "setp.lt.u32 %p2, %r5, 100; @%p2 bra L; mbarrier.arrive.shared.b64 _, [%r2];"
                  "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W;",
                  {.grid = 200, .block = 32}, /*seed=*/1),
            "");
}

TEST_F(CheckerTest, Livelock) {
  configure({.maxInstructionsPerWarp = 100000});
  Kernel test = load(kernel("L: bra L;", 0));
  EXPECT_EQ(launch(test, {}, {}), DriverResult::LaunchTimeout);
  EXPECT_THAT(findings(), HasSubstr("livelock"));
}

TEST_F(CheckerTest, BankConflicts) {
  check("st.shared.u32 [%r4], %r1;");
  SimulatorCounters counters;
  ingotSimulatorCounters(&counters);
  EXPECT_EQ(counters.sharedAccesses, 2u);
  EXPECT_EQ(counters.bankConflicts, 0u);
  check("and.b32 %r5, %r1, 7; shl.b32 %r5, %r5, 7; add.u32 %r5, %r5, %r2;"
        "st.shared.u32 [%r5], %r1;");
  ingotSimulatorCounters(&counters);
  EXPECT_EQ(counters.bankConflicts, 14u);
}

TEST_F(CheckerTest, DeclaredBuffers) {
  configure({});
  Kernel test = load(kernel("ld.global.u32 %r5, [%d0+16];", 1));
  DeviceArray<uint32_t> data(64);
  ASSERT_EQ(ingotSimulatorDeclareBuffer(data.address, 16, "scales"), DriverResult::Success);
  EXPECT_EQ(launch(test, {}, {&data.address}), DriverResult::IllegalAddress);
  EXPECT_THAT(findings(), HasSubstr("0 bytes behind the end of scales of 16 bytes"));
}

} // namespace
} // namespace ingot::test

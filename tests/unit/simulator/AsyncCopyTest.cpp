// SPDX-License-Identifier: Apache-2.0
// Copies that reach several blocks, come from shared memory, or arrive at an mbarrier.
#include "tests/unit/simulator/Simulator.h"

namespace ingot::test {
namespace {

using Words = std::vector<uint32_t>;

class AsyncCopyTest : public Simulator {
protected:
  static Words sequence(size_t count) {
    Words words(count);
    for (size_t i = 0; i < count; ++i)
      words[i] = uint32_t(i) * 7 + 1;
    return words;
  }
  /// A map over `in` as `rows` rows of 32 words, read or written by boxes of 8 x 4.
  static TensorMap mapOf(DevicePointer address, uint64_t rows) {
    TensorMap map;
    const uint64_t sizes[] = {32, rows}, strides[] = {128};
    const uint32_t box[] = {8, 4}, ones[] = {1, 1};
    EXPECT_EQ(cuTensorMapEncodeTiled(&map, TensorMapDataType::Uint32, 2,
                                     reinterpret_cast<void *>(address), sizes, strides, box, ones,
                                     TensorMapInterleave::None, TensorMapSwizzle::None,
                                     TensorMapPromotion::None, TensorMapFill::Zero),
              DriverResult::Success)
        << lastError();
    return map;
  }
  /// A kernel of a tensor map and an output; the thread is %r1, s 128 aligned words, bar a barrier.
  static std::string tensorKernel(const std::string &body) {
    return ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry test("
           ".param .align 64 .b8 map[128], .param .u64 p1)\n{\n"
           ".reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<64>; .reg .b64 %d<32>;\n"
           ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar;\n"
           "ld.param.u64 %d1, [p1]; mov.u64 %d2, map; cvta.param.u64 %d3, %d2;"
           "mov.u32 %r1, %tid.x; mov.u32 %r20, s; mov.u32 %r21, bar; setp.ne.u32 %p1, %r1, 0;"
           "mul.wide.u32 %d10, %r1, 4; shl.b32 %r10, %r1, 2; add.u32 %r11, %r20, %r10;" +
           body + "\nret;\n}\n";
  }
  void eachCompletion(const std::function<void(SimulatorOptions)> &body) {
    for (AsyncCompletion completion : {AsyncCompletion::Late, AsyncCompletion::Early})
      body({.architecture = "sm_90a",
            .asyncCompletion = completion,
            .checks = SimulatorChecks::Full});
  }
};

/// Waits for phase 0 of the barrier, then writes each thread's word at its block's place.
const std::string kWaitAndWrite =
    "TRY: mbarrier.try_wait.parity.shared.b64 %p2, [%r21], 0; @!%p2 bra TRY;"
    "ld.shared.u32 %r2, [%r11]; mov.u32 %r3, %ctaid.x; mul.wide.u32 %d11, %r3, 128;"
    "add.u64 %d1, %d1, %d11; add.u64 %d1, %d1, %d10; st.global.u32 [%d1], %r2;"
    "barrier.cluster.arrive; barrier.cluster.wait;";

const std::string kExpect128 =
    "@%p1 bra READY; mbarrier.init.shared.b64 [%r21], 1; fence.mbarrier_init.release.cluster;"
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r21], 128;"
    "READY: barrier.cluster.arrive; barrier.cluster.wait;";

TEST_F(AsyncCopyTest, BulkMulticast) {
  // Block 1 of each cluster sends 128 bytes, of its cluster's number, to both of its blocks.
  eachCompletion([&](SimulatorOptions options) {
    configure(options);
    Kernel test = load(kernel(
        ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar; mov.u32 %r1, %tid.x;"
        "mov.u32 %r20, s; mov.u32 %r21, bar; setp.ne.u32 %p1, %r1, 0;"
        "mul.wide.u32 %d10, %r1, 4; shl.b32 %r10, %r1, 2; add.u32 %r11, %r20, %r10;" +
            kExpect128 +
            "mov.u32 %r4, %cluster_ctarank; setp.ne.u32 %p3, %r4, 1; or.pred %p3, %p3, %p1;"
            "@%p3 bra TRY; mov.u32 %r5, %clusterid.x; mul.wide.u32 %d12, %r5, 128;"
            "add.u64 %d0, %d0, %d12; mov.u16 %h1, 3;"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
            " [%r20], [%d0], 128, [%r21], %h1;" +
            kWaitAndWrite,
        2, "sm_90a"));
    Words in = sequence(64);
    DeviceArray<uint32_t> source(in), out(Words(128));
    ASSERT_EQ(launch(test, {.grid = 4, .block = 32, .cluster = 2}, {&source.address, &out.address}),
              DriverResult::Success)
        << lastError();
    EXPECT_EQ(findings(), "");
    Words found = out.read();
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], in[i / 64 * 32 + i % 32]) << "word " << i;
  });
}

TEST_F(AsyncCopyTest, MulticastBeyondTheCluster) {
  configure({.architecture = "sm_90a"});
  Kernel test = load(
      kernel(".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar; mov.u32 %r1, %tid.x;"
             "mov.u32 %r20, s; mov.u32 %r21, bar; setp.ne.u32 %p1, %r1, 0;" +
                 kExpect128 +
                 "@%p1 bra END; mov.u16 %h1, 5; cp.async.bulk.shared::cluster.global."
                 "mbarrier::complete_tx::bytes.multicast::cluster [%r20], [%d0], 128, [%r21], %h1;"
                 "END: ",
             1, "sm_90a"));
  DeviceArray<uint32_t> source(sequence(64));
  EXPECT_NE(launch(test, {.grid = 2, .block = 32, .cluster = 2}, {&source.address}),
            DriverResult::Success);
  EXPECT_THAT(findings(), testing::HasSubstr("multicast mask names block 2"));
}

TEST_F(AsyncCopyTest, TensorMulticast) {
  eachCompletion([&](SimulatorOptions options) {
    configure(options);
    Kernel test = load(tensorKernel(
        kExpect128 +
        "mov.u32 %r4, %cluster_ctarank; setp.ne.u32 %p3, %r4, 0; or.pred %p3, %p3, %p1;"
        "@%p3 bra TRY; mov.u16 %h1, 3; mov.u32 %r6, 16; mov.u32 %r7, 2;"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
        "multicast::cluster [%r20], [%d3, {%r6, %r7}], [%r21], %h1;" +
        kWaitAndWrite));
    Words in = sequence(32 * 8);
    DeviceArray<uint32_t> source(in), out(Words(64));
    TensorMap map = mapOf(source.address, 8);
    ASSERT_EQ(launch(test, {.grid = 2, .block = 32, .cluster = 2}, {&map, &out.address}),
              DriverResult::Success)
        << lastError();
    EXPECT_EQ(findings(), "");
    Words found = out.read();
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], in[(2 + i % 32 / 8) * 32 + 16 + i % 8]) << "word " << i;
  });
}

TEST_F(AsyncCopyTest, RowsBeyondTheEndAreZeroAndCount) {
  // A box of 8 rows of 32 bytes of 16-bit elements from (4, 3) on, in a tensor of 5 rows of 18
  // elements: the whole box counts, and what the tensor has not is zero.
  constexpr uint32_t columns = 18, stride = 64, rows = 5;
  std::vector<uint16_t> in(stride / 2 * 8);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint16_t(i + 1);
  for (TensorMapSwizzle swizzle : {TensorMapSwizzle::None, TensorMapSwizzle::Bytes32})
    eachCompletion([&](SimulatorOptions options) {
      configure(options);
      Kernel test = load(tensorKernel(
          "@%p1 bra READY; mbarrier.init.shared.b64 [%r21], 1;"
          "fence.proxy.async.shared::cta; mbarrier.arrive.expect_tx.shared.b64 _, [%r21], 256;"
          "READY: bar.sync 0; @%p1 bra TRY; mov.u32 %r6, 4; mov.u32 %r7, 3;"
          "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"
          " [%r20], [%d3, {%r6, %r7}], [%r21];"
          "TRY: mbarrier.try_wait.parity.shared.b64 %p2, [%r21], 0; @!%p2 bra TRY;"
          "ld.shared.u32 %r2, [%r11]; add.u64 %d1, %d1, %d10; st.global.u32 [%d1], %r2;"));
      DeviceArray<uint16_t> source(in);
      DeviceArray<uint32_t> out(Words(64));
      TensorMap map;
      const uint64_t sizes[] = {columns, rows}, strides[] = {stride};
      const uint32_t box[] = {16, 8}, ones[] = {1, 1};
      ASSERT_EQ(cuTensorMapEncodeTiled(&map, TensorMapDataType::Bfloat16, 2,
                                       reinterpret_cast<void *>(source.address), sizes, strides,
                                       box, ones, TensorMapInterleave::None, swizzle,
                                       TensorMapPromotion::None, TensorMapFill::Zero),
                DriverResult::Success)
          << lastError();
      ASSERT_EQ(launch(test, {.block = 64}, {&map, &out.address}), DriverResult::Success)
          << lastError();
      EXPECT_EQ(findings(), "");
      Words words = out.read();
      const auto *found = reinterpret_cast<const uint16_t *>(words.data());
      for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t column = 0; column < 16; ++column) {
          bool there = row + 3 < rows && column + 4 < columns;
          uint32_t half = column / 8;
          if (swizzle == TensorMapSwizzle::Bytes32)
            half ^= row / 4 % 2; // bit 7 of the address, of rows of 32 bytes
          ASSERT_EQ(found[row * 16 + half * 8 + column % 8],
                    there ? in[(row + 3) * (stride / 2) + column + 4] : 0)
              << "row " << row << ", column " << column;
        }
    });
}

TEST_F(AsyncCopyTest, CachePoliciesChangeNothing) {
  // Row 2 of the map by a tensor copy, then 16 bytes of it again by each of two threads, one of
  // which fills with zeros, all under a policy.
  eachCompletion([&](SimulatorOptions options) {
    configure(options);
    Kernel test = load(tensorKernel(
        "createpolicy.fractional.L2::evict_first.b64 %d20, 1.0; ld.global.u64 %d21, [%d1+128];"
        "@%p1 bra READY; mbarrier.init.shared.b64 [%r21], 1; prefetch.tensormap [%d3];"
        "fence.proxy.async.shared::cta; mbarrier.arrive.expect_tx.shared.b64 _, [%r21], 128;"
        "READY: bar.sync 0; mov.u32 %r6, 16; mov.u32 %r7, 2; @%p1 bra TRY;"
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%r20], [%d3, {%r6, %r7}], [%r21], %d20;"
        "TRY: mbarrier.try_wait.parity.shared.b64 %p2, [%r21], 0; @!%p2 bra TRY;"
        "setp.gt.u32 %p3, %r1, 1; @%p3 bra READ; shl.b32 %r8, %r1, 4; add.u32 %r9, %r20, %r8;"
        "sub.u32 %r12, 16, %r8;"
        "cp.async.cg.shared.global.L2::cache_hint [%r9+256], [%d21], 16, %r12, %d20;"
        "cp.async.wait_all; READ: bar.sync 0; ld.shared.u32 %r2, [%r11];"
        "setp.gt.u32 %p3, %r1, 7; add.u32 %r13, %r11, 224; @%p3 ld.shared.u32 %r2, [%r13];"
        "add.u64 %d1, %d1, %d10; setp.lt.u32 %p4, %r1, 16; @%p4 st.global.u32 [%d1], %r2;"));
    Words in = sequence(32 * 8), room(34);
    DeviceArray<uint32_t> source(in);
    room[32] = uint32_t(source.address);
    room[33] = uint32_t(source.address >> 32);
    DeviceArray<uint32_t> out(room);
    TensorMap map = mapOf(source.address, 8);
    ASSERT_EQ(launch(test, {.grid = 1, .block = 16}, {&map, &out.address}), DriverResult::Success)
        << lastError();
    EXPECT_EQ(findings(), "");
    Words found = out.read();
    for (size_t i = 0; i < 8; ++i)
      EXPECT_EQ(found[i], in[2 * 32 + 16 + i]) << "word " << i;
    for (size_t i = 0; i < 8; ++i)
      EXPECT_EQ(found[8 + i], i < 4 ? in[i] : 0) << "word " << i;
  });
}

TEST_F(AsyncCopyTest, WhatIsNoMapCannotBePrefetched) {
  configure({.architecture = "sm_90a"});
  Kernel test = load(tensorKernel("prefetch.tensormap [%d1];"));
  DeviceArray<uint32_t> out(Words(32));
  TensorMap map = mapOf(out.address, 1);
  EXPECT_NE(launch(test, {.grid = 1, .block = 1}, {&map, &out.address}), DriverResult::Success);
  EXPECT_THAT(findings(), testing::HasSubstr("no tensor map"));
}

TEST_F(AsyncCopyTest, TensorStoresLeaveOutWhatIsOutside) {
  eachCompletion([&](SimulatorOptions options) {
    configure(options);
    // The box begins two rows before the end, and its columns four before theirs.
    Kernel test = load(tensorKernel(
        "add.u32 %r2, %r1, 100; st.shared.u32 [%r11], %r2; fence.proxy.async; bar.sync 0;"
        "@%p1 bra END; mov.u32 %r6, 28; mov.u32 %r7, 6;"
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d3, {%r6, %r7}], [%r20];"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END: "));
    DeviceArray<uint32_t> out(Words(32 * 8));
    TensorMap map = mapOf(out.address, 8);
    ASSERT_EQ(launch(test, {.block = 32}, {&map, &out.address}), DriverResult::Success)
        << lastError();
    EXPECT_EQ(findings(), "");
    Words found = out.read();
    for (uint32_t row = 0; row < 8; ++row)
      for (uint32_t column = 0; column < 32; ++column)
        ASSERT_EQ(found[row * 32 + column],
                  row >= 6 && column >= 28 ? 100 + (row - 6) * 8 + column - 28 : 0u)
            << "row " << row << ", column " << column;
  });
}

TEST_F(AsyncCopyTest, CopiesArriveAtABarrier) {
  // Every thread's copies arrive for it: 64 arrivals make the phase, without a wait for groups.
  eachCompletion([&](SimulatorOptions options) {
    configure(options);
    Kernel test = load(
        kernel(".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar; mov.u32 %r1, %tid.x;"
               "mov.u32 %r20, s; mov.u32 %r21, bar; setp.ne.u32 %p1, %r1, 0;"
               "@%p1 bra READY; mbarrier.init.shared.b64 [%r21], 64; READY: bar.sync 0;"
               "mul.wide.u32 %d10, %r1, 16; shl.b32 %r10, %r1, 4; add.u32 %r11, %r20, %r10;"
               "add.u64 %d0, %d0, %d10; cp.async.cg.shared.global [%r11], [%d0], 16;"
               "cp.async.mbarrier.arrive.noinc.shared.b64 [%r21];"
               "TRY: mbarrier.try_wait.parity.shared.b64 %p2, [%r21], 0; @!%p2 bra TRY;"
               // A word of the other warp: the barrier orders all copies.
               "xor.b32 %r12, %r10, 0x3f0; add.u32 %r12, %r12, %r20;"
               "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r12]; add.u64 %d1, %d1, %d10;"
               "st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};",
               2, "sm_90a"));
    Words in = sequence(256);
    DeviceArray<uint32_t> source(in), out(Words(256));
    ASSERT_EQ(launch(test, {.block = 64}, {&source.address, &out.address}), DriverResult::Success)
        << lastError();
    EXPECT_EQ(findings(), "");
    Words found = out.read();
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], in[(63 - i / 4) * 4 + i % 4]) << "word " << i;
  });
}

TEST_F(AsyncCopyTest, AnArrivalThatIsCountedLeavesTheCount) {
  // Without noinc the arrival adds one pending arrival first, so the thread still arrives itself.
  eachCompletion([&](SimulatorOptions options) {
    configure(options);
    Kernel test = load(
        kernel(".shared .align 128 .b8 s[512]; .shared .align 8 .b64 bar; mov.u32 %r1, %tid.x;"
               "mov.u32 %r20, s; mov.u32 %r21, bar; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;"
               "mbarrier.init.shared.b64 [%r21], 1; cp.async.ca.shared.global [%r20], [%d0], 4;"
               "cp.async.mbarrier.arrive.shared.b64 [%r21]; cp.async.wait_all;"
               "mbarrier.test_wait.parity.shared.b64 %p2, [%r21], 0; selp.u32 %r2, 1, 0, %p2;"
               "mbarrier.arrive.shared.b64 _, [%r21];"
               "TRY: mbarrier.try_wait.parity.shared.b64 %p3, [%r21], 0; @!%p3 bra TRY;"
               "ld.shared.u32 %r3, [%r20]; st.global.v2.u32 [%d1], {%r2, %r3}; END: ",
               2, "sm_90a"));
    DeviceArray<uint32_t> source(Words{42}), out(Words(2));
    ASSERT_EQ(launch(test, {.block = 32}, {&source.address, &out.address}), DriverResult::Success)
        << lastError();
    EXPECT_EQ(findings(), "");
    EXPECT_THAT(out.read(), testing::ElementsAre(0u, 42u));
  });
}

} // namespace
} // namespace ingot::test

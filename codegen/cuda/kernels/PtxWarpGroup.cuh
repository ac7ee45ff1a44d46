// SPDX-License-Identifier: Apache-2.0
// Inline PTX of products by warp groups (wgmma), which sm_90a has: four warps multiply 64 rows, in
// registers or in shared memory, by 8 to 256 tokens in shared memory.
#pragma once

#include "Ptx.cuh"

namespace ptx {

/// What wgmma reads of shared memory as the right operand: rows of 128 bytes of depth, in eights
/// (1,024 bytes), whose chunks of 16 bytes are exchanged by the row's lowest three bits (the
/// 128-byte swizzle). `shared`: a multiple of 1,024 and 32 bytes for each step of depth.
INGOT_DEVICE u64 swizzledOperand(u32 shared) {
  constexpr u64 eights = u64(1024 / 16) << 32, swizzle = u64(1) << 62, notRead = u64(1) << 16;
  return u64((shared & 0x3ffff) >> 4) | eights | swizzle | notRead;
}

/// What it reads as the left operand: matrices of eight rows of 16 bytes, so many bytes apart along
/// depth and along rows. `shared`: a multiple of 16.
INGOT_DEVICE u64 matricesOperand(u32 shared, u32 alongDepth, u32 alongRows) {
  return u64((shared & 0x3ffff) >> 4) | u64(alongDepth >> 4) << 16 | u64(alongRows >> 4) << 32;
}

/// The operand `bytes` behind another of which `low` are the lower bits, and `alike` has the same
/// upper ones: addresses do not carry over.
INGOT_DEVICE u64 operandBehind(u64 alike, u32 low, u32 bytes) {
  return alike & ~u64(0xffffffff) | (low + (bytes >> 4));
}

/// Shows what this thread has stored in shared memory, copied by copyAsync16 included, to wgmma;
/// other threads' wgmma see it after a barrier.
INGOT_DEVICE void publishOperands() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/// Before wgmma reads registers that were written since the last one.
INGOT_DEVICE void beginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes a group of products.
INGOT_DEVICE void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `Pending` groups of products are unfinished.
template <int Pending> INGOT_DEVICE void waitProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/// Changes how many registers each thread of the warp group has, to fewer or to more.
template <int Count> INGOT_DEVICE void releaseRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count> INGOT_DEVICE void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
/// Keeps the compiler from moving reads and writes of a sum across this place.
INGOT_DEVICE void pin(float &sum) { asm volatile("" : "+f"(sum)::"memory"); }
/// Hides from the compiler how a number goes on from turn to turn of a loop.
INGOT_DEVICE void pin(int &counter) { asm volatile("" : "+r"(counter)); }
/// Keeps the compiler from computing a number again wherever it is used.
INGOT_DEVICE void pin(u32 &number) { asm volatile("" : "+r"(number)); }

/// Products of `Blocks` blocks of eight tokens: sums += a * b, or = where `accumulate` is 0. They
/// are there, and may be read or written, after waitProducts.
template <int Blocks> struct GroupProduct;

//===- Its instructions: one for each number of registers that sums take --------------------===//

// clang-format off
#define INGOT_PLACES_1 "%0, %1, %2, %3"
#define INGOT_PLACES_2 INGOT_PLACES_1 ", %4, %5, %6, %7"
#define INGOT_PLACES_3 INGOT_PLACES_2 ", %8, %9, %10, %11"
#define INGOT_PLACES_4 INGOT_PLACES_3 ", %12, %13, %14, %15"
#define INGOT_PLACES_5 INGOT_PLACES_4 ", %16, %17, %18, %19"
#define INGOT_PLACES_6 INGOT_PLACES_5 ", %20, %21, %22, %23"
#define INGOT_PLACES_7 INGOT_PLACES_6 ", %24, %25, %26, %27"
#define INGOT_PLACES_8 INGOT_PLACES_7 ", %28, %29, %30, %31"
#define INGOT_PLACES_9 INGOT_PLACES_8 ", %32, %33, %34, %35"
#define INGOT_PLACES_10 INGOT_PLACES_9 ", %36, %37, %38, %39"
#define INGOT_PLACES_11 INGOT_PLACES_10 ", %40, %41, %42, %43"
#define INGOT_PLACES_12 INGOT_PLACES_11 ", %44, %45, %46, %47"
#define INGOT_PLACES_13 INGOT_PLACES_12 ", %48, %49, %50, %51"
#define INGOT_PLACES_14 INGOT_PLACES_13 ", %52, %53, %54, %55"
#define INGOT_PLACES_15 INGOT_PLACES_14 ", %56, %57, %58, %59"
#define INGOT_PLACES_16 INGOT_PLACES_15 ", %60, %61, %62, %63"
#define INGOT_PLACES_17 INGOT_PLACES_16 ", %64, %65, %66, %67"
#define INGOT_PLACES_18 INGOT_PLACES_17 ", %68, %69, %70, %71"
#define INGOT_PLACES_19 INGOT_PLACES_18 ", %72, %73, %74, %75"
#define INGOT_PLACES_20 INGOT_PLACES_19 ", %76, %77, %78, %79"
#define INGOT_PLACES_21 INGOT_PLACES_20 ", %80, %81, %82, %83"
#define INGOT_PLACES_22 INGOT_PLACES_21 ", %84, %85, %86, %87"
#define INGOT_PLACES_23 INGOT_PLACES_22 ", %88, %89, %90, %91"
#define INGOT_PLACES_24 INGOT_PLACES_23 ", %92, %93, %94, %95"
#define INGOT_PLACES_25 INGOT_PLACES_24 ", %96, %97, %98, %99"
#define INGOT_PLACES_26 INGOT_PLACES_25 ", %100, %101, %102, %103"
#define INGOT_PLACES_27 INGOT_PLACES_26 ", %104, %105, %106, %107"
#define INGOT_PLACES_28 INGOT_PLACES_27 ", %108, %109, %110, %111"
#define INGOT_PLACES_29 INGOT_PLACES_28 ", %112, %113, %114, %115"
#define INGOT_PLACES_30 INGOT_PLACES_29 ", %116, %117, %118, %119"
#define INGOT_PLACES_31 INGOT_PLACES_30 ", %120, %121, %122, %123"
#define INGOT_PLACES_32 INGOT_PLACES_31 ", %124, %125, %126, %127"
#define INGOT_SUM(c) "+f"(d[c][0]), "+f"(d[c][1]), "+f"(d[c][2]), "+f"(d[c][3])
#define INGOT_SUMS_1 INGOT_SUM(0)
#define INGOT_SUMS_2 INGOT_SUMS_1, INGOT_SUM(1)
#define INGOT_SUMS_3 INGOT_SUMS_2, INGOT_SUM(2)
#define INGOT_SUMS_4 INGOT_SUMS_3, INGOT_SUM(3)
#define INGOT_SUMS_5 INGOT_SUMS_4, INGOT_SUM(4)
#define INGOT_SUMS_6 INGOT_SUMS_5, INGOT_SUM(5)
#define INGOT_SUMS_7 INGOT_SUMS_6, INGOT_SUM(6)
#define INGOT_SUMS_8 INGOT_SUMS_7, INGOT_SUM(7)
#define INGOT_SUMS_9 INGOT_SUMS_8, INGOT_SUM(8)
#define INGOT_SUMS_10 INGOT_SUMS_9, INGOT_SUM(9)
#define INGOT_SUMS_11 INGOT_SUMS_10, INGOT_SUM(10)
#define INGOT_SUMS_12 INGOT_SUMS_11, INGOT_SUM(11)
#define INGOT_SUMS_13 INGOT_SUMS_12, INGOT_SUM(12)
#define INGOT_SUMS_14 INGOT_SUMS_13, INGOT_SUM(13)
#define INGOT_SUMS_15 INGOT_SUMS_14, INGOT_SUM(14)
#define INGOT_SUMS_16 INGOT_SUMS_15, INGOT_SUM(15)
#define INGOT_SUMS_17 INGOT_SUMS_16, INGOT_SUM(16)
#define INGOT_SUMS_18 INGOT_SUMS_17, INGOT_SUM(17)
#define INGOT_SUMS_19 INGOT_SUMS_18, INGOT_SUM(18)
#define INGOT_SUMS_20 INGOT_SUMS_19, INGOT_SUM(19)
#define INGOT_SUMS_21 INGOT_SUMS_20, INGOT_SUM(20)
#define INGOT_SUMS_22 INGOT_SUMS_21, INGOT_SUM(21)
#define INGOT_SUMS_23 INGOT_SUMS_22, INGOT_SUM(22)
#define INGOT_SUMS_24 INGOT_SUMS_23, INGOT_SUM(23)
#define INGOT_SUMS_25 INGOT_SUMS_24, INGOT_SUM(24)
#define INGOT_SUMS_26 INGOT_SUMS_25, INGOT_SUM(25)
#define INGOT_SUMS_27 INGOT_SUMS_26, INGOT_SUM(26)
#define INGOT_SUMS_28 INGOT_SUMS_27, INGOT_SUM(27)
#define INGOT_SUMS_29 INGOT_SUMS_28, INGOT_SUM(28)
#define INGOT_SUMS_30 INGOT_SUMS_29, INGOT_SUM(29)
#define INGOT_SUMS_31 INGOT_SUMS_30, INGOT_SUM(30)
#define INGOT_SUMS_32 INGOT_SUMS_31, INGOT_SUM(31)
// clang-format on

/// `a` to `accumulate`: the operands' places behind the sums.
#define INGOT_GROUP_PRODUCT(name, blocks, shape, rest, a0, a1, a2, a3, right, accumulates)         \
  static __device__ __forceinline__ void name(float (&d)[blocks][4], const u32(&a)[4], u64 b,      \
                                              u32 accumulate) {                                    \
    asm volatile("{\n"                                                                             \
                 ".reg .pred accumulates;\n"                                                       \
                 "setp.ne.b32 accumulates, %" #accumulates ", 0;\n"                                \
                 "wgmma.mma_async.sync.aligned." shape " {" INGOT_PLACES_##blocks                  \
                 "}, "                                                                             \
                 "{%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #right ", accumulates, " rest ";\n" \
                 "}"                                                                               \
                 : INGOT_SUMS_##blocks                                                             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));           \
  }
/// The same with the left operand in shared memory: three places behind the sums.
#define INGOT_SHARED_PRODUCT(name, blocks, shape, rest, left, right, accumulates, ...)             \
  static __device__ __forceinline__ void name(float (&d)[blocks][4], u64 a, u64 b,                 \
                                              u32 accumulate) {                                    \
    asm volatile("{\n"                                                                             \
                 ".reg .pred accumulates;\n"                                                       \
                 "setp.ne.b32 accumulates, %" #accumulates ", 0;\n"                                \
                 "wgmma.mma_async.sync.aligned." shape " {" INGOT_PLACES_##blocks                  \
                 "}, %" #left ", %" #right ", accumulates, " rest ";\n"                            \
                 "}"                                                                               \
                 : INGOT_SUMS_##blocks                                                             \
                 : "l"(a), "l"(b), "r"(accumulate));                                               \
  }
#define INGOT_GROUP_PRODUCTS(blocks, n, ...)                                                       \
  template <> struct GroupProduct<blocks> {                                                        \
    INGOT_GROUP_PRODUCT(bf16, blocks, "m64n" #n "k16.f32.bf16.bf16", "1, 1, 0", __VA_ARGS__)       \
    INGOT_GROUP_PRODUCT(f16, blocks, "m64n" #n "k16.f32.f16.f16", "1, 1, 0", __VA_ARGS__)          \
    INGOT_GROUP_PRODUCT(e4m3, blocks, "m64n" #n "k32.f32.e4m3.e4m3", "1, 1", __VA_ARGS__)          \
    INGOT_SHARED_PRODUCT(bf16, blocks, "m64n" #n "k16.f32.bf16.bf16", "1, 1, 0, 0", __VA_ARGS__)   \
    INGOT_SHARED_PRODUCT(f16, blocks, "m64n" #n "k16.f32.f16.f16", "1, 1, 0, 0", __VA_ARGS__)      \
    INGOT_SHARED_PRODUCT(e4m3, blocks, "m64n" #n "k32.f32.e4m3.e4m3", "1, 1", __VA_ARGS__)         \
  };

INGOT_GROUP_PRODUCTS(1, 8, 4, 5, 6, 7, 8, 9)
INGOT_GROUP_PRODUCTS(2, 16, 8, 9, 10, 11, 12, 13)
INGOT_GROUP_PRODUCTS(3, 24, 12, 13, 14, 15, 16, 17)
INGOT_GROUP_PRODUCTS(4, 32, 16, 17, 18, 19, 20, 21)
INGOT_GROUP_PRODUCTS(5, 40, 20, 21, 22, 23, 24, 25)
INGOT_GROUP_PRODUCTS(6, 48, 24, 25, 26, 27, 28, 29)
INGOT_GROUP_PRODUCTS(7, 56, 28, 29, 30, 31, 32, 33)
INGOT_GROUP_PRODUCTS(8, 64, 32, 33, 34, 35, 36, 37)
INGOT_GROUP_PRODUCTS(10, 80, 40, 41, 42, 43, 44, 45)
INGOT_GROUP_PRODUCTS(12, 96, 48, 49, 50, 51, 52, 53)
INGOT_GROUP_PRODUCTS(14, 112, 56, 57, 58, 59, 60, 61)
INGOT_GROUP_PRODUCTS(16, 128, 64, 65, 66, 67, 68, 69)
INGOT_GROUP_PRODUCTS(18, 144, 72, 73, 74, 75, 76, 77)
INGOT_GROUP_PRODUCTS(20, 160, 80, 81, 82, 83, 84, 85)
INGOT_GROUP_PRODUCTS(22, 176, 88, 89, 90, 91, 92, 93)
INGOT_GROUP_PRODUCTS(24, 192, 96, 97, 98, 99, 100, 101)
INGOT_GROUP_PRODUCTS(26, 208, 104, 105, 106, 107, 108, 109)
INGOT_GROUP_PRODUCTS(28, 224, 112, 113, 114, 115, 116, 117)
INGOT_GROUP_PRODUCTS(30, 240, 120, 121, 122, 123, 124, 125)
INGOT_GROUP_PRODUCTS(32, 256, 128, 129, 130, 131, 132, 133)

} // namespace ptx

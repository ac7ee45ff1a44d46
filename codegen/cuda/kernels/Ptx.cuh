// SPDX-License-Identifier: Apache-2.0
// The only place with inline PTX: one function per instruction.
#pragma once

#include "Kernel.cuh"

namespace ptx {

//===- Conversions --------------------------------------------------------------------------===//

INGOT_DEVICE u16 f16FromFloat(float value) {
  u16 code;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
  return code;
}
INGOT_DEVICE float floatFromF16(u16 code) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
  return value;
}
INGOT_DEVICE u16 bf16FromFloat(float value) {
  u16 code;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(code) : "f"(value));
  return code;
}
/// Two values, `low` in the low half.
INGOT_DEVICE u32 f16x2FromFloats(float low, float high) {
  u32 codes;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(codes) : "f"(high), "f"(low));
  return codes;
}
INGOT_DEVICE u32 bf16x2FromFloats(float low, float high) {
  u32 codes;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(codes) : "f"(high), "f"(low));
  return codes;
}
/// To the nearest integer, ties to even; NaN gives 0.
INGOT_DEVICE i32 roundEven(float value) {
  i32 result;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(result) : "f"(value));
  return result;
}
#if __CUDA_ARCH__ >= 890
INGOT_DEVICE u16 e4m3x2FromFloats(float low, float high) {
  u16 codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
  return codes;
}
INGOT_DEVICE u16 e5m2x2FromFloats(float low, float high) {
  u16 codes;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
  return codes;
}
INGOT_DEVICE u32 f16x2FromE4m3x2(u16 codes) {
  u32 values;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(values) : "h"(codes));
  return values;
}
#endif

//===- Integer logic ------------------------------------------------------------------------===//

/// (a & b) | c.
INGOT_DEVICE u32 andOr(u32 a, u32 b, u32 c) {
  u32 result;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
/// Bytes of b:a (a holds bytes 0 to 3) picked by the nibbles of `selector`.
INGOT_DEVICE u32 permuteBytes(u32 a, u32 b, u32 selector) {
  u32 result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}
/// The sum of the four products of signed bytes, plus `sum`.
INGOT_DEVICE i32 dotBytes(u32 a, u32 b, i32 sum) {
  i32 result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}

//===- Packed halves ------------------------------------------------------------------------===//

INGOT_DEVICE u32 subtractF16x2(u32 a, u32 b) {
  u32 result;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
INGOT_DEVICE u32 fmaF16x2(u32 a, u32 b, u32 c) {
  u32 result;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}
INGOT_DEVICE u32 fmaBf16x2(u32 a, u32 b, u32 c) {
  u32 result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
}

/// 2^x to about 2 units in the last place; 0 for -infinity.
INGOT_DEVICE float exponential2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

//===- Memory -------------------------------------------------------------------------------===//

INGOT_DEVICE u32 sharedAddress(const void *pointer) {
  return u32(__cvta_generic_to_shared(pointer));
}

/// 16 bytes of memory that no thread writes during the launch.
INGOT_DEVICE uint4 loadConstant16(const void *pointer) {
  uint4 value;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(__cvta_generic_to_global(pointer)));
  return value;
}

/// Copies 16 bytes from global to shared memory; where `bytes` is 0 stores zeros and reads nothing.
INGOT_DEVICE void copyAsync16(u32 shared, const void *global, u32 bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared),
               "l"(__cvta_generic_to_global(global)), "r"(bytes)
               : "memory");
}
/// An L2 policy for what nobody reads again: it is the first to be evicted.
INGOT_DEVICE u64 evictFirst() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
/// copyAsync16 under an L2 policy.
INGOT_DEVICE void copyAsync16(u32 shared, const void *global, u32 bytes, u64 policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(shared),
               "l"(__cvta_generic_to_global(global)), "r"(bytes), "l"(policy)
               : "memory");
}
/// The same for 4 bytes.
INGOT_DEVICE void copyAsync4(u32 shared, const void *global, u32 bytes = 4) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared),
               "l"(__cvta_generic_to_global(global)), "r"(bytes)
               : "memory");
}
/// Closes a group of this thread's copies.
INGOT_DEVICE void commitCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most `Pending` of this thread's groups are unfinished.
template <int Pending> INGOT_DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

//===- Tensor copies, from sm_90 on ---------------------------------------------------------===//

/// True for one thread of a warp that has come here whole.
INGOT_DEVICE bool isElected() {
  u32 elected = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n"
               ".reg .pred elected;\n"
               "elect.sync _|elected, 0xffffffff;\n"
               "selp.u32 %0, 1, 0, elected;\n"
               "}"
               : "=r"(elected));
#endif
  return elected != 0;
}
/// Makes a barrier in shared memory (8 bytes) for so many arrivals a phase.
INGOT_DEVICE void makeBarrier(u32 barrier, u32 arrivals = 1) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
#endif
}
/// One of the phase's arrivals for each thread with `arrives`. Without a branch, which wgmma that are
/// under way do not bear.
INGOT_DEVICE void arriveWhere(bool arrives, u32 barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n"
               ".reg .pred arrives;\n"
               "setp.ne.u32 arrives, %1, 0;\n"
               "@arrives mbarrier.arrive.shared.b64 _, [%0];\n"
               "}" ::"r"(barrier),
               "r"(u32(arrives))
               : "memory");
#endif
}
/// Ends a barrier for which no thread waits.
INGOT_DEVICE void dropBarrier(u32 barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(barrier) : "memory");
#endif
}
/// Shows this thread's barriers to tensor copies; other threads see them after a barrier of all.
INGOT_DEVICE void publishBarriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
/// The phase's arrival: it ends once so many bytes have come.
INGOT_DEVICE void expectBytes(u32 barrier, u32 bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
#endif
}
/// Waits for the end of the phase of this parity: 0 for a barrier's first, 1 for its second. Bytes
/// that never come end the launch with an error instead of hanging the device: four million waits,
/// each of some time, take tens of milliseconds at least, and bytes come within microseconds. One
/// statement, so that the loop that waits is for the compiler one without loops in it.
INGOT_DEVICE void waitPhase(u32 barrier, u32 parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n"
               ".reg .pred ended, late;\n"
               ".reg .u32 waits;\n"
               "mbarrier.try_wait.parity.shared.b64 ended, [%0], %1;\n"
               "@ended bra DONE;\n"
               "mov.u32 waits, 0;\n"
               "WAIT:\n"
               "add.u32 waits, waits, 1;\n"
               "setp.eq.u32 late, waits, 4194304;\n"
               "@late trap;\n"
               "mbarrier.try_wait.parity.shared.b64 ended, [%0], %1;\n"
               "@!ended bra WAIT;\n"
               "DONE:\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
#endif
}
/// Copies the map's box from element `x` of row `y` on; what lies beyond the tensor becomes zeros.
INGOT_DEVICE void copyTensor(u32 shared, const TensorMap *map, i32 x, i32 y, u32 barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
               "l"(map), "r"(x), "r"(y), "r"(barrier)
               : "memory");
#endif
}

/// The same under an L2 policy.
INGOT_DEVICE void copyTensor(u32 shared, const TensorMap *map, i32 x, i32 y, u32 barrier,
                             u64 policy) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"
               ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared),
               "l"(map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
               : "memory");
#endif
}
/// Fetches a map ahead of the first copy by it.
INGOT_DEVICE void prefetchTensor(const TensorMap *map) {
#if __CUDA_ARCH__ >= 900
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#endif
}

//===- Parts of a block, of which threads beyond the first `Threads` do other things --------===//

/// A barrier of these threads.
template <int Threads> INGOT_DEVICE void syncFirst() {
  if constexpr (Threads == int(constants::threads))
    __syncthreads();
  else
    asm volatile("bar.sync 1, %0;" ::"n"(Threads) : "memory");
}

//===- Blocks of a cluster ------------------------------------------------------------------===//

/// Arrives at the barrier of all threads of the cluster that have not ended, and waits there: then
/// what they wrote before is visible.
INGOT_DEVICE void syncCluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
/// Two numbers at `shared`, an address of this block, in block `rank` of the cluster.
INGOT_DEVICE float2 loadOfBlock(u32 shared, u32 rank) {
  float2 two = {};
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n"
               ".reg .u32 there;\n"
               "mapa.shared::cluster.u32 there, %2, %3;\n"
               "ld.shared::cluster.v2.f32 {%0, %1}, [there];\n"
               "}"
               : "=f"(two.x), "=f"(two.y)
               : "r"(shared), "r"(rank)
               : "memory");
#endif
  return two;
}

//===- Fragments ----------------------------------------------------------------------------===//

/// Four 8x8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i / 8.
INGOT_DEVICE void loadMatrix4(u32 (&values)[4], u32 shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared)
               : "memory");
}
/// The same, each matrix transposed.
INGOT_DEVICE void loadMatrix4Transposed(u32 (&values)[4], u32 shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared)
               : "memory");
}
/// Two matrices; the addresses of lanes 0 to 15 count.
INGOT_DEVICE void loadMatrix2(u32 (&values)[2], u32 shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared)
               : "memory");
}

/// Adds to a counter in global memory, after all earlier writes of this thread and before all later
/// reads, as the device sees them; the value before.
INGOT_DEVICE u32 addCounter(u32 *counter, u32 value) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(value)
               : "memory");
  return before;
}
/// A counter's value; later reads come after it.
INGOT_DEVICE u32 readCounter(const u32 *counter) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(counter))
               : "memory");
  return value;
}

//===- Tensor cores: d += a * b, fragments as the PTX ISA draws them ------------------------===//

INGOT_DEVICE void multiplyBf16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
INGOT_DEVICE void multiplyF16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
INGOT_DEVICE void multiplyI8(i32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#if __CUDA_ARCH__ >= 890
INGOT_DEVICE void multiplyE4m3(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

//===- Programmatic launches ----------------------------------------------------------------===//

/// Waits for the kernels before this one. The entry calls it before `run` unless the template
/// defines INGOT_WAITS_ITSELF; before it, a kernel may read weights only. Where tensor maps read
/// what those kernels stored, the thread's copies see it from here on.
INGOT_DEVICE void waitForEarlierKernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#ifdef INGOT_FENCES_COPIES
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
#endif
}
/// Lets the kernel after this one start, which then waits on its own. The entry calls it first.
INGOT_DEVICE void letNextKernelStart() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

} // namespace ptx

// SPDX-License-Identifier: Apache-2.0
// Loading NVRTC, its errors, and that equal sources give equal bytes.
#include "codegen/cuda/Nvrtc.h"

#include "codegen/cuda/KernelEvidence.h"

#include "llvm/Support/Path.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <thread>

using namespace ingot::codegen;

namespace {

KernelSource tinySource(const std::string &architecture) {
  KernelSource source;
  source.name = "tiny";
  source.program = "#include \"Tiny.cuh\"\n"
                   "extern \"C\" __global__ void tiny(float *x) { x[threadIdx.x] *= kFactor; }\n";
  source.headers = {{"Tiny.cuh", "constexpr float kFactor = 2.0f;\n"}};
  source.options = {"-arch=" + architecture, "-std=c++20"};
  return source;
}

std::shared_ptr<const Nvrtc> nvrtcOrNull() {
  auto loaded = Nvrtc::load("");
  if (loaded)
    return *loaded;
  llvm::consumeError(loaded.takeError());
  return nullptr;
}

TEST(Nvrtc, missingLibraryNamesThePackage) {
  auto loaded = Nvrtc::load("/nonexistent/libnvrtc.so.13");
  ASSERT_FALSE(loaded);
  std::string message = llvm::toString(loaded.takeError());
  EXPECT_TRUE(llvm::StringRef(message).starts_with("INGOT-E4300: ")) << message;
  EXPECT_NE(message.find("nvidia-cuda-nvrtc"), std::string::npos) << message;
  EXPECT_NE(message.find("/nonexistent/libnvrtc.so.13"), std::string::npos) << message;
}

TEST(Nvrtc, anotherLibraryIsRefused) {
  auto loaded = Nvrtc::load("libm.so.6");
  ASSERT_FALSE(loaded);
  std::string message = llvm::toString(loaded.takeError());
  EXPECT_NE(message.find("lacks functions"), std::string::npos) << message;
}

/// Where NVRTC's folder is not on the loader's path, it finds its own parts only once loaded.
TEST(Nvrtc, loadsItsBuiltInFunctionsFromItsFolder) {
  for (const std::string &file : nvrtcCandidates()) {
    auto parts = nvrtcLibrariesIn(llvm::sys::path::parent_path(file), "libnvrtc-builtins.so.");
    if (parts.empty())
      continue;
    auto loaded = Nvrtc::load(file);
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    std::string name = llvm::sys::path::filename(parts.front()).str();
    EXPECT_NE(dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << name;
    return;
  }
  GTEST_SKIP() << "no NVRTC";
}

TEST(Nvrtc, errorsHoldTheMessages) {
  auto nvrtc = nvrtcOrNull();
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC";
  KernelSource source = tinySource("sm_80");
  source.program += "int broken = ;\n";
  auto compiled = nvrtc->compile(source);
  ASSERT_FALSE(compiled);
  std::string message = llvm::toString(compiled.takeError());
  EXPECT_TRUE(llvm::StringRef(message).starts_with("INGOT-E4301: ")) << message;
  EXPECT_NE(message.find("tiny.cu(3)"), std::string::npos) << message;
}

/// Products in a function, which waits for them or not.
constexpr const char *kProducts = R"(
INLINE void multiply(float (&d)[4], unsigned long long a) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, "
               "1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  if (WAITS)
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
extern "C" __global__ void tiny(float *x, unsigned long long a, int n) {
  float d[4] = {};
  for (int i = 0; i < n; ++i)
    multiply(d, a);
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i)
    x[4 * threadIdx.x + i] = d[i];
})";

TEST(Nvrtc, theLogTellsOfSerialisedProducts) {
  auto nvrtc = nvrtcOrNull();
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC";
  for (bool isGood : {true, false}) {
    KernelSource source = tinySource("sm_90a");
    source.program = kProducts;
    source.options.push_back("--ptxas-options=-v");
    source.options.push_back(isGood ? "-DINLINE=__device__ __forceinline__"
                                    : "-DINLINE=__device__ __noinline__");
    source.options.push_back(isGood ? "-DWAITS=1" : "-DWAITS=0");
    CompiledKernel compiled = llvm::cantFail(nvrtc->compile(source));
    EXPECT_NE(compiled.log.find("Used "), std::string::npos) << compiled.log;
    std::optional<std::string> fault = logFault(compiled.log);
    EXPECT_EQ(fault.has_value(), !isGood) << compiled.log;
    if (fault) {
      EXPECT_NE(fault->find("(C7510)"), std::string::npos) << *fault;
      EXPECT_NE(fault->find("are serialized due to"), std::string::npos) << *fault;
    }
  }
}

TEST(Nvrtc, theLogTellsOfSpills) {
  auto nvrtc = nvrtcOrNull();
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC";
  KernelSource source = tinySource("sm_80");
  source.program = R"(extern "C" __global__ void __launch_bounds__(1024, 2) tiny(float *x) {
  float held[64];
  for (int i = 0; i < 64; ++i)
    held[i] = x[64 * threadIdx.x + i];
  __syncthreads();
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j)
      held[j] = held[j] * held[(i + j) % 64] + held[i];
  for (int i = 0; i < 64; ++i)
    x[64 * threadIdx.x + i] = held[63 - i];
})";
  source.options.push_back("--ptxas-options=-v");
  CompiledKernel compiled = llvm::cantFail(nvrtc->compile(source));
  std::optional<std::string> fault = logFault(compiled.log);
  ASSERT_TRUE(fault) << compiled.log;
  EXPECT_NE(fault->find("it spills registers: "), std::string::npos) << *fault;
  EXPECT_FALSE(logFault("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
  EXPECT_TRUE(logFault("0 bytes stack frame, 0 bytes spill stores, 40 bytes spill loads"));
  EXPECT_TRUE(
      logFault("ptxas.     8 bytes stack frame, 10 bytes spill stores, 0 bytes spill loads"));
}

TEST(KernelSource, digestIgnoresTheNameAlone) {
  KernelSource one = tinySource("sm_80"), other = one;
  other.name = "another";
  EXPECT_EQ(one.digest(), other.digest());
  other.headers.front().second += " ";
  EXPECT_NE(one.digest(), other.digest());
  EXPECT_NE(one.digest(), tinySource("sm_86").digest());
}

TEST(Nvrtc, equalSourcesGiveEqualBytes) {
  auto nvrtc = nvrtcOrNull();
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC";
  std::string cubins[2];
  std::vector<std::thread> threads;
  for (std::string &cubin : cubins)
    threads.emplace_back(
        [&] { cubin = llvm::cantFail(nvrtc->compile(tinySource("sm_90a"))).cubin; });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_FALSE(cubins[0].empty());
  EXPECT_EQ(cubins[0], cubins[1]);
}

TEST(Nvrtc, ptxAloneIsThatBesideACubin) {
  auto nvrtc = nvrtcOrNull();
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC";
  for (const char *architecture : {"sm_80", "sm_90a", "sm_120a"}) {
    KernelSource source = tinySource(architecture);
    CompiledKernel both = llvm::cantFail(nvrtc->compile(source));
    EXPECT_EQ(llvm::cantFail(nvrtc->compile(source, /*ptxOnly=*/true)).ptx, both.ptx)
        << architecture;
    EXPECT_NE(both.ptx.find((".target " + std::string(architecture))), std::string::npos);
  }
}

TEST(Nvrtc, identityKnowsTheFile) {
  auto nvrtc = nvrtcOrNull();
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC";
  std::string identity = nvrtc->identity();
  EXPECT_TRUE(llvm::StringRef(identity).starts_with(nvrtc->toolkit() + ", ")) << identity;
  EXPECT_EQ(identity.find(", 0 bytes"), std::string::npos) << identity;
}

} // namespace

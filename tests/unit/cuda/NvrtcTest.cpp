// SPDX-License-Identifier: Apache-2.0
// Loading NVRTC, its errors, and that equal sources give equal bytes.
#include "codegen/cuda/Nvrtc.h"

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

// SPDX-License-Identifier: Apache-2.0
// Loading NVRTC, its errors, and that equal sources give equal bytes, through the cache and not.
#include "codegen/cuda/KernelCache.h"

#include "llvm/Support/Path.h"

#include <dlfcn.h>
#include <filesystem>
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

TEST(KernelCache, keepsKernelsInAFolder) {
  auto nvrtc = nvrtcOrNull();
  if (!nvrtc)
    GTEST_SKIP() << "no NVRTC";
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / "kernel-cache";
  fs::remove_all(folder);
  CompiledKernel first = llvm::cantFail(KernelCache(folder).get(*nvrtc, tinySource("sm_80")));
  ASSERT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  fs::path file = fs::directory_iterator(folder)->path();
  // Another architecture is another kernel.
  llvm::cantFail(KernelCache(folder).get(*nvrtc, tinySource("sm_90a")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
  CompiledKernel second = llvm::cantFail(KernelCache(folder).get(*nvrtc, tinySource("sm_80")));
  EXPECT_EQ(first.cubin, second.cubin);
  EXPECT_EQ(first.ptx, second.ptx);
  // A damaged file is compiled again.
  fs::resize_file(file, fs::file_size(file) - 1);
  CompiledKernel third = llvm::cantFail(KernelCache(folder).get(*nvrtc, tinySource("sm_80")));
  EXPECT_EQ(first.cubin, third.cubin);
}

} // namespace

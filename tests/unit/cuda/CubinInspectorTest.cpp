// SPDX-License-Identifier: Apache-2.0
// What the inspector reads of NVRTC's cubins, and that damaged ones are refused.
#include "codegen/cuda/CubinInspector.h"

#include "codegen/cuda/KernelEvidence.h"
#include "codegen/cuda/Nvrtc.h"
#include <gtest/gtest.h>

using namespace ingot::codegen;

namespace {

/// The cubin of `body` as kernel "probe"; empty where NVRTC is missing.
std::string compile(const std::string &architecture, const std::string &body) {
  auto nvrtc = Nvrtc::load("");
  if (!nvrtc) {
    llvm::consumeError(nvrtc.takeError());
    return "";
  }
  KernelSource source;
  source.name = "probe";
  source.program =
      "extern \"C\" __global__ void __launch_bounds__(128, 1) probe(float *x, int n) {" + body +
      "}\n";
  source.options = {"-arch=" + architecture, "-std=c++20"};
  return llvm::cantFail((*nvrtc)->compile(source)).cubin;
}

constexpr const char *kShared = "__shared__ float s[64]; s[threadIdx.x % 64] = x[threadIdx.x];"
                                "__syncthreads(); x[threadIdx.x] = s[n];";

TEST(CubinInspector, readsEveryArchitecture) {
  for (const CudaArchitecture &architecture : cudaArchitectures()) {
    std::string cubin = compile(architecture.name.str(), kShared);
    if (cubin.empty())
      GTEST_SKIP() << "no NVRTC";
    CubinFacts facts = llvm::cantFail(inspectCubin(cubin));
    EXPECT_EQ(facts.architecture, architecture.version);
    EXPECT_EQ(facts.architectureSpecific, architecture.name.ends_with("a"))
        << architecture.name.str();
    EXPECT_EQ(facts.kernel, "probe");
    EXPECT_EQ(facts.staticShared, 256);
    EXPECT_EQ(facts.stackBytes, 0);
    EXPECT_GT(facts.registers, 4);
    EXPECT_LT(facts.registers, 40);
    EXPECT_EQ(facts.localAccesses(), 0);
    EXPECT_EQ(facts.count("HMMA"), 0);
    EXPECT_GE(facts.count("LDG"), 1);
    EXPECT_GE(facts.count("STG"), 1);
    EXPECT_GE(facts.count("EXIT"), 1);
  }
}

TEST(CubinInspector, seesLocalMemory) {
  std::string cubin = compile("sm_90a", "float y[32] = {};"
                                        "for (int i = 0; i < 32; ++i) y[i * n % 32] += x[i];"
                                        "x[0] = y[n % 32];");
  if (cubin.empty())
    GTEST_SKIP() << "no NVRTC";
  CubinFacts facts = llvm::cantFail(inspectCubin(cubin));
  EXPECT_GE(facts.stackBytes, 128);
  EXPECT_GT(facts.localAccesses(), 0);
}

TEST(CubinInspector, refusesDamagedFiles) {
  auto refused = [](llvm::StringRef bytes) {
    auto facts = inspectCubin(bytes);
    bool failed = !facts;
    llvm::consumeError(facts.takeError());
    return failed;
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("\x7f"
                      "ELF"));
  std::string cubin = compile("sm_80", kShared);
  if (cubin.empty())
    GTEST_SKIP() << "no NVRTC";
  EXPECT_FALSE(refused(cubin));
  // Cut off within its sections.
  for (size_t size = 0; size < cubin.size() / 2; size += 7)
    EXPECT_TRUE(refused(llvm::StringRef(cubin).take_front(size))) << size;
  // Nor may any header field lead outside.
  for (size_t at = 0; at < 64; ++at) {
    std::string changed = cubin;
    changed[at] = char(0xff);
    llvm::consumeError(inspectCubin(changed).takeError());
  }
}

TEST(KernelEvidence, occupancyFollowsTheScarcestResource) {
  const CudaArchitecture &ampere = *findCudaArchitecture("sm_80");
  EXPECT_EQ(blocksPerMultiprocessor(ampere, 32, 0, 256), 8);         // threads
  EXPECT_EQ(blocksPerMultiprocessor(ampere, 128, 0, 256), 2);        // registers
  EXPECT_EQ(blocksPerMultiprocessor(ampere, 32, 80 * 1024, 256), 2); // shared memory
  EXPECT_EQ(blocksPerMultiprocessor(ampere, 16, 0, 32), 32);         // blocks
  EXPECT_EQ(blocksPerMultiprocessor(ampere, 255, 0, 512), 0);        // does not fit
}

} // namespace

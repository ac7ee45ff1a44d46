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

/// A loop of `products` products; `more` stands in it.
std::string loopOf(int products, const std::string &more) {
  std::string body = "float c0 = x[0], c1 = x[1], c2 = 0, c3 = 0;"
                     "unsigned a = threadIdx.x, a1 = n, a2 = a * n, a3 = a + n, b = a / 3, b1 = 1;"
                     "_Pragma(\"unroll 1\") for (int i = 0; i < n; ++i) {";
  for (int i = 0; i < products; ++i)
    body += "asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\""
            ": \"+f\"(c0), \"+f\"(c1), \"+f\"(c2), \"+f\"(c3)"
            ": \"r\"(a), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b), \"r\"(b1));";
  return body + more + "} x[threadIdx.x] = c0 + c1 + c2 + c3;";
}

TEST(CubinInspector, countsTheMainLoopOnEveryArchitecture) {
  // What only some turns do: enough of it for a branch.
  std::string seldom = "if (i % 64 == 63) {";
  for (int i = 0; i < 40; ++i)
    seldom += "*(volatile float *)(x + n * " + std::to_string(i) + ") = c0;";
  seldom += "}";
  for (const CudaArchitecture &architecture : cudaArchitectures()) {
    std::string name = architecture.name.str();
    std::string cubin = compile(name, loopOf(24, ""));
    if (cubin.empty())
      GTEST_SKIP() << "no NVRTC";
    CubinFacts plain = llvm::cantFail(inspectCubin(cubin));
    EXPECT_EQ(plain.count("HMMA"), 24) << name;
    EXPECT_GE(plain.loopInstructions, 24 + 2) << name;      // the counter and the branch
    EXPECT_LE(plain.loopInstructions, 3 * 24 + 12) << name; // before sm_90 two wait for each
    CubinFacts longer = llvm::cantFail(inspectCubin(compile(name, loopOf(48, ""))));
    int64_t more = longer.loopInstructions - plain.loopInstructions;
    EXPECT_TRUE(more == 24 || more == 3 * 24) << name << ": " << more;
    CubinFacts skips = llvm::cantFail(inspectCubin(compile(name, loopOf(24, seldom))));
    EXPECT_GE(skips.count("STG"), 40) << name;
    EXPECT_LE(skips.loopInstructions, plain.loopInstructions + 12) << name;
    EXPECT_EQ(llvm::cantFail(inspectCubin(compile(name, kShared))).loopInstructions, 0) << name;
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

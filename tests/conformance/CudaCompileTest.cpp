// SPDX-License-Identifier: Apache-2.0
// Every case compiles for the CUDA targets, with all evidence that a build asks for. Running the
// kernels is for machines with a device, or a simulated one.
#include "tests/conformance/Targets.h"

#include "codegen/cuda/CudaArchitecture.h"
#include "codegen/cuda/Nvrtc.h"
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;

namespace {

bool hasNvrtc() {
  static const bool found = [] {
    auto loaded = codegen::Nvrtc::load("");
    bool present = bool(loaded);
    llvm::consumeError(loaded.takeError());
    return present;
  }();
  return found;
}

class CudaCompileTest : public testing::Test {
public:
  CudaCompileTest(const Case &which, std::string target)
      : which(which), target(std::move(target)) {}

  void TestBody() override {
    if (!hasNvrtc())
      GTEST_SKIP() << "no NVRTC";
    EXPECT_TRUE(compileCase(which, target));
  }

private:
  const Case &which;
  std::string target;
};

} // namespace

void conformance::registerCudaCases(const std::vector<Case> &cases) {
  auto architectures = codegen::cudaArchitectures();
  for (size_t a = 0; a < architectures.size(); ++a)
    for (size_t i = 0; i < cases.size(); ++i) {
      // The default grid compiles each case for one architecture.
      if (!fullGrid() && (cases[i].full || i % architectures.size() != a))
        continue;
      if (!runsOn(cases[i], architectures[a].name))
        continue;
      testing::RegisterTest(
          ("compile_" + architectures[a].name).str().c_str(), cases[i].name.c_str(), nullptr,
          nullptr, __FILE__, __LINE__,
          [which = &cases[i], target = architectures[a].name.str()]() -> testing::Test * {
            return new CudaCompileTest(*which, target);
          });
    }
}

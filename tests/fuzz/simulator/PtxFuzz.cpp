// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile PTX, as an engine file may hold it: each text loads, or is refused with a
// message that names a line; none crashes or hangs.
#include "tests/fuzz/Mutator.h"
#include "tests/unit/simulator/Simulator.h"

namespace ingot::test {
namespace {

class PtxFuzz : public Simulator {
protected:
  void run(uint64_t seed, int cases, const std::vector<std::string> &corpus) {
    configure({.architecture = "sm_90a"});
    fuzz::Mutator mutator(seed);
    mutator.setLongest(1 << 17);
    mutator.setWords({"%r1", "<999999999>", ".reg .b32 ", ".shared .b8 x[4294967295];", "@!%p1 ",
                      "bra $L__BB0_1;", "mma.sync.aligned", "::", "0f3F80000", "[%r1+-4]", "{_, _}",
                      ".v4", ".param .u64 ", "bar.sync 0;", "99999999999999999999", "/*", "$x:"});
    int accepted = 0, refused = 0;
    for (int i = 0; i < cases && !HasFailure(); ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(i));
      std::string message = refusal(mutator.mutate(corpus));
      ++(message.empty() ? accepted : refused);
      if (!message.empty())
        EXPECT_THAT(message,
                    testing::AnyOf(testing::HasSubstr("PTX line "), testing::HasSubstr("PTX for "),
                                   testing::HasSubstr("this is a binary")));
      for (Library library : libraries)
        cuLibraryUnload(library);
      libraries.clear();
    }
    EXPECT_GT(accepted, 0);
    EXPECT_GT(refused, 0);
  }
};

TEST_F(PtxFuzz, CompilerOutput) {
  run(1, 500, {inputFile("kernels/gemm.ptx"), inputFile("kernels/hopper_gemm.ptx")});
}

TEST_F(PtxFuzz, SmallKernels) {
  run(2, 20000,
      {kernel("setp.lt.u32 %p1, %r1, 7; @%p1 bra L; add.s32 %r2, %r1, 1;\nL:\n"
              "st.global.v2.u32 [%d0+8], {%r2, %r1};\n",
              1),
       kernel("{\n.reg .pred q;\n.shared .align 8 .b64 bar;\nmov.u32 %r1, bar;\nW:\n"
              "mbarrier.try_wait.parity.shared.b64 q, [%r1], 0;\n@!q bra W;\n}\n",
              0, "sm_90a"),
       ".version 8.6\n.target sm_80\n.address_size 64\n.global .align 4 .f32 t[3] = {1.5, "
       "0f3F800000,"
       " -2};\n.const .u8 c = 7;\n"});
}

} // namespace
} // namespace ingot::test

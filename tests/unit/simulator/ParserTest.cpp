// SPDX-License-Identifier: Apache-2.0
// PTX that is refused names the line and the text; hostile PTX neither crashes nor hangs.
#include "tests/unit/simulator/Simulator.h"

#include <random>

namespace ingot::test {
namespace {

using testing::HasSubstr;

struct ParserTest : Simulator {};

TEST_F(ParserTest, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal(kernel("frobnicate.b32 %r1, %r2;", 0)),
              testing::AllOf(HasSubstr("PTX line 7"), HasSubstr("frobnicate.b32"),
                             HasSubstr("not supported")));
  EXPECT_THAT(refusal(kernel("add.wild.s32 %r1, %r2, %r3;", 0)), HasSubstr(".wild"));
  EXPECT_THAT(refusal(kernel("ld.global.newhint.u32 %r1, [%d1];", 0)), HasSubstr(".newhint"));
  EXPECT_THAT(refusal(kernel("add.s32.later %r1, %r2, %r3;", 0)), HasSubstr(".later"));
  EXPECT_THAT(refusal(kernel("mov.u32 %r1, %nonesuch;", 0)), HasSubstr("%nonesuch"));
  EXPECT_THAT(refusal(kernel("add.s32 %r1, %d2, %r3;", 0)), HasSubstr("64 bits where 32"));
  EXPECT_THAT(refusal(kernel("bra nowhere;", 0)), HasSubstr("label nowhere is not defined"));
  EXPECT_THAT(refusal(kernel("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2},"
                             " {%f1};",
                             0)),
              HasSubstr("shape"));
  EXPECT_THAT(refusal("hello"), HasSubstr(".version"));
  EXPECT_THAT(refusal(".version 8.6\n.target sm_90a\n"), HasSubstr("sm_90a does not run"));
  EXPECT_THAT(refusal("\x7f"
                      "ELF"),
              HasSubstr("PTX text"));
  EXPECT_EQ(refusal(".version 8.6\n.target sm_80\n.address_size 64\n"), "");
}

TEST_F(ParserTest, ScopesOfInlineAssembly) {
  Kernel test = load(kernel("{ .reg .b32 t; mov.u32 t, 5; setp.eq.u32 %p1, t, 5; @%p1 bra L;"
                            " mov.u32 t, 7; L: st.global.u32 [%d0], t; }"
                            "{ .reg .b32 t; mov.u32 t, 6; bra L; L: st.global.u32 [%d0+4], t; }",
                            1));
  DeviceArray<uint32_t> out(2);
  ASSERT_EQ(launch(test, {.grid = 1, .block = 1}, {&out.address}), DriverResult::Success)
      << lastError();
  EXPECT_THAT(out.read(), testing::ElementsAre(5u, 6u));
}

/// Every mutation is loaded or refused; what loads is not run, as it may be an endless loop.
TEST_F(ParserTest, HostileText) {
  std::string good = inputFile("kernels/gemm.ptx");
  ASSERT_EQ(refusal(good), "");
  std::mt19937 random(5);
  const char *pieces[] = {"{",
                          "}",
                          "[",
                          "]",
                          ";",
                          "%r",
                          "<999999999>",
                          ".reg",
                          "@",
                          "|",
                          ",",
                          "-",
                          "0x",
                          "\0",
                          "\"",
                          "/*",
                          "::",
                          ".v4",
                          ".shared",
                          "99999999999999999999",
                          "bra",
                          "$L__BB0_1",
                          ".b8 x[4294967295]",
                          "0f",
                          "!",
                          "mma.sync",
                          "ld."};
  int accepted = 0, refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text = good;
    for (uint32_t k = 1 + random() % 3; k > 0; --k) {
      size_t at = random() % text.size();
      switch (random() % 4) {
      case 0:
        text[at] = char(random());
        break;
      case 1:
        text.erase(at, random() % 20);
        break;
      case 2:
        text.insert(at, pieces[random() % std::size(pieces)]);
        break;
      default:
        text = text.substr(0, at) + text.substr(random() % text.size());
      }
    }
    ++(refusal(text).empty() ? accepted : refused);
    for (Library library : libraries)
      cuLibraryUnload(library);
    libraries.clear();
  }
  EXPECT_GT(refused, 100);
  RecordProperty("accepted", accepted);
  std::string nested(100000, '{');
  EXPECT_THAT(refusal(kernel(nested, 0)), HasSubstr("nested"));
}

} // namespace
} // namespace ingot::test

// SPDX-License-Identifier: Apache-2.0
// Products of bytes with sign without VNNI: as words of 16 bits.
#include "codegen/x86/kernels/MatmulBytes.h"

namespace ingot::x86 {
namespace {

struct ByteWords : ByteProduct {
  static constexpr int inputWords = 2;

  [[gnu::always_inline]] static Ints dot(Ints sum, Ints weight, Ints x) {
    return dotWords(dotWords(sum, wordsOf(weight, 0), wordsOf(x, 0)), wordsOf(weight, 1),
                    wordsOf(x, 1));
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::ByteMethod<ingot::x86::ByteWords>>(launch);
}

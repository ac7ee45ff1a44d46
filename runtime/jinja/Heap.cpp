// SPDX-License-Identifier: Apache-2.0
// Heap: owns the values of one render, and counts what the render may cost.
#include "runtime/jinja/Heap.h"

namespace ingot::runtime::jinja {

void Heap::charge(size_t count) {
  if (count > limits.bytes - bytes)
    throw Failure{memoryLimitCode,
                  "the template needs more than " + std::to_string(limits.bytes) + " bytes",
                  "see whether it repeats text without an end, or give it a shorter conversation"};
  bytes += count;
  steps += count / 64; // what is written takes time too
}

void Heap::tooManySteps() const {
  throw Failure{stepLimitCode,
                "the template takes more than " + std::to_string(limits.steps) + " steps",
                "see whether it loops without an end, or give it a shorter conversation"};
}

void Heap::tooDeep() const {
  throw Failure{tooDeepCode, "more than " + std::to_string(limits.depth) + " levels are nested",
                "see whether a macro or a loop calls itself without an end"};
}

} // namespace ingot::runtime::jinja

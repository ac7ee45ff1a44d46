// SPDX-License-Identifier: Apache-2.0
// Limits: what one render may cost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::runtime::jinja {

/// Real templates take thousands of steps for a conversation, and little more memory than its text.
struct Limits {
  uint64_t steps = 20'000'000;      ///< about two seconds of a slow processor
  size_t bytes = size_t(256) << 20; ///< of values and text, all together
  int depth = 500;                  ///< of expressions, statements, macros and values
};

/// Of a template's source.
constexpr size_t maxTemplateBytes = size_t(1) << 20;
/// How deeply expressions and statements of a template may be nested.
constexpr int maxTreeDepth = 200;

} // namespace ingot::runtime::jinja

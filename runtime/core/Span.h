// SPDX-License-Identifier: Apache-2.0
// Span: a part of a text.
#pragma once

#include <cstdint>

namespace ingot::runtime {

/// Bytes [begin, end) of a text of less than 4 GiB.
struct Span {
  uint32_t begin;
  uint32_t end;

  bool operator==(const Span &) const = default;
};

} // namespace ingot::runtime

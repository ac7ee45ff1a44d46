// SPDX-License-Identifier: Apache-2.0
// Partitions of the bytes, each kept once, and their common refinements.
#pragma once

#include "runtime/guided/ByteSet.h"
#include "runtime/guided/FlatMap.h"

#include <array>
#include <vector>

namespace ingot::runtime::guided {

/// Few of the bytes that all expressions tell apart matter to any one of them.
class BytePartitions {
public:
  using Id = uint32_t;
  static constexpr Id coarsest = 0; ///< all bytes in one part
  static constexpr Id finest = 1;   ///< each in its own; also what is past the limit

  struct Partition {
    std::array<uint8_t, 256> of{};       ///< the part of each byte
    std::vector<uint8_t> representative; ///< the first byte of each part
  };

  BytePartitions();

  const Partition &operator[](Id id) const { return partitions[id]; }
  /// The bytes in `set` and the others.
  Id ofSet(const ByteSet &set);
  /// By any numbers: equal ones are one part.
  Id ofNumbers(const std::array<uint64_t, 256> &numbers);
  /// The coarsest that both respect.
  Id meet(Id left, Id right);

private:
  static constexpr size_t most = 4096;

  Id kept(Partition made);

  std::vector<Partition> partitions;
  FlatMap index; ///< by hash
  FlatMap meets; ///< by both
};

} // namespace ingot::runtime::guided

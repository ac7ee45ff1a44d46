// SPDX-License-Identifier: Apache-2.0
// Partitions are numbered by the first byte of each part, so that equal ones are equal arrays.
#include "runtime/guided/BytePartitions.h"

#include <algorithm>
#include <numeric>

namespace ingot::runtime::guided {

BytePartitions::BytePartitions() {
  std::array<uint64_t, 256> numbers{};
  ofNumbers(numbers);
  std::iota(numbers.begin(), numbers.end(), 0);
  ofNumbers(numbers);
}

BytePartitions::Id BytePartitions::ofNumbers(const std::array<uint64_t, 256> &numbers) {
  Partition made;
  std::vector<uint64_t> known;
  uint64_t hash = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto place = std::ranges::find(known, numbers[byte]);
    made.of[byte] = uint8_t(place - known.begin());
    hash = (hash ^ made.of[byte]) * 0x9E3779B97F4A7C15u;
    if (place == known.end()) {
      known.push_back(numbers[byte]);
      made.representative.push_back(uint8_t(byte));
    }
  }
  hash = mixed(hash) >> 1;
  if (const uint32_t same = index.find(hash); same != FlatMap::missing)
    return partitions[same].of == made.of ? same : finest;
  if (partitions.size() == most)
    return finest;
  index.put(hash, Id(partitions.size()));
  partitions.push_back(std::move(made));
  return Id(partitions.size() - 1);
}

BytePartitions::Id BytePartitions::ofSet(const ByteSet &set) {
  std::array<uint64_t, 256> numbers;
  for (unsigned byte = 0; byte < 256; ++byte)
    numbers[byte] = set.contains(uint8_t(byte));
  return ofNumbers(numbers);
}

BytePartitions::Id BytePartitions::meet(Id left, Id right) {
  if (left == finest || right == finest)
    return finest;
  if (left == right || left == coarsest || right == coarsest)
    return std::max(left, right);
  const uint64_t key = uint64_t(std::min(left, right)) << 32 | std::max(left, right);
  if (const uint32_t known = meets.find(key); known != FlatMap::missing)
    return known;
  std::array<uint64_t, 256> numbers;
  for (unsigned byte = 0; byte < 256; ++byte)
    numbers[byte] = uint64_t(partitions[left].of[byte]) << 8 | partitions[right].of[byte];
  const Id result = ofNumbers(numbers);
  meets.put(key, result);
  return result;
}

} // namespace ingot::runtime::guided

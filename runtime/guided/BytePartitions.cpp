// SPDX-License-Identifier: Apache-2.0
// Partitions are numbered by the first byte of each part, so that equal ones are equal arrays.
#include "runtime/guided/BytePartitions.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ingot::runtime::guided {

BytePartitions::BytePartitions() {
  std::array<uint64_t, 256> numbers{};
  ofNumbers(numbers);
  std::iota(numbers.begin(), numbers.end(), 0);
  ofNumbers(numbers);
}

BytePartitions::Id BytePartitions::kept(Partition made) {
  uint64_t hash = 0;
  for (size_t byte = 0; byte < made.of.size(); byte += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, made.of.data() + byte, sizeof word);
    hash = mixed(hash ^ word);
  }
  hash >>= 1;
  if (const uint32_t same = index.find(hash); same != FlatMap::missing)
    return partitions[same].of == made.of ? same : finest;
  if (partitions.size() == most)
    return finest;
  index.put(hash, Id(partitions.size()));
  partitions.push_back(std::move(made));
  return Id(partitions.size() - 1);
}

BytePartitions::Id BytePartitions::ofNumbers(const std::array<uint64_t, 256> &numbers) {
  Partition made;
  std::array<uint16_t, 512> partAt{}; // By hash of the number; 0: free, else its part and one.
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint64_t number = numbers[byte];
    size_t at = (number * 0x9E3779B97F4A7C15u) >> 55;
    while (partAt[at] && numbers[made.representative[partAt[at] - 1u]] != number)
      at = (at + 1) % partAt.size();
    if (!partAt[at]) {
      made.representative.push_back(uint8_t(byte));
      partAt[at] = uint16_t(made.representative.size());
    }
    made.of[byte] = uint8_t(partAt[at] - 1);
  }
  return kept(std::move(made));
}

BytePartitions::Id BytePartitions::ofSet(const ByteSet &set) {
  Partition made;
  const ByteSet others = set.contains(0) ? ~set : set;
  made.representative = {0};
  for (unsigned byte = 0; byte < 256; ++byte) {
    made.of[byte] = others.contains(uint8_t(byte));
    if (made.of[byte] && made.representative.size() == 1)
      made.representative.push_back(uint8_t(byte));
  }
  return kept(std::move(made));
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

// SPDX-License-Identifier: Apache-2.0
// Weights that the engine file describes instead of holding (Fill of Engine.fbs).
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/schema/Engine_generated.h"

#include <map>
#include <tuple>
#include <utility>

namespace ingot::runtime {

/// Bytes of the longest pattern, which is made on the host before it is repeated on the device.
inline constexpr uint64_t kLongestPattern = uint64_t{16} << 20;

/// Whether `weight`, which has a fill, can be made: everything that fillWeight relies on.
/// INGOT-E5006.
Status verifyFill(const schema::Weight &weight);

/// Writes bytes of weights. Not thread-safe, though it uses threads of its own.
class WeightFiller {
public:
  /// `device` holds the memory; `threads`, at least 1, make what is written there.
  WeightFiller(Device &device, int threads) : device(device), threads(threads) {}

  /// Writes the weight's bytes at `memory`, which lies on the device and has room for all of them.
  /// One period of each part is made here; the device repeats it by copies within its memory. Takes
  /// at most kLongestPattern bytes of host memory, and tables of 8 bytes for each of its elements.
  /// `weight` must have passed verifyFill.
  void fill(void *memory, const schema::Weight &weight);

  /// Fills `bytes` bytes on the device, rows of `columns` elements in their order, with numbers of
  /// `range` (least and most) that `key` names. INGOT-E5006 when the type has no such numbers, or
  /// when they are no whole rows.
  Status fillRows(void *memory, schema::DType type, uint64_t columns, uint64_t bytes,
                  std::pair<double, double> range, uint64_t key);

private:
  static constexpr size_t kMostTables = 8; ///< of 256 KiB; layers repeat what few ask for

  const std::vector<uint32_t> &tableFor(schema::DType type, double low, double high);

  Device &device;
  int threads;
  /// The element that stands for each number, by type and range.
  std::map<std::tuple<schema::DType, double, double>, std::vector<uint32_t>> tables;
};

} // namespace ingot::runtime

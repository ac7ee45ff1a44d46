// SPDX-License-Identifier: Apache-2.0
// The global memory of the simulated device: host memory, with the bounds of every object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ingot::simulator {

/// The bytes from `begin` to before `end`.
struct AddressRange {
  uint64_t begin = 1, end = 0;
};

/// The objects that a launch may touch, as they are when it begins.
class MemoryMap {
public:
  /// The object that holds all `bytes` from `address`, or an empty range.
  AddressRange find(uint64_t address, uint64_t bytes) const;
  /// Words for a report on an address outside every object: the nearest one and the distance.
  std::string describe(uint64_t address) const;
  void add(AddressRange range, std::string name);
  void sort();

private:
  struct Object {
    AddressRange range;
    std::string name;
  };
  std::vector<Object> objects;
};

/// Allocations of the simulated device.
class DeviceMemory {
public:
  ~DeviceMemory();
  /// Memory of `bytes` with guard space around it, 512-byte aligned; 0 when there is no more.
  uint64_t allocate(uint64_t bytes, uint64_t capacity);
  bool release(uint64_t address);
  /// Declares an object of its own within an allocation; 0 bytes forget those of the allocation.
  bool declare(uint64_t address, uint64_t bytes, const std::string &name);
  bool contains(uint64_t address, uint64_t bytes) const;
  MemoryMap map() const;
  uint64_t used() const;

private:
  struct Allocation {
    void *pages;
    uint64_t pageBytes;
    uint64_t bytes;
    std::map<uint64_t, std::pair<uint64_t, std::string>> declared; // address -> end, name
  };
  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> allocations;
  uint64_t usedBytes = 0;
};

} // namespace ingot::simulator

// SPDX-License-Identifier: Apache-2.0
// Allocations of the simulated device, and the search for the object of an address.
#include "runtime/simulator/Memory.h"

#include <algorithm>
#include <sys/mman.h>

namespace ingot::simulator {

namespace {
constexpr uint64_t guardBytes = 65536;
constexpr uint64_t pageBytes = 4096;
/// Fresh memory of up to this size is filled with NaNs; the pages of more stay untouched.
constexpr uint64_t poisonedBytes = uint64_t(64) << 20;
} // namespace

AddressRange MemoryMap::find(uint64_t address, uint64_t bytes) const {
  auto after = std::upper_bound(
      objects.begin(), objects.end(), address,
      [](uint64_t wanted, const Object &object) { return wanted < object.range.begin; });
  if (after == objects.begin())
    return {};
  const AddressRange &range = std::prev(after)->range;
  return address < range.end && bytes <= range.end - address ? range : AddressRange{};
}

std::string MemoryMap::describe(uint64_t address) const {
  const Object *nearest = nullptr;
  uint64_t distance = ~uint64_t(0);
  bool after = false;
  for (const Object &object : objects) {
    uint64_t before = object.range.begin > address ? object.range.begin - address : 0;
    uint64_t behind = address >= object.range.end ? address - object.range.end : 0;
    if (std::max(before, behind) < distance) {
      distance = std::max(before, behind);
      after = before == 0;
      nearest = &object;
    }
  }
  if (!nearest)
    return "there is no allocation";
  std::string what = nearest->name.empty() ? "an allocation" : nearest->name;
  what += " of " + std::to_string(nearest->range.end - nearest->range.begin) + " bytes";
  return std::to_string(distance) + " bytes " + (after ? "behind the end" : "before the begin") +
         " of " + what;
}

void MemoryMap::add(AddressRange range, std::string name) {
  objects.push_back({range, std::move(name)});
}

void MemoryMap::sort() {
  std::sort(objects.begin(), objects.end(), [](const Object &left, const Object &right) {
    return left.range.begin < right.range.begin;
  });
}

DeviceMemory::~DeviceMemory() {
  for (auto &[address, allocation] : allocations)
    munmap(allocation.pages, allocation.pageBytes);
}

uint64_t DeviceMemory::allocate(uint64_t bytes, uint64_t capacity) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes == 0 || bytes > capacity || usedBytes > capacity - bytes)
    return 0;
  uint64_t total = (bytes + pageBytes - 1) / pageBytes * pageBytes + 2 * guardBytes;
  void *pages = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    return 0;
  uint64_t address = reinterpret_cast<uint64_t>(pages) + guardBytes;
  if (bytes <= poisonedBytes)
    std::fill_n(reinterpret_cast<uint8_t *>(address), bytes, uint8_t(0xff));
  allocations[address] = {pages, total, bytes, {}};
  usedBytes += bytes;
  return address;
}

bool DeviceMemory::release(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = allocations.find(address);
  if (found == allocations.end())
    return false;
  munmap(found->second.pages, found->second.pageBytes);
  usedBytes -= found->second.bytes;
  allocations.erase(found);
  return true;
}

bool DeviceMemory::declare(uint64_t address, uint64_t bytes, const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = allocations.upper_bound(address);
  if (found == allocations.begin())
    return false;
  --found;
  uint64_t end = found->first + found->second.bytes;
  if (address >= end || bytes > end - address)
    return false;
  if (bytes == 0)
    found->second.declared.clear();
  else
    found->second.declared[address] = {address + bytes, name};
  return true;
}

bool DeviceMemory::contains(uint64_t address, uint64_t bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = allocations.upper_bound(address);
  if (found == allocations.begin())
    return false;
  --found;
  uint64_t end = found->first + found->second.bytes;
  return address <= end && bytes <= end - address;
}

MemoryMap DeviceMemory::map() const {
  std::lock_guard<std::mutex> lock(mutex);
  MemoryMap result;
  for (const auto &[address, allocation] : allocations) {
    if (allocation.declared.empty())
      result.add({address, address + allocation.bytes}, "");
    for (const auto &[begin, rest] : allocation.declared)
      result.add({begin, rest.first}, rest.second);
  }
  result.sort();
  return result;
}

uint64_t DeviceMemory::used() const {
  std::lock_guard<std::mutex> lock(mutex);
  return usedBytes;
}

} // namespace ingot::simulator

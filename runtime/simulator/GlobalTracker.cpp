// SPDX-License-Identifier: Apache-2.0
// Words of global memory that launches touch, and accesses that a programmatic launch makes too
// early.
#include "runtime/simulator/GlobalTracker.h"

#include <bit>

namespace ingot::simulator {

void WordSet::insert(uint64_t address, uint32_t bytes) {
  for (uint64_t word = address / 4; word <= (address + bytes - 1) / 4; ++word)
    pages[word * 4 / pageBytes][word % (pageBytes / 4) / 64] |= uint64_t(1) << word % 64;
}

bool WordSet::contains(uint64_t address, uint32_t bytes) const {
  for (uint64_t word = address / 4; word <= (address + bytes - 1) / 4; ++word) {
    auto page = pages.find(word * 4 / pageBytes);
    if (page != pages.end() && (page->second[word % (pageBytes / 4) / 64] >> word % 64 & 1))
      return true;
  }
  return false;
}

void WordSet::insertAll(const WordSet &other) {
  for (const auto &[number, words] : other.pages) {
    auto &mine = pages[number];
    for (size_t i = 0; i < words.size(); ++i)
      mine[i] |= words[i];
  }
}

void GlobalTracker::check(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                          AccessKind kind) {
  if (predecessor->written.contains(address, bytes))
    warp.report(lane, FindingKind::ProgrammaticLaunch,
                std::string(kind == AccessKind::Read ? "reads" : "writes") +
                    " global memory that " + predecessor->kernels +
                    " writes, before griddepcontrol.wait",
                address);
  else if (kind != AccessKind::Read && predecessor->read.contains(address, bytes))
    warp.report(lane, FindingKind::ProgrammaticLaunch,
                "writes global memory that " + predecessor->kernels +
                    " reads, before griddepcontrol.wait",
                address);
}

void GlobalTracker::checkBlocks(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                                AccessKind kind) {
  uint64_t mine = warp.block->linear + 1, other = 0;
  for (uint64_t byte = address; byte < address + bytes; ++byte) {
    auto page = writers.find(byte / pageBytes);
    if (page == writers.end()) {
      if (kind == AccessKind::Read)
        continue;
      page = writers.emplace(byte / pageBytes, new std::array<uint32_t, pageBytes>{}).first;
    }
    uint32_t &writer = (*page->second)[byte % pageBytes];
    if (writer && writer != mine)
      other = writer;
    if (kind != AccessKind::Read)
      writer = uint32_t(mine);
  }
  if (other && !synchronised.count(warp.block->linear))
    warp.report(lane, FindingKind::Race,
                std::string(kind == AccessKind::Read ? "reads" : "writes") +
                    " global memory that block number " + std::to_string(other - 1) +
                    " of the same launch wrote, and its own block has used no atomic or acquiring "
                    "access before",
                address);
}

void GlobalTracker::access(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                           AccessKind kind, bool ordered) {
  if (bytes == 0)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (predecessor && !warp.gridWaited)
    check(warp, lane, address, bytes, kind);
  if (ordered || kind == AccessKind::Atomic)
    synchronised.insert(warp.block->linear);
  else
    checkBlocks(warp, lane, address, bytes, kind);
  if (kind != AccessKind::Write)
    read.insert(address, bytes);
  if (kind != AccessKind::Read)
    written.insert(address, bytes);
}

void GlobalTracker::access(Warp &warp, const uint64_t (&addresses)[warpSize], uint32_t bytes,
                           AccessKind kind, bool ordered) {
  for (uint32_t left = warp.mask; left; left &= left - 1) {
    uint32_t lane = uint32_t(std::countr_zero(left));
    access(warp, lane, addresses[lane], bytes, kind, ordered);
  }
}

void GlobalTracker::copy(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                         AccessKind kind) {
  access(warp, lane, address, bytes, kind);
  std::lock_guard<std::mutex> lock(mutex);
  if (kind != AccessKind::Read)
    return copied.insert(address, bytes);
  if (predecessor && warp.gridWaited && !warp.copiesFenced &&
      predecessor->written.contains(address, bytes) &&
      !predecessor->copied.contains(address, bytes))
    warp.report(lane, FindingKind::AsyncRace,
                "an asynchronous copy reads global memory that " + predecessor->kernels +
                    " stored, without a fence.proxy.async since griddepcontrol.wait",
                address);
}

void GlobalTracker::addTo(PredecessorAccesses &accesses) const {
  accesses.copied.insertAll(copied);
  accesses.written.insertAll(written);
  accesses.read.insertAll(read);
}

} // namespace ingot::simulator

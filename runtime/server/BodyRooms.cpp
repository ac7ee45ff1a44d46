// SPDX-License-Identifier: Apache-2.0
// Clients that announce much and send little hold nothing; those that send much and never finish
// hold it until others need it.
#include "runtime/server/BodyRooms.h"

namespace ingot::runtime {

BodyRooms::Room BodyRooms::open(std::function<void()> giveWay, Clock::time_point now) {
  std::lock_guard lock(mutex);
  Room room;
  room.rooms = this;
  room.held = all.insert(all.end(), {std::move(giveWay), now});
  return room;
}

uint64_t BodyRooms::bytes() const {
  std::lock_guard lock(mutex);
  return taken;
}

/// Lets the oldest bodies give way, if that brings what is needed.
void BodyRooms::free(uint64_t needed, Clock::time_point now) {
  auto givesWay = [&](const Room::Held &held) {
    return held.arrives && now - held.begun >= patience;
  };
  uint64_t found = 0;
  for (const Room::Held &held : all)
    if (givesWay(held))
      found += held.bytes;
  if (found < needed)
    return;
  for (Room::Held &held : all) {
    if (!givesWay(held) || held.bytes == 0)
      continue;
    uint64_t freed = std::exchange(held.bytes, 0);
    taken -= freed;
    held.arrives = false;
    held.giveWay();
    if (freed >= needed)
      return;
    needed -= freed;
  }
}

bool BodyRooms::Room::grow(uint64_t bytes, Clock::time_point now) {
  std::lock_guard lock(rooms->mutex);
  if (!std::exchange(held->arrives, false)) // and does not give way to itself
    return false;
  uint64_t free = rooms->limit - rooms->taken;
  if (bytes > free)
    rooms->free(bytes - free, now);
  held->arrives = true;
  if (bytes > rooms->limit - rooms->taken)
    return false;
  rooms->taken += bytes;
  held->bytes += bytes;
  return true;
}

void BodyRooms::Room::keep() {
  std::lock_guard lock(rooms->mutex);
  held->arrives = false;
}

void BodyRooms::Room::close() {
  if (!rooms)
    return;
  std::lock_guard lock(rooms->mutex);
  rooms->taken -= held->bytes;
  rooms->all.erase(held);
  rooms = nullptr;
}

} // namespace ingot::runtime

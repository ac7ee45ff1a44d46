// SPDX-License-Identifier: Apache-2.0
// The memory that bodies take while they arrive and are read, counted as their bytes come.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

namespace ingot::runtime {

/// Thread-safe; outlives its rooms.
class BodyRooms {
public:
  using Clock = std::chrono::steady_clock;
  /// How long a body may be on its way before it gives way to others that need its bytes.
  static constexpr std::chrono::seconds patience{2};

  /// `limit`: bytes of all bodies together.
  explicit BodyRooms(uint64_t limit) : limit(limit) {}

  /// What one body has; none at first. A room belongs to one thread.
  class Room {
  public:
    Room() = default;
    Room(Room &&other) noexcept : rooms(other.rooms), held(other.held) { other.rooms = nullptr; }
    Room &operator=(Room &&other) noexcept {
      std::swap(rooms, other.rooms);
      std::swap(held, other.held);
      return *this;
    }
    ~Room() { close(); }

    /// Takes more bytes; false: there are not so many, also of bodies that can give way.
    bool grow(uint64_t bytes, Clock::time_point now = Clock::now());
    /// The body is whole: it never gives way.
    void keep();
    void close();

  private:
    friend class BodyRooms;
    struct Held {
      std::function<void()> giveWay;
      Clock::time_point begun;
      uint64_t bytes = 0;
      bool arrives = true; ///< and may give way
    };
    BodyRooms *rooms = nullptr;
    std::list<Held>::iterator held;
  };

  /// A room for a body that begins to arrive. `giveWay` is called, on any thread and once at most,
  /// when its bytes were given to another: it then has none and gets none. It must not use rooms.
  Room open(std::function<void()> giveWay, Clock::time_point now = Clock::now());

  uint64_t bytes() const;

private:
  void free(uint64_t needed, Clock::time_point now);

  const uint64_t limit;
  mutable std::mutex mutex; ///< of what follows
  uint64_t taken = 0;
  std::list<Room::Held> all; ///< the one that began first in front
};

} // namespace ingot::runtime

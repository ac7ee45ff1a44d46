// SPDX-License-Identifier: Apache-2.0
// Heap: owns the values of one render, and counts what the render may cost.
#pragma once

#include "runtime/jinja/Failure.h"
#include "runtime/jinja/Limits.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ingot::runtime::jinja {

/// What a heap owns.
struct HeapObject {
  virtual ~HeapObject() = default;
};

/// Everything made for a render lives as long as the heap: values refer to each other freely,
/// cycles included, and freeing never recurses. One thread uses a heap at a time.
class Heap {
public:
  explicit Heap(const Limits &limits) : limits(limits) {}
  Heap(const Heap &) = delete;
  Heap &operator=(const Heap &) = delete;

  template <class T, class... Arguments> T *make(Arguments &&...arguments) {
    charge(sizeof(T) + 2 * sizeof(void *));
    auto object = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T *made = object.get();
    objects.push_back(std::move(object));
    return made;
  }

  /// Counts `bytes` that are about to be allocated. INGOT-E6067 once there are too many.
  void charge(size_t bytes);

  /// Counts work. INGOT-E6066 once it is too much.
  void step(uint64_t count = 1) {
    steps += count;
    if (steps > limits.steps)
      tooManySteps();
  }

  uint64_t stepsTaken() const { return steps; }

  /// One level of nesting while it lives; INGOT-E6062 where there are too many.
  class Level {
  public:
    explicit Level(Heap &heap) : heap(heap) {
      if (++heap.depth > heap.limits.depth) {
        --heap.depth;
        heap.tooDeep();
      }
    }
    Level(const Level &) = delete;
    Level &operator=(const Level &) = delete;
    ~Level() { --heap.depth; }

  private:
    Heap &heap;
  };

private:
  [[noreturn]] void tooManySteps() const;
  [[noreturn]] void tooDeep() const;

  const Limits limits;
  uint64_t steps = 0;
  size_t bytes = 0;
  int depth = 0;
  std::vector<std::unique_ptr<HeapObject>> objects;
};

} // namespace ingot::runtime::jinja

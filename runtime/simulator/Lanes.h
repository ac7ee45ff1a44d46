// SPDX-License-Identifier: Apache-2.0
// Applying a function to the lanes of a warp, written so that compilers vectorise it.
#pragma once

#include "runtime/simulator/Decoder.h"
#include "runtime/simulator/Machine.h"

#include <bit>
#include <type_traits>

#if defined(__clang__)
#define INGOT_LANES _Pragma("clang loop vectorize(assume_safety) interleave(disable)")
#else
#define INGOT_LANES _Pragma("GCC ivdep")
#endif

namespace ingot::simulator {

/// What a lane of a value is kept in.
template <class T> using Storage = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T> inline T unpack(Storage<T> stored) {
  if constexpr (std::is_integral_v<T>)
    return T(stored);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(uint16_t(stored));
  else
    return std::bit_cast<T>(stored);
}

template <class T> inline Storage<T> pack(T value) {
  if constexpr (std::is_integral_v<T>)
    return Storage<T>(std::make_unsigned_t<T>(value));
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<uint16_t>(value);
  else
    return std::bit_cast<Storage<T>>(value);
}

/// slot[0] = F(slot[1]).
template <class F, class R, class A> void map1(Warp &warp, const Op &op) {
  auto *d = warp.lanes<Storage<R>>(op.slot[0]);
  const auto *a = warp.lanes<Storage<A>>(op.slot[1]);
  const F f;
  if (warp.mask == fullMask) {
    INGOT_LANES
    for (uint32_t i = 0; i < warpSize; ++i)
      d[i] = pack<R>(f(unpack<A>(a[i])));
    return;
  }
  const uint32_t mask = warp.mask;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    Storage<R> value = pack<R>(f(unpack<A>(a[i])));
    d[i] = mask >> i & 1 ? value : d[i];
  }
}

/// slot[0] = F(slot[1], slot[2]).
template <class F, class R, class A, class B> void map2(Warp &warp, const Op &op) {
  auto *d = warp.lanes<Storage<R>>(op.slot[0]);
  const auto *a = warp.lanes<Storage<A>>(op.slot[1]);
  const auto *b = warp.lanes<Storage<B>>(op.slot[2]);
  const F f;
  if (warp.mask == fullMask) {
    INGOT_LANES
    for (uint32_t i = 0; i < warpSize; ++i)
      d[i] = pack<R>(f(unpack<A>(a[i]), unpack<B>(b[i])));
    return;
  }
  const uint32_t mask = warp.mask;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    Storage<R> value = pack<R>(f(unpack<A>(a[i]), unpack<B>(b[i])));
    d[i] = mask >> i & 1 ? value : d[i];
  }
}

/// slot[0] = F(slot[1], slot[2], slot[3]).
template <class F, class R, class A, class B, class C> void map3(Warp &warp, const Op &op) {
  auto *d = warp.lanes<Storage<R>>(op.slot[0]);
  const auto *a = warp.lanes<Storage<A>>(op.slot[1]);
  const auto *b = warp.lanes<Storage<B>>(op.slot[2]);
  const auto *c = warp.lanes<Storage<C>>(op.slot[3]);
  const F f;
  if (warp.mask == fullMask) {
    INGOT_LANES
    for (uint32_t i = 0; i < warpSize; ++i)
      d[i] = pack<R>(f(unpack<A>(a[i]), unpack<B>(b[i]), unpack<C>(c[i])));
    return;
  }
  const uint32_t mask = warp.mask;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    Storage<R> value = pack<R>(f(unpack<A>(a[i]), unpack<B>(b[i]), unpack<C>(c[i])));
    d[i] = mask >> i & 1 ? value : d[i];
  }
}

/// slot[0] = F(slot[1], slot[2], slot[3], slot[4]), all of one type.
template <class F, class T> void map4(Warp &warp, const Op &op) {
  auto *d = warp.lanes<Storage<T>>(op.slot[0]);
  const auto *a = warp.lanes<Storage<T>>(op.slot[1]);
  const auto *b = warp.lanes<Storage<T>>(op.slot[2]);
  const auto *c = warp.lanes<Storage<T>>(op.slot[3]);
  const auto *e = warp.lanes<Storage<T>>(op.slot[4]);
  const uint32_t mask = warp.mask;
  const F f;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    Storage<T> value =
        pack<T>(f(unpack<T>(a[i]), unpack<T>(b[i]), unpack<T>(c[i]), unpack<T>(e[i])));
    d[i] = mask >> i & 1 ? value : d[i];
  }
}

/// Sets the lanes of `mask` of a predicate to those of `value`.
inline void setPredicate(Warp &warp, Slot slot, uint32_t value) {
  uint32_t &predicate = warp.predicate(slot);
  predicate = (predicate & ~warp.mask) | (value & warp.mask);
}

// Decoding of the usual shape: target and sources of one type each.
inline void decodeMap(Decoder &d, OpFunction run, Type target,
                      std::initializer_list<Type> sources) {
  d.expectOperands(1 + sources.size(), 1 + sources.size());
  d.op.run = run;
  uint32_t field = 1;
  for (Type type : sources) {
    d.source(field, d.operand(field), type);
    ++field;
  }
  d.target(0, d.operand(0), target);
  d.emit();
}

} // namespace ingot::simulator

// SPDX-License-Identifier: Apache-2.0
// mma.sync: products of a 16 x depth and a depth x 8 fragment, depth 16 or 32 bytes.
#include "runtime/simulator/HalfVectors.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/Rounding.h"
#include "runtime/simulator/TensorMath.h"

#include <cstring>
#include <immintrin.h>

namespace ingot::simulator {

namespace {

// An op's list: registers of D, A, B, C. Op::small: operand elements of A and B.

struct Fragments {
  alignas(64) uint8_t a[16 * 32];
  alignas(64) uint8_t b[8 * 32]; // column after column
};

/// Puts the registers of A and B into rows of `bytes` (16 or 32) bytes. Lane 4g + t holds bytes 4t
/// to 4t + 3 of row g: eight rows of 16 bytes lie in a register one after the other.
void gatherOperands(Warp &warp, const Slot *a, const Slot *b, uint32_t bytes, Fragments &f) {
  for (uint32_t half = 0; half < bytes / 16; ++half)
    for (uint32_t r = 0; r < 8; ++r) {
      const uint8_t *low = warp.lanes<uint8_t>(a[2 * half]) + 16 * r;
      const uint8_t *high = warp.lanes<uint8_t>(a[2 * half + 1]) + 16 * r;
      const uint8_t *column = warp.lanes<uint8_t>(b[half]) + 16 * r;
      std::memcpy(f.a + r * bytes + 16 * half, low, 16);
      std::memcpy(f.a + (r + 8) * bytes + 16 * half, high, 16);
      std::memcpy(f.b + r * bytes + 16 * half, column, 16);
    }
}

/// Registers of C as 16 x 8, and back: a row has the two registers' lanes alternating.
void readTile(Warp &warp, const Slot *c, uint32_t *tile) {
  for (uint32_t half = 0; half < 2; ++half) {
    const float *even = warp.lanes<float>(c[2 * half]), *odd = warp.lanes<float>(c[2 * half + 1]);
    float *to = reinterpret_cast<float *>(tile) + 64 * half;
    for (uint32_t lane = 0; lane < warpSize; lane += 8) {
      __m256 x = _mm256_loadu_ps(even + lane), y = _mm256_loadu_ps(odd + lane);
      __m256 low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
      _mm256_storeu_ps(to + 2 * lane, _mm256_permute2f128_ps(low, high, 0x20));
      _mm256_storeu_ps(to + 2 * lane + 8, _mm256_permute2f128_ps(low, high, 0x31));
    }
  }
}

void writeTile(Warp &warp, const Slot *d, const uint32_t *tile) {
  for (uint32_t half = 0; half < 2; ++half) {
    float *even = warp.lanes<float>(d[2 * half]), *odd = warp.lanes<float>(d[2 * half + 1]);
    const float *from = reinterpret_cast<const float *>(tile) + 64 * half;
    for (uint32_t lane = 0; lane < warpSize; lane += 8) {
      __m256 x = _mm256_loadu_ps(from + 2 * lane), y = _mm256_loadu_ps(from + 2 * lane + 8);
      __m256 low = _mm256_permute2f128_ps(x, y, 0x20), high = _mm256_permute2f128_ps(x, y, 0x31);
      _mm256_storeu_ps(even + lane, _mm256_shuffle_ps(low, high, 0x88));
      _mm256_storeu_ps(odd + lane, _mm256_shuffle_ps(low, high, 0xdd));
    }
  }
}

/// 8 x 8 floats, rows to columns.
void transpose8(const float *from, size_t stride, float *to) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(from + size_t(i) * stride);
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + 8 * i, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(to + 8 * (i + 4), _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

bool ready(Warp &warp) {
  if (!warp.converged(fullMask))
    return false;
  if (warp.alive == fullMask)
    return true;
  warp.fault(uint32_t(std::countr_one(warp.alive)), FindingKind::Divergence,
             "all threads of the warp must execute this instruction");
  return false;
}

/// Operands of 16-bit elements as f32, straight from the registers: A by rows, B by depth.
template <class H>
void widenSixteen(Warp &warp, const Slot *a, const Slot *b, uint32_t depth, float *wideA,
                  float *wideB) {
  for (uint32_t half = 0; half < depth / 8; ++half) {
    const auto *low = warp.lanes<__m128i>(a[2 * half]),
               *high = warp.lanes<__m128i>(a[2 * half + 1]);
    const auto *columns = warp.lanes<__m128i>(b[half]);
    alignas(32) float rows[8 * 8];
    for (uint32_t r = 0; r < 8; ++r) {
      _mm256_store_ps(rows + 8 * r, H::widen(_mm_loadu_si128(columns + r)));
      _mm256_storeu_ps(wideA + r * depth + 8 * half, H::widen(_mm_loadu_si128(low + r)));
      _mm256_storeu_ps(wideA + (r + 8) * depth + 8 * half, H::widen(_mm_loadu_si128(high + r)));
    }
    transpose8(rows, 8, wideB + 64 * half);
  }
}

void multiply(Warp &warp, const Op &op, const Slot *a, const Slot *b, uint32_t depth, float *tile) {
  Element left = Element(op.small[0]), right = Element(op.small[1]);
  alignas(64) float wideA[16 * 32], columns[8 * 32], wideB[32 * 8];
  if (left == Element::F16) {
    widenSixteen<F16Vector>(warp, a, b, depth, wideA, wideB);
  } else if (left == Element::Bf16) {
    widenSixteen<Bf16Vector>(warp, a, b, depth, wideA, wideB);
  } else {
    Fragments f;
    gatherOperands(warp, a, b, depth * elementBytes(left), f);
    widen(left, f.a, 16 * depth, wideA);
    widen(right, f.b, 8 * depth, columns);
    for (uint32_t k = 0; k < depth && depth < 8; ++k)
      for (uint32_t n = 0; n < 8; ++n)
        wideB[k * 8 + n] = columns[n * depth + k];
    for (uint32_t k = 0; k < depth && depth >= 8; k += 8)
      transpose8(columns + k, depth, wideB + 8 * k);
  }
  if (warp.launch->modes.exactTensorCores)
    multiplyTileExact(wideA, wideB, tile, 16, depth,
                      exactSumOf(warp.launch->architecture, left, false));
  else
    multiplyTile(wideA, wideB, tile, 16, depth);
}

/// D = A * B + C with f32 accumulators. Op::immediate is the depth.
void executeFloat(Warp &warp, const Op &op) {
  if (!ready(warp))
    return;
  const Slot *d = &warp.launch->program->lists[op.list];
  uint32_t depth = uint32_t(op.immediate);
  uint32_t halves = depth * elementBytes(Element(op.small[0])) / 16;
  const Slot *a = d + 4, *b = a + 2 * halves, *c = b + halves;
  alignas(64) float tile[16 * 8];
  readTile(warp, c, reinterpret_cast<uint32_t *>(tile));
  multiply(warp, op, a, b, depth, tile);
  writeTile(warp, d, reinterpret_cast<uint32_t *>(tile));
  ++warp.tensorInstructions;
}

/// The same with f16 accumulators, two to a register.
void executeHalf(Warp &warp, const Op &op) {
  if (!ready(warp))
    return;
  const Slot *d = &warp.launch->program->lists[op.list];
  uint32_t depth = uint32_t(op.immediate);
  uint32_t halves = depth * elementBytes(Element(op.small[0])) / 16;
  const Slot *a = d + 2, *b = a + 2 * halves, *c = b + halves;
  alignas(64) float tile[16 * 8];
  for (uint32_t k = 0; k < 2; ++k)
    widen(Element::F16, warp.lanes<uint8_t>(c[k]), 64, tile + 64 * k);
  multiply(warp, op, a, b, depth, tile);
  for (uint32_t k = 0; k < 2; ++k) {
    auto *to = warp.lanes<uint16_t>(d[k]);
    for (uint32_t i = 0; i < 64; ++i)
      to[i] = floatToHalf(tile[64 * k + i]);
  }
  ++warp.tensorInstructions;
}

void executeInteger(Warp &warp, const Op &op) {
  if (!ready(warp))
    return;
  const Slot *d = &warp.launch->program->lists[op.list];
  uint32_t depth = uint32_t(op.immediate), halves = depth / 16;
  const Slot *a = d + 4, *b = a + 2 * halves, *c = b + halves;
  Fragments f;
  gatherOperands(warp, a, b, depth, f);
  alignas(64) int32_t tile[16 * 8];
  readTile(warp, c, reinterpret_cast<uint32_t *>(tile));
  int16_t wideA[16 * 32], wideB[8 * 32];
  for (uint32_t i = 0; i < 16 * depth; ++i)
    wideA[i] = Element(op.small[0]) == Element::S8 ? int16_t(int8_t(f.a[i])) : int16_t(f.a[i]);
  for (uint32_t i = 0; i < 8 * depth; ++i)
    wideB[i] = Element(op.small[1]) == Element::S8 ? int16_t(int8_t(f.b[i])) : int16_t(f.b[i]);
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < 8; ++column) {
      int32_t sum = 0;
      for (uint32_t k = 0; k < depth; ++k)
        sum += int32_t(wideA[row * depth + k]) * wideB[column * depth + k];
      int64_t total = int64_t(tile[row * 8 + column]) + sum;
      if (op.flags) // satfinite
        total = std::min<int64_t>(std::max<int64_t>(total, INT32_MIN), INT32_MAX);
      tile[row * 8 + column] = int32_t(uint64_t(total));
    }
  writeTile(warp, d, reinterpret_cast<uint32_t *>(tile));
  ++warp.tensorInstructions;
}

bool takeElement(Decoder &d, Element &element) {
  constexpr std::pair<Type, Element> known[] = {
      {Type::F16, Element::F16},   {Type::Bf16, Element::Bf16}, {Type::E4m3, Element::E4m3},
      {Type::E5m2, Element::E5m2}, {Type::S8, Element::S8},     {Type::U8, Element::U8},
      {Type::Tf32, Element::Tf32}};
  Type type = d.takeType();
  for (const auto &[name, value] : known)
    if (name == type) {
      element = value;
      return true;
    }
  return false;
}

void takeVector(Decoder &d, size_t at, size_t count, Type type, bool writes) {
  const Operand &operand = d.operand(at);
  std::vector<Operand> elements =
      operand.kind == Operand::Kind::Vector ? operand.elements : std::vector<Operand>{operand};
  if (elements.size() != count)
    d.fail("operand " + std::to_string(at) + " must have " + std::to_string(count) + " registers");
  for (const Operand &element : elements)
    writes ? d.targetToList(element, type) : d.sourceToList(element, type);
}

void decodeMma(Decoder &d) {
  d.expect("sync");
  d.expect("aligned");
  int shape = d.takeOneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (shape < 0)
    d.fail("shape ." + std::string(d.peek()) + " is not supported");
  d.expect("row");
  d.expect("col");
  bool kind = d.take("kind::f8f6f4");
  bool saturates = d.take("satfinite");
  Type result = d.takeType();
  Element a{}, b{};
  bool known = takeElement(d, a) && takeElement(d, b);
  Type addend = d.takeType();
  uint32_t depth = 4u << shape, bytes = known ? depth * elementBytes(a) : 0;
  bool integer = a == Element::S8 || a == Element::U8;
  bool eight = a == Element::E4m3 || a == Element::E5m2;
  bool same = a == b || (elementBytes(a) == 1 && elementBytes(b) == 1 &&
                         integer == (b == Element::S8 || b == Element::U8));
  bool accumulates =
      integer ? result == Type::S32
              : result == Type::F32 || (result == Type::F16 && (a == Element::F16 || eight));
  if (!known || !same || result != addend || !accumulates || (bytes != 16 && bytes != 32) ||
      (kind && !eight) || (saturates && !integer))
    d.fail("this combination of shape and types is not supported");
  d.expectOperands(4, 4);
  size_t halves = bytes / 16, tiles = result == Type::F16 ? 2 : 4;
  Type held = result == Type::F32 ? Type::F32 : Type::B32;
  takeVector(d, 0, tiles, held, true);
  takeVector(d, 1, 2 * halves, Type::B32, false);
  takeVector(d, 2, halves, Type::B32, false);
  takeVector(d, 3, tiles, held, false);
  d.op.immediate = depth;
  d.op.small[0] = uint8_t(a);
  d.op.small[1] = uint8_t(b);
  d.op.flags = saturates;
  d.op.run = integer ? executeInteger : result == Type::F16 ? executeHalf : executeFloat;
  d.keepSources();
  d.emit();
}

} // namespace

void addTensorInstructions(InstructionTable &table) { table["mma"] = decodeMma; }

} // namespace ingot::simulator

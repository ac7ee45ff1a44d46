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

/// Lanes of the registers of sums, from the first of `slots` on; of f16 there are two.
Sums sumsAt(Warp &warp, const Slot *slots, uint32_t registers = 4) {
  Sums sums;
  for (uint32_t k = 0; k < registers; ++k)
    sums.words[k] = warp.lanes<uint32_t>(slots[k]);
  return sums;
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
    transposeRows(rows, 8, wideB + 64 * half);
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
    transposeRows(columns, depth, wideB);
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
  sumsAt(warp, c).read(tile);
  multiply(warp, op, a, b, depth, tile);
  sumsAt(warp, d).write(tile);
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
  sumsAt(warp, c, 2).readHalf(tile);
  multiply(warp, op, a, b, depth, tile);
  sumsAt(warp, d, 2).writeHalf(tile);
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
  alignas(64) float wideA[16 * 32], columns[8 * 32], wideB[32 * 8], tile[16 * 8] = {};
  widen(Element(op.small[0]), f.a, 16 * depth, wideA);
  widen(Element(op.small[1]), f.b, 8 * depth, columns);
  transposeRows(columns, depth, wideB);
  multiplyTile(wideA, wideB, tile, 16, depth);
  sumsAt(warp, d).writeSum(sumsAt(warp, c), tile, /*saturates=*/op.flags);
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

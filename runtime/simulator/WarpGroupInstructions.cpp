// SPDX-License-Identifier: Apache-2.0
// wgmma: products of 64 rows by four warps, operands in shared memory through descriptors. Each
// warp computes its own 16 rows, when the instruction is issued or when it waits for its group.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/RaceDetector.h"
#include "runtime/simulator/Rounding.h"
#include "runtime/simulator/Swizzle.h"
#include "runtime/simulator/TensorMath.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace ingot::simulator {

namespace {

// Op::flags: what the immediates of the instruction say.
enum GroupFlag : uint16_t {
  RegistersA = 1,
  NegateA = 2,
  NegateB = 4,
  TransposeA = 8,
  TransposeB = 16,
  HalfResult = 32,
  IntegerResult = 64,
  Saturates = 128
};
constexpr uint32_t depthBytes = 32, mostColumns = 256;

/// A matrix in shared memory as a descriptor gives it.
struct Descriptor {
  uint32_t start, leading, stride, swizzle;

  explicit Descriptor(uint64_t bits)
      : start(uint32_t(bits & 0x3fff) << 4), leading(uint32_t(bits >> 16 & 0x3fff) << 4),
        stride(uint32_t(bits >> 32 & 0x3fff) << 4), swizzle(uint32_t(bits >> 62)) {
    swizzle = swizzle == 0 ? 0 : 4 - swizzle; // 1 means 128 bytes in the descriptor
  }

  /// The 16 bytes of `row` that begin at byte 16 * unit of the depth: K-major.
  uint32_t rowUnit(uint32_t row, uint32_t unit) const {
    uint32_t within =
        swizzle ? row % 8 * (16u << swizzle) + unit * 16 : row % 8 * 16 + unit * leading;
    return swizzled(start + row / 8 * stride + within, swizzle);
  }

  /// The 16 bytes that hold rows 8 * unit to 8 * unit + 7 at depth k: MN-major, 16-bit elements.
  uint32_t columnUnit(uint32_t unit, uint32_t k) const {
    if (swizzle == 0)
      return start + unit * stride + k % 8 * 16 + k / 8 * leading;
    uint32_t units = 1u << swizzle;
    return swizzled(start + unit / units * leading + unit % units * 16 + k % 8 * (16u << swizzle) +
                        k / 8 * stride,
                    swizzle);
  }
};

const uint8_t *unitPointer(Warp &warp, uint32_t address) {
  uint32_t offset = address - sharedBase;
  if (address >= sharedBase && offset + 16 <= warp.block->sharedBytes)
    return warp.block->shared + offset;
  warp.fault(0, FindingKind::Descriptor, "a matrix descriptor reaches beyond shared memory",
             address);
  return nullptr;
}

/// Calls take(address, row or 8 rows from it on, unit or k) for the 16-byte units of rows `first`
/// to `first + rows - 1` of a matrix, 32 bytes of depth each, until it answers false.
template <class F>
bool forEachUnit(Warp &warp, uint64_t bits, bool transposed, uint32_t first, uint32_t rows,
                 F take) {
  Descriptor matrix(bits);
  if (bits >> 49 & 7) {
    warp.fault(0, FindingKind::Descriptor,
               "a descriptor's base offset other than 0 is not supported");
    return false;
  }
  for (uint32_t row = 0; !transposed && row < rows; ++row)
    for (uint32_t unit = 0; unit < 2; ++unit)
      if (!take(matrix.rowUnit(first + row, unit), row, unit))
        return false;
  for (uint32_t unit = 0; transposed && unit < rows / 8; ++unit)
    for (uint32_t k = 0; k < 16; ++k)
      if (!take(matrix.columnUnit(first / 8 + unit, k), 8 * unit, k))
        return false;
  return true;
}

/// The rows' bytes, one row behind the other.
bool gatherRows(Warp &warp, uint64_t bits, bool transposed, uint32_t first, uint32_t rows,
                uint8_t *to) {
  return forEachUnit(warp, bits, transposed, first, rows,
                     [&](uint32_t address, uint32_t row, uint32_t place) {
                       const uint8_t *from = unitPointer(warp, address);
                       if (from && !transposed)
                         std::memcpy(to + row * depthBytes + 16 * place, from, 16);
                       for (uint32_t i = 0; from && transposed && i < 8; ++i)
                         std::memcpy(to + (row + i) * depthBytes + 2 * place, from + 2 * i, 2);
                       return from != nullptr;
                     });
}

/// From the issue on the product reads these rows.
bool watchRows(Warp &warp, uint64_t bits, bool transposed, uint32_t first, uint32_t rows) {
  return forEachUnit(
      warp, bits, transposed, first, rows, [&](uint32_t address, uint32_t, uint32_t) {
        if (!unitPointer(warp, address))
          return false;
        warp.block->races->beginProductRead(warp, address, 16, warp.group.committed + 1);
        return true;
      });
}

/// The warp's 16 rows of A.
bool gatherA(Warp &warp, const GroupProduct &product, uint8_t *rows) {
  const Op &op = *product.op;
  if (!(op.flags & RegistersA))
    return gatherRows(warp, product.left, op.flags & TransposeA, warp.index % 4 * 16, 16, rows);
  const Slot *a = &warp.launch->program->lists[op.list] + op.count - 4;
  for (uint32_t half = 0; half < 2; ++half)
    for (uint32_t r = 0; r < 8; ++r) {
      std::memcpy(rows + r * depthBytes + 16 * half, warp.lanes<uint8_t>(a[2 * half]) + 16 * r, 16);
      std::memcpy(rows + (r + 8) * depthBytes + 16 * half,
                  warp.lanes<uint8_t>(a[2 * half + 1]) + 16 * r, 16);
    }
  return true;
}

bool ready(Warp &warp) {
  if (!warp.converged(fullMask))
    return false;
  uint32_t first = warp.index / 4 * 4;
  if (warp.alive == fullMask && first + 4 <= warp.block->warps.size())
    return true;
  warp.fault(uint32_t(std::countr_one(warp.alive)) & 31, FindingKind::Divergence,
             "wgmma needs four whole warps");
  return false;
}

void negate(float *values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    values[i] = -values[i];
}

/// Adds a product to its registers.
void performProduct(Warp &warp, const GroupProduct &product) {
  const Op &op = *product.op;
  Element left = Element(op.small[0]), right = Element(op.small[1]);
  uint32_t depth = depthBytes / elementBytes(left), columns = uint32_t(op.immediate);
  alignas(64) uint8_t rowsA[16 * depthBytes];
  alignas(64) uint8_t rowsB[mostColumns * depthBytes];
  if (!gatherA(warp, product, rowsA) ||
      !gatherRows(warp, product.right, op.flags & TransposeB, 0, columns, rowsB))
    return;
  alignas(64) float wideA[16 * 32], wide[8 * 32], wideB[32 * 8], tile[16 * 8];
  widen(left, rowsA, 16 * depth, wideA);
  if (op.flags & NegateA)
    negate(wideA, 16 * depth);
  const bool half = op.flags & HalfResult, integer = op.flags & IntegerResult;
  const bool accumulate = product.accumulates;
  const Slot *d = &warp.launch->program->lists[op.list];
  const uint32_t registers = half ? 2 : 4;
  for (uint32_t n = 0; n < columns; n += 8) {
    widen(right, &rowsB[n * depthBytes], 8 * depth, wide);
    if (op.flags & NegateB)
      negate(wide, 8 * depth);
    transposeRows(wide, depth, wideB);
    Sums sums;
    for (uint32_t k = 0; k < registers; ++k)
      sums.words[k] = warp.lanes<uint32_t>(d[n / 8 * registers + k]);
    if (!accumulate || integer)
      std::memset(tile, 0, sizeof tile);
    else if (half)
      sums.readHalf(tile);
    else
      sums.read(tile);
    if (warp.launch->modes.exactTensorCores && !integer)
      multiplyTileExact(wideA, wideB, tile, 16, depth,
                        exactSumOf(warp.launch->architecture, left, true));
    else
      multiplyTile(wideA, wideB, tile, 16, depth);
    if (!integer) {
      half ? sums.writeHalf(tile) : sums.write(tile);
      continue;
    }
    // Sums of 32 products of bytes are exact in f32.
    for (uint32_t k = 0; k < 4 && !accumulate; ++k)
      std::memset(sums.words[k], 0, warpSize * sizeof(uint32_t));
    sums.writeSum(sums, tile, op.flags & Saturates);
  }
}

/// Calls see(number, whether it is a sum) for the registers of a product.
template <class F> void forEachRegister(Warp &warp, const Op &op, F see) {
  const Slot *list = &warp.launch->program->lists[op.list];
  uint32_t sums = op.count - (op.flags & RegistersA ? 4u : 0u);
  for (uint32_t i = 0; i < op.count; ++i)
    if (!(list[i] & constantSlot))
      see(registerNumber(list[i]), i < sums);
}

/// Counts a product that uses its registers from now on, or no more.
void countRegisters(Warp &warp, const Op &op, int by) {
  forEachRegister(warp, op, [&](uint32_t reg, bool isSum) {
    uint16_t &count = (isSum ? warp.group.sums : warp.group.inputs)[reg];
    count = uint16_t(count + by);
  });
}

/// Reports registers that the product may not take yet.
void checkRegisters(Warp &warp, const Op &op) {
  const GroupState &group = warp.group;
  if (group.fenced == 0)
    return warp.report(0, FindingKind::AsyncProtocol,
                       "a wgmma without a wgmma.fence before the first one");
  bool isNew = false, isUsed = false;
  forEachRegister(warp, op, [&](uint32_t reg, bool isSum) {
    isNew |= group.written[reg] > group.fenced;
    // Sums of one product after the other need no wait.
    isUsed |= isSum ? group.inputs[reg] != 0 : group.sums[reg] != 0;
  });
  if (isNew)
    warp.report(0, FindingKind::AsyncProtocol,
                "a wgmma takes a register that was written after the last wgmma.fence");
  if (isUsed)
    warp.report(0, FindingKind::AsyncRace,
                "a wgmma takes a register that another one uses, without a wgmma.wait_group since");
}

} // namespace

/// slot[0] descriptor of A, slot[1] of B, slot[2] whether D is read; the list: D, then A.
void executeGroupProduct(Warp &warp, const Op &op) {
  if (!ready(warp))
    return;
  GroupState &group = warp.group;
  bool registersA = op.flags & RegistersA;
  GroupProduct product = {&op,
                          registersA ? 0 : warp.lanes<uint64_t>(op.slot[0])[0],
                          warp.lanes<uint64_t>(op.slot[1])[0],
                          (warp.predicate(op.slot[2]) & 1) != 0,
                          false,
                          group.committed + 1};
  checkRegisters(warp, op);
  countRegisters(warp, op, 1);
  if (warp.block->races) {
    bool reached =
        registersA || watchRows(warp, product.left, op.flags & TransposeA, warp.index % 4 * 16, 16);
    if (!reached ||
        !watchRows(warp, product.right, op.flags & TransposeB, 0, uint32_t(op.immediate)))
      return;
  }
  if (!warp.launch->modes.lateCompletion) {
    performProduct(warp, product);
    product.performed = true;
  }
  group.products.push_back(product);
  ++warp.tensorInstructions;
}

void executeGroupWait(Warp &warp, const Op &op) {
  if (!ready(warp))
    return;
  GroupState &group = warp.group;
  auto kept = uint32_t(std::min<int64_t>(op.immediate, group.committed));
  uint32_t complete = group.committed - kept;
  while (!group.products.empty() && group.products.front().group <= complete) {
    GroupProduct product = group.products.front();
    group.products.pop_front();
    countRegisters(warp, *product.op, -1);
    if (product.performed)
      continue;
    // What goes wrong does so in the product, not in the wait.
    uint32_t here = std::exchange(warp.pc, uint32_t(product.op - warp.code) + 1);
    performProduct(warp, product);
    warp.pc = here;
  }
  if (warp.block->races)
    warp.block->races->endProductReads(warp, complete);
}

namespace {

void executeFence(Warp &warp, const Op &) {
  if (ready(warp))
    warp.group.fenced = ++warp.group.clock;
}

void executeCommit(Warp &warp, const Op &) {
  if (ready(warp))
    ++warp.group.committed;
}

bool elementOf(Type type, Element &element) {
  constexpr std::pair<Type, Element> known[] = {
      {Type::F16, Element::F16},   {Type::Bf16, Element::Bf16}, {Type::E4m3, Element::E4m3},
      {Type::E5m2, Element::E5m2}, {Type::S8, Element::S8},     {Type::U8, Element::U8}};
  for (const auto &[name, value] : known)
    if (name == type) {
      element = value;
      return true;
    }
  return false;
}

/// "m64n128k16" -> 128 and 16.
bool takeShape(Decoder &d, uint32_t &columns, uint32_t &depth) {
  std::string shape(d.peek());
  int used = 0;
  if (shape.size() > 12 ||
      std::sscanf(shape.c_str(), "m64n%uk%u%n", &columns, &depth, &used) != 2 ||
      size_t(used) != shape.size())
    return false;
  d.skip();
  return columns >= 8 && columns <= mostColumns && columns % 8 == 0;
}

bool flagOperand(Decoder &d, size_t at, int64_t off, int64_t on) {
  int64_t value = d.constant(d.operand(at), "a factor or transposition");
  if (value != off && value != on)
    d.fail("operand " + std::to_string(at) + " must be " + std::to_string(off) + " or " +
           std::to_string(on));
  return value == on;
}

void takeFactors(Decoder &d, bool integer, bool sixteen) {
  if (integer)
    return d.expectOperands(4, 4);
  bool registers = d.op.flags & RegistersA;
  size_t count = 6 + (sixteen ? (registers ? 1 : 2) : 0);
  d.expectOperands(count, count);
  d.op.flags |= flagOperand(d, 4, 1, -1) ? NegateA : 0;
  d.op.flags |= flagOperand(d, 5, 1, -1) ? NegateB : 0;
  size_t at = 6;
  if (sixteen && !registers)
    d.op.flags |= flagOperand(d, at++, 0, 1) ? TransposeA : 0;
  if (sixteen)
    d.op.flags |= flagOperand(d, at, 0, 1) ? TransposeB : 0;
}

void decodeProduct(Decoder &d) {
  d.expect("sync");
  d.expect("aligned");
  uint32_t columns, depth;
  if (!takeShape(d, columns, depth))
    d.fail("an unknown shape");
  Type result = d.takeType();
  Element a{}, b{};
  bool known = elementOf(d.takeType(), a) && elementOf(d.takeType(), b);
  if (!known || depth * elementBytes(a) != depthBytes || elementBytes(a) != elementBytes(b))
    d.fail("this combination of shape and types is not supported");
  bool integer = a == Element::S8 || a == Element::U8, sixteen = elementBytes(a) == 2;
  if (result != (integer ? Type::S32 : Type::F32) &&
      !(result == Type::F16 && !integer && a != Element::Bf16))
    d.fail("this result type is not supported");
  d.op.flags = uint16_t((integer ? IntegerResult : 0) | (result == Type::F16 ? HalfResult : 0));
  if (integer && d.take("satfinite"))
    d.op.flags |= Saturates;
  const Operand &sums = d.operand(0);
  size_t registers = columns / (result == Type::F16 ? 4 : 2);
  if (sums.kind != Operand::Kind::Vector || sums.elements.size() != registers)
    d.fail("the result needs " + std::to_string(registers) + " registers");
  for (const Operand &element : sums.elements)
    d.updateToList(element, Type::B32);
  const Operand &left = d.operand(1);
  if (left.kind == Operand::Kind::Vector) {
    if (left.elements.size() != 4)
      d.fail("the left operand needs 4 registers");
    for (const Operand &element : left.elements)
      d.sourceToList(element, Type::B32);
    d.op.flags |= RegistersA;
  } else {
    d.source(0, left, Type::B64);
  }
  d.source(1, d.operand(2), Type::B64);
  d.source(2, d.operand(3), Type::Pred);
  takeFactors(d, integer, sixteen);
  d.op.immediate = columns;
  d.op.small[0] = uint8_t(a);
  d.op.small[1] = uint8_t(b);
  d.op.run = executeGroupProduct;
  d.keepSources();
  d.emit();
}

void decodeWarpGroup(Decoder &d) {
  if (d.result().target != "sm_90a")
    d.fail("wgmma exists on sm_90a only");
  if (d.take("mma_async"))
    return decodeProduct(d);
  int form = d.takeOneOf({"fence", "commit_group", "wait_group"});
  if (form < 0)
    d.fail("unknown form");
  d.expect("sync");
  d.expect("aligned");
  d.op.run = form == 0 ? executeFence : form == 1 ? executeCommit : executeGroupWait;
  if (form == 2)
    d.op.immediate = d.constant(d.operand(0), "the number of groups");
  if (d.op.immediate < 0)
    d.fail("the number of groups is negative");
  d.emit();
}

/// mapa: the shared::cluster address of the same variable in another block of the cluster.
void executeMap(Warp &warp, const Op &op) {
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t address =
        op.flags ? warp.lanes<uint64_t>(op.slot[1])[i] : warp.lanes<uint32_t>(op.slot[1])[i];
    uint64_t window = address & windowMask;
    uint64_t rank = warp.lanes<uint32_t>(op.slot[2])[i];
    address &= (uint64_t(1) << clusterRankShift) - 1;
    address |= window | (rank + 1) << clusterRankShift;
    if (op.flags)
      warp.lanes<uint64_t>(op.slot[0])[i] = address;
    else
      warp.lanes<uint32_t>(op.slot[0])[i] = uint32_t(address);
  }
}

void decodeMapAddress(Decoder &d) {
  d.take("shared::cluster");
  Type type = d.takeType();
  if (type != Type::U32 && type != Type::U64)
    d.failType();
  d.op.flags = type == Type::U64;
  decodeMap(d, executeMap, type, {type, Type::U32});
}

} // namespace

void addWarpGroupInstructions(InstructionTable &table) {
  table["wgmma"] = decodeWarpGroup;
  table["mapa"] = decodeMapAddress;
}

} // namespace ingot::simulator

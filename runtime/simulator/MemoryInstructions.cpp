// SPDX-License-Identifier: Apache-2.0
// ld, st and their vectors.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/RaceDetector.h"

#include <cstring>
#include <immintrin.h>

namespace ingot::simulator {

namespace {

// Op::flags of loads and stores.
enum MemoryFlag : uint16_t { SignExtend = 1, WideRegister = 2, Ordered = 4 };

Access accessOf(const Op &op, AccessKind kind) {
  Access access;
  access.space = Space(op.small[0] & 7);
  access.wide = op.small[0] >> 3;
  access.bytes = uint32_t(op.small[1]) * op.small[2];
  access.kind = kind;
  access.ordered = op.flags & Ordered;
  return access;
}

template <uint32_t Bytes> uint64_t readElement(const uint8_t *from, bool extend) {
  if constexpr (Bytes == 1)
    return extend ? uint64_t(int64_t(int8_t(*from))) : *from;
  uint64_t value = 0;
  std::memcpy(&value, from, Bytes);
  if (extend && Bytes < 8)
    value = uint64_t(int64_t(value << (64 - 8 * Bytes)) >> (64 - 8 * Bytes));
  return value;
}

/// Words of all lanes: the elements of each lane stand together, lane after lane in a register.
template <uint32_t Count>
void loadWords(const LanePointers &pointers, uint32_t *const (&d)[Count]) {
  for (uint32_t i = 0; i < warpSize; ++i) {
    uint32_t row[Count];
    std::memcpy(row, pointers[i], sizeof row);
    for (uint32_t k = 0; k < Count; ++k)
      d[k][i] = row[k];
  }
}

template <> void loadWords<1>(const LanePointers &pointers, uint32_t *const (&d)[1]) {
  uintptr_t apart = 0;
  const auto first = reinterpret_cast<uintptr_t>(pointers[0]);
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i)
    apart |= reinterpret_cast<uintptr_t>(pointers[i]) ^ (first + 4 * i);
  if (apart == 0) {
    std::memcpy(d[0], pointers[0], warpSize * sizeof(uint32_t));
    return;
  }
  for (uint32_t i = 0; i < warpSize; ++i)
    std::memcpy(d[0] + i, pointers[i], sizeof(uint32_t));
}

template <> void loadWords<4>(const LanePointers &pointers, uint32_t *const (&d)[4]) {
  auto row = [&](uint32_t lane) {
    return _mm_loadu_ps(reinterpret_cast<const float *>(pointers[lane]));
  };
  for (uint32_t i = 0; i < warpSize; i += 8) {
    __m256 r[4];
    for (uint32_t k = 0; k < 4; ++k)
      r[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(row(i + k)), row(i + 4 + k), 1);
    const __m256 a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]);
    const __m256 c = _mm256_unpacklo_ps(r[2], r[3]), e = _mm256_unpackhi_ps(r[2], r[3]);
    auto store = [&](uint32_t k, __m256 value) {
      _mm256_storeu_ps(reinterpret_cast<float *>(d[k] + i), value);
    };
    store(0, _mm256_shuffle_ps(a, c, 0x44));
    store(1, _mm256_shuffle_ps(a, c, 0xee));
    store(2, _mm256_shuffle_ps(b, e, 0x44));
    store(3, _mm256_shuffle_ps(b, e, 0xee));
  }
}

template <uint32_t Bytes, uint32_t Count> void executeLoad(Warp &warp, const Op &op) {
  LanePointers pointers;
  if (!resolve(warp, op.slot[1], op.immediate, accessOf(op, AccessKind::Read), pointers))
    return;
  const Slot *targets = &warp.launch->program->lists[op.list];
  const bool extend = op.flags & SignExtend, wide = op.flags & WideRegister || Bytes == 8;
  const uint32_t mask = warp.mask;
  if (wide) {
    for (uint32_t k = 0; k < Count; ++k) {
      auto *d = warp.lanes<uint64_t>(targets[k]);
      for (uint32_t i = 0; i < warpSize; ++i)
        if (mask >> i & 1)
          d[i] = readElement<Bytes>(pointers[i] + k * Bytes, extend);
    }
    return;
  }
  if (mask == fullMask && Bytes == 4) {
    uint32_t *d[Count];
    for (uint32_t k = 0; k < Count; ++k)
      d[k] = warp.lanes<uint32_t>(targets[k]);
    loadWords<Count>(pointers, d);
    return;
  }
  for (uint32_t k = 0; k < Count; ++k) {
    auto *d = warp.lanes<uint32_t>(targets[k]);
    for (uint32_t i = 0; i < warpSize; ++i)
      if (mask >> i & 1)
        d[i] = uint32_t(readElement<Bytes>(pointers[i] + k * Bytes, extend));
  }
}

template <uint32_t Bytes, uint32_t Count> void executeStore(Warp &warp, const Op &op) {
  LanePointers pointers;
  if (!resolve(warp, op.slot[1], op.immediate, accessOf(op, AccessKind::Write), pointers))
    return;
  const Slot *sources = &warp.launch->program->lists[op.list];
  const bool wide = op.flags & WideRegister || Bytes == 8;
  ++warp.block->progress;
  for (uint32_t k = 0; k < Count; ++k) {
    const uint8_t *s = warp.lanes<uint8_t>(sources[k]);
    const uint32_t stride = wide ? 8 : 4;
    for (uint32_t i = 0; i < warpSize; ++i)
      if (warp.mask >> i & 1)
        std::memcpy(pointers[i] + k * Bytes, s + i * stride, Bytes);
  }
}

/// A parameter at an address known when decoding: the same for all lanes.
void executeLoadParameter(Warp &warp, const Op &op) {
  const Slot *targets = &warp.launch->program->lists[op.list];
  const uint8_t *from = warp.launch->parameters.data() + op.immediate;
  const uint32_t mask = warp.mask, bytes = op.small[1];
  const bool wide = op.flags & WideRegister || bytes == 8;
  for (uint32_t k = 0; k < op.small[2]; ++k) {
    uint64_t value = 0;
    std::memcpy(&value, from + k * bytes, bytes);
    if (op.flags & SignExtend && bytes < 8)
      value = uint64_t(int64_t(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    for (uint32_t i = 0; i < warpSize; ++i) {
      if (!(mask >> i & 1))
        continue;
      if (wide)
        warp.lanes<uint64_t>(targets[k])[i] = value;
      else
        warp.lanes<uint32_t>(targets[k])[i] = uint32_t(value);
    }
  }
}

template <uint32_t Bytes> OpFunction loadOf(size_t count) {
  return count == 1   ? executeLoad<Bytes, 1>
         : count == 2 ? executeLoad<Bytes, 2>
         : count == 4 ? executeLoad<Bytes, 4>
                      : executeLoad<Bytes, 8>;
}
template <uint32_t Bytes> OpFunction storeOf(size_t count) {
  return count == 1   ? executeStore<Bytes, 1>
         : count == 2 ? executeStore<Bytes, 2>
         : count == 4 ? executeStore<Bytes, 4>
                      : executeStore<Bytes, 8>;
}

OpFunction functionOf(bool load, uint32_t bytes, size_t count) {
  switch (bytes) {
  case 1:
    return load ? loadOf<1>(count) : storeOf<1>(count);
  case 2:
    return load ? loadOf<2>(count) : storeOf<2>(count);
  case 4:
    return load ? loadOf<4>(count) : storeOf<4>(count);
  default:
    return load ? loadOf<8>(count) : storeOf<8>(count);
  }
}

struct MemoryForm {
  Space space = Space::Generic;
  size_t count = 1;
  bool ordered = false;
  Type type = Type::None;
};

/// Reads the modifiers of ld and st up to the type. Those that only advise caches are accepted.
MemoryForm takeForm(Decoder &d) {
  MemoryForm form;
  while (typeNamed(d.peek()) == Type::None) {
    if (d.take("global"))
      form.space = Space::Global;
    else if (d.take("shared") || d.take("shared::cta") || d.take("shared::cluster"))
      form.space = Space::Shared;
    else if (d.take("local"))
      form.space = Space::Local;
    else if (d.take("param") || d.take("param::entry"))
      form.space = Space::Param;
    else if (d.take("const"))
      form.space = Space::Const;
    else if (d.take("v2"))
      form.count = 2;
    else if (d.take("v4"))
      form.count = 4;
    else if (d.take("v8"))
      form.count = 8;
    else if (d.takeOneOf({"volatile", "relaxed", "acquire", "release", "mmio"}) >= 0)
      form.ordered = true;
    else if (d.takeOneOf({"weak", "nc", "cta", "cluster", "gpu", "sys", "ca", "cg", "cs", "lu",
                          "cv", "wb", "wt", "unified"}) < 0 &&
             !d.peek().starts_with("L1::") && !d.peek().starts_with("L2::"))
      d.fail("modifier ." + std::string(d.peek()) + " is not supported");
    else if (d.peek().starts_with("L1::") || d.peek().starts_with("L2::"))
      d.skip();
  }
  form.type = d.takeType();
  if (form.type == Type::Pred || form.type == Type::B128 || bitsOf(form.type) % 8)
    d.failType();
  if (form.count * bitsOf(form.type) > 256)
    d.fail("a vector of more than 256 bits");
  return form;
}

/// Puts one register or the elements of a vector into the op's list; all have the same width.
void takeRegisters(Decoder &d, const Operand &value, const MemoryForm &form, bool load) {
  std::vector<Operand> elements =
      value.kind == Operand::Kind::Vector ? value.elements : std::vector<Operand>{value};
  if (elements.size() != form.count)
    d.fail("the vector has another number of elements");
  uint32_t width = bitsOf(form.type);
  for (const Operand &element : elements)
    width = std::max(width, d.widthOf(element, form.type));
  for (const Operand &element : elements) {
    uint32_t have = d.widthOf(element, form.type);
    if (element.kind == Operand::Kind::Register && (have > 32) != (width > 32))
      d.fail("the vector's registers differ in width");
    Type held = have == 64   ? Type::B64
                : have == 16 ? Type::B16
                : have == 32 ? Type::B32
                             : form.type;
    if (element.kind != Operand::Kind::Register)
      held = form.type;
    if (have < bitsOf(form.type))
      d.fail("a register is narrower than the type");
    if (load)
      d.targetToList(element, held);
    else
      d.sourceToList(element, held);
  }
  if (width == 64)
    d.op.flags |= WideRegister;
}

void decodeLoadStore(Decoder &d, bool load) {
  MemoryForm form = takeForm(d);
  d.expectOperands(2, 3);
  d.keepSources();
  const Operand &address = d.operand(load ? 1 : 0);
  const Operand &value = d.operand(load ? 0 : 1);
  bool wide = d.address(1, address, form.space);
  uint32_t bytes = bitsOf(form.type) / 8;
  d.op.small[0] = uint8_t(uint8_t(form.space) | (wide ? 8 : 0));
  d.op.small[1] = uint8_t(bytes);
  d.op.small[2] = uint8_t(form.count);
  bool isSigned = form.type == Type::S8 || form.type == Type::S16 || form.type == Type::S32;
  d.op.flags = uint16_t((isSigned ? SignExtend : 0) | (form.ordered ? Ordered : 0));
  takeRegisters(d, value, form, load);
  d.op.run = functionOf(load, bytes, form.count);
  const Operand &base = address.elements[0];
  if (load && form.space == Space::Param && base.kind == Operand::Kind::Symbol) {
    uint64_t begin = d.symbolAddress(base, form.space) + uint64_t(address.integer);
    uint64_t size = d.result().parameterBytes;
    if (begin > size || bytes * form.count > size - begin)
      d.fail("reads beyond the parameters");
    d.op.immediate = int64_t(begin);
    d.op.run = executeLoadParameter;
  }
  if (!load && form.space == Space::Param)
    d.fail("parameters cannot be written");
  d.emit();
}

enum FenceFlag : uint16_t { AsyncShared = 1, AsyncGlobal = 2 };

void executeFence(Warp &warp, const Op &op) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (op.flags & AsyncShared && warp.block->races)
    warp.block->races->proxyFence(warp);
  if (op.flags & AsyncGlobal)
    warp.copiesFenced = warp.gridWaited;
}

/// Fences order nothing that the interpreter would reorder; their absence is the race detector's.
void decodeFence(Decoder &d) {
  bool async = false, isGlobal = false, isShared = false;
  while (!d.atEnd()) {
    if (d.take("async"))
      async = true;
    else if (d.take("global"))
      isGlobal = true;
    else if (d.takeOneOf({"shared::cta", "shared::cluster"}) >= 0)
      isShared = true;
    else if (d.takeOneOf({"cta", "cluster", "gpu", "sys", "gl"}) < 0 &&
             d.takeOneOf({"acq_rel", "sc", "proxy", "alias", "release", "acquire"}) < 0 &&
             d.takeOneOf({"async::generic", "tensormap::generic", "mbarrier_init"}) < 0 &&
             d.takeOneOf({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"}) < 0)
      d.fail("modifier ." + std::string(d.peek()) + " is not supported");
  }
  // Without a state space it is over all of them.
  if (async)
    d.op.flags = uint16_t((isGlobal ? 0 : AsyncShared) | (isShared ? 0 : AsyncGlobal));
  d.op.run = executeFence;
  d.emit();
}

} // namespace

void addMemoryInstructions(InstructionTable &table) {
  table["ld"] = [](Decoder &d) { decodeLoadStore(d, true); };
  table["ldu"] = [](Decoder &d) { decodeLoadStore(d, true); };
  table["st"] = [](Decoder &d) { decodeLoadStore(d, false); };
  table["membar"] = decodeFence;
  table["fence"] = decodeFence;
}

} // namespace ingot::simulator

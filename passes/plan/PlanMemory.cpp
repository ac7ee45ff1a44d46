// SPDX-License-Identifier: Apache-2.0
// Arena offsets. Values that live at the same time get different places; the largest are placed
// first, each at the lowest free offset (greedy by size, as in TFLite's memory planner).
#include "dialects/engine/EngineOps.h"
#include "passes/plan/Passes.h"
#include "runtime/schema/Names.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

namespace ingot {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/plan/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::engine;

namespace {

/// Alignment of buffers, and the bytes past its end that a kernel may read
/// (INGOT_BUFFER_ALIGNMENT of the kernel ABI).
constexpr int64_t kAlignment = 64;
constexpr int kTiers = 4;
constexpr int64_t kTierRatio = 4;

/// A buffer of the arena and the instructions between which it holds a value, over all programs.
struct Lifetime {
  BufferOp buffer;
  int64_t first, last;
  int64_t bytes = 0, offset = 0;
};

struct PlanMemory : ingot::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    for (auto unit : getOperation().getOps<UnitOp>())
      if (failed(plan(unit)))
        return signalPassFailure();
  }

  LogicalResult plan(UnitOp unit) {
    SmallVector<Lifetime> lifetimes = lifetimesOf(unit);
    OpBuilder builder = OpBuilder::atBlockEnd(&unit.getBody().front());
    SmallVector<ArrayAttr> tiers = tierLimits(builder);
    for (ArrayAttr limits : llvm::reverse(tiers)) {
      FailureOr<int64_t> bytes = place(unit, lifetimes, limits);
      if (failed(bytes))
        return failure();
      SmallVector<int64_t> offsets;
      for (const Lifetime &lifetime : lifetimes)
        offsets.push_back(lifetime.offset);
      ArenaTierOp::create(builder, unit.getLoc(), limits, *bytes, offsets);
    }
    return success();
  }

  /// One entry per arena, input and output buffer, in the unit's order.
  static SmallVector<Lifetime> lifetimesOf(UnitOp unit) {
    SmallVector<Lifetime> lifetimes;
    llvm::StringMap<size_t> indices;
    for (auto buffer : unit.getBody().getOps<BufferOp>())
      if (llvm::is_contained({"arena", "input", "output"}, buffer.getRole())) {
        indices[buffer.getSymName()] = lifetimes.size();
        lifetimes.push_back({buffer, INT64_MAX, -1});
      }
    int64_t clock = 0;
    auto touch = [&](StringRef name) {
      auto index = indices.find(name);
      if (index == indices.end())
        return;
      Lifetime &lifetime = lifetimes[index->second];
      lifetime.first = std::min(lifetime.first, clock);
      lifetime.last = std::max(lifetime.last, clock);
    };
    unit.walk([&](Operation *op) {
      for (NamedAttribute attribute : op->getAttrs())
        if (op->hasTrait<Instruction>())
          attribute.getValue().walk([&](FlatSymbolRefAttr name) { touch(name.getValue()); });
      ++clock;
    });
    // The host reads and writes these between programs, or launches expect what others left: they
    // live throughout.
    for (Lifetime &lifetime : lifetimes)
      if (lifetime.buffer.getRole() != "arena" || lifetime.buffer.getZeroed()) {
        lifetime.first = 0;
        lifetime.last = clock;
      }
    return lifetimes;
  }

  /// Whether loaders may choose less of the dim. What programs of their own count stays as it is.
  static bool isOfBatch(StringRef dim) {
    return !llvm::is_contained({schema::dim::imageRows, schema::dim::images, schema::dim::windows},
                               dim);
  }

  /// Step sizes to plan for: the declared maximum, then smaller ones by a fixed ratio.
  SmallVector<ArrayAttr> tierLimits(OpBuilder &builder) {
    SmallVector<ArrayAttr> tiers;
    for (int64_t tier = 0, divisor = 1; tier < kTiers; ++tier, divisor *= kTierRatio) {
      SmallVector<Attribute> limits;
      for (auto dim : getOperation().getOps<DimOp>())
        if (dim.getSource() == "step")
          limits.push_back(RangeAttr::get(
              builder.getContext(), dim.getSymName(), dim.getMin(),
              isOfBatch(dim.getSymName())
                  ? std::max<int64_t>(dim.getMin(), llvm::divideCeil(dim.getMax(), divisor))
                  : dim.getMax()));
      ArrayAttr attribute = builder.getArrayAttr(limits);
      if (tiers.empty() || tiers.back() != attribute)
        tiers.push_back(attribute);
    }
    return tiers;
  }

  /// Places all buffers for steps within `limits`; the arena's size.
  FailureOr<int64_t> place(UnitOp unit, SmallVectorImpl<Lifetime> &lifetimes, ArrayAttr limits) {
    auto dimValue = [&](StringRef name) -> std::optional<int64_t> {
      for (Attribute limit : limits)
        if (cast<RangeAttr>(limit).getDim() == name)
          return cast<RangeAttr>(limit).getMax();
      if (auto dim = getOperation().lookupSymbol<DimOp>(name))
        return dim.getMax();
      return std::nullopt;
    };
    SmallVector<Lifetime *> order;
    for (Lifetime &lifetime : lifetimes) {
      std::optional<int64_t> bytes =
          Expr::parse(lifetime.buffer.getBytes().getText())->evaluate(dimValue);
      if (!bytes)
        return lifetime.buffer.emitOpError() << "INGOT-E3020: its size cannot be computed";
      lifetime.bytes = llvm::alignTo(*bytes, kAlignment) + kAlignment;
      order.push_back(&lifetime);
    }
    llvm::stable_sort(order, [](Lifetime *a, Lifetime *b) { return a->bytes > b->bytes; });
    int64_t total = 0;
    SmallVector<Lifetime *> placed; // by offset
    for (Lifetime *lifetime : order) {
      lifetime->offset = 0;
      for (Lifetime *other : placed) {
        bool together = lifetime->first <= other->last && other->first <= lifetime->last;
        if (!together)
          continue;
        if (lifetime->offset + lifetime->bytes <= other->offset)
          break;
        lifetime->offset = std::max(lifetime->offset, other->offset + other->bytes);
      }
      placed.insert(
          llvm::upper_bound(placed, lifetime,
                            [](Lifetime *a, Lifetime *b) { return a->offset < b->offset; }),
          lifetime);
      total = std::max(total, lifetime->offset + lifetime->bytes);
    }
    return total;
  }
};

} // namespace

// SPDX-License-Identifier: Apache-2.0
// Exact cover of a box by boxes, applied to each launch's variants.
#include "runtime/engine/Coverage.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

constexpr size_t maximumPieces = 100'000;

bool overlap(const ShapeBox &left, const ShapeBox &right) {
  for (size_t dim = 0; dim < left.size(); ++dim)
    if (left[dim].max < right[dim].min || right[dim].max < left[dim].min)
      return false;
  return true;
}

/// Appends what of `box` lies outside `cut`: at most two pieces per dim. They overlap.
void subtract(ShapeBox box, const ShapeBox &cut, std::vector<ShapeBox> &pieces) {
  for (size_t dim = 0; dim < box.size(); ++dim) {
    if (box[dim].min < cut[dim].min) {
      pieces.push_back(box);
      pieces.back()[dim].max = cut[dim].min - 1;
      box[dim].min = cut[dim].min;
    }
    if (box[dim].max > cut[dim].max) {
      pieces.push_back(box);
      pieces.back()[dim].min = cut[dim].max + 1;
      box[dim].max = cut[dim].max;
    }
  }
}

/// Cuts `box` by ranges over dims; false when nothing is left.
bool narrow(ShapeBox &box, const flatbuffers::Vector<flatbuffers::Offset<schema::Range>> *ranges) {
  if (!ranges)
    return true;
  for (const schema::Range *range : *ranges) {
    Interval &interval = box[range->dim()];
    interval.min = std::max(interval.min, int64_t(range->min()));
    interval.max = std::min(interval.max, int64_t(range->max()));
    if (interval.min > interval.max)
      return false;
  }
  return true;
}

ShapeBox declaredBox(const schema::Engine &engine) {
  ShapeBox box;
  if (engine.dims())
    for (const schema::Dim *dim : *engine.dims())
      box.push_back({dim->min(), dim->max()});
  return box;
}

/// "T=3, S=1": the dims of the engine at an uncovered point.
std::string describe(const schema::Engine &engine, const std::vector<int64_t> &point) {
  std::string text;
  for (size_t dim = 0; dim < point.size(); ++dim)
    text += (dim ? ", " : "") + engine.dims()->Get(uint32_t(dim))->name()->str() + "=" +
            std::to_string(point[dim]);
  return text;
}

Status verifyLaunch(const schema::Engine &engine, const schema::Target &target,
                    const schema::Program &program, const schema::Instruction &instruction) {
  ShapeBox declared = declaredBox(engine);
  std::vector<ShapeBox> boxes;
  if (const auto *variants = instruction.operation_as_Launch()->variants())
    for (const schema::Variant *variant : *variants)
      if (std::optional<ShapeBox> box = variantBox(*variant, target, declared))
        boxes.push_back(std::move(*box));
  bool tooComplex = false;
  std::optional<std::vector<int64_t>> hole = findUncovered(declared, boxes, tooComplex);
  std::string where = "op '" + instruction.name()->str() + "' of program '" +
                      program.name()->str() + "' on target '" + target.name()->str() + "'";
  if (tooComplex)
    return Status::error("INGOT-E5014", where + " has ranges too fragmented to prove coverage",
                         "rebuild the engine with fewer shape buckets");
  if (hole)
    return Status::error("INGOT-E5013",
                         where + " has no kernel for the shape " + describe(engine, *hole),
                         "rebuild the engine; its kernels do not cover the declared shapes");
  return {};
}

} // namespace

std::optional<std::vector<int64_t>>
findUncovered(const ShapeBox &declared, const std::vector<ShapeBox> &boxes, bool &tooComplex) {
  tooComplex = false;
  std::vector<ShapeBox> left = {declared}, next;
  for (const ShapeBox &cut : boxes) {
    next.clear();
    for (ShapeBox &box : left) {
      if (overlap(box, cut))
        subtract(std::move(box), cut, next);
      else
        next.push_back(std::move(box));
      if (next.size() > maximumPieces) {
        tooComplex = true;
        return std::nullopt;
      }
    }
    left.swap(next);
    if (left.empty())
      return std::nullopt;
  }
  std::vector<int64_t> point;
  for (const Interval &interval : left.front())
    point.push_back(interval.min);
  return point;
}

std::optional<ShapeBox> variantBox(const schema::Variant &variant, const schema::Target &target,
                                   const ShapeBox &declared) {
  ShapeBox box = declared;
  if (!narrow(box, variant.ranges()) ||
      !narrow(box, target.kernels()->Get(variant.kernel())->guards()))
    return std::nullopt;
  return box;
}

Status verifyCoverage(const schema::Engine &engine) {
  if (!engine.targets())
    return {};
  for (const schema::Target *target : *engine.targets()) {
    if (!target->programs())
      continue;
    for (const schema::Program *program : *target->programs()) {
      if (!program->instructions())
        continue;
      for (const schema::Instruction *instruction : *program->instructions())
        if (instruction->operation_type() == schema::Operation::Launch)
          if (Status status = verifyLaunch(engine, *target, *program, *instruction); !status.ok())
            return status;
    }
  }
  return {};
}

} // namespace ingot::runtime

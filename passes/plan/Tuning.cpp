// SPDX-License-Identifier: Apache-2.0
// Entries of a product become ranges of its rows.
#include "passes/plan/Tuning.h"

#include "dialects/engine/EngineOps.h"
#include "dialects/llm/LlmDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/plan/KernelFacts.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::engine;

namespace {

/// First and last number of rows.
using Rows = std::pair<int64_t, int64_t>;

Rows intersect(Rows rows, StringRef dim, ArrayRef<RangeAttr> ranges) {
  for (RangeAttr range : ranges)
    if (range.getDim() == dim)
      rows = {std::max(rows.first, range.getMin()), std::min(rows.second, range.getMax())};
  return rows;
}

/// Drops the kernels that never run because those before them take all their rows. Kernels that
/// also ask for other dims stay and take nothing from those behind.
void dropUnreached(llvm::SmallVectorImpl<KernelVariant> &kernels, RangeAttr declared) {
  SmallVector<Rows> left = {{declared.getMin(), declared.getMax()}};
  llvm::erase_if(kernels, [&](const KernelVariant &kernel) {
    auto other = [&](RangeAttr range) { return range.getDim() != declared.getDim(); };
    if (llvm::any_of(kernel.ranges, other) || llvm::any_of(kernel.guards, other))
      return false;
    bool runs = false;
    SmallVector<Rows> next;
    for (Rows rows : left) {
      Rows taken = intersect(intersect(rows, declared.getDim(), kernel.ranges), declared.getDim(),
                             kernel.guards);
      if (taken.first > taken.second) {
        next.push_back(rows);
        continue;
      }
      runs = true;
      if (rows.first < taken.first)
        next.push_back({rows.first, taken.first - 1});
      if (taken.second < rows.second)
        next.push_back({taken.second + 1, rows.second});
    }
    left = std::move(next);
    return !runs;
  });
}

std::string nameOf(TuningAttr tuning) {
  return (tuning.getKey() + " rows " + Twine(tuning.getMin()) + "-" + Twine(tuning.getMax()) +
          ": " + tuning.getCandidate())
      .str();
}

} // namespace

Tuning::Tuning(ModuleOp module, const KernelProvider &provider, ArrayRef<RangeAttr> declared)
    : provider(provider), declared(declared),
      wantsCandidates(attributeOf<EngineDialect::TuningCandidatesAttrHelper>(module)) {
  if (auto list = attributeOf<EngineDialect::TuningAttrHelper>(module))
    for (auto tuning : list.getAsRange<TuningAttr>())
      entries.push_back({tuning, false, "no product of this size and format"});
}

/// The kernel that `entry` names, for its rows; nothing, with the reason kept, if it cannot be.
std::optional<KernelVariant> Tuning::place(Entry &entry, const Kernels &candidates,
                                           RangeAttr rows) const {
  TuningAttr tuning = entry.tuning;
  auto refuse = [&](const Twine &reason) {
    if (!entry.applied)
      entry.reason = reason.str();
    return std::nullopt;
  };
  const auto *found = llvm::find_if(candidates, [&](const KernelVariant &kernel) {
    return kernel.fact(kCandidate) == tuning.getCandidate();
  });
  if (found == candidates.end())
    return refuse("the target has no such kernel for it");
  if (StringRef digest = found->fact(kCandidateDigest); digest != tuning.getDigest())
    return refuse("stale: the kernel was " + Twine(tuning.getDigest()) + " when it was measured, " +
                  "now it is " + digest);
  Rows wanted = intersect({tuning.getMin(), tuning.getMax()}, rows.getDim(), rows);
  if (wanted.first > wanted.second)
    return refuse("the engine has at most " + Twine(rows.getMax()) + " rows there");
  if (intersect(wanted, rows.getDim(), found->guards) != wanted)
    return refuse("the kernel does not take so many rows");
  entry.applied = true;
  entry.reason.clear();
  KernelVariant kernel = *found;
  if (wanted != Rows{rows.getMin(), rows.getMax()})
    kernel.ranges = {RangeAttr::get(rows.getContext(), rows.getDim(), wanted.first, wanted.second)};
  return kernel;
}

void Tuning::choose(Operation *op, Kernels &kernels) {
  std::string product = productOf(op);
  if (product.empty() || (entries.empty() && !wantsCandidates))
    return;
  StringRef dim = llm::rowsOf(cast<RankedTensorType>(op->getResult(0).getType())).getText();
  const auto *rows = llvm::find_if(declared, [&](RangeAttr one) { return one.getDim() == dim; });
  if (rows == declared.end())
    return;
  SmallVector<KernelVariant> candidates, chosen;
  provider.candidatesFor(op, declared, candidates);
  // What the cost model takes may be chosen as well.
  for (KernelVariant kernel : kernels) {
    StringRef name = kernel.fact(kCandidate);
    bool known = llvm::any_of(
        candidates, [&](const KernelVariant &other) { return other.fact(kCandidate) == name; });
    kernel.ranges.clear();
    if (!name.empty() && !known)
      candidates.push_back(std::move(kernel));
  }
  for (Entry &entry : entries)
    if (entry.tuning.getKey() == product)
      if (std::optional<KernelVariant> kernel = place(entry, candidates, *rows))
        chosen.push_back(std::move(*kernel));
  if (!chosen.empty()) {
    llvm::append_range(chosen, kernels);
    dropUnreached(chosen, *rows);
    kernels.assign(chosen.begin(), chosen.end());
  }
  if (wantsCandidates)
    llvm::append_range(kernels, candidates);
}

void Tuning::report(OpBuilder &builder) const {
  for (const Entry &entry : entries)
    NoteOp::create(builder, builder.getUnknownLoc(), kTuningPass, nameOf(entry.tuning),
                   entry.applied, entry.reason);
}

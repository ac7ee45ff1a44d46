// SPDX-License-Identifier: Apache-2.0
// Notes of what passes did, and small questions about sites.
#include "passes/FusionReport.h"

#include "dialects/engine/EngineOps.h"
#include "dialects/llm/EncodedWeight.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;

FusionReport::FusionReport(ModuleOp module, StringRef pass)
    : module(module), pass(pass), provider(engine::EngineDialect::providerFor(module)) {}

bool FusionReport::accepts(engine::Fusion fusion, Operation *site) {
  std::optional<std::string> reason = provider->declines(fusion, site);
  if (reason)
    declined(site, *reason);
  return !reason;
}

void FusionReport::applied(Operation *site) { note(site, true, ""); }

void FusionReport::declined(Operation *site, const Twine &reason) { note(site, false, reason); }

void FusionReport::note(Operation *site, bool applied, const Twine &reason) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  engine::NoteOp::create(builder, module.getLoc(), pass, siteOf(site), applied, reason.str());
}

std::string ingot::siteOf(Operation *op) {
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return name.getName().str();
  return op->getName().getStringRef().str();
}

Location ingot::atSite(MLIRContext *context, const Twine &site) {
  return NameLoc::get(StringAttr::get(context, site));
}

bool ingot::isWeight(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isWeightOperation(op);
}

bool ingot::isWeightOperation(Operation *op) { return op->hasTrait<llm::WeightExpression>(); }

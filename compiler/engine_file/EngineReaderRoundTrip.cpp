// SPDX-License-Identifier: Apache-2.0
// Engine dialect to Engine.fbs and back.
#include "compiler/engine_file/EngineReaderRoundTrip.h"

#include "compiler/engine_file/EngineReader.h"
#include "compiler/engine_file/EngineWriter.h"
#include "dialects/engine/EngineOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

struct EngineRoundTripPass : PassWrapper<EngineRoundTripPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EngineRoundTripPass)

  StringRef getArgument() const final { return "ingot-engine-round-trip"; }
  StringRef getDescription() const final {
    return "Writes the module as engine metadata and reads it back";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<engine::EngineDialect>();
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    std::vector<SectionEntry> sections(1);
    sections[0].name = "weights";
    sections[0].kind = SectionKind::Weights;
    std::vector<WeightPlacement> weights = placeWeights(module, 0, sections[0].bytes);
    for (auto unit : module.getOps<engine::UnitOp>())
      for (auto library : unit.getOps<engine::LibraryOp>())
        sections.push_back({librarySectionName(unit.getSymName(), library.getSymName()),
                            SectionKind::Kernels,
                            0,
                            0,
                            {}});
    FailureOr<std::vector<std::byte>> metadata =
        writeEngineMetadata(module, EngineDescription(), sections, weights);
    if (failed(metadata))
      return signalPassFailure();
    OwningOpRef<ModuleOp> read = readEngineMetadata(getContext(), *metadata);
    if (!read)
      return signalPassFailure();
    module.getBodyRegion().takeBody(read->getBodyRegion());
  }
};

} // namespace

std::unique_ptr<Pass> compiler::createEngineRoundTripPass() {
  return std::make_unique<EngineRoundTripPass>();
}

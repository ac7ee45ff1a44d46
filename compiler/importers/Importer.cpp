// SPDX-License-Identifier: Apache-2.0
// Finds the family of a checkpoint and lets it import.
#include "compiler/importers/Importer.h"

#include "compiler/importers/Families.h"
#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

namespace {

struct Family {
  StringRef architecture; ///< as config.json names it
  LogicalResult (*import)(ModuleOp, const checkpoint::Checkpoint &, const ImportOptions &);
};

#define INGOT_FAMILY(architecture, function) {architecture, function},
constexpr Family kFamilies[] = {INGOT_MODEL_FAMILIES(INGOT_FAMILY)};
#undef INGOT_FAMILY

} // namespace

FailureOr<OwningOpRef<ModuleOp>> compiler::importModel(MLIRContext *context,
                                                       const checkpoint::Checkpoint &checkpoint,
                                                       const ImportOptions &options) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  StringRef architecture = checkpoint.config().architecture;
  const auto *family =
      llvm::find_if(kFamilies, [&](const Family &f) { return f.architecture == architecture; });
  if (family == std::end(kFamilies))
    return module->emitError() << "INGOT-E1082: architecture " << architecture
                               << " is not supported; known: " << knownArchitectures();
  if (failed(family->import(*module, checkpoint, options)))
    return failure();
  addSampleProgram(*module, static_cast<int64_t>(checkpoint.config().vocabSize));
  return module;
}

FailureOr<std::vector<checkpoint::Tensor>>
compiler::tensorsOfFamily(MLIRContext *context, const checkpoint::Checkpoint &checkpoint) {
  // Tensors are the same whatever the context is.
  auto module = importModel(context, checkpoint, {/*maxContext=*/1});
  if (failed(module))
    return failure();
  std::map<std::string, checkpoint::Tensor> tensors; // a tied one is read twice
  (*module)->walk([&](llm::WeightOp op) {
    checkpoint::Tensor tensor;
    tensor.name = op.getName().str();
    tensor.dtype = *checkpoint.assumedType();
    for (int64_t extent : op.getType().getShape())
      tensor.shape.push_back(static_cast<uint64_t>(extent));
    tensor.bytes = static_cast<uint64_t>(op.getType().getNumElements() *
                                         op.getType().getElementTypeBitWidth() / 8);
    tensors.emplace(tensor.name, std::move(tensor));
  });
  std::vector<checkpoint::Tensor> list;
  for (auto &[name, tensor] : tensors)
    list.push_back(std::move(tensor));
  return list;
}

std::string compiler::knownArchitectures() {
  return llvm::join(llvm::map_range(kFamilies, [](const Family &f) { return f.architecture; }),
                    ", ");
}

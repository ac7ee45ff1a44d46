// SPDX-License-Identifier: Apache-2.0
// The programs of a model.
#include "compiler/importers/Importer.h"

#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/importers/Decoder.h"
#include "compiler/importers/StepBuilder.h"
#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

FailureOr<OwningOpRef<ModuleOp>> compiler::importModel(MLIRContext *context,
                                                       const checkpoint::Checkpoint &checkpoint,
                                                       const ImportOptions &options) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  if (failed(importDecoder(*module, checkpoint, options)))
    return failure();
  if (options.part)
    return module;
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

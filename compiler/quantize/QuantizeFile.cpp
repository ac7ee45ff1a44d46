// SPDX-License-Identifier: Apache-2.0
// Importance first, then all tensors.
#include "compiler/quantize/QuantizeFile.h"

#include "codegen/ForEachParallel.h"
#include "compiler/quantize/Importance.h"
#include "compiler/quantize/ggml/QuantizeGguf.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;

checkpoint::Outcome quantize::refuseSearch(const SearchOptions &search) {
  if (!search.budget.isGiven() && search.lockfile.empty())
    return {};
  return checkpoint::Error{"INGOT-E2130", "a mix decides the formats of all matrices",
                           "--target-size, --max-kl, --bits, --lockfile",
                           "leave them out, or give a folder and a recipe that is no mix"};
}

static Expected<ImportanceMatrix> importanceFor(mlir::MLIRContext &context,
                                                const QuantizeOptions &options,
                                                const MixOptions &mix,
                                                compiler::Progress &progress) {
  if (!mix.importance.empty())
    return ImportanceMatrix::read(mix.importance);
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  auto part = partOptions(options, options.output.string() + ".partial");
  if (!part)
    return part.error();
  auto matrix = measureImportance(context, *model, *part, options.text, progress);
  std::error_code error;
  std::filesystem::remove_all(part->folder, error);
  if (matrix && !mix.importanceOutput.empty())
    if (auto written = matrix->write(mix.importanceOutput); !written)
      return written.error();
  return matrix;
}

Expected<uint64_t> quantize::quantizeToMix(mlir::MLIRContext &context,
                                           const QuantizeOptions &options, const MixOptions &mix,
                                           compiler::Progress &progress) {
  if (!isSupportedHere())
    return unsupportedHere();
  auto importance = importanceFor(context, options, mix, progress);
  if (!importance)
    return importance.error();
  QuantizeGgufOptions file;
  file.mix = mix.mix;
  file.importance = &*importance;
  file.importanceName =
      mix.importance.empty() ? "measured by ingot quantize" : mix.importance.filename().string();
  file.threads = codegen::usableThreads(options.threads);
  file.progress = [&](const QuantizeProgress &now) {
    progress.update(now.doneBytes, now.allBytes);
  };
  progress.begin("quantize");
  auto result = quantizeGguf(options.model, options.output, file);
  if (!result)
    return result.error();
  progress.end();
  for (const QuantizedTensor &tensor : result->tensors)
    if (tensor.insteadOf)
      progress.warn(checkpoint::message(tensor.name, " is ", checkpoint::dtypeName(tensor.to),
                                        ": its rows are no whole number of blocks of ",
                                        checkpoint::dtypeName(*tensor.insteadOf)));
  return result->bytes;
}

// SPDX-License-Identifier: Apache-2.0
// A folder becomes a GGUF file first; then importance is measured, then all tensors quantized.
#include "compiler/quantize/QuantizeFile.h"

#include "codegen/ForEachParallel.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/quantize/FolderToGguf.h"
#include "compiler/quantize/Importance.h"
#include "compiler/quantize/ggml/QuantizeGguf.h"
#include "llvm/ADT/ScopeExit.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
namespace fs = std::filesystem;

checkpoint::Outcome quantize::refuseSearch(const SearchOptions &search) {
  if (!search.budget.isGiven() && search.lockfile.empty())
    return {};
  return checkpoint::Error{"INGOT-E2130", "a mix decides the formats of all matrices",
                           "--target-size, --max-kl, --bits, --lockfile",
                           "leave them out, or choose a recipe that is no mix"};
}

static Expected<ImportanceMatrix> importanceFor(mlir::MLIRContext &context,
                                                const QuantizeOptions &options,
                                                const MixOptions &mix, const fs::path &folder,
                                                compiler::Progress &progress) {
  if (!mix.importance.empty())
    return ImportanceMatrix::read(mix.importance);
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  if (auto checked = checkText(options.text, *model); !checked)
    return checked.error();
  auto part = partOptions(options, folder);
  if (!part)
    return part.error();
  auto matrix = measureImportance(context, *model, *part, options.text, progress);
  if (matrix && !mix.importanceOutput.empty())
    if (auto written = matrix->write(mix.importanceOutput); !written)
      return written.error();
  return matrix;
}

/// From the GGUF file that `options` name; `folder` is for files meanwhile.
static Expected<uint64_t> quantizeModelFile(mlir::MLIRContext &context,
                                            const QuantizeOptions &options, const MixOptions &mix,
                                            const fs::path &folder, compiler::Progress &progress) {
  auto importance = importanceFor(context, options, mix, folder, progress);
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

Expected<uint64_t> quantize::quantizeToMix(mlir::MLIRContext &context,
                                           const QuantizeOptions &options, const MixOptions &mix,
                                           compiler::Progress &progress) {
  if (!isSupportedHere())
    return unsupportedHere();
  const fs::path folder = options.output.string() + ".partial";
  if (auto made = makeWorkFolder(folder); !made)
    return made.error();
  llvm::scope_exit remove([&] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  });
  if (checkpoint::isModelFile(options.model))
    return quantizeModelFile(context, options, mix, folder, progress);
  QuantizeOptions converted = options;
  converted.model = folder / "model.gguf";
  if (auto written = writeAsGguf(options.model, converted.model, progress); !written)
    return written.error();
  return quantizeModelFile(context, converted, mix, folder, progress);
}

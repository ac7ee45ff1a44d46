// SPDX-License-Identifier: Apache-2.0
// A folder becomes a GGUF file first; then importance is measured, then all tensors quantized.
#include "compiler/quantize/QuantizeFile.h"

#include "codegen/ForEachParallel.h"
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
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
  auto part = partOptions(options, folder);
  if (!part)
    return part.error();
  auto matrix = measureImportance(context, *model, *part, options.text, progress);
  if (matrix && !mix.importanceOutput.empty())
    if (auto written = matrix->write(mix.importanceOutput); !written)
      return written.error();
  return matrix;
}

/// Weights in blocks that the mix makes others of lose twice. Refuses them, or tells of them.
static checkpoint::Outcome checkBlocks(const fs::path &file, const MixOptions &mix,
                                       compiler::Progress &progress) {
  const auto model = checkpoint::openGguf(file);
  if (!model)
    return model.error();
  const auto choices =
      chooseTypes(*mix.mix, MixedModel::of(model->metadata), model->tensors, /*importance=*/true);
  size_t count = 0;
  const checkpoint::Tensor *first = nullptr;
  for (size_t i = 0; i < choices.size(); ++i) {
    const checkpoint::Tensor &tensor = model->tensors[i];
    if (!checkpoint::ggmlEncoding(tensor.dtype) || tensor.dtype == choices[i].dtype)
      continue;
    ++count;
    first = first ? first : &tensor;
  }
  if (count == 0)
    return {};
  const std::string what =
      checkpoint::message(count, " tensors are quantized already, ", first->name, " to ",
                          checkpoint::dtypeName(first->dtype));
  if (!mix.requantizes)
    return checkpoint::Error{"INGOT-E2105", what, file.string(),
                             "give the model in 16 bits or f32; `ingot quantize "
                             "--allow-requantize` quantizes it again"};
  progress.warn(what + ": what is lost by quantizing adds up");
  return {};
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
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  const bool isFile = checkpoint::isModelFile(options.model);
  if (isFile)
    if (auto checked = checkBlocks(options.model, mix, progress); !checked)
      return checked.error();
  if (mix.importance.empty())
    if (auto checked = checkText(options.text, *model, options.model); !checked)
      return checked.error();
  if (!isFile) // all numbers as they are, for a while
    if (auto fits = checkSpace(options.output, weightBytes(*model)); !fits)
      return fits.error();
  const fs::path folder = options.output.string() + ".partial";
  if (auto made = makeWorkFolder(folder); !made)
    return made.error();
  llvm::scope_exit remove([&] {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  });
  if (isFile)
    return quantizeModelFile(context, options, mix, folder, progress);
  QuantizeOptions converted = options;
  converted.model = folder / "model.gguf";
  if (auto written = writeAsGguf(options.model, converted.model, progress); !written)
    return written.error();
  return quantizeModelFile(context, converted, mix, folder, progress);
}

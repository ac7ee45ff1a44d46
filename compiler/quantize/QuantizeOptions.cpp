// SPDX-License-Identifier: Apache-2.0
// Checks of options, and estimates of memory.
#include "compiler/quantize/QuantizeOptions.h"

#include "codegen/ForEachParallel.h"
#include "compiler/build/BuildRequest.h"
#include "compiler/build/DefaultRecipe.h"
#include "compiler/build/DiagnosticCollector.h"
#include "compiler/build/FileDigests.h"
#include "compiler/build/Version.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/files/Digest.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/quantize/Calibration.h"
#include "compiler/quantize/GroupBatches.h"
#include "compiler/quantize/layouts/Layouts.h"
#include "compiler/quantize/methods/Gptq.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;
namespace fs = std::filesystem;

checkpoint::Error quantize::unsupportedHere() {
  return {"INGOT-E2111", "this machine lacks AVX2, FMA or F16C", "",
          "quantize on a newer one; the result is the same on all of them"};
}

Outcome quantize::checkText(const TextOptions &text, const checkpoint::Checkpoint &model,
                            const fs::path &path) {
  auto tokenizer = checkpoint::readTokenizer(path);
  if (!tokenizer)
    return tokenizer.error();
  const size_t prefix = tokenizer->prefixIds.size();
  if (auto checked = checkLength(text, prefix, static_cast<int64_t>(model.config().maxPositions));
      !checked)
    return checked;
  return checkTexts(text, prefix);
}

Outcome quantize::checkSpace(const fs::path &path, uint64_t bytes) {
  std::error_code unknown;
  fs::path folder = fs::absolute(path, unknown);
  while (folder.has_relative_path() && !fs::is_directory(folder, unknown))
    folder = folder.parent_path();
  const fs::space_info space = fs::space(folder, unknown);
  if (unknown || space.available >= bytes)
    return {};
  return checkpoint::Error{
      "INGOT-E7011",
      checkpoint::message("no space for ", bytes, " bytes: ", space.available, " bytes are free"),
      path.string(), "free some space, or write to another disk"};
}

Outcome quantize::makeWorkFolder(const fs::path &folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return checkpoint::Error{"INGOT-E7010",
                             checkpoint::message("the folder cannot be made: ", error.message()),
                             folder.string(), "choose an output in a folder that can be written"};
  return {};
}

std::string quantize::revisionAndFiles(std::span<const fs::path> files,
                                       const QuantizeOptions &options) {
  std::string text = checkpoint::message(compiler::kVersion, "\n", compiler::kRevision, "\n");
  compiler::FileDigests digests(options.cache);
  if (options.cache)
    digests.read(files, codegen::usableThreads(options.threads), [](size_t, size_t) {});
  // What cannot be read is an error when it is read.
  for (const fs::path &file : files)
    text += checkpoint::message(file.filename().string(), " ", digests.identity(file), "\n");
  return text;
}

Outcome quantize::checkOptions(const QuantizeOptions &options,
                               const checkpoint::Checkpoint &model) {
  if (model.quantization().isQuantized() || fs::is_regular_file(options.model))
    return checkpoint::Error{"INGOT-E2105", "the model is quantized already, or in a GGUF file",
                             options.model.string(),
                             "give the folder of a model in 16 bits or f32"};
  if (!options.format.empty() && !findLayout(options.format)) {
    std::string list;
    for (const std::string &name : layoutNames())
      list += (list.empty() ? "" : ", ") + name;
    return checkpoint::Error{"INGOT-E2107",
                             "there is no format called " + checkpoint::inQuotes(options.format),
                             "--format", "choose one of " + list};
  }
  std::error_code unknown;
  if (fs::exists(options.output, unknown))
    return checkpoint::Error{"INGOT-E2112", "the output is there already", options.output.string(),
                             "choose another folder, or remove it"};
  if (auto checked = checkText(options.text, model, options.model); !checked)
    return checked;
  if (!isSupportedHere())
    return unsupportedHere();
  return {};
}

uint64_t quantize::weightBytes(const checkpoint::Checkpoint &model) {
  uint64_t bytes = 0;
  for (const auto *tensors : {&model.tensors(), &model.tensorsOfOtherParts()})
    for (const checkpoint::Tensor &tensor : *tensors)
      bytes += tensor.bytes;
  return bytes;
}

Expected<PartOptions> quantize::partOptions(const QuantizeOptions &options,
                                            const fs::path &folder) {
  auto tokenizer = checkpoint::readTokenizer(options.model);
  if (!tokenizer)
    return tokenizer.error();
  PartOptions part;
  part.build.model = options.model;
  part.build.targets = {options.target};
  part.build.threads = codegen::usableThreads(options.threads);
  part.build.maxBuildMemory = options.maxMemory;
  part.build.cache = options.cache;
  part.folder = folder;
  part.tokenizer = *std::move(tokenizer);
  part.length = options.text.length;
  if (auto made = makeWorkFolder(folder); !made)
    return made.error();
  return part;
}

static checkpoint::DType ownType(const checkpoint::Checkpoint &model) {
  switch (compiler::ownType(model)) {
  case recipe::NumberFormat::BF16:
    return checkpoint::DType::BF16;
  case recipe::NumberFormat::F16:
    return checkpoint::DType::F16;
  default:
    return checkpoint::DType::F32;
  }
}

LayerSettings quantize::layerSettings(const QuantizeOptions &options,
                                      const checkpoint::Checkpoint &model) {
  const StoredLayout &layout =
      options.format.empty() ? layoutFor(options.recipe) : *findLayout(options.format);
  return {model, options.recipe, layout, layout.scaleType(ownType(model)),
          codegen::usableThreads(options.threads)};
}

std::string quantize::keyOf(const QuantizeOptions &options, const checkpoint::Checkpoint &model) {
  const std::string text = checkpoint::message(
      options.recipe.str(), layerSettings(options, model).layout.name(), "\n", options.target, "\n",
      options.text.samples, " ", options.text.length, " ", options.text.seed, "\n");
  std::vector<fs::path> files = model.inputs();
  // What cannot be read is an error when it is read.
  if (auto texts = textFiles(options.text.files))
    files.insert(files.end(), texts->begin(), texts->end());
  return checkpoint::hex(*checkpoint::sha256(text + revisionAndFiles(files, options)));
}

Expected<compiler::ProductList> quantize::productsOf(mlir::MLIRContext &context,
                                                     const checkpoint::Checkpoint &model,
                                                     int64_t layer, int64_t length) {
  const compiler::ModelPart described{layer};
  compiler::DiagnosticCollector diagnostics(context);
  auto module = compiler::importModel(&context, model, {length, false, false, nullptr, &described});
  if (failed(module))
    return diagnostics.error();
  return compiler::tapProducts(**module, model.config(), /*caches=*/false);
}

Outcome quantize::checkRecipe(mlir::MLIRContext &context, const QuantizeOptions &options,
                              const checkpoint::Checkpoint &model, LayerRun run) {
  const LayerSettings settings = layerSettings(options, model);
  if (recipe::isStatic(options.recipe.kvCache) &&
      !settings.layout.cacheScales(options.recipe.kvCache))
    return checkpoint::Error{"INGOT-E2123",
                             checkpoint::message("the format ", settings.layout.name(),
                                                 " has no place for such scales of KV caches"),
                             options.format.empty() ? "--recipe" : "--format",
                             "choose compressed-tensors, or a kv_cache without static scales"};
  uint64_t most = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(model.config().layerCount()); ++i) {
    auto products = productsOf(context, model, i, options.text.length);
    if (!products)
      return products.error();
    for (const GroupBatch &batch : batchesOf(settings, *products, options.maxMemory))
      most = std::max(most, memoryFor(settings, batch));
  }
  if (most == 0)
    return checkpoint::Error{
        "INGOT-E2106", "the recipe quantizes none of the model's matrices", "--recipe",
        options.format.empty()
            ? "give matrices a format of fewer than 16 bits"
            : "give matrices a format of fewer than 16 bits, which --format holds"};
  if (run == LayerRun::Searches) // two sequences of logits
    most = std::max(most, static_cast<uint64_t>(options.text.length) * model.config().vocabSize *
                                  2 * sizeof(float) +
                              kProgramMemory);
  if (most > options.maxMemory)
    return checkpoint::Error{
        "INGOT-E2122",
        checkpoint::message("quantizing a layer needs ", compiler::readableBytes(most)),
        "--max-build-memory " + compiler::readableBytes(options.maxMemory),
        "give that much, or choose a method that needs less: round needs least, awq less than "
        "gptq"};
  return {};
}

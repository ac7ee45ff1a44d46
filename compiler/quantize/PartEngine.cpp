// SPDX-License-Identifier: Apache-2.0
// Builds a part as a build does, without a report, and opens it through the public interface.
#include "compiler/quantize/PartEngine.h"

#include "compiler/checkpoint/config/ModelConfig.h"
using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;

/// Statistics and results that the next part reads have no rounding but f32's.
static constexpr char kRecipe[] = "version: 1\n"
                                  "weights: [{match: \"*\", format: f32}]\n"
                                  "activations: f32\n"
                                  "kv_cache: f32\n";

Expected<PartEngine> PartEngine::build(mlir::MLIRContext &context, const PartOptions &options,
                                       int64_t layer,
                                       std::span<const std::filesystem::path> replacing) {
  PartEngine part;
  compiler::TappedPart described{{layer}, &part.productList, options.tapsCaches};
  part.result = described.tap();
  compiler::BuildOptions build = options.build;
  build.output = options.folder / "part";
  build.limits = {options.length, 1, options.length, options.length};
  compiler::Progress silent(compiler::ProgressStyle::Silent);
  auto request = compiler::readRequest(context, build, silent);
  if (!request)
    return request.error();
  request->recipe = *recipe::Recipe::parse(kRecipe, "calibration");
  request->part = &described;
  for (const std::filesystem::path &file : replacing)
    if (auto replaced = request->checkpoint.replaceTensors(file); !replaced)
      return replaced.error();
  compiler::EngineDescription description;
  description.name = part.result;
  description.architecture = request->checkpoint.config().architecture;
  description.serving.vocabulary = static_cast<uint32_t>(request->checkpoint.config().vocabSize);
  description.serving.maxContext = static_cast<uint32_t>(options.length);
  auto planned = compiler::planPreview(context, *request, build);
  if (!planned)
    return planned.error();
  auto preview = compiler::makePreview(context, *request, std::move(*planned), options.tokenizer,
                                       build, description);
  if (!preview)
    return preview.error();
  part.preview.emplace(std::move(*preview));
  try {
    Options session;
    session.max_sequences = 1;
    session.threads = static_cast<int>(build.threads);
    part.opened = std::make_unique<Engine>(part.preview->path.string(), session);
  } catch (const ingot::Error &error) {
    return compiler::errorOfRuntime(error.code(), error.what(), "calibration");
  }
  return part;
}

Outcome PartEngine::record(std::span<const int32_t> tokens, std::span<const float> embeddings,
                           std::span<const std::string> taps, const Engine::TapVisitor &visit) {
  try {
    opened->record(tokens, embeddings, taps, visit);
    return {};
  } catch (const ingot::Error &error) {
    return compiler::errorOfRuntime(error.code(), error.what(), "calibration");
  }
}

Outcome PartEngine::recordInto(std::span<const int32_t> tokens, std::span<const float> embeddings,
                               const std::string &tap, std::vector<float> &rows) {
  rows.clear();
  const std::string taps[] = {tap};
  return record(tokens, embeddings, taps, [&](size_t, int64_t, std::span<const float> values) {
    rows.insert(rows.end(), values.begin(), values.end());
  });
}

Expected<CalibrationText> quantize::sequencesFor(Engine &engine, const TextOptions &text,
                                                 const PartOptions &part) {
  auto tokenize = [&](const Document &document) -> Expected<std::vector<int32_t>> {
    try {
      return document.isConversation ? engine.tokenizeChat(document.words)
                                     : engine.tokenize(document.words, /*addSpecial=*/false);
    } catch (const ingot::Error &error) {
      if (document.isConversation)
        return checkpoint::Error{
            "INGOT-E2145",
            checkpoint::message("the model's chat template does not take the conversation: ",
                                error.what()),
            document.where, ""};
      return compiler::errorOfRuntime(error.code(), error.what(), document.where);
    }
  };
  TextOptions windows = text;
  windows.length = part.length;
  std::vector<int32_t> prefix(part.tokenizer.prefixIds.begin(), part.tokenizer.prefixIds.end());
  return readCalibrationText(windows, prefix, tokenize);
}

// SPDX-License-Identifier: Apache-2.0
// Builds a part as a build does, without a report, and opens it through the public interface.
#include "compiler/quantize/PartEngine.h"

#include "compiler/checkpoint/config/LayerPlan.h"
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

/// Whether the part is a layer with a cache of its own.
static bool ownsCache(const checkpoint::ModelConfig &config, int64_t layer) {
  if (layer < 0 || layer >= static_cast<int64_t>(config.layerCount()))
    return false;
  const checkpoint::Attention *attention = config.layers[static_cast<size_t>(layer)].attention();
  return attention && !attention->cacheLayer;
}

void PartEngine::describeResults(const compiler::PartRows &rows, int64_t layer) {
  isEmbedding = layer == compiler::ModelPart::kEmbedding;
  width = rows.width();
  auto add = [&](const std::string &tap, compiler::RowColumns columns) {
    taps.push_back(tap);
    places.push_back(columns);
  };
  for (const compiler::PartResult &result : rows.results(layer))
    add(result.tap, result.columns);
  if (!rows.isReadByOthers(layer))
    return;
  const compiler::CacheInputs &cache = productList.caches.front();
  add(cache.keys, rows.keys(static_cast<size_t>(layer)));
  add(cache.values, rows.values(static_cast<size_t>(layer)));
}

Expected<PartEngine> PartEngine::build(mlir::MLIRContext &context, const PartOptions &options,
                                       int64_t layer,
                                       std::span<const std::filesystem::path> replacing) {
  PartEngine part;
  compiler::TappedPart described{{layer}, &part.productList};
  compiler::BuildOptions build = options.build;
  build.noVision = true; // parts are of text
  build.output = options.folder / "part";
  build.limits = {options.length, 1, options.length, options.length};
  compiler::Progress silent(compiler::ProgressStyle::Silent);
  auto request = compiler::readRequest(context, build, silent);
  if (!request)
    return request.error();
  request->recipe = *recipe::Recipe::parse(kRecipe, "calibration");
  const checkpoint::ModelConfig &config = request->checkpoint.config();
  const compiler::PartRows rows(config);
  // Caches that others read are results; what a layer reads of another is not its own.
  described.tapsCaches =
      rows.isReadByOthers(layer) || (options.tapsCaches && ownsCache(config, layer));
  request->part = &described;
  for (const std::filesystem::path &file : replacing)
    if (auto replaced = request->checkpoint.replaceTensors(file); !replaced)
      return replaced.error();
  compiler::EngineDescription description;
  description.name = described.tap();
  description.architecture = config.architecture;
  description.serving.vocabulary = static_cast<uint32_t>(config.vocabSize);
  description.serving.maxContext = static_cast<uint32_t>(options.length);
  auto planned = compiler::planPreview(context, *request, build);
  if (!planned)
    return planned.error();
  auto preview = compiler::makePreview(context, *request, std::move(*planned), options.tokenizer,
                                       build, description);
  if (!preview)
    return preview.error();
  part.preview.emplace(std::move(*preview));
  part.describeResults(rows, layer);
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

void PartEngine::put(size_t index, int64_t position, std::span<const float> values,
                     std::span<float> rows) const {
  const auto [first, count] = places[index];
  for (; !values.empty(); values = values.subspan(static_cast<size_t>(count)), ++position)
    std::copy_n(values.begin(), count, rows.begin() + position * width + first);
}

Outcome PartEngine::advance(std::span<const int32_t> tokens, std::vector<float> &rows) {
  std::vector<float> given;
  if (isEmbedding)
    rows.resize(tokens.size() * static_cast<size_t>(width));
  else
    given = rows;
  return record(tokens, given, taps,
                [&](size_t tap, int64_t position, std::span<const float> values) {
                  put(tap, position, values, rows);
                });
}

Outcome PartEngine::recordLogits(std::span<const int32_t> tokens, std::span<const float> rows,
                                 std::vector<float> &logits) {
  logits.clear();
  const std::string tap[] = {"logits"};
  return record(tokens, rows, tap, [&](size_t, int64_t, std::span<const float> values) {
    logits.insert(logits.end(), values.begin(), values.end());
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

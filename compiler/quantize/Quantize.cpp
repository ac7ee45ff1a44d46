// SPDX-License-Identifier: Apache-2.0
// The order of a quantization, and what it leaves behind to go on from.
#include "compiler/quantize/Quantize.h"

#include "codegen/ForEachParallel.h"
#include "compiler/build/BuildRequest.h"
#include "compiler/build/DefaultRecipe.h"
#include "compiler/build/DiagnosticCollector.h"
#include "compiler/build/Version.h"
#include "compiler/checkpoint/files/Digest.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/quantize/Calibration.h"
#include "compiler/quantize/CheckpointWriter.h"
#include "compiler/quantize/layouts/Layouts.h"

#include <chrono>
#include <sys/resource.h>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;
namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

namespace {

class Quantization {
public:
  Quantization(mlir::MLIRContext &context, const QuantizeOptions &options,
               const checkpoint::Checkpoint &model, compiler::Progress &progress)
      : context(context), options(options), model(model), progress(progress),
        layout(options.format.empty() ? layoutFor(options.recipe) : *findLayout(options.format)),
        folder(options.output.string() + ".partial") {
    part.build.model = options.model;
    part.build.targets = {options.target};
    part.build.threads = codegen::usableThreads(options.threads);
    part.build.maxBuildMemory = options.maxMemory;
    part.build.cache = options.cache;
    part.folder = folder;
    part.length = options.text.length;
    part.tapsCaches = recipe::isStatic(options.recipe.kvCache);
    layers = static_cast<int64_t>(model.config().layers);
  }

  Expected<QuantizeReport> run() {
    auto tokenizer = checkpoint::readTokenizer(options.model);
    if (!tokenizer)
      return tokenizer.error();
    part.tokenizer = *std::move(tokenizer);
    if (auto checked = checkRecipe(); !checked)
      return checked.error();
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return checkpoint::Error{"INGOT-E7010",
                               checkpoint::message("the folder cannot be made: ", error.message()),
                               folder.string(), "choose an output in a folder that can be written"};
    Calibration calibration(context, part, folder, static_cast<int64_t>(model.config().hiddenSize),
                            recipe::usesGptq(options.recipe.method));
    if (auto begun = begin(calibration); !begun)
      return begun.error();
    while (done < layers)
      if (auto quantized = layer(calibration); !quantized)
        return quantized.error();
    if (auto written = write(); !written)
      return written.error();
    report.sequences = calibration.sequences();
    return std::move(report);
  }

private:
  bool readsInputs() const { return quantize::readsInputs(options.recipe); }
  fs::path layerPath(int64_t layer) const {
    return folder / checkpoint::message("layer-", layer, ".safetensors");
  }

  /// What the layers that are done depend on. Weights count by their size and date.
  std::string key() const {
    std::string text = checkpoint::message(compiler::kVersion, "\n", compiler::kRevision, "\n",
                                           options.recipe.str(), layout.name(), "\n",
                                           options.target, "\n", options.text.samples, " ",
                                           options.text.length, " ", options.text.seed, "\n");
    std::vector<fs::path> files = model.inputs();
    files.insert(files.end(), options.text.files.begin(), options.text.files.end());
    for (const fs::path &file : files) {
      std::error_code error;
      text += checkpoint::message(
          fs::absolute(file, error).string(), " ", fs::file_size(file, error), " ",
          fs::last_write_time(file, error).time_since_epoch().count(), "\n");
    }
    return checkpoint::hex(*checkpoint::sha256(text));
  }

  /// Goes on where a run with the same key ended, or begins anew.
  Outcome begin(Calibration &calibration) {
    auto text = checkpoint::readText(folder / "state.json", uint64_t{64} << 20);
    json state = text ? json::parse(*text, nullptr, false) : json();
    if (state.is_object() && state.value("key", "") == key()) {
      done = state["layers"];
      takeState(state);
      progress.warn(checkpoint::message("going on behind layer ", done, " of ", layers));
      return calibration.resume(done, state["sequences"]);
    }
    if (!readsInputs())
      return {};
    progress.begin("calibration text");
    auto begun = calibration.begin(options.text, [&](int64_t i, int64_t total) {
      progress.update(static_cast<uint64_t>(i), static_cast<uint64_t>(total));
    });
    if (!begun)
      return begun;
    progress.end(checkpoint::message(calibration.sequences(), " sequences of ", part.length));
    if (calibration.sequences() < options.text.samples)
      progress.warn(checkpoint::message("the text has ", calibration.sequences(),
                                        " sequences, not ", options.text.samples));
    return saveState(calibration);
  }

  void takeState(const json &state) {
    for (const json &entry : state["modules"]) {
      const recipe::WeightFormat format{entry["type"], entry["group"], entry["zero_points"]};
      report.modules.push_back({entry["module"], format, entry["inputs"], entry["input_scale"],
                                entry["error"], entry["explanation"]});
    }
    for (const json &name : state["replaced"])
      replaced.insert(name.get<std::string>());
    for (const json &name : state["kept"])
      report.kept.push_back(name);
  }

  Outcome saveState(const Calibration &calibration) {
    json modules = json::array();
    for (const ModuleRecord &record : report.modules)
      modules.push_back({{"module", record.module},
                         {"type", record.format.type},
                         {"group", record.format.group},
                         {"zero_points", record.format.zeroPoints},
                         {"inputs", record.inputs},
                         {"input_scale", record.inputScale},
                         {"error", record.error},
                         {"explanation", record.explanation}});
    const json state = {{"key", key()},
                        {"layers", done},
                        {"sequences", calibration.sequences()},
                        {"modules", std::move(modules)},
                        {"replaced", replaced},
                        {"kept", report.kept}};
    return writeWhole(folder / "state.json", state.dump() + "\n");
  }

  Expected<compiler::ProductList> productsOf(int64_t layer) {
    compiler::ProductList list;
    compiler::ModelPart described{layer, &list};
    compiler::DiagnosticCollector diagnostics(context);
    auto module =
        compiler::importModel(&context, model, {part.length, false, false, nullptr, &described});
    if (failed(module))
      return diagnostics.error();
    return list;
  }

  LayerSettings layerSettings() const {
    return {model, options.recipe, layout, layout.scaleType(ownType()), part.build.threads};
  }

  /// Whether there is anything to do, and memory for it, before it is begun.
  Outcome checkRecipe() {
    if (part.tapsCaches && !layout.holdsCacheScales())
      return checkpoint::Error{"INGOT-E2123",
                               checkpoint::message("the format ", layout.name(),
                                                   " has no place for scales of KV caches"),
                               "--format",
                               "choose compressed-tensors, or a kv_cache without static scales"};
    const LayerSettings settings = layerSettings();
    uint64_t most = 0;
    for (int64_t i = 0; i < layers; ++i) {
      auto products = productsOf(i);
      if (!products)
        return products.error();
      most = std::max(most, memoryFor(settings, *products));
    }
    if (most == 0)
      return checkpoint::Error{
          "INGOT-E2106", "the recipe quantizes none of the model's matrices", "--recipe",
          "give matrices a format of fewer than 16 bits, and choose a --format that holds it"};
    if (most > options.maxMemory)
      return checkpoint::Error{
          "INGOT-E2122",
          checkpoint::message("quantizing a layer needs ", compiler::readableBytes(most)),
          "--max-build-memory " + compiler::readableBytes(options.maxMemory),
          "give that much, or choose a method that needs less: round needs least, awq less than "
          "gptq"};
    return {};
  }

  /// Bytes that a layer takes at most, beside what an engine of it has mapped; 0 where nothing of
  /// it is quantized.
  uint64_t memoryFor(const LayerSettings &settings, const compiler::ProductList &products) const {
    constexpr uint64_t kProgram = uint64_t{192} << 20; // of a part's build and run
    const recipe::Method method = options.recipe.method;
    uint64_t held = 0, scratch = 0;
    for (const compiler::ProductGroup &group : products.groups) {
      if (!isQuantized(settings, group))
        continue;
      const auto columns = static_cast<uint64_t>(group.columns);
      for (const compiler::Product &product : group.products) // weights, and what they become
        held += static_cast<uint64_t>(product.rows) * columns * 2 * sizeof(float);
      if (!readsInputs())
        continue;
      held += columns * columns * sizeof(float) * (recipe::usesGptq(method) ? 2 : 1) +
              kSampledRows * columns * sizeof(float);
      if (recipe::usesGptq(method)) // as gptq() states it
        scratch = std::max(scratch, columns * columns * 16);
    }
    return held == 0 ? 0 : held + scratch + kProgram;
  }

  /// Quantizes the next layer.
  Outcome layer(Calibration &calibration) {
    const LayerSettings settings = layerSettings();
    progress.begin(checkpoint::message("layer ", done + 1, " of ", layers));
    auto update = [&](int64_t first) {
      return [this, first](int64_t i, int64_t total) {
        progress.update(static_cast<uint64_t>(first * total + i), static_cast<uint64_t>(2 * total));
      };
    };
    std::vector<InputStatistics> statistics;
    compiler::ProductList products;
    if (readsInputs()) {
      auto engine = PartEngine::build(context, part, done, {});
      if (!engine)
        return engine.error();
      products = engine->products();
      auto observed = calibration.observe(
          *engine, done,
          [&](const compiler::ProductGroup &group) { return isQuantized(settings, group); },
          update(0));
      if (!observed)
        return observed.error();
      statistics = *std::move(observed);
    } else {
      auto listed = productsOf(done);
      if (!listed)
        return listed.error();
      products = *std::move(listed);
    }
    auto result = quantizeLayer(settings, products, statistics);
    if (!result)
      return result.error();
    statistics.clear();
    addCacheScales(calibration.cacheMaxima(), products, *result);
    if (auto written = writeSafetensors(layerPath(done), result->stored); !written)
      return written;
    if (readsInputs() && done + 1 < layers)
      if (auto moved = advance(calibration, *result, update(1)); !moved)
        return moved;
    take(*std::move(result), products);
    ++done;
    if (auto saved = saveState(calibration); !saved)
      return saved;
    calibration.forget(done);
    progress.end();
    return {};
  }

  /// Scales of the layer's KV cache, where it has one.
  void addCacheScales(std::span<const float> maxima, const compiler::ProductList &products,
                      LayerResult &result) {
    const std::string attention = checkpoint::message(".", model.config().names.attention, ".");
    std::string prefix;
    for (const compiler::ProductGroup &group : products.groups)
      for (const compiler::Product &product : group.products) {
        const std::string name = model.shownName(product.weight);
        if (size_t at = name.find(attention); at != name.npos)
          prefix = name.substr(0, at + attention.size());
      }
    if (part.tapsCaches && (maxima.size() != 2 || prefix.empty()))
      progress.warn(
          checkpoint::message("layer ", done, " has no KV cache that scales are known of"));
    if (maxima.size() != 2 || prefix.empty())
      return;
    const char *const names[] = {"k_scale", "v_scale"};
    for (size_t i = 0; i < 2; ++i) {
      TensorData scale{{prefix + names[i], checkpoint::DType::F32, {1}}, {}};
      const float value = staticScale(options.recipe.kvCache, maxima[i]);
      const auto bytes = std::as_bytes(std::span(&value, 1));
      scale.bytes.assign(bytes.begin(), bytes.end());
      result.stored.push_back(std::move(scale));
    }
  }

  Outcome advance(Calibration &calibration, const LayerResult &result,
                  const Calibration::Progress &update) {
    fs::path decoded;
    if (!result.decoded.empty()) {
      decoded = folder / "decoded.safetensors";
      if (auto written = writeSafetensors(decoded, result.decoded); !written)
        return written;
    }
    auto engine = PartEngine::build(context, part, done, decoded);
    if (!engine)
      return engine.error();
    return calibration.advance(*engine, done, update);
  }

  void take(LayerResult result, const compiler::ProductList &products) {
    std::set<std::string> quantized;
    for (ModuleRecord &record : result.modules) {
      quantized.insert(record.module);
      report.modules.push_back(std::move(record));
    }
    replaced.merge(result.replaced);
    for (const std::string &refusal : result.refusals)
      progress.warn(refusal);
    for (const compiler::ProductGroup &group : products.groups)
      for (const compiler::Product &product : group.products) {
        std::string module = moduleOf(product.weight);
        if (!quantized.contains(module))
          report.kept.push_back(std::move(module));
      }
    for (const compiler::UnquantizableProduct &other : products.others)
      progress.warn(checkpoint::message(other.site, " stays as it is: ", other.reason));
  }

  std::string moduleOf(const std::string &weight) const {
    std::string name = model.shownName(weight);
    return name.substr(0, name.size() - std::string_view(".weight").size());
  }

  checkpoint::DType ownType() const {
    switch (compiler::ownType(model)) {
    case recipe::NumberFormat::BF16:
      return checkpoint::DType::BF16;
    case recipe::NumberFormat::F16:
      return checkpoint::DType::F16;
    default:
      return checkpoint::DType::F32;
    }
  }

  Outcome write() {
    report.kept.push_back("lm_head");
    auto configuration = layout.configuration(report.modules, report.kept, options.recipe.kvCache);
    if (!configuration)
      return configuration.error();
    CheckpointParts parts{model, {}, replaced, *std::move(configuration)};
    for (int64_t i = 0; i < layers; ++i)
      parts.files.push_back(layerPath(i));
    const fs::path whole = folder / "checkpoint";
    std::error_code error;
    fs::remove_all(whole, error);
    fs::create_directories(whole, error);
    progress.begin("write checkpoint");
    if (auto written = writeCheckpoint(parts, whole,
                                       [&](uint64_t now, uint64_t total) {
                                         progress.update(now, total);
                                         report.bytes = total;
                                       });
        !written)
      return written;
    fs::rename(whole, options.output, error);
    if (error)
      return checkpoint::Error{
          "INGOT-E7013",
          checkpoint::message("the finished folder cannot be given its name: ", error.message()),
          options.output.string(), "choose another"};
    fs::remove_all(folder, error);
    progress.end();
    return {};
  }

  mlir::MLIRContext &context;
  const QuantizeOptions &options;
  const checkpoint::Checkpoint &model;
  compiler::Progress &progress;
  const StoredLayout &layout;
  fs::path folder;
  PartOptions part;
  int64_t layers = 0, done = 0;
  QuantizeReport report;
  std::set<std::string> replaced;
};

/// What can be refused before any work.
Outcome checkOptions(const QuantizeOptions &options, const checkpoint::Checkpoint &model) {
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
  const auto longest = static_cast<int64_t>(model.config().maxPositions);
  if (options.text.length < 2 || options.text.length > longest || options.text.samples < 1)
    return checkpoint::Error{"INGOT-E2113", "sequences of that number or length are not possible",
                             "--samples, --length",
                             checkpoint::message("choose a length of 2 to ", longest)};
  if (!isSupportedHere())
    return unsupportedHere();
  return {};
}

uint64_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

} // namespace

checkpoint::Error quantize::unsupportedHere() {
  return {"INGOT-E2111", "this machine lacks AVX2, FMA or F16C", "",
          "quantize on a newer one; the result is the same on all of them"};
}

Expected<QuantizeReport> quantize::quantizeCheckpoint(mlir::MLIRContext &context,
                                                      const QuantizeOptions &options,
                                                      compiler::Progress &progress) {
  const auto started = std::chrono::steady_clock::now();
  auto model = checkpoint::Checkpoint::open(options.model);
  if (!model)
    return model.error();
  if (auto checked = checkOptions(options, *model); !checked)
    return checked.error();
  auto report = Quantization(context, options, *model, progress).run();
  if (!report)
    return report.error();
  report->peakMemory = peakMemory();
  report->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return report;
}

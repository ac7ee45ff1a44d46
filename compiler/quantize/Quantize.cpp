// SPDX-License-Identifier: Apache-2.0
// The order of a quantization, and what it leaves behind to go on from.
#include "compiler/quantize/Quantize.h"

#include "compiler/build/Version.h"
#include "compiler/checkpoint/files/Digest.h"
#include "compiler/quantize/Calibration.h"
#include "compiler/quantize/CheckpointWriter.h"

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
        settings(layerSettings(options, model)), folder(options.output.string() + ".partial"),
        layers(static_cast<int64_t>(model.config().layers)) {}

  Expected<QuantizeReport> run() {
    if (auto checked = checkRecipe(context, options, model, LayerRun::Quantizes); !checked)
      return checked.error();
    auto parts = partOptions(options, folder);
    if (!parts)
      return parts.error();
    part = *std::move(parts);
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
  bool isCalibrated() const { return recipe::isCalibrated(options.recipe.method); }
  fs::path layerPath(int64_t layer) const {
    return folder / checkpoint::message("layer-", layer, ".safetensors");
  }

  /// What the layers that are done depend on. Weights count by their size and date.
  std::string key() const {
    std::string text = checkpoint::message(compiler::kVersion, "\n", compiler::kRevision, "\n",
                                           options.recipe.str(), options.format, "\n",
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
    if (!isCalibrated())
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
      ModuleRecord record{entry["module"], {}, entry["error"], entry["explanation"]};
      record.grid.bits = entry["bits"];
      record.grid.group = entry["group"];
      record.grid.zeroPoints = entry["zero_points"];
      report.modules.push_back(std::move(record));
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
                         {"bits", record.grid.bits},
                         {"group", record.grid.group},
                         {"zero_points", record.grid.zeroPoints},
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

  /// Quantizes the next layer.
  Outcome layer(Calibration &calibration) {
    progress.begin(checkpoint::message("layer ", done + 1, " of ", layers));
    auto update = [&](int64_t first) {
      return [this, first](int64_t i, int64_t total) {
        progress.update(static_cast<uint64_t>(first * total + i), static_cast<uint64_t>(2 * total));
      };
    };
    std::vector<InputStatistics> statistics;
    compiler::ProductList products;
    if (isCalibrated()) {
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
      auto listed = productsOf(context, model, done, part.length);
      if (!listed)
        return listed.error();
      products = *std::move(listed);
    }
    auto result = quantizeLayer(settings, products, statistics);
    if (!result)
      return result.error();
    statistics.clear();
    if (auto written = writeSafetensors(layerPath(done), result->stored); !written)
      return written;
    if (isCalibrated() && done + 1 < layers)
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

  Outcome write() {
    report.kept.push_back("lm_head");
    auto configuration = settings.layout.configuration(report.modules, report.kept);
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
  const LayerSettings settings;
  fs::path folder;
  PartOptions part;
  int64_t layers, done = 0;
  QuantizeReport report;
  std::set<std::string> replaced;
};

uint64_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

} // namespace

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

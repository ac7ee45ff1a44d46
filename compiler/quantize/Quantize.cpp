// SPDX-License-Identifier: Apache-2.0
// The order of a quantization, and what it leaves behind to go on from.
#include "compiler/quantize/Quantize.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/quantize/Calibration.h"
#include "compiler/quantize/CheckpointWriter.h"
#include "compiler/quantize/GroupBatches.h"
#include "compiler/quantize/RotatedCheckpoint.h"
#include "compiler/quantize/StoredMatrices.h"
#include "compiler/quantize/layouts/Layouts.h"
#include "compiler/quantize/layouts/Packing.h"
#include "compiler/recipe/Presets.h"

#include <chrono>
#include <map>
#include <sys/resource.h>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;
namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

namespace {

/// Beside a checkpoint's config.json: what it was calibrated on.
constexpr char kTextRecord[] = "calibration.json";

Knowledge knowledgeFor(recipe::Method method) {
  if (!recipe::usesGptq(method))
    return Knowledge::Squares;
  return method == recipe::Method::Best ? Knowledge::AsymmetricWhole : Knowledge::Asymmetric;
}

/// Gives the finished folder its name, and removes the one that was worked in.
Outcome nameOutput(const fs::path &whole, const fs::path &output, const fs::path &folder) {
  std::error_code error;
  fs::rename(whole, output, error);
  if (error)
    return checkpoint::Error{
        "INGOT-E7013",
        checkpoint::message("the finished folder cannot be given its name: ", error.message()),
        output.string(), "choose another"};
  fs::remove_all(folder, error);
  return {};
}

/// Of a recipe that quantizes nothing the rotated model is the result.
Expected<QuantizeReport> finishRotated(const QuantizeOptions &options,
                                       const checkpoint::Checkpoint &model,
                                       const fs::path &folder) {
  QuantizeReport report;
  report.bytes = weightBytes(model);
  if (auto named = nameOutput(options.model, options.output, folder); !named)
    return named.error();
  return report;
}

class Quantization {
public:
  Quantization(mlir::MLIRContext &context, const QuantizeOptions &options,
               const checkpoint::Checkpoint &model, const fs::path &folder,
               compiler::Progress &progress)
      : context(context), options(options), model(model), progress(progress),
        settings(layerSettings(options, model)), folder(folder),
        layers(static_cast<int64_t>(model.config().layerCount())) {}

  Expected<QuantizeReport> run() {
    auto parts = partOptions(options, folder);
    if (!parts)
      return parts.error();
    part = *std::move(parts);
    part.tapsCaches = recipe::isStatic(options.recipe.kvCache);
    Calibration calibration(context, part, folder, model.config(),
                            knowledgeFor(options.recipe.method));
    if (auto begun = begin(calibration); !begun)
      return begun.error();
    while (done < layers)
      if (auto quantized = layer(calibration); !quantized)
        return quantized.error();
    if (auto written = write(); !written)
      return written.error();
    return std::move(report);
  }

private:
  bool readsInputs() const { return quantize::readsInputs(options.recipe); }
  /// Of a batch of the next layer's groups; `what`: "layer" or "decoded".
  fs::path batchPath(std::string_view what, size_t batch) const {
    return folder / checkpoint::message(what, "-", done, ".", batch, ".safetensors");
  }

  /// Goes on where a run with the same key ended, or begins anew.
  Outcome begin(Calibration &calibration) {
    auto text = checkpoint::readText(folder / "state.json", uint64_t{64} << 20);
    json state = text ? json::parse(*text, nullptr, false) : json();
    if (state.is_object() && state.value("key", "") == keyOf(options, model)) {
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
    report.text = calibration.text();
    return saveState(calibration);
  }

  void takeState(const json &state) {
    for (const json &entry : state["modules"]) {
      const recipe::WeightFormat format{entry["type"], entry["group"], entry["zero_points"]};
      report.modules.push_back({entry["module"], format, entry["inputs"], entry["input_scale"],
                                entry["error"], entry["explanation"]});
    }
    for (const json &name : state["files"])
      files.push_back(folder / name.get<std::string>());
    for (const json &name : state["replaced"])
      replaced.insert(name.get<std::string>());
    for (const json &name : state["kept"])
      report.kept.push_back(name);
    report.text = state["text"];
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
    json names = json::array();
    for (const fs::path &file : files)
      names.push_back(file.filename().string());
    const json state = {{"key", keyOf(options, model)},
                        {"layers", done},
                        {"sequences", calibration.sequences()},
                        {"text", report.text},
                        {"modules", std::move(modules)},
                        {"files", std::move(names)},
                        {"replaced", replaced},
                        {"kept", report.kept}};
    return writeWhole(folder / "state.json", state.dump() + "\n");
  }

  /// Quantizes the next layer, a batch of its groups at a time.
  Outcome layer(Calibration &calibration) {
    progress.begin(checkpoint::message("layer ", done + 1, " of ", layers));
    std::optional<PartEngine> engine;
    compiler::ProductList products;
    if (readsInputs()) {
      auto built = PartEngine::build(context, part, done, {});
      if (!built)
        return built.error();
      engine.emplace(*std::move(built));
      products = engine->products();
    } else {
      auto listed = productsOf(context, model, done, part.length);
      if (!listed)
        return listed.error();
      products = *std::move(listed);
    }
    const std::vector<GroupBatch> batches = batchesOf(settings, products, options.maxMemory);
    auto update = [&](size_t pass) {
      return [this, pass, passes = batches.size() + 1](int64_t i, int64_t total) {
        progress.update(pass * static_cast<uint64_t>(total) + static_cast<uint64_t>(i),
                        passes * static_cast<uint64_t>(total));
      };
    };
    std::vector<fs::path> decoded;
    std::set<std::string> quantized;
    for (size_t i = 0; i < batches.size(); ++i) {
      std::vector<InputStatistics> statistics;
      if (engine) {
        auto observed =
            calibration.observe(*engine, done, batches[i], /*keepsResults=*/i == 0, update(i));
        if (!observed)
          return observed.error();
        statistics = *std::move(observed);
        if (i + 1 == batches.size())
          engine.reset(); // its weights are of no more use
        nameRareExperts(batches[i], statistics);
      }
      auto result = quantizeGroups(settings, batches[i], statistics);
      if (!result)
        return result.error();
      statistics.clear();
      if (i == 0)
        addCacheScales(calibration.cacheMaxima(), products, *result);
      if (auto kept = keep(*std::move(result), i, decoded, quantized); !kept)
        return kept;
    }
    if (readsInputs() && done + 1 < layers)
      if (auto moved = advance(calibration, decoded, update(batches.size())); !moved)
        return moved;
    std::error_code ignored;
    for (const fs::path &file : decoded)
      fs::remove(file, ignored);
    noteKept(products, quantized);
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
    const checkpoint::Attention *reader =
        model.config().layers[static_cast<size_t>(done)].attention();
    if (!part.tapsCaches || (reader && reader->cacheLayer))
      return;
    const std::string attention = checkpoint::message(".", model.config().names.attention, ".");
    std::string prefix;
    for (const compiler::ProductGroup &group : products.groups)
      for (const compiler::Product &product : group.products) {
        const std::string name = model.shownName(product.weight);
        if (size_t at = name.find(attention); at != name.npos)
          prefix = name.substr(0, at + attention.size());
      }
    if (maxima.size() != 2 || prefix.empty()) {
      progress.warn(
          checkpoint::message("layer ", done, " has no KV cache that scales are known of"));
      return;
    }
    const auto names = *settings.layout.cacheScales(options.recipe.kvCache);
    for (const auto &[name, most] :
         {std::pair(names.keys, maxima[0]), std::pair(names.values, maxima[1])}) {
      const std::array scale = {staticScale(options.recipe.kvCache, most)};
      result.stored.push_back(layouts::tensorOf(prefix + name, checkpoint::DType::F32, {1}, scale));
    }
  }

  Outcome advance(Calibration &calibration, std::span<const fs::path> decoded,
                  const Calibration::Progress &update) {
    auto engine = PartEngine::build(context, part, done, decoded);
    if (!engine)
      return engine.error();
    return calibration.advance(*engine, done, update);
  }

  /// Says which experts of a batch the text says too little of.
  void nameRareExperts(const GroupBatch &batch, std::span<const InputStatistics> statistics) {
    std::set<int64_t> rare;
    bool isScaled = false;
    std::string unused;
    for (size_t i = 0; i < batch.size(); ++i)
      if (!hasEnoughRows(*batch[i], statistics[i])) {
        rare.insert(expertOf(*batch[i]));
        for (const compiler::Product &product : batch[i]->products)
          if (const auto record = recordFor(settings, product, unused))
            isScaled |= recipe::isStatic(record->inputs);
      }
    if (rare.empty())
      return;
    std::string list;
    for (int64_t expert : rare)
      list += (list.empty() ? "" : ", ") + std::to_string(expert);
    const bool isRounded = recipe::isCalibrated(options.recipe.method);
    progress.warn(checkpoint::message(
        "layer ", done + 1, ": fewer than ", kFewestRows, " tokens went to experts ", list,
        isRounded ? ", which are rounded as round-mse does" : "",
        isScaled ? ", whose inputs have the scale of the layer's largest" : ""));
  }

  /// Writes what became of a batch, and for the next layer what it means.
  Outcome keep(LayerResult result, size_t batch, std::vector<fs::path> &decoded,
               std::set<std::string> &quantized) {
    if (result.stored.empty())
      return {};
    files.push_back(batchPath("layer", batch));
    if (auto written = writeSafetensors(files.back(), result.stored); !written)
      return written;
    if (readsInputs() && done + 1 < layers) {
      decoded.push_back(batchPath("decoded", batch));
      if (auto written = writeSafetensors(decoded.back(), result.decoded); !written)
        return written;
    }
    for (ModuleRecord &record : result.modules) {
      quantized.insert(record.module);
      report.modules.push_back(std::move(record));
    }
    replaced.merge(result.replaced);
    for (const std::string &refusal : result.refusals)
      progress.warn(refusal);
    return {};
  }

  /// Notes what of the layer is not in `quantized`.
  void noteKept(const compiler::ProductList &products, const std::set<std::string> &quantized) {
    auto keep = [&](std::string module) {
      module.resize(module.size() - std::string_view(".weight").size());
      if (!quantized.contains(module) &&
          std::ranges::find(report.kept, module) == report.kept.end())
        report.kept.push_back(std::move(module));
    };
    for (const compiler::ProductGroup &group : products.groups)
      for (const compiler::Product &product : group.products) {
        const bool isThere =
            !product.stack || replaced.contains(model.shownName(holderOf(product)));
        if (isThere)
          keep(shownName(model, product));
      }
    for (const compiler::UnquantizableProduct &other : products.others) {
      progress.warn(checkpoint::message(other.site, " stays as it is: ", other.reason));
      for (const std::string &weight : other.weights)
        if (weight.ends_with(".weight"))
          keep(model.shownName(weight));
    }
  }

  /// Notes the products before and behind the layers, which stay as they are.
  Outcome noteEnds() {
    report.kept.push_back("lm_head");
    const std::string head = std::string(model.config().names.head) + ".weight";
    std::vector<int64_t> ends = {compiler::ModelPart::kEmbedding};
    if (model.config().altUp.streams > 1) // whose head has more products
      ends.push_back(layers);
    for (int64_t end : ends) {
      auto products = productsOf(context, model, end, part.length);
      if (!products)
        return products.error();
      std::erase_if(products->groups, [&](const compiler::ProductGroup &group) {
        return group.products.front().weight == head;
      });
      noteKept(*products, /*quantized=*/{});
    }
    noteOtherParts();
    return {};
  }

  /// Notes the matrices of parts that are not read, such as one that sees.
  void noteOtherParts() {
    constexpr std::string_view weight = ".weight";
    for (const checkpoint::Tensor &tensor : model.tensorsOfOtherParts())
      if (tensor.shape.size() == 2 && tensor.name.ends_with(weight))
        report.kept.push_back(tensor.name.substr(0, tensor.name.size() - weight.size()));
    if (const size_t others = model.tensorsOfOtherParts().size())
      progress.warn(checkpoint::message(others, " tensors of other parts stay as they are"));
  }

  Outcome write() {
    if (auto noted = noteEnds(); !noted)
      return noted;
    auto configuration =
        settings.layout.configuration(report.modules, report.kept, options.recipe.kvCache);
    if (!configuration)
      return configuration.error();
    const auto companions = settings.layout.companions(*configuration);
    const CheckpointParts parts{
        model, files, replaced, {{"quantization_config", *std::move(configuration)}}, companions};
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
    if (readsInputs())
      if (auto written = writeWhole(whole / kTextRecord, report.text.dump(2) + "\n"); !written)
        return written;
    if (auto named = nameOutput(whole, options.output, folder); !named)
      return named;
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
  std::vector<fs::path> files; ///< of quantized matrices, in order
  std::set<std::string> replaced;
};

/// Layers are alike: one line for all modules of which the same is to be told.
void tell(const QuantizeReport &report, const recipe::Recipe &recipe,
          compiler::Progress &progress) {
  std::map<std::string, std::pair<std::string, size_t>> told;
  for (const ModuleRecord &record : report.modules)
    if (!record.explanation.empty())
      ++told.try_emplace(record.explanation, record.module, 0).first->second.second;
  const std::string why = checkpoint::message("kept as it is: ", recipe::kWhySensitive);
  for (const std::string &module : report.kept)
    if (const std::string weight = module + ".weight";
        recipe::isSensitive(recipe, weight) && !recipe::isNarrow(recipe.formatFor(weight).type))
      ++told.try_emplace(why, module, 0).first->second.second;
  for (const auto &[explanation, modules] : told)
    progress.warn(checkpoint::message(
        modules.first,
        modules.second == 1 ? "" : checkpoint::message(" and ", modules.second - 1, " more"), ": ",
        explanation));
}

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
  auto opened = checkpoint::Checkpoint::open(options.model);
  if (!opened)
    return opened.error();
  if (auto checked = checkOptions(options, *opened); !checked)
    return checked.error();
  const bool onlyRotates = options.recipe.rotation != recipe::Rotation::None &&
                           std::ranges::none_of(options.recipe.weights, [](const auto &rule) {
                             return recipe::isNarrow(rule.format.type) && !rule.isOfVision();
                           });
  if (!onlyRotates)
    if (auto checked = checkRecipe(context, options, *opened, LayerRun::Quantizes); !checked)
      return checked.error();
  QuantizeOptions own = options;
  const fs::path folder = options.output.string() + ".partial";
  auto model = rotatedIfAsked(context, own, *std::move(opened), folder, progress);
  if (!model)
    return model.error();
  auto report = onlyRotates ? finishRotated(own, *model, folder)
                            : Quantization(context, own, *model, folder, progress).run();
  if (!report)
    return report.error();
  tell(*report, own.recipe, progress);
  report->peakMemory = peakMemory();
  report->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return report;
}

// SPDX-License-Identifier: Apache-2.0
// Checks of a build's options against the model.
#include "compiler/build/BuildRequest.h"

#include "compiler/build/DefaultRecipe.h"
#include "compiler/build/DiagnosticCollector.h"
#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/config/VisionPlan.h"
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/importers/StoredScales.h"
#include "compiler/importers/StoredWeights.h"
#include "compiler/recipe/Presets.h"
#include "compiler/recipe/RecipeWords.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;

namespace {

/// Most tokens, sequences or rows of one step: keeps every size computation far from overflow.
constexpr int64_t kMostPerStep = 1 << 20;

/// Where transformers goes by the length that a sequence has reached, an engine goes by the one
/// that it is declared for.
void sayLengthOfRotation(BuildRequest &request, Progress &progress) {
  using checkpoint::RopeType;
  const checkpoint::Rope &rope = request.checkpoint.config().ropes.front();
  if (rope.type != RopeType::LongRope && rope.type != RopeType::Dynamic)
    return;
  std::string trained = std::to_string(rope.originalPositions);
  bool isLong = rope.usesLongDivisors(static_cast<uint64_t>(request.limits.maxContext));
  if (rope.type == RopeType::LongRope)
    request.options.push_back({"longrope", "", isLong ? "long_factor" : "short_factor",
                               std::string("--max-context is ") + (isLong ? "" : "not ") +
                                   "above the trained length, " + trained});
  if (isLong)
    progress.warn(std::string(rope.type == RopeType::LongRope ? "longrope" : "dynamic rope") +
                  ": sequences of every length rotate as those of --max-context " +
                  std::to_string(request.limits.maxContext) +
                  "; transformers rotates those up to " + trained +
                  " otherwise, as an engine with --max-context " + trained + " does");
}

/// Which form latent attention has, of two whose bits differ.
void sayFormOfLatents(BuildRequest &request) {
  const auto &layers = request.checkpoint.config().layers;
  if (llvm::any_of(layers, [](const checkpoint::LayerPlan &layer) {
        return std::holds_alternative<checkpoint::LatentAttention>(layer.tokenMixer);
      }))
    request.options.push_back({"latent attention", "", "absorbed", "all rows have one form"});
}

/// Rows of the encoder, where the model has one: its largest picture, within reason.
Outcome settleImageRows(BuildRequest &request, const BuildOption &option, BuildOptions options) {
  constexpr int64_t kMostUnasked = 4096;
  int64_t &value = *std::get<int64_t *>(option.field(options));
  const checkpoint::VisionPlan *vision = request.checkpoint.config().vision.get();
  if (!vision && value == 0)
    return {};
  if (!vision)
    return Error{"INGOT-E2101",
                 std::string(option.flag) + " is not possible: the model has no vision part", "",
                 "leave it out"};
  const std::string asked = value == 0 ? "" : std::to_string(value);
  const auto largest = static_cast<int64_t>(vision->mostRows());
  if (value == 0)
    value = std::min(largest, kMostUnasked);
  if (value < 1 || value > kMostPerStep)
    return Error{"INGOT-E2101", std::string(option.flag) + " " + asked + " is not possible", "",
                 "choose 1 to " + std::to_string(kMostPerStep)};
  request.limits.maxImageRows = value;
  request.options.push_back(
      {option.flag, asked, std::to_string(value),
       !asked.empty()     ? "as asked"
       : largest <= value ? "the model's largest picture"
                          : "default; the model's largest picture has " + std::to_string(largest)});
  return {};
}

/// The limits that are given, or the default ones; 0 stands for the model's own.
Outcome settleLimits(BuildRequest &request, BuildOptions options) {
  auto context = static_cast<int64_t>(request.checkpoint.config().maxPositions);
  const BuildOption *ofImages = nullptr;
  for (const BuildOption &option : buildOptions()) {
    if (option.form == OptionForm::VisionLimit)
      ofImages = &option;
    if (option.form != OptionForm::Limit)
      continue;
    const bool isDefault = option.isDefault(options);
    BuildOptions defaults;
    const bool isOfModel = *std::get<int64_t *>(option.field(defaults)) == 0;
    const int64_t most = isOfModel ? context : kMostPerStep;
    int64_t &value = *std::get<int64_t *>(option.field(options));
    if (isOfModel && value == 0)
      value = context;
    const std::string text = option.text(options);
    if (value < 1 || value > most)
      return Error{"INGOT-E2101", std::string(option.flag) + " " + text + " is not possible", "",
                   "choose 1 to " + std::to_string(most)};
    request.options.push_back({option.flag, isDefault ? "" : text, text,
                               !isDefault  ? "as asked"
                               : isOfModel ? "the model's own limit"
                                           : "default"});
  }
  request.limits = options.limits;
  return settleImageRows(request, *ofImages, options);
}

Outcome settleTargets(MLIRContext &context, BuildRequest &request, const BuildOptions &options) {
  std::vector<std::string> names = options.targets;
  if (names.empty())
    names.push_back(codegen::kNativeTarget.str());
  for (const std::string &name : names) {
    std::string why;
    auto target = codegen::findTarget(&context, name, why);
    if (failed(target)) {
      size_t colon = why.find(": ");
      return Error{why.substr(0, std::min<size_t>(colon, 11)),
                   colon == std::string::npos ? why : why.substr(colon + 2), "--target " + name,
                   ""};
    }
    std::string resolved = target->second.getName().str();
    for (const auto &other : request.targets)
      if (other.second == target->second)
        return Error{"INGOT-E2102",
                     "target " + name + " is given twice" +
                         (name == resolved ? "" : ": it stands for " + resolved),
                     "--target", "name each target once"};
    request.targets.push_back(*target);
    request.options.push_back({"--target", options.targets.empty() ? "" : name, resolved,
                               options.targets.empty() ? "the best this machine runs"
                               : name == resolved      ? "as asked"
                                                       : "what the name stands for"});
  }
  return {};
}

/// The recipe that is asked for, or the default one; types of the checkpoint's own stay open.
Outcome settleRecipe(BuildRequest &request, const BuildOptions &options) {
  if (options.replay || !options.recipe.empty()) {
    auto recipe = options.replay ? recipe::Recipe::parse(options.replay->provenance.recipe,
                                                         "the engine's recipe")
                                 : recipe::presetOrFile(options.recipe);
    if (!recipe)
      return recipe.error();
    request.recipe = *std::move(recipe);
    for (const recipe::WeightRule &rule : request.recipe.weights)
      if (recipe::isFourBitFloat(rule.format.type))
        return Error{"INGOT-E2013",
                     "the recipe stores matrices as " +
                         std::string(recipe::wordFor(recipe::Format, rule.format.type)) +
                         ", which builds read but do not make",
                     "--recipe", "quantize with `ingot quantize`, and take its result"};
    std::string name =
        recipe::presetCalled(options.recipe.string()) ? options.recipe.string() : "a file";
    request.options.push_back({"--recipe", name, name, "as asked"});
    return {};
  }
  auto chosen =
      defaultRecipe(request.checkpoint, checkpoint::isModelFile(options.model), request.targets);
  if (!chosen)
    return chosen.error();
  request.recipe = std::move(chosen->recipe);
  request.options.push_back({"--recipe", "", chosen->name, chosen->reason});
  return {};
}

bool hasTensor(const checkpoint::Checkpoint &checkpoint, StringRef suffix, StringRef part = "") {
  return llvm::any_of(checkpoint.tensors(), [&](const checkpoint::Tensor &tensor) {
    return StringRef(tensor.name).ends_with(suffix) && StringRef(tensor.name).contains(part);
  });
}

Error withoutScales(std::string_view asked, const char *of) {
  return {"INGOT-E2011",
          "the recipe asks for " + std::string(asked) + ", and the checkpoint has no scales of " +
              of,
          "", "use a calibrated checkpoint, or another value"};
}

/// What products read: what the checkpoint was quantized for, where the recipe leaves it open.
Outcome settleActivations(BuildRequest &request) {
  using Activations = checkpoint::QuantizationConfig::Activations;
  using recipe::NumberFormat;
  static constexpr std::pair<Activations, NumberFormat> types[] = {
      {Activations::Int8PerToken, NumberFormat::Int8},
      {Activations::Float8PerToken, NumberFormat::E4M3},
      {Activations::Int8PerTensor, NumberFormat::Int8Static},
      {Activations::Float8PerTensor, NumberFormat::E4M3Static},
  };
  const auto *own = llvm::find_if(types, [&](const auto &type) {
    return type.first == request.checkpoint.quantization().activations;
  });
  NumberFormat &compute = request.recipe.activations.compute;
  bool hasScales = hasTensor(request.checkpoint, ".input_scale");
  if (recipe::isStatic(compute) && !hasScales)
    return withoutScales(recipe::wordFor(recipe::Compute, compute), "products' inputs");
  if (own == std::end(types))
    return {};
  std::string name(recipe::wordFor(recipe::Compute, own->second));
  bool isPossible = hasScales || !recipe::isStatic(own->second);
  if (compute == NumberFormat::Stored && isPossible) {
    compute = own->second;
    request.options.push_back(
        {"recipe: activations", "", name, "what the checkpoint was quantized for"});
  } else if (compute != own->second) {
    request.options.push_back({"checkpoint: activations", name,
                               std::string(recipe::wordFor(recipe::Compute, compute)),
                               isPossible ? "the recipe says so" : "it has no scales for them"});
  }
  return {};
}

/// What the KV cache holds, likewise.
Outcome settleCache(BuildRequest &request) {
  using KvCache = checkpoint::QuantizationConfig::KvCache;
  using recipe::NumberFormat;
  NumberFormat &cache = request.recipe.kvCache;
  uint64_t layers = request.checkpoint.config().layersWithKeys();
  KvCache stated = request.checkpoint.quantization().kvCache;
  // Scales of a scheme that is declined mean something else.
  uint64_t scaled = stated == KvCache::Declined ? 0 : layersWithKvScales(request.checkpoint);
  if (recipe::isStatic(cache) && scaled < layers)
    return withoutScales(recipe::wordFor(recipe::KvCache, cache), "each layer's keys and values");
  // Not every checkpoint that has scales says so in its configuration.
  if (stated <= KvCache::Declined && scaled == 0)
    return {};
  NumberFormat own = stated == KvCache::Int8 ? NumberFormat::Int8Static : NumberFormat::E4M3Static;
  std::string name(recipe::wordFor(recipe::KvCache, own));
  if (cache == NumberFormat::Stored && scaled == layers) {
    cache = own;
    request.options.push_back(
        {"recipe: kv_cache", "", name, "what the checkpoint was quantized for"});
  } else if (cache != own) {
    request.options.push_back({"checkpoint: KV cache", name,
                               std::string(recipe::wordFor(recipe::KvCache, cache)),
                               scaled == layers ? "the recipe says so"
                                                : "it has scales for " + std::to_string(scaled) +
                                                      " of " + std::to_string(layers) + " layers"});
  }
  return {};
}

/// What the checkpoint was quantized for, and what the engine does otherwise.
Outcome takeQuantization(BuildRequest &request) {
  for (auto settle : {settleActivations, settleCache})
    if (auto outcome = settle(request); !outcome)
      return outcome;
  if (hasTensor(request.checkpoint, ".weight_scale_2", ".experts.") ||
      hasTensor(request.checkpoint, ".weight_global_scale", ".experts."))
    request.options.push_back({"checkpoint: scales of experts", "8 bits",
                               "f32 where experts' own scales differ",
                               "kernels read one table of scales; the values are the same"});
  return {};
}

/// Tells of matrices that lose twice.
void sayQuantizedAgain(ModuleOp module, BuildRequest &request, Progress &progress) {
  const std::vector<std::string> matrices = quantizedAgain(module, request.recipe);
  if (matrices.empty())
    return;
  std::string some = matrices.front();
  if (matrices.size() > 1)
    some += " and " + std::to_string(matrices.size() - 1) + " more";
  sayDeviations(request,
                checkpoint::Deviation{"quantized matrices", some, "quantized again",
                                      "as the recipe says; what is lost adds up, and without "
                                      "--recipe they stay as they are",
                                      /*isTold=*/true},
                progress);
}

/// Tells of rules of a recipe that decide nothing.
void sayUnusedRules(ModuleOp module, const BuildRequest &request, Progress &progress) {
  std::vector<std::string> names = matrixNames(module);
  for (const checkpoint::Tensor &tensor : request.checkpoint.tensors())
    names.push_back(matrixName(tensor.name)); // norms and the like, which may be named too
  for (const recipe::UnusedRule &unused : request.recipe.unusedRules(names))
    progress.warn("recipe rule " + request.recipe.weights[unused.rule].match +
                  (unused.shadowed ? " is never reached: earlier rules take its tensors"
                                   : " matches no tensor"));
}

/// Tells of matrices that a recipe by name holds in more bits than others.
void saySensitive(ModuleOp module, BuildRequest &request, Progress &progress) {
  std::vector<std::string> matrices = matrixNames(module);
  std::erase_if(matrices, [&](const std::string &name) {
    return !recipe::isSensitive(request.recipe, name);
  });
  if (matrices.empty())
    return;
  std::string some = matrices.front();
  if (matrices.size() > 1)
    some += " and " + std::to_string(matrices.size() - 1) + " more";
  sayDeviations(
      request,
      checkpoint::Deviation{"sensitive matrices", some,
                            std::string(recipe::wordFor(
                                recipe::Format, request.recipe.formatFor(matrices.front()).type)),
                            std::string(recipe::kWhySensitive), /*isTold=*/true},
      progress);
}

/// Tells how the matrices of a part that sees are held: not as what is said of all matrices.
void sayVision(ModuleOp module, BuildRequest &request) {
  const std::map<std::string, size_t> formats = encoderFormats(module, request.recipe);
  if (formats.empty())
    return;
  std::string text;
  for (const auto &[format, matrices] : formats)
    text += (text.empty() ? "" : ", ") + format +
            (formats.size() == 1 ? "" : ": " + std::to_string(matrices) + " matrices");
  request.options.push_back(
      {"recipe: encoder of pictures", "", text,
       llvm::any_of(request.recipe.weights,
                    [](const recipe::WeightRule &rule) { return rule.isOfVision(); })
           ? "the recipe's rules that begin with vision."
           : "as it is stored; rules that begin with vision. reach it"});
}

/// Imports the model to find the tensors of the checkpoint that it does not read, and what of the
/// recipe is not as it should be.
Outcome checkImport(MLIRContext &context, BuildRequest &request, const BuildOptions &options,
                    Progress &progress) {
  DiagnosticCollector diagnostics(context);
  ImportOptions import{request.limits.maxContext};
  if (!options.randomWeights)
    import.unread = &request.unreadTensors;
  auto module = importModel(&context, request.checkpoint, import);
  if (failed(module))
    return diagnostics.error();
  // Recipes by name are made for all models.
  if (!options.recipe.empty() && !recipe::presetCalled(options.recipe.string()))
    sayUnusedRules(**module, request, progress);
  saySensitive(**module, request, progress);
  sayVision(**module, request);
  sayQuantizedAgain(**module, request, progress);
  constexpr size_t shown = 3;
  ArrayRef<std::string> names = request.unreadTensors;
  if (names.empty())
    return {};
  std::string some = llvm::join(names.take_front(shown), ", ");
  if (names.size() > shown)
    some += " and " + std::to_string(names.size() - shown) + " more";
  sayDeviations(request,
                checkpoint::Deviation{"tensors", some, "not read",
                                      "no part of the model; the report lists them",
                                      /*isTold=*/true},
                progress);
  return {};
}

/// Block types of which engines hold more bits than the file.
void sayWidened(BuildRequest &request) {
  std::set<checkpoint::DType> types;
  for (const checkpoint::Tensor &tensor : request.checkpoint.tensors())
    types.insert(tensor.dtype);
  for (checkpoint::DType type : types) {
    const checkpoint::GgmlEncoding *encoding = checkpoint::ggmlEncoding(type);
    checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(type);
    double stored = double(unit.bits) / double(unit.elements);
    double held = encoding ? encoding->held.bitsPerElement(unit.elements) : 0;
    if (held <= stored)
      continue;
    auto bits = [](double count) { return llvm::formatv("{0:f2} bits a weight", count).str(); };
    request.options.push_back({"checkpoint: " + std::string(dtypeName(type)), bits(stored),
                               bits(held),
                               "where a matrix stays as stored; the values are the same"});
  }
}

/// What became of --no-ptx.
OptionRecord ptxRecord(const BuildRequest &request) {
  bool cuda = llvm::any_of(request.targets,
                           [](const auto &target) { return target.first->backend() == "cuda"; });
  return {"--no-ptx", "yes", cuda ? "left out" : "nothing",
          cuda ? "as asked; the engine cannot be simulated" : "no target has PTX"};
}

/// Reads the lockfile, or takes what the engine states that is made again.
Outcome settleTuning(BuildRequest &request, const BuildOptions &options) {
  std::string recorded = options.replay ? options.replay->provenance.tuning : std::string();
  if (!options.tuning.empty() || !recorded.empty()) {
    auto lock = recorded.empty() ? tuning::TuningLock::read(options.tuning)
                                 : tuning::TuningLock::parse(recorded, "the engine's tuning");
    if (!lock)
      return lock.error();
    request.tuning.lock = std::move(*lock);
    size_t ours = llvm::count_if(request.tuning.lock.entries, [&](const auto &entry) {
      return llvm::any_of(request.targets, [&](const auto &target) {
        return entry.target == target.second.getName();
      });
    });
    request.options.push_back({"--tuning", "a lockfile", std::to_string(ours) + " lines",
                               std::to_string(request.tuning.lock.entries.size() - ours) +
                                   " more are for other targets"});
  }
  request.tuning.candidates = options.tuningCandidates;
  request.tuning.determinism = *engine::symbolizeDeterminism(options.determinism);
  return {};
}

} // namespace

void compiler::sayDeviations(BuildRequest &request,
                             llvm::ArrayRef<checkpoint::Deviation> deviations, Progress &progress) {
  for (const checkpoint::Deviation &deviation : deviations) {
    request.options.push_back(
        {"checkpoint: " + deviation.what, deviation.stated, deviation.effective, deviation.why});
    if (deviation.isTold)
      progress.warn(deviation.what + " " + deviation.stated + ": " + deviation.effective + "; " +
                    deviation.why);
  }
}

Expected<checkpoint::Checkpoint> compiler::openCheckpoint(MLIRContext &context,
                                                          const BuildOptions &options) {
  auto checkpoint = options.randomWeights
                        ? checkpoint::Checkpoint::openWithoutWeights(options.model, options.parts())
                        : checkpoint::Checkpoint::open(options.model, options.parts());
  if (!checkpoint)
    return checkpoint;
  if (!options.lora.empty() && !std::isfinite(options.loraScale))
    return Error{"INGOT-E2101", "--lora-scale " + exactly(options.loraScale) + " is not possible",
                 "", "choose a number"};
  if (!options.lora.empty())
    if (auto added = checkpoint->addAdapter(options.lora, options.loraScale); !added)
      return added.error();
  if (!options.randomWeights)
    return checkpoint;
  DiagnosticCollector diagnostics(context);
  auto tensors = tensorsOfFamily(&context, *checkpoint);
  if (failed(tensors))
    return diagnostics.error();
  checkpoint->expectTensors(*std::move(tensors));
  return checkpoint;
}

/// The model and the targets, with which every request begins.
static Expected<BuildRequest> openRequest(MLIRContext &context, const BuildOptions &options) {
  auto checkpoint = openCheckpoint(context, options);
  if (!checkpoint)
    return checkpoint.error();
  BuildRequest request{std::move(*checkpoint), recipe::Recipe::defaults(), {}, {}, {}, {}, {}};
  if (auto outcome = settleTargets(context, request, options); !outcome)
    return outcome.error();
  return request;
}

Expected<BuildRequest> compiler::readRequestButRecipe(MLIRContext &context,
                                                      const BuildOptions &options) {
  auto request = openRequest(context, options);
  if (!request)
    return request.error();
  if (auto outcome = settleLimits(*request, options); !outcome)
    return outcome.error();
  if (auto outcome = settleTuning(*request, options); !outcome)
    return outcome.error();
  return request;
}

Expected<BuildRequest> compiler::readRequest(MLIRContext &context, const BuildOptions &options,
                                             Progress &progress) {
  auto opened = openRequest(context, options);
  if (!opened)
    return opened.error();
  BuildRequest request = std::move(*opened);
  progress.begin("recipe");
  if (auto outcome = settleRecipe(request, options); !outcome)
    return outcome.error();
  progress.end(request.options.back().effective);
  if (auto outcome = takeQuantization(request); !outcome)
    return outcome.error();
  sayDeviations(request, request.checkpoint.quantization().deviations, progress);
  sayDeviations(request, request.checkpoint.deviations(), progress);
  sayWidened(request);
  request.recipe = request.recipe.settled(ownType(request.checkpoint));
  if (auto outcome = settleLimits(request, options); !outcome)
    return outcome.error();
  sayLengthOfRotation(request, progress);
  sayFormOfLatents(request);
  if (auto outcome = checkImport(context, request, options, progress); !outcome)
    return outcome.error();
  llvm::append_range(request.options, recordsAsGiven(options));
  if (request.checkpoint.adapter()) {
    request.options.push_back(
        {"--lora", "an adapter", "merged", "before anything is quantized; see the inputs"});
    for (const checkpoint::AdapterPattern &pattern : request.checkpoint.adapter()->patterns)
      if (!pattern.isUsed)
        request.options.push_back({"adapter: " + pattern.key, checkpoint::inQuotes(pattern.text),
                                   "not used", "no matrix of the adapter needs it"});
  }
  if (options.noPtx)
    request.options.push_back(ptxRecord(request));
  if (auto outcome = settleTuning(request, options); !outcome)
    return outcome.error();
  return request;
}

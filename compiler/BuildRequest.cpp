// SPDX-License-Identifier: Apache-2.0
// Checks of a build's options against the model.
#include "compiler/BuildRequest.h"

#include "compiler/EngineAssembly.h"
#include "compiler/checkpoint/GgmlBlocks.h"
#include "compiler/importers/StoredWeights.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;

namespace {

/// `asked`, or `fallback` for 0; failure when it is out of 1 ... `most`.
Expected<int64_t> checkLimit(const char *name, int64_t asked, int64_t fallback, int64_t most) {
  int64_t value = asked == 0 ? fallback : asked;
  if (value < 1 || value > most)
    return Error{"INGOT-E2101",
                 std::string(name) + " " + std::to_string(value) + " is not possible", "",
                 "choose 1 to " + std::to_string(most)};
  return value;
}

/// Most tokens, sequences or rows of one step: keeps every size computation far from overflow.
constexpr int64_t kMostPerStep = 1 << 20;

Outcome settleLimits(BuildRequest &request, EngineLimits asked) {
  auto context = static_cast<int64_t>(request.checkpoint.config().maxPositions);
  struct Item {
    const char *option;
    int64_t EngineLimits::*field;
    int64_t fallback, most;
    const char *fallbackReason;
  };
  EngineLimits defaults;
  const Item items[] = {
      {"--max-tokens", &EngineLimits::maxTokens, defaults.maxTokens, kMostPerStep, "default"},
      {"--max-sequences", &EngineLimits::maxSequences, defaults.maxSequences, kMostPerStep,
       "default"},
      {"--max-context", &EngineLimits::maxContext, context, context, "the model's own limit"},
      {"--max-logit-rows", &EngineLimits::maxLogitRows, defaults.maxLogitRows, kMostPerStep,
       "default"}};
  for (const Item &item : items) {
    auto value = checkLimit(item.option, asked.*item.field, item.fallback, item.most);
    if (!value)
      return value.error();
    request.limits.*item.field = *value;
    bool given = asked.*item.field != 0;
    request.options.push_back({item.option, given ? std::to_string(*value) : "",
                               std::to_string(*value), given ? "as asked" : item.fallbackReason});
  }
  const checkpoint::Rope &rope = request.checkpoint.config().rope;
  if (rope.type == checkpoint::RopeType::LongRope) {
    bool isLong = rope.usesLongDivisors(static_cast<uint64_t>(request.limits.maxContext));
    request.options.push_back({"longrope", "", isLong ? "long_factor" : "short_factor",
                               std::string("--max-context is ") + (isLong ? "" : "not ") +
                                   "above the trained length, " +
                                   std::to_string(rope.originalPositions)});
  }
  return {};
}

Outcome settleTargets(MLIRContext &context, BuildRequest &request, const BuildOptions &options) {
  std::vector<std::string> names = options.targets;
  if (names.empty())
    for (const codegen::Target *target : codegen::targets())
      if (auto host = target->hostTarget(); host && names.empty())
        names.push_back(*host);
  for (const std::string &name : names) {
    std::string why;
    auto target = codegen::findTarget(&context, name, why);
    if (failed(target)) {
      size_t colon = why.find(": ");
      return Error{why.substr(0, std::min<size_t>(colon, 11)),
                   colon == std::string::npos ? why : why.substr(colon + 2), "--target " + name,
                   ""};
    }
    for (const auto &other : request.targets)
      if (other.second == target->second)
        return Error{"INGOT-E2102", "target " + name + " is given twice", "--target",
                     "name each target once"};
    request.targets.push_back(*target);
    request.options.push_back(
        {"--target", options.targets.empty() ? "" : name, target->second.getName().str(),
         options.targets.empty() ? "the best this machine runs" : "as asked"});
  }
  return {};
}

/// The type that most of the checkpoint's numbers have. What config.json states is known to be
/// wrong in places; it decides where no tensor is of such a type.
recipe::StoreType ownType(const checkpoint::Checkpoint &checkpoint) {
  using checkpoint::DType;
  std::map<DType, uint64_t> bytes;
  for (const checkpoint::Tensor &tensor : checkpoint.tensors())
    bytes[tensor.dtype] += tensor.bytes;
  DType own = checkpoint.config().declaredType.value_or(DType::F32);
  uint64_t most = 0;
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    if (uint64_t elements = bytes[type] * 8 / checkpoint::dtypeUnit(type).bits; elements > most) {
      own = type;
      most = elements;
    }
  return own == DType::BF16  ? recipe::StoreType::BF16
         : own == DType::F16 ? recipe::StoreType::F16
                             : recipe::StoreType::F32;
}

/// Whether a checkpoint has scales for an 8-bit KV cache; not every one says so in its
/// configuration.
bool hasKvScales(const checkpoint::Checkpoint &checkpoint) {
  constexpr StringLiteral suffixes[] = {".k_scale", ".v_scale", ".k_proj.output_scale",
                                        ".v_proj.output_scale"};
  return llvm::any_of(checkpoint.tensors(), [&](const checkpoint::Tensor &tensor) {
    return llvm::any_of(suffixes,
                        [&](StringRef suffix) { return StringRef(tensor.name).ends_with(suffix); });
  });
}

/// What the checkpoint was quantized for, where the recipe leaves it open, and what the engine does
/// otherwise.
void takeQuantization(BuildRequest &request) {
  using Activations = checkpoint::QuantizationConfig::Activations;
  const checkpoint::QuantizationConfig &own = request.checkpoint.quantization();
  recipe::ActivationType &compute = request.recipe.activations.compute;
  if (compute == recipe::ActivationType::Stored && own.activations != Activations::AsStored) {
    compute = own.activations == Activations::Int8PerToken ? recipe::ActivationType::Int8Dynamic
                                                           : recipe::ActivationType::Fp8Dynamic;
    request.options.push_back({"recipe: activations", "", std::string(recipe::name(compute)),
                               "what the checkpoint was quantized for"});
  }
  auto deviations = own.deviations;
  auto cache = checkpoint::QuantizationConfig::ofKvScales();
  if (hasKvScales(request.checkpoint) &&
      llvm::none_of(deviations, [&](const auto &known) { return known.what == cache.what; }))
    deviations.push_back(cache);
  for (const auto &deviation : deviations)
    request.options.push_back(
        {"checkpoint: " + deviation.what, deviation.stated, deviation.effective, deviation.why});
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
    double held = encoding ? encoding->bitsPerElement(unit.elements) : 0;
    if (held <= stored)
      continue;
    auto bits = [](double count) { return llvm::formatv("{0:f2} bits a weight", count).str(); };
    request.options.push_back({"checkpoint: " + std::string(dtypeName(type)), bits(stored),
                               bits(held),
                               "where a matrix stays as stored; the values are the same"});
  }
}

/// The shortest text that is read as this number again: an engine can be made anew from it.
std::string exactly(double number) {
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

/// The checkpoint, or for random weights its configuration and the tensors of its family.
Expected<checkpoint::Checkpoint> openCheckpoint(MLIRContext &context, const BuildOptions &options) {
  auto checkpoint = options.randomWeights
                        ? checkpoint::Checkpoint::openWithoutWeights(options.model)
                        : checkpoint::Checkpoint::open(options.model);
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
  if (options.tuningCandidates)
    request.options.push_back({"--tuning-candidates", "on", "on", "as asked"});
  return {};
}

} // namespace

Expected<BuildRequest> compiler::readRequest(MLIRContext &context, const BuildOptions &options,
                                             Progress &progress) {
  auto checkpoint = openCheckpoint(context, options);
  if (!checkpoint)
    return checkpoint.error();
  BuildRequest request{std::move(*checkpoint), recipe::Recipe::defaults(), {}, {}, {}, {}};
  if (options.replay || !options.recipe.empty()) {
    auto recipe = options.replay ? recipe::Recipe::parse(options.replay->provenance.recipe,
                                                         "the engine's recipe")
                                 : recipe::Recipe::read(options.recipe);
    if (!recipe)
      return recipe.error();
    request.recipe = std::move(*recipe);
  }
  takeQuantization(request);
  sayWidened(request);
  request.recipe = request.recipe.settled(ownType(request.checkpoint));
  if (auto outcome = settleLimits(request, options.limits); !outcome)
    return outcome.error();
  if (auto outcome = settleTargets(context, request, options); !outcome)
    return outcome.error();
  if (options.randomWeights) {
    std::string seed = std::to_string(*options.randomWeights);
    request.options.push_back(
        {"--random-weights", seed, seed, "numbers made at load; no weight file was read"});
  }
  if (request.checkpoint.adapter()) {
    std::string scale = exactly(options.loraScale);
    request.options.push_back(
        {"--lora", "an adapter", "merged", "before anything is quantized; see the inputs"});
    request.options.push_back({"--lora-scale", scale, scale, "times the adapter's own"});
    for (const checkpoint::AdapterPattern &pattern : request.checkpoint.adapter()->patterns)
      if (!pattern.isUsed)
        request.options.push_back({"adapter: " + pattern.key, checkpoint::inQuotes(pattern.text),
                                   "not used", "no matrix of the adapter needs it"});
  }
  if (options.noPtx)
    request.options.push_back(ptxRecord(request));
  if (auto outcome = settleTuning(request, options); !outcome)
    return outcome.error();
  std::vector<std::string> names;
  for (const checkpoint::Tensor &tensor : request.checkpoint.tensors())
    names.push_back(matrixName(tensor.name));
  for (const recipe::UnusedRule &unused : request.recipe.unusedRules(names))
    progress.warn("recipe rule " + request.recipe.weights[unused.rule].match +
                  (unused.shadowed ? " is never reached: earlier rules take its tensors"
                                   : " matches no tensor"));
  return request;
}

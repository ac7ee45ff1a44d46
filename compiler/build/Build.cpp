// SPDX-License-Identifier: Apache-2.0
// From options to a finished engine file.
#include "compiler/build/Build.h"

#include "codegen/BuildCache.h"
#include "codegen/ForEachParallel.h"
#include "compiler/build/DiagnosticCollector.h"
#include "compiler/build/EngineAssembly.h"
#include "compiler/build/FileDigests.h"
#include "compiler/build/GoldenTokens.h"
#include "compiler/build/Version.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/config/VisionPlan.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/engine_file/EngineWriter.h"
#include "dialects/engine/EngineOps.h"
#include "ingot/ingot.hpp"
#include "passes/plan/Tuning.h"

#include "mlir/IR/Builders.h"
#include "llvm/Config/llvm-config.h"
#include <mutex>
#include <optional>
#include <sys/resource.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;

namespace {

uint64_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

ImageFacts imageFacts(const checkpoint::VisionPlan &plan) {
  auto number = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const checkpoint::ImageSettings &images = plan.images;
  ImageFacts facts;
  switch (images.rule) {
  case checkpoint::ResizeRule::Smart:
    facts.rule = ImageFacts::Rule::Smart;
    break;
  case checkpoint::ResizeRule::Stretch:
    facts.rule = ImageFacts::Rule::Stretch;
    break;
  case checkpoint::ResizeRule::Budget:
    facts.rule = ImageFacts::Rule::Budget;
    break;
  case checkpoint::ResizeRule::Tiles:
    facts.rule = ImageFacts::Rule::Tiles;
    break;
  }
  switch (images.filter) {
  case checkpoint::ResizeFilter::Bilinear:
    facts.filter = ImageFacts::Filter::Bilinear;
    break;
  case checkpoint::ResizeFilter::Bicubic:
    facts.filter = ImageFacts::Filter::Bicubic;
    break;
  case checkpoint::ResizeFilter::Lanczos:
    facts.filter = ImageFacts::Filter::Lanczos;
    break;
  }
  switch (plan.tower.positions) {
  case checkpoint::PatchPositions::None:
    break;
  case checkpoint::PatchPositions::Learned:
    facts.positions = ImageFacts::Positions::Grid;
    break;
  case checkpoint::PatchPositions::Interpolated:
    facts.positions = ImageFacts::Positions::Interpolated;
    break;
  case checkpoint::PatchPositions::Axes:
    facts.positions = ImageFacts::Positions::Axes;
    break;
  }
  facts.factor = number(plan.tower.patchSize * plan.merge);
  facts.minPixels = images.minPixels;
  facts.maxPixels = images.maxPixels;
  facts.width = number(images.width);
  facts.height = number(images.height);
  facts.maxTokens = number(images.maxTokens);
  facts.longestEdge = number(images.longestEdge);
  facts.tile = number(images.tile);
  facts.mean.assign(images.mean.begin(), images.mean.end());
  facts.deviation.assign(images.deviation.begin(), images.deviation.end());
  facts.patch = number(plan.patchSide());
  facts.mergeRows = facts.mergeColumns = number(plan.joinsPixels ? 1 : plan.merge);
  facts.channelsLast = images.channelsLast;
  facts.window = number(plan.tower.window);
  facts.positionSide = number(plan.tower.positionSide);
  facts.placeholder = images.text.placeholder;
  facts.token = images.text.token;
  facts.tokenId = number(images.tokenId);
  facts.before = images.text.before;
  facts.after = images.text.after;
  facts.beforeTile = images.text.beforeTile;
  facts.afterTileRow = images.text.afterTileRow;
  facts.afterTiles = images.text.afterTiles;
  facts.seesAhead = images.seesAhead;
  if (images.stepToken)
    facts.stepToken = static_cast<int32_t>(*images.stepToken);
  facts.added = number(plan.deepstackLayers.size());
  facts.axes = plan.sections.empty() ? 1 : 3;
  return facts;
}

EngineDescription describe(const BuildRequest &request, const checkpoint::TokenizerSpec &tokenizer,
                           const BuildOptions &options) {
  const checkpoint::ModelConfig &config = request.checkpoint.config();
  const checkpoint::GenerationConfig &generation = request.checkpoint.generation();
  EngineDescription description;
  const std::filesystem::path name = checkpoint::modelFileName(options.model);
  description.name = (checkpoint::isModelFile(options.model) ? name.stem() : name).string();
  description.architecture = config.architecture;
  Provenance &provenance = description.provenance;
  provenance.compiler = std::string("ingot ") + kVersion;
  provenance.revision = kRevision;
  provenance.toolchain = "LLVM " LLVM_VERSION_STRING;
  provenance.recipe = request.recipe.str();
  if (!request.tuning.lock.entries.empty())
    provenance.tuning = request.tuning.lock.str();
  provenance.options = request.options;

  ServingFacts &serving = description.serving;
  serving.vocabulary = static_cast<uint32_t>(config.vocabSize);
  serving.maxContext = static_cast<uint32_t>(request.limits.maxContext);
  auto bos = generation.bosId ? generation.bosId : config.bosId;
  serving.bos = bos ? static_cast<int32_t>(*bos) : tokenizer.bosId;
  for (uint64_t id : request.checkpoint.eosIds())
    serving.eos.push_back(static_cast<int32_t>(id));
  for (uint64_t id : config.placeholderIds)
    serving.placeholders.push_back(static_cast<int32_t>(id));
  serving.pad = generation.padId ? static_cast<int32_t>(*generation.padId) : tokenizer.padId;
  // A model that says it is not sampled is greedy; one that says nothing is what vLLM makes of it,
  // the whole distribution, and programs may choose otherwise.
  bool isGreedy = !generation.doSample.value_or(true);
  serving.namesNoSampling = !generation.namesSampling();
  serving.temperature = isGreedy ? 0 : static_cast<float>(generation.temperature.value_or(1));
  serving.topK = isGreedy ? 0 : static_cast<int32_t>(generation.topK.value_or(0));
  serving.topP = isGreedy ? 1 : static_cast<float>(generation.topP.value_or(1));
  serving.minP = isGreedy ? 0 : static_cast<float>(generation.minP.value_or(0));
  serving.repetitionPenalty = static_cast<float>(generation.repetitionPenalty.value_or(1));
  if (config.vision)
    description.images = imageFacts(*config.vision);
  if (options.replay) {
    description.name = options.replay->name;
    provenance.options = options.replay->provenance.options;
    description.golden = options.replay->golden;
  }
  return description;
}

/// Names the lines of the lockfile that no launch follows.
void warnOfTuning(llvm::ArrayRef<CompiledTarget> targets, Progress &progress) {
  for (const CompiledTarget &compiled : targets)
    compiled.unit().walk([&](engine::NoteOp note) {
      if (note.getPass() == kTuningPass && !note.getApplied())
        progress.warn(("the tuning lockfile's " + note.getSite() + " on " +
                       compiled.unit().getTarget().getName() + " is not used: " + note.getReason())
                          .str());
    });
}

/// Compiles every chat template and tells of those that cannot be rendered; they are stored all the
/// same.
void checkChatTemplates(const checkpoint::TokenizerSpec &tokenizer, Provenance &provenance,
                        Progress &progress) {
  for (const checkpoint::TokenizerChatTemplate &chat : tokenizer.chatTemplates) {
    const std::optional<ingot::Error> error =
        ingot::chatTemplateError("chat template '" + chat.name + "'", chat.text);
    if (!error)
      continue;
    progress.warn(std::string("no conversation can be rendered: ") + error->what());
    provenance.options.push_back(
        {"chat template '" + chat.name + "'", "", "stored, cannot be rendered", error->what()});
  }
}

BuildReport::CacheReport reportCache(const BuildOptions &options) {
  if (!options.cache)
    return {"", options.whyNoCache};
  return {options.cache->folder(), "", options.cache->hits(), options.cache->misses()};
}

void reportTarget(BuildReport &report, engine::UnitOp unit, const CompiledTarget &compiled) {
  BuildReport::TargetReport target;
  target.name = unit.getTarget().getName().str();
  unit.walk([&](Operation *op) {
    target.kernels += isa<engine::KernelOp>(op);
    target.launches += isa<engine::LaunchOp>(op);
    if (auto note = dyn_cast<engine::NoteOp>(op))
      target.notes.push_back(note);
  });
  for (const codegen::CompiledLibrary &library : compiled.libraries)
    target.libraryBytes += library.bytes.size();
  report.targets.push_back(std::move(target));
}

/// Finishes the engine under another name than the one that it was built for.
void keepRefused(OutputFile &file, ArrayRef<std::byte> metadata, const BuildOptions &options,
                 Progress &progress) {
  file.setPath(options.refused());
  if (auto kept = finishEngineFile(file, metadata); !kept)
    progress.warn("the refused engine is not kept: " + kept.error().str());
}

} // namespace

Expected<std::vector<InputFile>> compiler::digestInputs(const checkpoint::Checkpoint &checkpoint,
                                                        const BuildOptions &options,
                                                        Progress &progress) {
  std::vector<std::filesystem::path> files = checkpoint.inputs();
  for (const std::filesystem::path &file : checkpoint::tokenizerFiles(options.model))
    if (!llvm::is_contained(files, file))
      files.push_back(file);
  progress.begin("digest inputs");
  std::vector<std::optional<Expected<checkpoint::Digest>>> digests(files.size());
  std::mutex mutex;
  size_t done = 0;
  codegen::forEachParallel(files.size(), codegen::usableThreads(options.threads), [&](size_t i) {
    digests[i] =
        options.digests ? options.digests->of(files[i]) : checkpoint::sha256OfFile(files[i]);
    std::lock_guard<std::mutex> lock(mutex);
    progress.update(++done, files.size());
  });
  std::vector<InputFile> inputs;
  for (auto [file, digest] : llvm::zip_equal(files, digests)) {
    if (!*digest)
      return digest->error();
    std::error_code error;
    inputs.push_back({checkpoint.inputName(file), file_size(file, error), **digest});
  }
  progress.end(files.size() == 1 ? "1 file" : std::to_string(files.size()) + " files");
  return inputs;
}

Expected<BuildReport> compiler::buildEngine(MLIRContext &context, const BuildOptions &options,
                                            Progress &progress) {
  auto started = std::chrono::steady_clock::now();
  // An output that cannot be written is noticed before the work, not behind it.
  if (auto probe = OutputFile::create(options.output); !probe)
    return probe.error();
  auto request = readRequest(context, options, progress);
  if (!request)
    return request.error();
  if (request->recipe.method != recipe::Method::Round ||
      request->recipe.rotation != recipe::Rotation::None)
    return checkpoint::Error{"INGOT-E2114",
                             "the recipe's method, or rotation, is a step of its own", "--recipe",
                             "quantize with `ingot quantize`, and build the result"};
  auto tokenizer = checkpoint::readTokenizer(options.model);
  if (!tokenizer)
    return tokenizer.error();
  sayDeviations(*request, tokenizer->deviations, progress);

  auto targets = runStages(context, *request, options, progress);
  if (!targets)
    return targets.error();
  warnOfTuning(*targets, progress);
  // Whose weights are streamed with the engine's. A replay has the tokens that are recorded.
  std::optional<GoldenMaker> golden;
  if (!options.replay) {
    auto chosen = chooseGoldenMaker(context, *request, options);
    if (!chosen)
      return chosen.error();
    golden = std::move(*chosen);
  }
  if (golden && golden->planned)
    targets->push_back(*std::move(golden->planned));
  const size_t count = request->targets.size();
  auto own = MutableArrayRef(*targets).take_front(count);
  auto maker = MutableArrayRef(*targets).drop_front(count);
  // A cap that is too small is refused before the long work begins.
  uint64_t codegenMemory = 0;
  for (const auto &[target, attribute] : request->targets)
    codegenMemory = std::max(codegenMemory, target->compileMemory());
  auto early = makeStreamer(*request, *targets, options, codegenMemory);
  if (!early)
    return early.error();
  // So is a disk that cannot hold the weights.
  if (auto probe = OutputFile::create(options.output, early->totalBytes()); !probe) {
    checkpoint::Error error = probe.error();
    if (!maker.empty() && error.code == "INGOT-E7011")
      error.fix += ", or leave out golden tokens: --no-golden-tokens needs " +
                   readableBytes(bytesOfFunctions(*early, count));
    return error;
  }
  if (auto outcome = compileKernels(context, *request, own, options, progress); !outcome)
    return outcome.error();
  auto streamer = makeStreamer(*request, *targets, options, 0);
  if (!streamer)
    return streamer.error();
  BuildReport report;
  report.weightBytes = bytesOfFunctions(*streamer, count);
  report.description = describe(*request, *tokenizer, options);
  if (!options.replay)
    checkChatTemplates(*tokenizer, report.description.provenance, progress);
  auto inputs = digestInputs(request->checkpoint, options, progress);
  if (!inputs)
    return inputs.error();
  report.description.provenance.inputs = *std::move(inputs);

  auto assembly = assemble(context, own, *streamer, *tokenizer, options, progress);
  if (!assembly)
    return assembly.error();
  if (golden)
    if (auto outcome = makeGoldenTokens(context, *request, *golden, maker, *assembly, *streamer,
                                        options, report.description, progress);
        !outcome)
      return outcome.error();
  report.ir = std::move(assembly->ir);
  OutputFile &file = assembly->file;
  DiagnosticCollector diagnostics(context);
  auto metadata =
      writeEngineMetadata(*report.ir, report.description, file.sections(), assembly->placements);
  if (failed(metadata))
    return diagnostics.error();
  if (options.examine) {
    auto path = previewEngineFile(file, *metadata);
    if (!path)
      return path.error();
    auto examined = options.examine(*path, *report.ir);
    if (!examined)
      return examined.error();
    llvm::append_range(report.description.provenance.options, examined->records);
    metadata =
        writeEngineMetadata(*report.ir, report.description, file.sections(), assembly->placements);
    if (failed(metadata))
      return diagnostics.error();
    report.refusal = examined->refusal;
  }
  report.fileBytes = file.end() + metadata->size();
  std::error_code ignored;
  if (report.refusal)
    keepRefused(file, *metadata, options, progress);
  else if (auto outcome = finishEngineFile(file, *metadata); !outcome)
    return outcome.error();
  else if (options.examine)
    std::filesystem::remove(options.refused(), ignored);

  report.cache = reportCache(options);
  report.unreadTensors = request->unreadTensors;
  for (auto [unit, compiled] : llvm::zip(report.ir->getOps<engine::UnitOp>(), own))
    reportTarget(report, unit, compiled);
  report.minimumMemory = streamer->minimumMemory();
  report.peakMemory = peakMemory();
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (!report.refusal && !options.replay) // what is replayed is compared, not kept
    progress.finished(options.output.string(), report.fileBytes);
  return report;
}

Expected<std::vector<std::byte>>
compiler::planEngine(MLIRContext &context, const BuildOptions &options, Progress &progress) {
  auto request = readRequest(context, options, progress);
  if (!request)
    return request.error();
  auto targets = runStages(context, *request, options, progress);
  if (!targets)
    return targets.error();
  std::vector<SectionEntry> sections{{"weights", SectionKind::Weights}};
  for (const CompiledTarget &compiled : *targets) {
    engine::UnitOp unit = compiled.unit();
    OpBuilder builder = OpBuilder::atBlockBegin(&unit.getBody().front());
    auto library =
        engine::LibraryOp::create(builder, unit.getLoc(), "kernels", "host_shared_object");
    for (auto kernel : unit.getBody().getOps<engine::KernelOp>())
      kernel.setLibrary(library.getSymName());
    sections.push_back(
        {librarySectionName(unit.getSymName(), library.getSymName()), SectionKind::Kernels});
  }
  auto streamer = makeStreamer(*request, *targets, options, 0);
  if (!streamer)
    return streamer.error();
  sections.front().bytes = streamer->totalBytes();
  DiagnosticCollector diagnostics(context);
  std::vector<WeightPlacement> placements;
  auto merged = mergeTargets(context, *targets, *streamer, 0, {}, placements);
  auto metadata =
      writeEngineMetadata(*merged, describe(*request, {}, options), sections, placements);
  if (failed(metadata))
    return diagnostics.error();
  return std::move(*metadata);
}

// SPDX-License-Identifier: Apache-2.0
// From options to a finished engine file.
#include "compiler/BuildRequest.h"

#include "compiler/EngineWriterTokenizer.h"
#include "compiler/GoldenTokens.h"
#include "compiler/Version.h"
#include "compiler/WeightStreamer.h"
#include "compiler/checkpoint/TokenizerReader.h"

#include "mlir/IR/Builders.h"
#include "llvm/Config/llvm-config.h"
#include <sys/resource.h>
#include <thread>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;

namespace {

/// Engines with more weights than this are not run by their own build: a build's memory must not
/// depend on the size of the model.
constexpr uint64_t kGoldenWeights = uint64_t{128} << 20;

uint64_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

/// One target's result: its module (with @weights and the unit) and its libraries.
struct Compiled {
  engine::UnitOp unit() const {
    ModuleOp whole = module.get();
    return *whole.getOps<engine::UnitOp>().begin();
  }
  func::FuncOp weights() const {
    ModuleOp whole = module.get();
    return whole.lookupSymbol<func::FuncOp>("weights");
  }

  OwningOpRef<ModuleOp> module;
  SmallVector<codegen::CompiledLibrary> libraries;
};

/// Gathers diagnostics, so that a failure can be returned as one Error.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty())
            text = diagnostic.str();
          return success();
        }) {}

  /// The first error, with a code of its own where the message has none.
  Error error() const {
    std::string what = text.empty() ? "compilation failed without a message" : text;
    size_t code = what.find("INGOT-E");
    if (code == std::string::npos)
      return {"INGOT-E3001", what, "", "report this with the model's config.json and the recipe"};
    constexpr size_t codeLength = sizeof("INGOT-E0000") - 1;
    std::string rest = what.substr(std::min(what.size(), code + codeLength));
    return {what.substr(code, codeLength), rest.substr(rest.starts_with(": ") ? 2 : 0), "", ""};
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

unsigned usableThreads(unsigned asked) {
  return asked != 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

/// Runs all stages for one target; the unit bears the target's name.
Expected<Compiled> runStages(MLIRContext &context, const BuildRequest &request, size_t index,
                             const BuildOptions &options) {
  engine::TargetAttr target = request.targets[index].second;
  DiagnosticCollector diagnostics(context);
  auto module = runPipeline(context, request.checkpoint, request.recipe, target, request.limits,
                            [&](StringRef stage, ModuleOp ir) {
                              if (stage == options.dumpStage)
                                ir.print(llvm::outs(), OpPrintingFlags().enableDebugInfo());
                            });
  if (failed(module))
    return diagnostics.error();
  Compiled compiled{std::move(*module), {}};
  compiled.unit().setSymName(target.getName());
  return compiled;
}

/// Every target's stages, in the order asked for.
Expected<SmallVector<Compiled>> runStages(MLIRContext &context, const BuildRequest &request,
                                          const BuildOptions &options, Progress &progress) {
  SmallVector<Compiled> targets;
  for (size_t i = 0; i < request.targets.size(); ++i) {
    progress.begin("plan " + request.targets[i].second.getName().str());
    auto compiled = runStages(context, request, i, options);
    if (!compiled)
      return compiled.error();
    auto kernels = compiled->unit().getBody().getOps<engine::KernelOp>();
    progress.end(std::to_string(std::distance(kernels.begin(), kernels.end())) + " kernels");
    targets.push_back(std::move(*compiled));
  }
  return targets;
}

/// The streamer of all targets' weights; refuses a cap that is too small for it and for `reserve`.
Expected<WeightStreamer> makeStreamer(const BuildRequest &request, ArrayRef<Compiled> targets,
                                      const BuildOptions &options, uint64_t reserve) {
  SmallVector<func::FuncOp> functions;
  for (const Compiled &compiled : targets)
    functions.push_back(compiled.weights());
  StreamOptions stream;
  stream.memoryCap = options.maxBuildMemory;
  stream.reserve = reserve;
  stream.threads = options.threads;
  return WeightStreamer::create(functions, request.checkpoint, stream);
}

/// Compiles the kernels of every target.
Outcome compileKernels(MLIRContext &context, const BuildRequest &request,
                       MutableArrayRef<Compiled> targets, const BuildOptions &options,
                       Progress &progress) {
  for (auto [target, compiled] : llvm::zip(request.targets, targets)) {
    progress.begin("compile " + target.second.getName().str());
    DiagnosticCollector diagnostics(context);
    codegen::CompileOptions compile;
    compile.threads = static_cast<int>(usableThreads(options.threads));
    compile.nvrtc = options.nvrtc;
    compile.kernelCache = options.kernelCache;
    auto libraries = target.first->compile(compiled.unit(), compile);
    if (failed(libraries))
      return diagnostics.error();
    compiled.libraries = std::move(*libraries);
    uint64_t bytes = 0;
    for (const codegen::CompiledLibrary &library : compiled.libraries)
      bytes += library.bytes.size();
    progress.end(readableBytes(bytes));
  }
  return {};
}

/// Moves dims, weights and units of all targets into one module. Weights of equal name are the same
/// if the streamer stores them once; otherwise the later one is renamed after its target.
OwningOpRef<ModuleOp> mergeTargets(MLIRContext &context, ArrayRef<Compiled> targets,
                                   const WeightStreamer &streamer,
                                   std::vector<WeightPlacement> &placements, uint32_t section) {
  OwningOpRef<ModuleOp> merged = ModuleOp::create(UnknownLoc::get(&context));
  Block *body = merged->getBody();
  llvm::StringMap<uint64_t> offsets; // by symbol
  for (const Compiled &compiled : targets)
    for (auto dim : llvm::make_early_inc_range(compiled.module.get().getOps<engine::DimOp>()))
      if (!merged->lookupSymbol(dim.getSymName()))
        dim->moveBefore(body, body->end());
  for (auto [index, compiled] : llvm::enumerate(targets)) {
    ModuleOp module = compiled.module.get();
    engine::UnitOp unit = compiled.unit();
    for (const StreamedWeight &weight : streamer.weights()) {
      if (weight.function != index)
        continue;
      auto op = module.lookupSymbol<engine::WeightOp>(weight.name);
      if (!op)
        continue;
      std::string symbol = weight.name;
      auto known = offsets.find(symbol);
      if (known != offsets.end() && known->second != weight.offset) {
        symbol += "@" + unit.getTarget().getName().str();
        for (auto buffer : unit.getBody().getOps<engine::BufferOp>())
          if (buffer.getWeight() == weight.name)
            buffer.setWeight(symbol);
      } else if (known != offsets.end()) {
        continue;
      }
      offsets[symbol] = weight.offset;
      op.setSymName(symbol);
      op->moveBefore(body, body->end());
      placements.push_back({symbol, section, weight.offset, weight.bytes, weight.digest});
    }
  }
  for (const Compiled &compiled : targets)
    compiled.unit()->moveBefore(body, body->end());
  return merged;
}

EngineDescription describe(const BuildRequest &request, const checkpoint::TokenizerSpec &tokenizer,
                           const BuildOptions &options) {
  const checkpoint::ModelConfig &config = request.checkpoint.config();
  const checkpoint::GenerationConfig &generation = request.checkpoint.generation();
  EngineDescription description;
  auto model = std::filesystem::weakly_canonical(options.model);
  description.name = model.filename().string();
  description.architecture = config.architecture;
  Provenance &provenance = description.provenance;
  provenance.compiler = std::string("ingot ") + kVersion;
  provenance.revision = kRevision;
  provenance.toolchain = "LLVM " LLVM_VERSION_STRING;
  provenance.recipe = request.recipe.str();
  provenance.options = request.options;

  ServingFacts &serving = description.serving;
  serving.vocabulary = static_cast<uint32_t>(config.vocabSize);
  serving.maxContext = static_cast<uint32_t>(request.limits.maxContext);
  auto bos = generation.bosId ? generation.bosId : config.bosId;
  serving.bos = bos ? static_cast<int32_t>(*bos) : tokenizer.bosId;
  for (uint64_t id : request.checkpoint.eosIds())
    serving.eos.push_back(static_cast<int32_t>(id));
  serving.pad = generation.padId ? static_cast<int32_t>(*generation.padId) : tokenizer.padId;
  // transformers samples only where the model says so; otherwise its generation is greedy.
  bool samples = generation.doSample.value_or(false);
  serving.temperature = samples ? static_cast<float>(generation.temperature.value_or(1)) : 0;
  serving.topK = samples ? static_cast<int32_t>(generation.topK.value_or(0)) : 0;
  serving.topP = samples ? static_cast<float>(generation.topP.value_or(1)) : 1;
  serving.minP = samples ? static_cast<float>(generation.minP.value_or(0)) : 0;
  serving.repetitionPenalty = static_cast<float>(generation.repetitionPenalty.value_or(1));
  if (options.replay) {
    description.name = options.replay->name;
    provenance.options = options.replay->provenance.options;
    description.golden = options.replay->golden;
  }
  return description;
}

/// The digests of every file that the engine was made from.
Outcome digestInputs(const BuildRequest &request, const BuildOptions &options,
                     Provenance &provenance, Progress &progress) {
  std::vector<std::filesystem::path> files = request.checkpoint.inputs();
  for (const std::filesystem::path &file : checkpoint::tokenizerFiles(options.model))
    if (!llvm::is_contained(files, file))
      files.push_back(file);
  progress.begin("digest inputs");
  for (auto [i, file] : llvm::enumerate(files)) {
    auto digest = checkpoint::sha256OfFile(file);
    if (!digest)
      return digest.error();
    std::error_code error;
    provenance.inputs.push_back(
        {file.lexically_relative(options.model).generic_string(), file_size(file, error), *digest});
    progress.update(i + 1, files.size());
  }
  progress.end(std::to_string(files.size()) + " files");
  return {};
}

/// The tokenizer's section, and everything the streamer and the libraries need, written into
/// `file`.
Outcome writeSections(OutputFile &file, MutableArrayRef<Compiled> targets,
                      const checkpoint::TokenizerSpec &tokenizer) {
  for (const Compiled &compiled : targets) {
    engine::UnitOp unit = compiled.unit();
    for (const codegen::CompiledLibrary &library : compiled.libraries) {
      auto section = file.append(librarySectionName(unit, library.name), SectionKind::Kernels,
                                 std::as_bytes(std::span(library.bytes)));
      if (!section)
        return section.error();
    }
  }
  std::vector<uint8_t> bytes = writeTokenizer(tokenizer);
  auto section = file.append("tokenizer", SectionKind::Tokenizer, std::as_bytes(std::span(bytes)));
  return section ? Outcome() : Outcome(section.error());
}

/// Streams all weights into a section of `file`; its number.
Expected<uint32_t> writeWeights(OutputFile &file, WeightStreamer &streamer, Progress &progress) {
  auto section = file.reserve("weights", SectionKind::Weights, streamer.totalBytes());
  if (!section)
    return section.error();
  progress.begin("stream weights");
  auto outcome = streamer.run(
      [&](uint64_t offset, std::span<const std::byte> bytes) {
        return file.writeAt(*section, offset, bytes);
      },
      [&](uint64_t done, uint64_t total) { progress.update(done, total); });
  if (!outcome)
    return outcome.error();
  progress.end(readableBytes(streamer.totalBytes()));
  return *section;
}

/// Golden tokens by running the unfinished engine, where this machine can and the memory cap
/// allows; else none, and the reason among the options.
Outcome addGoldenTokens(BuildReport &report, OutputFile &file, ArrayRef<WeightPlacement> placements,
                        const BuildOptions &options, Progress &progress) {
  EngineDescription &description = report.description;
  auto record = [&](const std::string &effective, const std::string &reason) {
    description.provenance.options.push_back({"golden tokens", "", effective, reason});
  };
  if (options.replay)
    return {}; // described as recorded
  uint64_t used = peakMemory();
  if (report.weightBytes > kGoldenWeights || used + report.weightBytes > options.maxBuildMemory) {
    record("none", "running the engine would hold all its weights in memory");
    return {};
  }
  progress.begin("golden tokens");
  auto metadata = writeEngineMetadata(*report.ir, description, file.sections(), placements);
  if (failed(metadata))
    return Error{"INGOT-E3001", "the engine's metadata cannot be written", "", ""};
  auto path = previewEngineFile(file, *metadata);
  if (!path)
    return path.error();
  auto golden = makeGoldenTokens(*path, options.maxBuildMemory - used);
  if (golden)
    description.golden = std::move(*golden);
  record(golden ? "made" : "none", golden ? "the engine ran on the building machine"
                                          : "the engine did not run here: " + golden.error().code);
  progress.end(golden ? std::to_string(description.golden.size()) + " prompts"
                      : "none: " + golden.error().what);
  return {};
}

void reportTarget(BuildReport &report, engine::UnitOp unit, const Compiled &compiled) {
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

} // namespace

Expected<BuildReport> compiler::buildEngine(MLIRContext &context, const BuildOptions &options,
                                            Progress &progress) {
  auto started = std::chrono::steady_clock::now();
  auto request = readRequest(context, options, progress);
  if (!request)
    return request.error();
  auto tokenizer = checkpoint::readTokenizer(options.model);
  if (!tokenizer)
    return tokenizer.error();

  auto targets = runStages(context, *request, options, progress);
  if (!targets)
    return targets.error();
  // A cap that is too small is refused before the long work begins.
  uint64_t codegenMemory = 0;
  for (const auto &[target, attribute] : request->targets)
    codegenMemory = std::max(codegenMemory, target->compileMemory());
  if (auto early = makeStreamer(*request, *targets, options, codegenMemory); !early)
    return early.error();
  if (auto outcome = compileKernels(context, *request, *targets, options, progress); !outcome)
    return outcome.error();
  auto streamer = makeStreamer(*request, *targets, options, 0);
  if (!streamer)
    return streamer.error();
  BuildReport report;
  report.weightBytes = streamer->totalBytes();
  report.description = describe(*request, *tokenizer, options);
  if (auto outcome = digestInputs(*request, options, report.description.provenance, progress);
      !outcome)
    return outcome.error();

  auto file = OutputFile::create(options.output, streamer->totalBytes());
  if (!file)
    return file.error();
  if (auto outcome = writeSections(*file, *targets, *tokenizer); !outcome)
    return outcome.error();
  auto section = writeWeights(*file, *streamer, progress);
  if (!section)
    return section.error();

  DiagnosticCollector diagnostics(context);
  std::vector<WeightPlacement> placements;
  report.ir = mergeTargets(context, *targets, *streamer, placements, *section);
  auto digest = digestOfWeights(placements, *section);
  if (!digest)
    return digest.error();
  file->setDigest(*section, *digest);
  if (auto outcome = addGoldenTokens(report, *file, placements, options, progress); !outcome)
    return outcome.error();
  auto metadata = writeEngineMetadata(*report.ir, report.description, file->sections(), placements);
  if (failed(metadata))
    return diagnostics.error();
  report.fileBytes = file->end() + metadata->size();
  if (auto outcome = finishEngineFile(*file, *metadata); !outcome)
    return outcome.error();

  for (auto [unit, compiled] : llvm::zip(report.ir->getOps<engine::UnitOp>(), *targets))
    reportTarget(report, unit, compiled);
  report.minimumMemory = streamer->minimumMemory();
  report.peakMemory = peakMemory();
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
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
  for (const Compiled &compiled : *targets) {
    engine::UnitOp unit = compiled.unit();
    OpBuilder builder = OpBuilder::atBlockBegin(&unit.getBody().front());
    auto library =
        engine::LibraryOp::create(builder, unit.getLoc(), "kernels", "host_shared_object");
    for (auto kernel : unit.getBody().getOps<engine::KernelOp>())
      kernel.setLibrary(library.getSymName());
    sections.push_back({librarySectionName(unit, library.getSymName()), SectionKind::Kernels});
  }
  auto streamer = makeStreamer(*request, *targets, options, 0);
  if (!streamer)
    return streamer.error();
  sections.front().bytes = streamer->totalBytes();
  DiagnosticCollector diagnostics(context);
  std::vector<WeightPlacement> placements;
  auto merged = mergeTargets(context, *targets, *streamer, placements, 0);
  auto metadata =
      writeEngineMetadata(*merged, describe(*request, {}, options), sections, placements);
  if (failed(metadata))
    return diagnostics.error();
  return std::move(*metadata);
}

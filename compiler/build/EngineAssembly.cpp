// SPDX-License-Identifier: Apache-2.0
// Runs the stages for every target and lays their results out in one file.
#include "compiler/build/EngineAssembly.h"

#include "codegen/BuildCache.h"
#include "codegen/ForEachParallel.h"
#include "compiler/build/DiagnosticCollector.h"
#include "compiler/engine_file/EngineWriter.h"
#include "compiler/engine_file/EngineWriterTokenizer.h"
#include "dialects/engine/EngineOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;

engine::UnitOp CompiledTarget::unit() const {
  ModuleOp whole = module.get();
  return *whole.getOps<engine::UnitOp>().begin();
}

/// Runs all stages for one target; the unit bears the target's name.
static Expected<CompiledTarget> runStagesOf(MLIRContext &context, const BuildRequest &request,
                                            size_t index, const BuildOptions &options) {
  engine::TargetAttr target = request.targets[index].second;
  DiagnosticCollector diagnostics(context);
  auto module = runPipeline(context, request.checkpoint, request.recipe, target, request.limits,
                            request.tuning, request.part, [&](StringRef stage, ModuleOp ir) {
                              if (stage == options.dumpStage)
                                ir.print(llvm::outs(), OpPrintingFlags().enableDebugInfo());
                            });
  if (failed(module))
    return diagnostics.error();
  CompiledTarget compiled{std::move(*module), {}};
  compiled.unit().setSymName(target.getName());
  return compiled;
}

Expected<SmallVector<CompiledTarget>> compiler::runStages(MLIRContext &context,
                                                          const BuildRequest &request,
                                                          const BuildOptions &options,
                                                          Progress &progress) {
  SmallVector<CompiledTarget> targets;
  for (size_t i = 0; i < request.targets.size(); ++i) {
    progress.begin("plan " + request.targets[i].second.getName().str());
    auto compiled = runStagesOf(context, request, i, options);
    if (!compiled)
      return compiled.error();
    auto kernels = compiled->unit().getBody().getOps<engine::KernelOp>();
    progress.end(std::to_string(std::distance(kernels.begin(), kernels.end())) + " kernels");
    targets.push_back(std::move(*compiled));
  }
  return targets;
}

Expected<WeightStreamer> compiler::makeStreamer(const BuildRequest &request,
                                                ArrayRef<CompiledTarget> targets,
                                                const BuildOptions &options, uint64_t reserve) {
  SmallVector<func::FuncOp> functions;
  for (const CompiledTarget &compiled : targets)
    functions.push_back(compiled.weights());
  StreamOptions stream;
  stream.memoryCap = options.maxBuildMemory;
  stream.reserve = reserve;
  stream.threads = options.threads;
  stream.randomWeights = options.randomWeights;
  return WeightStreamer::create(functions, request.checkpoint, stream);
}

Outcome compiler::compileKernels(MLIRContext &context, const BuildRequest &request,
                                 MutableArrayRef<CompiledTarget> targets,
                                 const BuildOptions &options, Progress &progress) {
  for (auto [target, compiled] : llvm::zip(request.targets, targets)) {
    progress.begin("compile " + target.second.getName().str());
    DiagnosticCollector diagnostics(context);
    codegen::CompileOptions compile;
    compile.threads = static_cast<int>(codegen::usableThreads(options.threads));
    compile.nvrtc = options.nvrtc;
    compile.cache = options.cache;
    compile.keepPtx = !options.noPtx;
    compile.progress = [&](size_t done, size_t all) { progress.update(done, all); };
    const codegen::BuildCache *cache = options.cache;
    uint64_t hits = cache ? cache->hits() : 0, misses = cache ? cache->misses() : 0;
    auto libraries = target.first->compile(compiled.unit(), compile);
    if (failed(libraries))
      return diagnostics.error();
    compiled.libraries = std::move(*libraries);
    uint64_t bytes = 0;
    for (const codegen::CompiledLibrary &library : compiled.libraries)
      bytes += library.bytes.size();
    std::string detail = readableBytes(bytes);
    if (cache)
      detail += "; cache: " + std::to_string(cache->hits() - hits) + " hits, " +
                std::to_string(cache->misses() - misses) + " misses";
    progress.end(detail);
  }
  return {};
}

OwningOpRef<ModuleOp> compiler::mergeTargets(MLIRContext &context, ArrayRef<CompiledTarget> targets,
                                             const WeightStreamer &streamer, uint32_t firstFunction,
                                             const WeightSections &sections,
                                             std::vector<WeightPlacement> &placements) {
  OwningOpRef<ModuleOp> merged = ModuleOp::create(UnknownLoc::get(&context));
  Block *body = merged->getBody();
  llvm::StringMap<uint32_t> contents; // by symbol
  for (const CompiledTarget &compiled : targets)
    for (auto dim : llvm::make_early_inc_range(compiled.module.get().getOps<engine::DimOp>()))
      if (!merged->lookupSymbol(dim.getSymName()))
        dim->moveBefore(body, body->end());
  for (auto [index, compiled] : llvm::enumerate(targets)) {
    ModuleOp module = compiled.module.get();
    engine::UnitOp unit = compiled.unit();
    for (const StreamedWeight &weight : streamer.weights()) {
      if (weight.function != firstFunction + index)
        continue;
      auto op = module.lookupSymbol<engine::WeightOp>(weight.name);
      if (!op)
        continue;
      std::string symbol = weight.name;
      auto known = contents.find(symbol);
      if (known != contents.end() && known->second != weight.content) {
        symbol += "@" + unit.getTarget().getName().str();
        for (auto buffer : unit.getBody().getOps<engine::BufferOp>())
          if (buffer.getWeight() == weight.name)
            buffer.setWeight(symbol);
      } else if (known != contents.end()) {
        continue;
      }
      contents[symbol] = weight.content;
      op.setSymName(symbol);
      op->moveBefore(body, body->end());
      const bool isOwn = weight.offset < sections.ownBytes;
      placements.push_back({symbol, isOwn ? sections.own : sections.others,
                            weight.offset - (isOwn ? 0 : sections.othersFrom), weight.bytes,
                            weight.digest, weight.fill});
    }
  }
  for (const CompiledTarget &compiled : targets)
    compiled.unit()->moveBefore(body, body->end());
  return merged;
}

Outcome compiler::writeLibraries(OutputFile &file, const CompiledTarget &compiled) {
  engine::UnitOp unit = compiled.unit();
  for (const codegen::CompiledLibrary &library : compiled.libraries) {
    auto section = file.append(librarySectionName(unit.getSymName(), library.name),
                               SectionKind::Kernels, std::as_bytes(std::span(library.bytes)));
    if (!section)
      return section.error();
  }
  return {};
}

/// The tokenizer's section, and everything the streamer and the libraries need, written into
/// `file`.
static Outcome writeSections(OutputFile &file, MutableArrayRef<CompiledTarget> targets,
                             const checkpoint::TokenizerSpec &tokenizer) {
  for (const CompiledTarget &compiled : targets)
    if (auto written = writeLibraries(file, compiled); !written)
      return written;
  std::vector<uint8_t> bytes = writeTokenizer(tokenizer);
  auto section = file.append("tokenizer", SectionKind::Tokenizer, std::as_bytes(std::span(bytes)));
  return section ? Outcome() : Outcome(section.error());
}

uint64_t compiler::bytesOfFunctions(const WeightStreamer &streamer, size_t functions) {
  uint64_t bytes = 0;
  for (const StreamedWeight &weight : streamer.weights())
    if (weight.function < functions && !weight.fill)
      bytes = std::max(bytes, weight.offset + weight.bytes);
  return bytes;
}

/// Streams all weights into sections of `file`: those of the first `functions` functions, which the
/// engine keeps, and what is left.
static Expected<WeightSections> writeWeights(OutputFile &file, WeightStreamer &streamer,
                                             size_t functions, Progress &progress) {
  WeightSections sections;
  sections.ownBytes = bytesOfFunctions(streamer, functions);
  auto own = file.reserve("weights", SectionKind::Weights, sections.ownBytes);
  if (!own)
    return own.error();
  sections.own = sections.others = *own;
  if (streamer.totalBytes() > sections.ownBytes) {
    // Offsets keep their alignment.
    sections.othersFrom = llvm::alignDown(sections.ownBytes, OutputFile::weightsAlignment);
    auto others = file.reserve("weights beside", SectionKind::Weights,
                               streamer.totalBytes() - sections.othersFrom);
    if (!others)
      return others.error();
    sections.others = *others;
  }
  progress.begin("stream weights");
  auto outcome = streamer.run(
      [&](uint64_t offset, std::span<const std::byte> bytes) {
        return offset < sections.ownBytes
                   ? file.writeAt(sections.own, offset, bytes)
                   : file.writeAt(sections.others, offset - sections.othersFrom, bytes);
      },
      [&](uint64_t done, uint64_t total) { progress.update(done, total); });
  if (!outcome)
    return outcome.error();
  progress.end(readableBytes(sections.ownBytes));
  return sections;
}

Expected<Assembly> compiler::assemble(MLIRContext &context, MutableArrayRef<CompiledTarget> targets,
                                      WeightStreamer &streamer,
                                      const checkpoint::TokenizerSpec &tokenizer,
                                      const BuildOptions &options, Progress &progress) {
  auto file = OutputFile::create(options.output, streamer.totalBytes());
  if (!file)
    return file.error();
  if (auto outcome = writeSections(*file, targets, tokenizer); !outcome)
    return outcome.error();
  auto sections = writeWeights(*file, streamer, targets.size(), progress);
  if (!sections)
    return sections.error();
  std::vector<WeightPlacement> placements;
  auto ir = mergeTargets(context, targets, streamer, 0, *sections, placements);
  auto digest = digestOfWeights(placements, sections->own);
  if (!digest)
    return digest.error();
  file->setDigest(sections->own, *digest);
  return Assembly{std::move(*file), std::move(ir), std::move(placements), *sections};
}

// SPDX-License-Identifier: Apache-2.0
// ingot verify: the runtime's checks, and two that need the compiler: making the engine again, and
// comparing its numbers with the reference target's.
#include "compiler/build/BuildRequest.h"
#include "compiler/build/FileDigests.h"
#include "compiler/build/NumericsCheck.h"
#include "compiler/engine_file/EngineReader.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/Commands.h"
#include "compiler/tools/TemporaryFolder.h"
#include "runtime/tools/Commands.h"

#include <fstream>

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;
using runtime::FileUse;

static constexpr char kExamples[] = "examples:\n"
                                    "  ingot verify my-model.ingot\n"
                                    "  ingot verify my-model.ingot --skip-weights\n"
                                    "  ingot verify my-model.ingot --rebuild my-model\n"
                                    "  ingot verify my-model.ingot --numerics my-model\n";

namespace {

/// What an engine is made from.
struct Sources {
  std::filesystem::path model, lora;
  FileDigests *digests; ///< read once, however often the engine is made
};

/// Whether the sources are what the engine was made from. An engine is not made again from others:
/// what it records of its options may be impossible with them, which would be told instead.
Outcome checkSources(mlir::MLIRContext &context, const EngineDescription &description,
                     const BuildOptions &options, Progress &progress) {
  auto model = openCheckpoint(context, options);
  if (!model)
    return model.error();
  auto inputs = digestInputs(*model, options, progress);
  if (!inputs)
    return inputs.error();
  for (const InputFile &recorded : description.provenance.inputs) {
    const auto found =
        llvm::find_if(*inputs, [&](const InputFile &input) { return input.name == recorded.name; });
    if (found != inputs->end() && found->digest == recorded.digest)
      continue;
    return Error{"INGOT-E3203",
                 "the engine was made from another model: its " + recorded.name +
                     (found == inputs->end() ? " is not there" : " is another file"),
                 options.model.string(), "give the model that it was made from"};
  }
  return {};
}

/// The options that made the engine, for a build from `sources`, which are what it was made from.
Expected<BuildOptions> replayOptions(mlir::MLIRContext &context, EngineDescription description,
                                     const Sources &sources, Progress &progress) {
  const std::vector<OptionRecord> &records = description.provenance.options;
  BuildOptions options = optionsOf(records);
  options.model = sources.model;
  options.lora = sources.lora;
  bool adapted =
      llvm::any_of(records, [](const OptionRecord &record) { return record.name == "--lora"; });
  if (adapted == options.lora.empty())
    return Error{"INGOT-E3202",
                 adapted ? "the engine was made with an adapter, and none is given"
                         : "the engine was made without an adapter, and one is given",
                 "--lora", adapted ? "give its folder by --lora" : "leave --lora out"};
  options.digests = sources.digests;
  if (auto checked = checkSources(context, description, options, progress); !checked)
    return checked.error();
  options.replay = std::move(description);
  return options;
}

/// Offset of the first byte in which the files differ; nothing when they are equal.
Expected<std::optional<uint64_t>> firstDifference(const std::filesystem::path &a,
                                                  const std::filesystem::path &b) {
  auto first = checkpoint::File::open(a), second = checkpoint::File::open(b);
  if (!first || !second)
    return first ? second.error() : first.error();
  constexpr uint64_t piece = 1 << 20;
  std::vector<std::byte> left(piece), right(piece);
  uint64_t common = std::min(first->size(), second->size());
  for (uint64_t offset = 0; offset < common; offset += piece) {
    size_t bytes = std::min(piece, common - offset);
    for (auto [file, buffer] : {std::pair(&*first, &left), std::pair(&*second, &right)})
      if (auto read = file->readAt(offset, std::span(*buffer).first(bytes)); !read)
        return read.error();
    auto [l, r] = std::mismatch(left.begin(), left.begin() + bytes, right.begin());
    if (l != left.begin() + bytes)
      return std::optional(offset + static_cast<uint64_t>(l - left.begin()));
  }
  return first->size() == second->size() ? std::nullopt : std::optional(common);
}

/// Builds the engine again, every kernel of it, and compares bytes.
Outcome checkRebuild(mlir::MLIRContext &context, const std::filesystem::path &engine,
                     const EngineDescription &description, const Sources &sources,
                     const std::filesystem::path &folder, Progress &progress) {
  auto options = replayOptions(context, description, sources, progress);
  if (!options)
    return options.error();
  options->output = folder / "rebuilt.ingot";
  // A kernel that an earlier build kept would prove nothing.
  options->whyNoCache = "a rebuild makes everything anew";
  auto report = buildEngine(context, *options, progress);
  if (!report)
    return report.error();
  auto difference = firstDifference(engine, options->output);
  if (!difference)
    return difference.error();
  if (!*difference) {
    printf("rebuild: identical, %llu bytes\n", static_cast<unsigned long long>(report->fileBytes));
    return {};
  }
  const Provenance &theirs = description.provenance, &ours = report->description.provenance;
  std::string cause;
  if (theirs.compiler != ours.compiler || theirs.revision != ours.revision ||
      theirs.toolchain != ours.toolchain)
    cause = "it was made by " + theirs.compiler + " " + theirs.revision + " (" + theirs.toolchain +
            "), this is " + ours.compiler + " " + ours.revision + " (" + ours.toolchain + ")";
  auto isKnown = [&](const InputFile &mine) {
    return llvm::any_of(theirs.inputs,
                        [&](const InputFile &input) { return input.name == mine.name; });
  };
  if (const auto added = llvm::find_if_not(ours.inputs, isKnown); added != ours.inputs.end())
    cause = "it was made without the model's " + added->name;
  return Error{"INGOT-E3200",
               "the engine made again differs from byte " + std::to_string(**difference) + " on",
               engine.string(), cause};
}

/// Builds the same model and recipe for the reference target and compares numbers.
Outcome checkNumerics(mlir::MLIRContext &context, const std::filesystem::path &engine,
                      const EngineDescription &description, const Sources &sources,
                      const std::filesystem::path &folder, const codegen::BuildCache::Choice &cache,
                      Progress &progress) {
  auto options = replayOptions(context, description, sources, progress);
  if (!options)
    return options.error();
  options->cacheChoice = cache;
  auto opened = openCache(*options, progress);
  if (!opened)
    return opened.error();
  options->targets = {"reference"};
  options->replay->golden.clear();
  options->output = folder / "reference.ingot";
  auto report = buildEngine(context, *options, progress);
  if (!report)
    return report.error();
  auto rows = compareNumerics(engine, options->output);
  if (!rows)
    return rows.error();
  printf("%-16s %14s %14s %14s\n", "tap", "largest", "difference", "relative RMS");
  bool within = true;
  for (const NumericsRow &row : *rows) {
    printf("%-16s %14.6g %14.3g %14.3g%s\n", row.tap.c_str(), row.largest, row.difference,
           row.relativeRms, row.relativeRms <= row.tolerance ? "" : "  <-- over the tolerance");
    within &= row.relativeRms <= row.tolerance;
  }
  if (within)
    return {};
  return Error{"INGOT-E3201", "the engine's values differ from the reference target's",
               engine.string(), "report this with the recipe and the table above"};
}

} // namespace

int compiler::runVerify(int argc, char **argv) {
  runtime::CommandLine app("Checks an engine file.", argv[0], kExamples);
  std::filesystem::path engine, rebuild, numerics, lora;
  runtime::VerifyArguments arguments;
  app.addOption("ENGINE", engine, "engine file").required();
  runtime::addVerifyOptions(app, arguments);
  app.addOption("--rebuild", rebuild,
                "make the engine again from this model, without any cache, and compare bytes")
      .file(FileUse::Reads);
  app.addOption("--numerics", numerics,
                "compare every segment and the logits with the reference target's, built from "
                "this model")
      .file(FileUse::Reads);
  app.addOption("--lora", lora, "folder of the adapter that was merged into the model")
      .file(FileUse::Reads);
  BuildOptions options;
  addBuildArguments(app, options, kVerify);
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  Progress progress(Progress::styleOfTerminal());
  auto fail = [&](const std::string &text) {
    progress.failed(text);
    return 1;
  };
  if (auto status = runtime::verifyEngine(engine.string(), arguments, stdout); !status.ok())
    return fail(std::string(status.code()) + ": " + std::string(status.message()));
  if (rebuild.empty() && numerics.empty())
    return 0;
  auto metadata = readMetadataBytes(engine);
  if (!metadata)
    return fail(metadata.error().str());
  auto description = readDescription(*metadata);
  if (!description)
    return fail(description.error().str());
  auto folder = TemporaryFolder::create("ingot-verify-");
  if (!folder)
    return fail(folder.error().str());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  FileDigests digests(nullptr);
  if (!rebuild.empty())
    if (auto done = checkRebuild(context, engine, *description, {rebuild, lora, &digests},
                                 folder->path(), progress);
        !done)
      return fail(done.error().str());
  if (!numerics.empty())
    if (auto done = checkNumerics(context, engine, *description, {numerics, lora, &digests},
                                  folder->path(), options.cacheChoice, progress);
        !done)
      return fail(done.error().str());
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// ingot verify: the runtime's checks, and two that need the compiler: making the engine again, and
// comparing its numbers with the reference target's.
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
                                    "  ingot verify my-model.ingot --weights\n"
                                    "  ingot verify my-model.ingot --rebuild my-model\n"
                                    "  ingot verify my-model.ingot --numerics my-model\n";

namespace {

/// What an engine is made from.
struct Sources {
  std::filesystem::path model, lora;
};

/// The options that made `engine`, for a build from `sources`.
Expected<BuildOptions> replayOptions(EngineDescription description, const Sources &sources) {
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
  auto options = replayOptions(description, sources);
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
  for (const InputFile &input : theirs.inputs)
    for (const InputFile &mine : ours.inputs)
      if (input.name == mine.name && input.digest != mine.digest)
        cause = "the model's " + input.name + " is another file than it was made from";
  auto isGiven = [&](const InputFile &input) {
    return llvm::any_of(ours.inputs,
                        [&](const InputFile &mine) { return mine.name == input.name; });
  };
  if (llvm::none_of(theirs.inputs, isGiven) && !theirs.inputs.empty())
    cause = "it was made from " + theirs.inputs.front().name + ", which the model does not have";
  return Error{"INGOT-E3200",
               "the engine made again differs from byte " + std::to_string(**difference) + " on",
               engine.string(), cause};
}

/// Builds the same model and recipe for the reference target and compares numbers.
Outcome checkNumerics(mlir::MLIRContext &context, const std::filesystem::path &engine,
                      const EngineDescription &description, const Sources &sources,
                      const std::filesystem::path &folder, const codegen::BuildCache::Choice &cache,
                      Progress &progress) {
  auto options = replayOptions(description, sources);
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
  return Error{"INGOT-E3201", "the engine's numbers differ from the reference target's",
               engine.string(), "report this with the recipe and the table above"};
}

} // namespace

int compiler::runVerify(int argc, char **argv) {
  runtime::CommandLine app("Checks an engine file.", argv[0], kExamples);
  std::filesystem::path engine, rebuild, numerics, lora;
  runtime::VerifyArguments arguments;
  app.addOption("ENGINE", engine, "engine file").required();
  app.addFlag("--weights", arguments.weights, "compare the digests of all weights too");
  app.addOption("--require-digest", arguments.requireDigest,
                "SHA-256 that the file's metadata must have");
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
  if (!rebuild.empty())
    if (auto done =
            checkRebuild(context, engine, *description, {rebuild, lora}, folder->path(), progress);
        !done)
      return fail(done.error().str());
  if (!numerics.empty())
    if (auto done = checkNumerics(context, engine, *description, {numerics, lora}, folder->path(),
                                  options.cacheChoice, progress);
        !done)
      return fail(done.error().str());
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Binding of build options to the command line.
#include "compiler/tools/BuildArguments.h"

#include "compiler/recipe/Presets.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ingot;
using namespace ingot::compiler;

void ingot::compiler::addBuildArguments(runtime::CommandLine &app, BuildOptions &options) {
  app.addOption(
         "MODEL", options.model,
         "Hugging Face checkpoint directory, GGUF file (any part of a split one), or checkpoint of "
         "llama2.c")
      .required();
  app.addOption("--target", options.targets,
                "what to build for, such as x86-64-v4+vnni+bf16, znver5 or sm_90a; may be given "
                "several times (default: native, this machine)");
  app.addOption(
      "--recipe", options.recipe,
      "recipe file, or the name of one listed below (default: by the checkpoint and the targets)");
  app.addOption("--tuning", options.tuning,
                "tuning lockfile that chooses kernels (default: the targets' cost models)");
  app.addFlag("--tuning-candidates", options.tuningCandidates,
              "also put every kernel into the engine that `ingot-run tune` may choose");
  EngineLimits &limits = options.limits;
  app.addOption("--max-batch-tokens", limits.maxTokens, "most tokens of one step")
      .positive()
      .showDefault();
  app.addOption("--max-sequences", limits.maxSequences, "most sequences in one step")
      .positive()
      .showDefault();
  app.addOption("--max-context", limits.maxContext,
                "most positions of one sequence (default: the model's own limit)")
      .positive();
  app.addOption("--max-logit-rows", limits.maxLogitRows, "most rows of logits in one step")
      .positive()
      .showDefault();
  app.addOption("--max-build-memory", options.maxBuildMemory,
                "hard cap on the memory of this build, such as 2GiB")
      .bytes()
      .showDefault("2GiB");
  runtime::CommandOption lora = app.addOption(
      "--lora", options.lora,
      "folder of a LoRA adapter as PEFT saves it, to be merged into the weights before "
      "they are quantized");
  app.addOption("--lora-scale", options.loraScale, "factor of the adapter's own scale")
      .needs(lora)
      .showDefault();
  app.addOption("--random-weights", options.randomWeights,
                "a seed: read no weights, let the engine make random ones when it is loaded; "
                "MODEL, a directory, needs config.json and the tokenizer only");
  app.addFlag("--no-ptx", options.noPtx,
              "leave out the PTX of CUDA kernels: a smaller engine that cannot be simulated");
  app.addOption("--threads", options.threads, "threads to use (default: all)").positive();
  app.addOption("--nvrtc", options.nvrtc,
                "library or folder of NVRTC, for CUDA targets (default: the usual places)");
}

std::string ingot::compiler::recipesByName() {
  std::string text = "recipes by name:\n";
  for (const recipe::Preset &preset : recipe::presets())
    text += llvm::formatv("  {0,-6} {1}\n", preset.name, preset.summary);
  return text + "\n";
}

void ingot::compiler::addCacheArguments(runtime::CommandLine &app,
                                        codegen::BuildCache::Choice &choice) {
  runtime::CommandOption folder =
      app.addOption("--cache", choice.folder,
                    "folder that keeps compiled kernels for later builds (default: ingot in "
                    "$XDG_CACHE_HOME or in ~/.cache)");
  runtime::CommandOption limit =
      app.addOption("--cache-limit", choice.limit, "what that folder may grow to, such as 2GiB")
          .bytes()
          .showDefault("2GiB");
  app.addFlag("--no-cache", choice.none, "compile every kernel, and keep none")
      .excludes(folder)
      .excludes(limit);
}

checkpoint::Expected<std::unique_ptr<codegen::BuildCache>>
ingot::compiler::openCache(const codegen::BuildCache::Choice &choice, BuildOptions &options,
                           Progress &progress) {
  auto cache = codegen::BuildCache::open(choice, options.whyNoCache);
  if (!cache) {
    std::string text = llvm::toString(cache.takeError());
    auto [code, what] = llvm::StringRef(text).split(": ");
    return checkpoint::Error{code.str(), what.str(), "", ""};
  }
  if (llvm::StringRef(options.whyNoCache).starts_with("INGOT-E"))
    progress.warn(options.whyNoCache);
  options.cache = cache->get();
  return std::move(*cache);
}

std::optional<int> ingot::compiler::parseArguments(runtime::CommandLine &app, int argc,
                                                   char **argv) {
  runtime::CommandLine::Outcome outcome = app.parse(argc, argv);
  if (outcome.goesOn)
    return std::nullopt;
  if (outcome.error.empty()) // --help
    return 0;
  fprintf(stderr, "error: INGOT-E2103: %s; `%s --help` tells the options\n", outcome.error.c_str(),
          argv[0]);
  return 2;
}

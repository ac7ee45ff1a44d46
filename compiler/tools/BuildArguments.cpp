// SPDX-License-Identifier: Apache-2.0
// Binding of build options to the command line.
#include "compiler/tools/BuildArguments.h"

using namespace ingot;
using namespace ingot::compiler;

void ingot::compiler::addBuildArguments(CLI::App &app, BuildOptions &options) {
  app.add_option(
         "MODEL", options.model,
         "Hugging Face checkpoint directory, GGUF file (any part of a split one), or checkpoint of "
         "llama2.c")
      ->required();
  app.add_option("--target", options.targets,
                 "what to build for, such as x86-64-v4+vnni+bf16, znver5 or sm_90a; may be given "
                 "several times (default: native, this machine)");
  app.add_option("--recipe", options.recipe, "recipe file (default: the checkpoint's own types)");
  app.add_option("--tuning", options.tuning,
                 "tuning lockfile that chooses kernels (default: the targets' cost models)");
  app.add_flag("--tuning-candidates", options.tuningCandidates,
               "also put every kernel into the engine that `ingot-run tune` may choose");
  EngineLimits &limits = options.limits;
  app.add_option("--max-tokens", limits.maxTokens, "most tokens of one step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-sequences", limits.maxSequences, "most sequences in one step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-context", limits.maxContext,
                 "most positions of one sequence (default: the model's own limit)")
      ->check(CLI::PositiveNumber);
  app.add_option("--max-logit-rows", limits.maxLogitRows, "most rows of logits in one step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-build-memory", options.maxBuildMemory,
                 "hard cap on the memory of this build, such as 2GiB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("2GiB");
  CLI::Option *lora = app.add_option(
      "--lora", options.lora,
      "folder of a LoRA adapter as PEFT saves it, to be merged into the weights before "
      "they are quantized");
  app.add_option("--lora-scale", options.loraScale, "factor of the adapter's own scale")
      ->needs(lora)
      ->capture_default_str();
  app.add_option("--random-weights", options.randomWeights,
                 "a seed: read no weights, let the engine make random ones when it is loaded; "
                 "MODEL, a directory, needs config.json and the tokenizer only");
  app.add_flag("--no-ptx", options.noPtx,
               "leave out the PTX of CUDA kernels: a smaller engine that cannot be simulated");
  app.add_option("--threads", options.threads, "threads to use (default: all)")
      ->check(CLI::PositiveNumber);
  app.add_option("--nvrtc", options.nvrtc,
                 "library or folder of NVRTC, for CUDA targets (default: the usual places)");
}

void ingot::compiler::addCacheArguments(CLI::App &app, codegen::BuildCache::Choice &choice) {
  CLI::Option *folder = app.add_option("--cache", choice.folder,
                                       "folder that keeps compiled kernels for later builds "
                                       "(default: ingot in $XDG_CACHE_HOME or in ~/.cache)");
  CLI::Option *limit =
      app.add_option("--cache-limit", choice.limit, "what that folder may grow to, such as 2GiB")
          ->transform(CLI::AsSizeValue(false))
          ->default_str("2GiB");
  app.add_flag("--no-cache", choice.none, "compile every kernel, and keep none")
      ->excludes(folder)
      ->excludes(limit);
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

std::optional<int> ingot::compiler::parseArguments(CLI::App &app, int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // --help
      return app.exit(error);
    fprintf(stderr, "error: INGOT-E2103: %s; `%s --help` tells the options\n", error.what(),
            argv[0]);
    return 2;
  }
  return std::nullopt;
}

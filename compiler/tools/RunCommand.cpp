// SPDX-License-Identifier: Apache-2.0
// ingot run: builds a model where that was not done yet, and generates.
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/BuiltEngines.h"
#include "compiler/tools/Commands.h"
#include "runtime/tools/Commands.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

using namespace ingot;
using namespace ingot::compiler;

static constexpr char kHelp[] =
    "Runs a model: builds it for this machine where that was not done yet, keeps the engine, and\n"
    "generates text.\n"
    "Usage: ingot run MODEL [OPTIONS]\n\n"
    "MODEL is what `ingot build` takes. Of its options there are --recipe, --lora, --lora-scale,\n"
    "--tuning, --target, --nvrtc, --max-build-memory, --cache, --cache-limit and --no-cache (the\n"
    "engine is not kept either). All others are those of `ingot-run ENGINE`; see\n"
    "`ingot-run --help`. Without --prompts one sequence runs at a time.\n\n"
    "examples:\n"
    "  ingot run my-model.gguf -p \"Once upon a time\" -n 64\n"
    "  ingot run my-model -p \"Once upon a time\" --recipe int4 --temp 0.8\n"
    "  ingot run my-model --prompts prompts.jsonl --max-context 4096\n";

namespace {

/// The command line of the build and of what runs afterwards.
struct Parts {
  std::vector<std::string> build, run;
  bool severalSequences = false; ///< or as many as the user said
};

} // namespace

/// Sends each option, with its value, where it belongs.
static Parts split(int argc, char **argv) {
  constexpr const char *valued[] = {"--recipe", "--lora",        "--lora-scale",
                                    "--tuning", "--target",      "--nvrtc",
                                    "--cache",  "--cache-limit", "--max-build-memory"};
  Parts parts;
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i], name = word.substr(0, word.find('='));
    bool takesValue = llvm::is_contained(valued, llvm::StringRef(name));
    std::vector<std::string> &to = takesValue || name == "--no-cache" ? parts.build : parts.run;
    to.push_back(word);
    if (takesValue && name == word && i + 1 < argc)
      to.push_back(argv[++i]);
    parts.severalSequences |= name == "--prompts" || name == "--max-sequences";
  }
  return parts;
}

/// Calls `run` with these arguments behind the program's name.
static int withArguments(const char *program, std::vector<std::string> words,
                         llvm::function_ref<int(int, char **)> run) {
  words.insert(words.begin(), program);
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  return run(static_cast<int>(words.size()), argv.data());
}

/// Opens the cache, finds or builds the engine; exit status, or 0 and the engine's path.
static int findOrBuild(int argc, char **argv, std::filesystem::path &engine) {
  runtime::CommandLine app("Builds what `ingot run` runs.", "ingot run", kHelp);
  BuildOptions options;
  codegen::BuildCache::Choice choice;
  addBuildArguments(app, options);
  addCacheArguments(app, choice);
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  Progress progress(Progress::styleOfTerminal());
  auto cache = openCache(choice, options, progress);
  if (!cache) {
    progress.failed(cache.error().str());
    return 1;
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  auto found = builtEngine(context, options, progress);
  if (!found) {
    progress.failed(found.error().str());
    return 1;
  }
  engine = *found;
  return 0;
}

int compiler::runRun(int argc, char **argv) {
  bool isHelp = std::any_of(argv + 1, argv + argc, [](const char *word) {
    return !std::strcmp(word, "--help") || !std::strcmp(word, "-h");
  });
  if (isHelp || argc < 2 || argv[1][0] == '-') {
    fputs(kHelp, isHelp ? stdout : stderr);
    return isHelp ? 0 : 2;
  }
  Parts parts = split(argc, argv);
  parts.build.insert(parts.build.begin(), argv[1]);
  std::filesystem::path engine;
  if (int status = withArguments("ingot run", parts.build, [&](int count, char **words) {
        return findOrBuild(count, words, engine);
      }))
    return status;
  parts.run.insert(parts.run.begin(), engine.string());
  if (!parts.severalSequences)
    parts.run.insert(parts.run.end(), {"--max-sequences", "1"});
  bool keeps = !llvm::is_contained(parts.build, "--no-cache");
  int status = withArguments("ingot-run", parts.run, runtime::runGenerate);
  if (!keeps)
    dropEngine(engine);
  return status;
}

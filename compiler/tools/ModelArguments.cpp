// SPDX-License-Identifier: Apache-2.0
// What `ingot run` and `ingot serve` do before they use an engine.
#include "compiler/tools/ModelArguments.h"

#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/BuiltEngines.h"

#include <algorithm>
#include <cstring>

namespace ingot::compiler {

ModelArguments splitModelArguments(int argc, char **argv) {
  constexpr const char *valued[] = {"--recipe", "--lora",        "--lora-scale",
                                    "--tuning", "--target",      "--nvrtc",
                                    "--cache",  "--cache-limit", "--max-build-memory"};
  ModelArguments parts;
  parts.build.push_back(argv[1]);
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i], name = word.substr(0, word.find('='));
    bool takesValue = llvm::is_contained(valued, llvm::StringRef(name));
    std::vector<std::string> &to = takesValue || name == "--no-cache" ? parts.build : parts.use;
    to.push_back(word);
    if (takesValue && name == word && i + 1 < argc)
      to.push_back(argv[++i]);
  }
  return parts;
}

std::vector<char *> argumentVector(std::vector<std::string> &words) {
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

int findOrBuild(const std::vector<std::string> &build, const char *command, const char *help,
                std::filesystem::path &engine) {
  runtime::CommandLine app("Builds a model.", command, help);
  BuildOptions options;
  codegen::BuildCache::Choice choice;
  addBuildArguments(app, options);
  addCacheArguments(app, choice);
  std::vector<std::string> words = build;
  words.insert(words.begin(), command);
  if (auto status =
          parseArguments(app, static_cast<int>(words.size()), argumentVector(words).data()))
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

bool asksForHelp(int argc, char **argv) {
  return std::any_of(argv + 1, argv + argc, [](const char *word) {
    return !std::strcmp(word, "--help") || !std::strcmp(word, "-h");
  });
}

} // namespace ingot::compiler

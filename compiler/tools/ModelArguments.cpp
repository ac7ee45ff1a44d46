// SPDX-License-Identifier: Apache-2.0
// What `ingot run` and `ingot serve` do before they use an engine.
#include "compiler/tools/ModelArguments.h"

#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/BuiltEngines.h"
#include "compiler/tools/PulledModels.h"
#include "compiler/tools/QuantizedModels.h"

#include <algorithm>
#include <cstring>

namespace ingot::compiler {

ModelArguments splitModelArguments(int argc, char **argv, OptionCommand command) {
  ModelArguments parts;
  parts.build.push_back(argv[1]);
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i], name = word.substr(0, word.find('='));
    const auto *option = llvm::find_if(buildOptions(), [&](const BuildOption &option) {
      return name == option.flag && (option.commands & command);
    });
    bool isOfBuild = option != buildOptions().end();
    std::vector<std::string> &to = isOfBuild ? parts.build : parts.use;
    to.push_back(word);
    if (isOfBuild && option->takesValue() && name == word && i + 1 < argc)
      to.push_back(argv[++i]);
  }
  return parts;
}

std::string listOfBuildOptions(OptionCommand command) {
  constexpr size_t width = 90;
  std::string text = "MODEL is what `ingot build` takes. Of its options, which "
                     "`ingot build --help-all` explains,\nthere are",
              line = "there are";
  const char *between = " ";
  for (const BuildOption &option : buildOptions()) {
    if (!(option.commands & command) || option.flag[0] != '-')
      continue;
    text += between;
    line += between;
    between = ", ";
    if (line.size() + strlen(option.flag) > width) {
      text.back() = '\n';
      line.clear();
    }
    text += option.flag;
    line += option.flag;
  }
  return text + ".\n";
}

std::vector<char *> argumentVector(std::vector<std::string> &words) {
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

int findOrBuild(const ModelArguments &arguments, OptionCommand command, const char *name,
                UsedEngine &engine) {
  runtime::CommandLine app("Builds a model.", name);
  BuildOptions options;
  addBuildArguments(app, options, command);
  std::vector<std::string> words = arguments.build;
  words.insert(words.begin(), name);
  if (auto status =
          parseArguments(app, static_cast<int>(words.size()), argumentVector(words).data()))
    return *status;
  if (auto status = pullNamedModel(options.model))
    return *status;
  // They prove an engine on another machine, and take a quarter of a first build.
  options.noGoldenTokens = true;
  Progress progress(Progress::styleOfTerminal());
  auto cache = openCache(options, progress);
  if (!cache) {
    progress.failed(cache.error().str());
    return 1;
  }
  FileDigests digests(options.cache);
  options.digests = &digests;
  if (!options.cache && engine.mustBeKept) {
    progress.failed(checkpoint::Error{"INGOT-E7043",
                                      "the engine cannot be kept: " + options.whyNoCache, "",
                                      "name a folder by --cache"}
                        .str());
    return 1;
  }
  if (!options.cache) {
    auto folder = TemporaryFolder::create("ingot-run-");
    if (!folder) {
      progress.failed(folder.error().str());
      return 1;
    }
    engine.folder.emplace(*std::move(folder));
    options.output = engine.folder->path() / "model.ingot";
    if (!options.cacheChoice.none)
      progress.warn("the engine is not kept, and is built at each start: " + options.whyNoCache +
                    "; name a folder by --cache");
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  prepareContext(context);
  // A file of options may name a simulator too.
  const bool simulates = llvm::any_of(arguments.use, [](const std::string &word) {
    const std::string option = word.substr(0, word.find('='));
    return option == "--simulate" || option == "--config";
  });
  auto built = [&]() -> checkpoint::Expected<std::filesystem::path> {
    if (!simulates)
      if (auto runs = checkRunsHere(context, options, name); !runs)
        return runs.error();
    if (auto quantized = quantizeFirst(context, options, progress); !quantized)
      return quantized.error();
    return builtEngine(context, options, progress);
  };
  auto found = built();
  dropQuantized(options);
  if (!found) {
    progress.failed(found.error().str());
    return 1;
  }
  engine.path = *found;
  return 0;
}

bool asksForHelp(int argc, char **argv) {
  return std::any_of(argv + 1, argv + argc, [](const char *word) {
    return !std::strcmp(word, "--help") || !std::strcmp(word, "-h") ||
           !std::strcmp(word, "--help-all");
  });
}

} // namespace ingot::compiler

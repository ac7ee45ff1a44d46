// SPDX-License-Identifier: Apache-2.0
// ingot list and ingot rm: models that were pulled, and engines that were built of models.
#include "codegen/BuildCache.h"
#include "compiler/build/Progress.h"
#include "compiler/checkpoint/files/NearestName.h"
#include "compiler/hub/HubCache.h"
#include "compiler/hub/HubSettings.h"
#include "compiler/tools/BuildArguments.h"
#include "compiler/tools/BuiltEngines.h"
#include "compiler/tools/Commands.h"

#include <cstdio>

using namespace ingot;
using namespace ingot::compiler;
namespace fs = std::filesystem;

namespace {

/// The two folders, as options name them or by default.
struct KeptFolders {
  hub::HubSettings::Asked asked;
  fs::path models, engines;

  void addTo(runtime::CommandLine &app) {
    app.addOption("--cache-dir", asked.cacheFolder,
                  "the folder of pulled models (default: hub in $HF_HOME or in "
                  "~/.cache/huggingface)");
    app.addOption("--cache", engines,
                  "the folder of built engines (default: ingot in $XDG_CACHE_HOME or in ~/.cache)");
  }
  checkpoint::Outcome find() {
    auto settings = hub::HubSettings::read(asked);
    if (!settings)
      return settings.error();
    models = settings->cacheFolder;
    if (engines.empty())
      engines = codegen::BuildCache::defaultFolder().value_or("");
    engines /= kEnginesFolder;
    return {};
  }
};

int failed(const checkpoint::Error &error) {
  Progress(ProgressStyle::Lines).failed(error.str());
  return 1;
}

void printRow(const std::string &name, const std::string &size, const std::string &more) {
  printf("%-48s %12s  %s\n", name.c_str(), size.c_str(), more.c_str());
}

/// Removes what is called `name` and says so; an error where there is nothing.
checkpoint::Outcome removeNamed(const KeptFolders &folders, const std::string &name) {
  std::vector<std::string> names;
  uint64_t bytes = 0;
  bool isFound = false;
  for (const hub::PulledModel &model : hub::pulledModels(folders.models)) {
    names.push_back(model.name);
    if (model.name != name)
      continue;
    isFound = true;
    bytes += model.bytes;
    if (auto removed = hub::removePulled(folders.models, *hub::ModelName::parse(name)); !removed)
      return removed;
  }
  for (const KeptEngine &engine : keptEngines(folders.engines)) {
    names.push_back(engine.name);
    if (engine.name != name || name.empty())
      continue;
    isFound = true;
    bytes += engine.bytes;
    std::error_code error;
    fs::remove(engine.path, error);
    if (error)
      return hub::cannotKeep(engine.path, error.value());
  }
  if (!isFound)
    return checkpoint::Error{"INGOT-E7321", "nothing that is kept is called so",
                             checkpoint::inQuotes(name) + checkpoint::didYouMean(name, names),
                             "`ingot list` shows what there is"};
  printf("removed %s, %s\n", name.c_str(), readableBytes(bytes).c_str());
  return {};
}

} // namespace

int compiler::runList(int argc, char **argv) {
  runtime::CommandLine app("Shows pulled models, and engines that `ingot run` and `serve` have "
                           "built and kept.",
                           argv[0], "examples:\n  ingot list\n");
  KeptFolders folders;
  folders.addTo(app);
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  if (auto found = folders.find(); !found)
    return failed(found.error());
  printRow("pulled model", "size", "revisions");
  for (const hub::PulledModel &model : hub::pulledModels(folders.models)) {
    std::string revisions;
    for (const std::string &revision : model.revisions)
      revisions += (revisions.empty() ? "" : ", ") + checkpoint::printable(revision);
    printRow(model.name, readableBytes(model.bytes), revisions);
  }
  putchar('\n');
  printRow("engine of", "size", "last use");
  for (const KeptEngine &engine : keptEngines(folders.engines))
    printRow(engine.name.empty() ? "(damaged)" : checkpoint::printable(engine.name),
             readableBytes(engine.bytes), localTime(engine.used, "%Y-%m-%d"));
  return 0;
}

int compiler::runRemove(int argc, char **argv) {
  runtime::CommandLine app(
      "Removes a pulled model with all its revisions, or the engines that were "
      "built of a model.",
      argv[0], "examples:\n  ingot rm HuggingFaceTB/SmolLM2-135M-Instruct\n");
  KeptFolders folders;
  std::string name;
  app.addOption("NAME", name, "as `ingot list` shows it").required();
  folders.addTo(app);
  if (auto status = parseArguments(app, argc, argv))
    return *status;
  if (auto found = folders.find(); !found)
    return failed(found.error());
  auto removed = removeNamed(folders, name);
  return removed ? 0 : failed(removed.error());
}

// SPDX-License-Identifier: Apache-2.0
// What the readers say that they read.
#include "compiler/tools/FilesOfBuild.h"

#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/quantize/Documents.h"
#include "compiler/quantize/ggml/WeightMix.h"
#include "compiler/recipe/Presets.h"

using namespace ingot;
using namespace ingot::compiler;
using runtime::CommandFiles;
using runtime::FileUse;
namespace fs = std::filesystem;

void compiler::addModel(CommandFiles &files, const std::string &name,
                        const checkpoint::Checkpoint &model, const fs::path &path) {
  for (const fs::path &file : model.inputs())
    files.add(FileUse::ReadsIfThere, name, file);
  for (const fs::path &file : checkpoint::tokenizerFiles(path))
    files.add(FileUse::ReadsIfThere, name, file);
}

checkpoint::Outcome compiler::addModel(CommandFiles &files, const std::string &name,
                                       const fs::path &path) {
  auto model = checkpoint::Checkpoint::open(path);
  if (!model)
    return model.error();
  addModel(files, name, *model, path);
  return {};
}

void compiler::addTexts(CommandFiles &files, const std::string &option,
                        std::span<const fs::path> paths) {
  // What cannot be read is an error when it is read.
  if (auto texts = quantize::textFiles(paths))
    for (const fs::path &text : *texts)
      files.add(FileUse::ReadsIfThere, option, text);
}

void compiler::addRecipe(CommandFiles &files, const fs::path &recipe) {
  if (!recipe.empty() && !recipe::presetCalled(recipe.string()) &&
      !quantize::weightMixFromName(recipe.string()))
    files.add(FileUse::ReadsIfThere, "--recipe", recipe);
}

void compiler::addSearch(CommandFiles &files, const fs::path &output, const fs::path &lockfile) {
  const fs::path file = lockfile.empty() ? fs::path(output.string() + ".lock.yaml") : lockfile;
  if (lockfile.empty()) // else the option is told of
    files.add(FileUse::Writes, "the lockfile", file);
  files.add(FileUse::WorksIn, "the lockfile's folder for work", file.string() + ".partial");
}

checkpoint::Outcome compiler::checkFiles(const CommandFiles &files) {
  const runtime::Status status = files.check();
  if (status.ok())
    return {};
  return checkpoint::Error{std::string(status.code()), std::string(status.message()), "", ""};
}

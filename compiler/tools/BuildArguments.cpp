// SPDX-License-Identifier: Apache-2.0
// Binding of build options to the command line.
#include "compiler/tools/BuildArguments.h"

#include "compiler/quantize/ggml/WeightMix.h"
#include "compiler/recipe/Presets.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace ingot;
using namespace ingot::compiler;

static runtime::FileUse useOf(OptionFile file) {
  switch (file) {
  case OptionFile::None:
    return runtime::FileUse::None;
  case OptionFile::Read:
    return runtime::FileUse::Reads;
  case OptionFile::ReadByName:
    return runtime::FileUse::ReadsIfThere;
  case OptionFile::Written:
    return runtime::FileUse::Writes;
  }
}

/// Adds one, with what help tells of its value.
static runtime::CommandOption addOption(runtime::CommandLine &app, const BuildOption &option,
                                        BuildOptions &options) {
  return std::visit(
      [&](auto *value) {
        using Value = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) {
          return app.addFlag(option.flag, *value, option.help);
        } else {
          runtime::CommandOption added = app.addOption(option.flag, *value, option.help);
          if constexpr (std::is_arithmetic_v<Value>)
            if (*value != 0 && option.form != OptionForm::Bytes)
              added.showDefault();
          if (option.words && !option.text(options).empty())
            added.showDefault();
          return added;
        }
      },
      option.field(options));
}

void ingot::compiler::addBuildArguments(runtime::CommandLine &app, BuildOptions &options,
                                        OptionCommand command) {
  std::map<llvm::StringRef, runtime::CommandOption> added;
  for (const BuildOption &option : buildOptions()) {
    if (!(option.commands & command))
      continue;
    runtime::CommandOption here = addOption(app, option, options);
    added.emplace(option.flag, here);
    if (*option.group)
      here.group(option.group);
    if (option.file != OptionFile::None)
      here.file(useOf(option.file));
    if (option.words)
      here.oneOf(option.words());
    switch (option.form) {
    case OptionForm::Any:
      break;
    case OptionForm::Required:
      here.required();
      break;
    case OptionForm::Positive:
    case OptionForm::Limit:
    case OptionForm::VisionLimit:
      here.positive();
      break;
    case OptionForm::Bytes: {
      uint64_t bytes = *std::get<uint64_t *>(option.field(options));
      if (bytes == 0)
        here.positive();
      here.bytes();
      if (bytes > 0)
        here.showDefault((std::to_string(bytes >> 30) + "GiB").c_str());
      break;
    }
    }
  }
  for (const BuildOption &option : buildOptions()) {
    auto here = added.find(option.flag);
    if (here == added.end())
      continue;
    if (option.needs)
      here->second.needs(added.at(option.needs));
    if (option.excludes && added.count(option.excludes))
      here->second.excludes(added.at(option.excludes));
  }
}

std::string ingot::compiler::recipesByName() {
  std::string text = "recipes by name:\n";
  for (const recipe::Preset &preset : recipe::presets())
    text += llvm::formatv("  {0,-10} {1}\n", preset.name, preset.summary);
  return text + "  " + listOfMixes() +
         ":\n             mixes of ggml's blocks, made on calibration text";
}

std::string ingot::compiler::listOfMixes() { return llvm::join(quantize::weightMixNames(), ", "); }

checkpoint::Expected<std::unique_ptr<codegen::BuildCache>>
ingot::compiler::openCache(BuildOptions &options, Progress &progress) {
  auto cache = codegen::BuildCache::open(options.cacheChoice, options.whyNoCache);
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

checkpoint::Outcome ingot::compiler::checkRunsHere(mlir::MLIRContext &context,
                                                   const BuildOptions &options,
                                                   const std::string &option) {
  std::vector<std::string> names = options.targets;
  if (names.empty())
    names.push_back(codegen::kNativeTarget.str());
  std::vector<runtime::TargetNeeds> needs;
  for (const std::string &name : names) {
    std::string why;
    auto target = codegen::findTarget(&context, name, why);
    if (failed(target)) {
      auto [code, what] = llvm::StringRef(why).split(": ");
      return checkpoint::Error{code.str(), what.str(), "--target " + name, ""};
    }
    runtime::TargetNeeds &need = needs.emplace_back();
    need.name = target->second.getName().str();
    need.architecture = target->second.getArch().str();
    for (mlir::StringAttr feature : target->second.getFeatures())
      need.features.push_back(feature.str());
  }
  const runtime::Status status = runtime::checkMachine(needs);
  if (status.ok())
    return {};
  return checkpoint::Error{std::string(status.code()), std::string(status.message()), option,
                           "the engine is run here: choose a --target of this machine"};
}

std::optional<int> ingot::compiler::parseArguments(runtime::CommandLine &app, int argc,
                                                   char **argv) {
  int exitStatus = 0;
  if (runtime::parseArguments(app, argc, argv, exitStatus))
    return std::nullopt;
  return exitStatus;
}

// SPDX-License-Identifier: Apache-2.0
// The arguments of commands that build a model where that was not done yet, and then use it.
#pragma once

#include "compiler/build/BuildOptions.h"
#include "compiler/tools/TemporaryFolder.h"

namespace ingot::compiler {

/// The command line of the build, with the model first, and of what uses the engine.
struct ModelArguments {
  std::vector<std::string> build, use;
};

/// Sends each option after the model, which is argv[1], with its value where it belongs: to the
/// build those that `command` has of it.
ModelArguments splitModelArguments(int argc, char **argv, OptionCommand command);

/// The build's options that `command` has, as a paragraph of its help.
std::string listOfBuildOptions(OptionCommand command);

struct UsedEngine {
  bool mustBeKept = false; ///< by whoever asks: INGOT-E7043 where there is no folder for it
  std::filesystem::path path;
  std::optional<TemporaryFolder> folder; ///< where it is not kept
};

/// Finds or builds the engine of `arguments`, which this machine runs. The exit status, or 0 and
/// the engine. `name`: what errors call the command.
int findOrBuild(const ModelArguments &arguments, OptionCommand command, const char *name,
                UsedEngine &engine);

/// What is wrong where the model does not come first.
inline constexpr char kMissingModel[] = "MODEL is missing, which comes before all options";

/// The words as what a program's `main` is given; they must outlive it.
std::vector<char *> argumentVector(std::vector<std::string> &words);

/// Whether one of the arguments asks for help.
bool asksForHelp(int argc, char **argv);

} // namespace ingot::compiler

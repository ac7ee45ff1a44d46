// SPDX-License-Identifier: Apache-2.0
// Command-line options that say what to build; shared by the commands that compile.
#pragma once

#include "compiler/build/Build.h"
#include "runtime/tools/CommandLine.h"

namespace ingot::compiler {

/// Adds the options of a build that `command` has to `app`; parsing fills `options`.
void addBuildArguments(runtime::CommandLine &app, BuildOptions &options, OptionCommand command);

/// The recipes that `--recipe` takes by name, a line each, for the end of a command's help.
std::string recipesByName();

/// The mixes that GGUF files are made with, between commas.
std::string listOfMixes();

/// Opens the cache that `options` choose and lets them use it; null where there is to be none. A
/// default folder that is refused is a warning.
checkpoint::Expected<std::unique_ptr<codegen::BuildCache>> openCache(BuildOptions &options,
                                                                     Progress &progress);

/// Whether this machine runs a target of `options`. Errors: those of findTarget() and of
/// runtime::checkMachine(), with what to change where `option` needs that.
checkpoint::Outcome checkRunsHere(mlir::MLIRContext &context, const BuildOptions &options,
                                  const std::string &option);

/// As runtime::parseArguments(); nothing when the command may go on, else the exit status.
std::optional<int> parseArguments(runtime::CommandLine &app, int argc, char **argv);

} // namespace ingot::compiler

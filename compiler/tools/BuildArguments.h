// SPDX-License-Identifier: Apache-2.0
// Command-line options that say what to build; shared by the commands that compile.
#pragma once

#include "compiler/Build.h"
#include "runtime/tools/CommandLine.h"

namespace ingot::compiler {

/// Adds the options of a build, except the output, to `app`; parsing fills `options`.
void addBuildArguments(runtime::CommandLine &app, BuildOptions &options);

/// Parses; nothing when the command may go on, else the exit status (2 for a wrong option, with
/// code INGOT-E2103 on stderr).
std::optional<int> parseArguments(runtime::CommandLine &app, int argc, char **argv);

} // namespace ingot::compiler

// SPDX-License-Identifier: Apache-2.0
// The commands of ingot-run. Each takes the arguments after its name and returns an exit status.
#pragma once

namespace ingot::runtime {

struct Command {
  const char *name;
  const char *summary;
  int (*run)(int argc, char **argv); ///< argv[0] is "ingot-run <name>"
};

/// The command of that name, or null.
const Command *findCommand(const char *name);

/// All commands, ended by one without a name.
const Command *allCommands();

int runGenerate(int argc, char **argv);

} // namespace ingot::runtime

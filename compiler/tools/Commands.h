// SPDX-License-Identifier: Apache-2.0
// The commands of ingot that need the compiler. Each takes the arguments after its name.
#pragma once

namespace ingot::compiler {

struct Command {
  const char *name;
  const char *summary;
  int (*run)(int argc, char **argv); ///< argv[0] is "ingot <name>"; returns the exit status
};

/// The command of that name, or null.
const Command *findCommand(const char *name);

/// All commands, ended by one without a name.
const Command *allCommands();

int runBisect(int argc, char **argv);
int runBuild(int argc, char **argv);
int runCache(int argc, char **argv);
int runFormats(int argc, char **argv);
int runKeep(int argc, char **argv);
int runList(int argc, char **argv);
int runPlan(int argc, char **argv);
int runPull(int argc, char **argv);
int runQuantize(int argc, char **argv);
int runRemove(int argc, char **argv);
int runRun(int argc, char **argv);
int runServe(int argc, char **argv);
int runVerify(int argc, char **argv);

} // namespace ingot::compiler

// SPDX-License-Identifier: Apache-2.0
// ingot-run: runs an engine, or one of the commands that read one.
#include "runtime/api/Version.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Program.h"

#include <cstdio>
#include <cstring>
#include <string>

using namespace ingot::runtime;

static int run(int argc, char **argv) {
  if (argc > 1)
    if (const Command *command = findCommand(argv[1])) {
      std::string name = std::string("ingot-run ") + argv[1];
      argv[1] = name.data();
      return command->run(argc - 1, argv + 1);
    }
  if (argc > 1 && std::strcmp(argv[1], "--list-commands") == 0) {
    for (const Command *command = allCommands(); command->name; ++command)
      std::printf("%-10s %s\n", command->name, command->summary);
    return 0;
  }
  if (argc > 1 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("ingot-run %s\n", versionText);
    return 0;
  }
  return runGenerate(argc, argv);
}

int main(int argc, char **argv) { return runProgram(argc, argv, run); }

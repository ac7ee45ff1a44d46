// SPDX-License-Identifier: Apache-2.0
// ingot-run: runs an engine, or one of the commands that read one.
#include "runtime/tools/Commands.h"

#include <cstdio>
#include <cstring>
#include <string>

using namespace ingot::runtime;

int main(int argc, char **argv) {
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
  return runGenerate(argc, argv);
}

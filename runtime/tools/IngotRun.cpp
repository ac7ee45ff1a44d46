// SPDX-License-Identifier: Apache-2.0
// ingot-run: runs an engine, or one of the commands that read one.
#include "runtime/api/Version.h"
#include "runtime/core/NearestName.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Program.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

using namespace ingot::runtime;

/// Whether `text` could name a command.
static bool isWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::islower(letter) != 0;
  });
}

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
  if (argc > 1 && isWord(argv[1]) && (argc == 2 || argv[2][0] != '-') &&
      !std::filesystem::exists(argv[1])) {
    std::vector<std::string> names;
    for (const Command *command = allCommands(); command->name; ++command)
      names.emplace_back(command->name);
    return reportError(Status::error("INGOT-E2100",
                                     std::string("there is no command and no engine '") + argv[1] +
                                         "'" + didYouMean(argv[1], names),
                                     "`ingot-run --list-commands` lists the commands"));
  }
  return runGenerate(argc, argv);
}

int main(int argc, char **argv) { return runProgram(argc, argv, run); }

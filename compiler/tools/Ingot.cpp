// SPDX-License-Identifier: Apache-2.0
// ingot: the compiler's program. Commands that only read an engine are the runtime's.
#include "compiler/build/Version.h"
#include "compiler/checkpoint/files/NearestName.h"
#include "compiler/tools/Commands.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Program.h"

#include "llvm/Support/ErrorHandling.h"
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ingot;

static void printHelp(FILE *stream) {
  fprintf(stream,
          "ingot %s: compiles language models to engine files\n\n"
          "usage: ingot COMMAND [options]\n\n",
          compiler::kVersion);
  for (const compiler::Command *command = compiler::allCommands(); command->name; ++command)
    fprintf(stream, "  %-12s %s\n", command->name, command->summary);
  for (const runtime::Command *command = runtime::allCommands(); command->name; ++command)
    if (!compiler::findCommand(command->name))
      fprintf(stream, "  %-12s %s\n", command->name, command->summary);
  fprintf(stream, "\nexamples:\n"
                  "  ingot build my-model -o my-model.ingot\n"
                  "  ingot build my-model -o my-model.ingot --recipe int4.yaml \\\n"
                  "      --target x86-64-v4+vnni --target x86-64-v3\n"
                  "  ingot inspect my-model.ingot\n\n"
                  "`ingot COMMAND --help` tells the options of a command.\n");
}

static int run(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
    printHelp(stdout);
    return 0;
  }
  if (!strcmp(name, "--version")) {
    printf("ingot %s (%s)\n", compiler::kVersion, compiler::kRevision);
    return 0;
  }
  std::string program = std::string("ingot ") + name;
  argv[1] = program.data();
  if (const compiler::Command *command = compiler::findCommand(name))
    return command->run(argc - 1, argv + 1);
  if (const runtime::Command *command = runtime::findCommand(name))
    return command->run(argc - 1, argv + 1);
  std::vector<std::string> names;
  for (const compiler::Command *command = compiler::allCommands(); command->name; ++command)
    names.emplace_back(command->name);
  for (const runtime::Command *command = runtime::allCommands(); command->name; ++command)
    names.emplace_back(command->name);
  return runtime::reportError(runtime::Status::error(
      "INGOT-E2100",
      argc > 1
          ? std::string("there is no command '") + name + "'" + checkpoint::didYouMean(name, names)
          : "no command is given",
      "`ingot --help` lists them"));
}

/// LLVM tells of what it cannot go on with, and would abort.
static void endByLlvm(void *, const char *reason, bool) {
  runtime::reportDefect(reason);
  _exit(1);
}

static void endWithoutMemory(void *, const char *, bool) { _exit(runtime::reportNoMemory()); }

int main(int argc, char **argv) {
  llvm::install_fatal_error_handler(endByLlvm);
  llvm::install_bad_alloc_error_handler(endWithoutMemory);
  return runtime::runProgram(argc, argv, run);
}

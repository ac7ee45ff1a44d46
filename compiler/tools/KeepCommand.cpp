// SPDX-License-Identifier: Apache-2.0
// ingot keep: builds a model where that was not done yet, for whoever runs its engine.
#include "compiler/tools/Commands.h"
#include "compiler/tools/ModelArguments.h"
#include "runtime/tools/Program.h"

#include <cstdio>

using namespace ingot;
using namespace ingot::compiler;

static std::string help() {
  return "Builds a model for this machine where that was not done yet, keeps the engine as `ingot "
         "run`\ndoes, and prints where it is.\n"
         "usage: ingot keep MODEL [OPTIONS]\n\n" +
         listOfBuildOptions(kServe) +
         "\nexamples:\n"
         "  ingot keep my-model.gguf\n"
         "  ingot keep my-model --recipe int4\n";
}

int compiler::runKeep(int argc, char **argv) {
  if (asksForHelp(argc, argv)) {
    fputs(help().c_str(), stdout);
    return 0;
  }
  if (argc < 2 || argv[1][0] == '-')
    return runtime::reportError(runtime::usageError("ingot keep", kMissingModel));
  const ModelArguments parts = splitModelArguments(argc, argv, kServe);
  if (!parts.use.empty())
    return runtime::reportError(runtime::usageError(
        "ingot keep", parts.use.front() + ": no option of builds that are kept"));
  UsedEngine engine;
  engine.mustBeKept = true;
  if (int status = findOrBuild(parts, kServe, "ingot keep", engine))
    return status;
  puts(engine.path.c_str());
  return 0;
}

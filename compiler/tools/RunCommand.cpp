// SPDX-License-Identifier: Apache-2.0
// ingot run: builds a model where that was not done yet, and generates.
#include "compiler/tools/Commands.h"
#include "compiler/tools/ModelArguments.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Program.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::compiler;

static std::string help() {
  return "Runs a model: builds it for this machine where that was not done yet, keeps the engine, "
         "and\ngenerates text.\n"
         "usage: ingot run MODEL [OPTIONS]\n\n" +
         listOfBuildOptions(kRun) +
         "With --no-cache the engine is not kept either. All other options are those of\n"
         "`ingot-run ENGINE`; see `ingot-run --help`. Without --prompts one sequence runs at a "
         "time.\n\n"
         "examples:\n"
         "  ingot run my-model.gguf -p \"Once upon a time\" -n 64\n"
         "  ingot run unsloth/Qwen3-0.6B-GGUF:Q4_K_M -p \"Once upon a time\" --temp 0.8\n"
         "  ingot run my-model --prompts prompts.jsonl --max-context 4096\n";
}

int compiler::runRun(int argc, char **argv) {
  if (asksForHelp(argc, argv)) {
    fputs(help().c_str(), stdout);
    return 0;
  }
  if (argc < 2 || argv[1][0] == '-')
    return runtime::reportError(runtime::usageError("ingot run", kMissingModel));
  ModelArguments parts = splitModelArguments(argc, argv, kRun);
  // What the command that uses the engine would refuse is refused before one is built.
  std::vector<std::string> use = parts.use;
  use.insert(use.begin(), {"ingot-run", argv[1]});
  if (auto status =
          runtime::refuseGenerate(static_cast<int>(use.size()), argumentVector(use).data()))
    return *status;
  UsedEngine engine;
  if (int status = findOrBuild(parts, kRun, "ingot run", engine))
    return status;
  // One sequence, or as many as the user said.
  bool several = std::any_of(parts.use.begin(), parts.use.end(), [](const std::string &word) {
    std::string name = word.substr(0, word.find('='));
    return name == "--prompts" || name == "--max-sequences";
  });
  parts.use.insert(parts.use.begin(), {"ingot-run", engine.path.string()});
  if (!several)
    parts.use.insert(parts.use.end(), {"--max-sequences", "1"});
  return runtime::runGenerate(static_cast<int>(parts.use.size()), argumentVector(parts.use).data());
}

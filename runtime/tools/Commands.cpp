// SPDX-License-Identifier: Apache-2.0
// The one list of commands. A command is a file of this folder and a line here.
#include "runtime/tools/Commands.h"

#include <cstring>

namespace ingot::runtime {
namespace {

constexpr Command commands[] = {
    {"generate", "write text (the default)", runGenerate},
    {"inspect", "show what is in an engine", runInspect},
    {"plan", "say which batch and context fit into memory", runPlan},
    {"diff", "compare two engines", runDiff},
    {"verify", "prove that an engine file is whole", runVerify},
    {"selftest", "check an engine's answers and memory on this machine", runSelfTest},
    {"bench", "measure tokens per second and memory bandwidth", runBench},
    {"tune", "find the fastest kernels of an engine on this machine", runTune},
    {"template", "show the prompt that a conversation becomes", runTemplate},
    {"match", "tell which texts a schema or an expression lets through", runMatch},
    {"eval", "measure the perplexity of a text", runEval},
    {nullptr, nullptr, nullptr},
};

} // namespace

const Command *allCommands() { return commands; }

const Command *findCommand(const char *name) {
  for (const Command *command = commands; command->name; ++command)
    if (std::strcmp(command->name, name) == 0)
      return command;
  return nullptr;
}

} // namespace ingot::runtime

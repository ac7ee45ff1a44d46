// SPDX-License-Identifier: Apache-2.0
// The one list of compiler commands, in the order of help. A command is a file of this folder and
// a line here.
#include "compiler/tools/Commands.h"

#include <cstring>

namespace ingot::compiler {
namespace {

constexpr Command commands[] = {
    {"build", "compile a checkpoint to an engine file", runBuild},
    {"run", "generate text with a model, which is built where that was not done yet", runRun},
    {"serve", "serve a model over HTTP, which is built where that was not done yet", runServe},
    {"keep", "build a model where that was not done yet, and tell where its engine is", runKeep},
    {"pull", "fetch a model of a Hub by its name", runPull},
    {"list", "show pulled models, and engines that run and serve have built", runList},
    {"rm", "remove a pulled model, or an engine that was built", runRemove},
    {"quantize", "quantize a checkpoint with calibration, to one that others load too",
     runQuantize},
    {"plan", "which batch and context fit in memory, from an engine or a checkpoint", runPlan},
    {"verify", "check an engine: structure, digests, rebuild, numerics", runVerify},
    {"bisect", "find the first layer in which an engine and a checkpoint differ", runBisect},
    {"formats", "how stored formats are read, and which kernels they have", runFormats},
    {"cache", "list or remove the compiled kernels that builds have kept", runCache},
    {nullptr, nullptr, nullptr},
};

} // namespace

const Command *allCommands() { return commands; }

const Command *findCommand(const char *name) {
  for (const Command *command = commands; command->name; ++command)
    if (!std::strcmp(command->name, name))
      return command;
  return nullptr;
}

} // namespace ingot::compiler

// SPDX-License-Identifier: Apache-2.0
// ingot pull: becomes ingot-pull, so that nothing else of ingot can download.
#include "compiler/tools/Commands.h"
#include "compiler/tools/PulledModels.h"

#include <cerrno>
#include <unistd.h>

using namespace ingot;

int compiler::runPull(int, char **argv) {
  const std::filesystem::path program = programBeside("ingot-pull");
  execv(program.c_str(), argv);
  return cannotStart("INGOT-E7320", program, errno);
}

// SPDX-License-Identifier: Apache-2.0
// ingot pull: becomes ingot-pull, so that nothing else of ingot can download.
#include "compiler/tools/Commands.h"
#include "runtime/tools/Program.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace ingot;

int compiler::runPull(int, char **argv) {
  std::error_code error;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error).replace_filename("ingot-pull");
  execv(program.c_str(), argv);
  return runtime::reportError(runtime::Status::error(
      "INGOT-E7320", program.string() + " cannot be started: " + strerror(errno),
      "it belongs beside ingot"));
}

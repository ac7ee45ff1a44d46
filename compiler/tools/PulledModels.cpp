// SPDX-License-Identifier: Apache-2.0
// A child process that downloads, and says where the model is.
#include "compiler/tools/PulledModels.h"

#include "compiler/hub/ModelName.h"
#include "runtime/tools/Program.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace ingot;
namespace fs = std::filesystem;

static constexpr char kNoProgram[] = "INGOT-E7320";

fs::path compiler::programBeside(const char *name) {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).replace_filename(name);
}

int compiler::cannotStart(const char *code, const fs::path &program, int reason) {
  return runtime::reportError(
      runtime::Status::error(code, program.string() + " cannot be started: " + strerror(reason),
                             "it belongs beside ingot"));
}

int compiler::statusOfChild(int child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// All that is written to a pipe, which is closed.
static std::string readAll(int descriptor) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t count = read(descriptor, piece, sizeof piece);
    if (count > 0)
      text.append(piece, size_t(count));
    else if (count == 0 || errno != EINTR)
      break;
  }
  close(descriptor);
  return text;
}

std::optional<int> compiler::pullNamedModel(fs::path &model, bool quiet) {
  if (!hub::isModelName(model.string()))
    return std::nullopt;
  const fs::path program = programBeside("ingot-pull");
  const char *words[] = {"ingot-pull", model.c_str(), "--if-missing", quiet ? "--quiet" : nullptr,
                         nullptr};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return cannotStart(kNoProgram, program, errno);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execv(program.c_str(), const_cast<char **>(words));
    _exit(cannotStart(kNoProgram, program, errno));
  }
  const int reason = errno;
  close(ends[1]);
  std::string path = readAll(ends[0]);
  if (child < 0)
    return cannotStart(kNoProgram, program, reason);
  if (const int status = statusOfChild(child))
    return status;
  model = path.substr(0, path.find('\n'));
  return std::nullopt;
}

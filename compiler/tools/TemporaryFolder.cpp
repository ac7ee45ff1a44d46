// SPDX-License-Identifier: Apache-2.0
// A second process waits for the end of this one, which no signal can keep from it.
#include "compiler/tools/TemporaryFolder.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace ingot::compiler;
namespace fs = std::filesystem;

/// The watcher: what it inherited is closed, so that nobody waits for it.
[[noreturn]] static void watch(int pipe, const fs::path &folder) {
  // Signals to the command's group are not for it.
  setsid();
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    std::signal(signal, SIG_IGN);
  dup2(pipe, STDIN_FILENO);
  close_range(STDOUT_FILENO, ~0u, 0);
  (void)!chdir("/");
  char unused;
  while (read(STDIN_FILENO, &unused, 1) < 0 && errno == EINTR)
    ;
  std::error_code error;
  fs::remove_all(folder, error);
  _exit(0);
}

TemporaryFolder::TemporaryFolder(fs::path made) : folder(std::move(made)) {
  int ends[2];
  if (pipe(ends) != 0)
    return; // what signals leave then stays
  watcher = fork();
  if (watcher == 0) {
    close(ends[1]);
    watch(ends[0], folder);
  }
  close(ends[0]);
  held = ends[1]; // also across exec
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other) noexcept
    : folder(std::exchange(other.folder, {})), held(std::exchange(other.held, -1)),
      watcher(std::exchange(other.watcher, -1)) {}

TemporaryFolder::~TemporaryFolder() {
  if (folder.empty())
    return;
  std::error_code error;
  fs::remove_all(folder, error);
  if (held >= 0)
    close(held);
  if (watcher > 0)
    waitpid(watcher, nullptr, 0);
}

ingot::checkpoint::Expected<TemporaryFolder> TemporaryFolder::create(const std::string &name) {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  std::string pattern = (parent / (name + "XXXXXX")).string();
  if (error || !mkdtemp(pattern.data()))
    return checkpoint::Error{"INGOT-E7021", "no temporary folder can be made", pattern,
                             "set TMPDIR to a folder that can be written"};
  return TemporaryFolder(pattern);
}

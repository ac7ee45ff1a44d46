// SPDX-License-Identifier: Apache-2.0
// Starts the decoding process with an empty environment and one descriptor, and never waits for it
// without a limit.
#include "runtime/images/PictureProcess.h"
#include "runtime/images/PacketSocket.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ingot::runtime::images {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int childSocket = 3;

Status notStarted(const std::string &program, const std::string &why) {
  return Status::error("INGOT-E6807", "'" + program + "' cannot be started: " + why,
                       "put ingot-images beside the program or the library that uses it");
}

Status nonsense() {
  return Status::error("INGOT-E6809",
                       "the process that decodes pictures gave an answer that makes no sense",
                       "do not send this picture again");
}

/// What the new process does before it is the program.
struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  explicit SpawnSettings(int socket) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, socket, childSocket);
    for (int stream = 0; stream < 3; ++stream)
      ::posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings &) = delete;
  SpawnSettings &operator=(const SpawnSettings &) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

/// Whether a packet or the end of the socket comes in time.
bool arrives(int socket, milliseconds time) {
  const Clock::time_point end = Clock::now() + time;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    pollfd wait{socket, POLLIN, 0};
    const int ready = ::poll(&wait, 1, int(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready >= 0 || errno != EINTR)
      return ready > 0;
  }
}

} // namespace

bool PictureProcess::alive() const {
  pollfd wait{socket, POLLIN, 0};
  // It says nothing without being asked.
  return process != 0 && ::poll(&wait, 1, 0) == 0;
}

Status PictureProcess::start(const std::string &program, uint64_t memory, milliseconds time) {
  if (alive())
    return Status::success();
  end();
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return notStarted(program, std::strerror(errno));
  std::string name = program, number = std::to_string(childSocket), bytes = std::to_string(memory);
  char *arguments[] = {name.data(), number.data(), bytes.data(), nullptr};
  char *environment[] = {nullptr};
  int error;
  {
    const SpawnSettings settings(pair[1]);
    error = ::posix_spawn(&process, program.c_str(), &settings.actions, &settings.attributes,
                          arguments, environment);
  }
  ::close(pair[1]);
  if (error != 0) {
    ::close(pair[0]);
    process = 0;
    return notStarted(program, std::strerror(error));
  }
  socket = pair[0];
  Result<Reply> ready = receive(MessageKind::Ready, time);
  if (!ready.ok())
    return notStarted(program, std::string(ready.status().message()));
  if (ready->error != 0) {
    end();
    return notStarted(program, ready->message + std::string(" failed"));
  }
  return Status::success();
}

Result<Reply> PictureProcess::ask(const Request &request, int descriptor, milliseconds time) {
  if (!sendPacket(socket, &request, sizeof request, descriptor))
    return endedEarly();
  Result<Reply> reply = receive(request.kind, time);
  if (reply.ok() && reply->last)
    end();
  return reply;
}

Result<Reply> PictureProcess::receive(MessageKind kind, milliseconds time) {
  if (!arrives(socket, time)) {
    end();
    return Status::error("INGOT-E6808",
                         "the process that decodes pictures gave no answer within " +
                             std::to_string(time.count()) + " ms and was ended",
                         "send a smaller picture, or save it anew");
  }
  Reply reply;
  switch (receivePacket(socket, &reply, sizeof reply)) {
  case Arrival::Closed:
    return endedEarly();
  case Arrival::WrongSize:
    end();
    return nonsense();
  case Arrival::Whole:
    break;
  }
  if (reply.magic != protocolMagic || reply.kind != kind || reply.error > 9) {
    end();
    return nonsense();
  }
  // What it says may be anything.
  reply.message[sizeof reply.message - 1] = 0;
  for (char &letter : reply.message)
    if (letter != 0 && (letter < ' ' || letter > '~'))
      letter = '?';
  return reply;
}

Status PictureProcess::endedEarly() {
  int status = 0;
  pid_t ended = 0;
  // It may only have closed its socket; a process that ended is soon known to have.
  for (int tries = 0; tries < 100 && ended == 0; ++tries) {
    ended = ::waitpid(process, &status, WNOHANG);
    if (ended == 0)
      std::this_thread::sleep_for(milliseconds(1));
  }
  if (ended == process)
    process = 0;
  end();
  std::string how = "ended";
  if (ended > 0 && WIFSIGNALED(status))
    how += " by signal " + std::to_string(WTERMSIG(status));
  else if (ended > 0 && WEXITSTATUS(status) == outOfMemoryStatus)
    how += " for want of memory";
  else if (ended > 0)
    how += " with status " + std::to_string(WEXITSTATUS(status));
  return Status::error("INGOT-E6808", "the process that decodes pictures " + how,
                       "send a smaller picture, or save it anew");
}

void PictureProcess::end() {
  // A process that others have waited for, as who ignores SIGCHLD does, may have lost its number.
  if (process != 0 && ::waitpid(process, nullptr, WNOHANG) == 0) {
    ::kill(process, SIGKILL);
    while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  process = 0;
  if (socket >= 0)
    ::close(socket);
  socket = -1;
}

} // namespace ingot::runtime::images

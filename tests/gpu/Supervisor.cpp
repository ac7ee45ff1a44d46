// SPDX-License-Identifier: Apache-2.0
// One child at a time, forked from a parent that has no threads and no device.
#include "tests/gpu/Supervisor.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ingot::record {

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

/// A device may need a while until it is there again.
constexpr int kOpenAttempts = 3;
constexpr unsigned kSecondsBetween = 2;
/// How long a killed child may take to go: its driver ends kernels first.
constexpr double kGoingSeconds = 20;

void writeLine(int descriptor, const json &line) {
  std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < text.size();) {
    ssize_t written = write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR)
      _exit(int(ChildEnd::CannotOpen)); // nobody listens
    done += written > 0 ? size_t(written) : 0;
  }
}

/// A running child and the pipe that it writes to.
class Child {
public:
  Child(const SupervisedItems &items, size_t first) {
    int ends[2];
    if (pipe(ends) != 0)
      return;
    std::fflush(nullptr);
    process = fork();
    if (process == 0) {
      close(ends[0]);
      ChildEnd end = items.work(first, [&](const json &line) { writeLine(ends[1], line); });
      std::fflush(nullptr);
      // Without destructors: a broken device may never let go.
      _exit(int(end));
    }
    close(ends[1]);
    input = ends[0];
  }
  Child(const Child &) = delete;
  ~Child() {
    if (input >= 0)
      close(input);
  }

  bool started() const { return process > 0; }

  enum class Next { Line, End, Late };
  /// The next line, at most `seconds` from now.
  Next next(double seconds, json &line) {
    auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
      if (size_t end = pending.find('\n'); end != std::string::npos) {
        line = json::parse(pending.substr(0, end), nullptr, false);
        pending.erase(0, end + 1);
        if (line.is_object())
          return Next::Line;
        continue; // a driver may print to where lines go
      }
      double left = std::chrono::duration<double>(deadline - Clock::now()).count();
      if (left <= 0)
        return Next::Late;
      pollfd waited = {input, POLLIN, 0};
      if (poll(&waited, 1, int(left * 1000) + 1) <= 0)
        continue;
      char block[1 << 16];
      ssize_t bytes = read(input, block, sizeof block);
      if (bytes == 0 || (bytes < 0 && errno != EINTR))
        return Next::End;
      pending.append(block, bytes > 0 ? size_t(bytes) : 0);
    }
  }

  void kill() const { ::kill(process, SIGKILL); }

  /// Waits for the child and says how it ended; `own`: its exit status, if it came to that.
  std::string end(ChildEnd &own) const {
    int status = 0;
    auto deadline = Clock::now() + std::chrono::duration<double>(kGoingSeconds);
    while (waitpid(process, &status, WNOHANG) == 0) {
      if (Clock::now() > deadline)
        return "its process cannot be ended"; // stays behind, waiting for its driver
      usleep(2000);
    }
    if (WIFSIGNALED(status))
      return std::string("its process died: ") + strsignal(WTERMSIG(status));
    own = ChildEnd(WEXITSTATUS(status));
    return "its process ended with status " + std::to_string(WEXITSTATUS(status));
  }

private:
  pid_t process = -1;
  int input = -1;
  std::string pending;
};

std::string shortSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

/// Where a supervision stands.
struct Progress {
  size_t next = 0;  ///< item
  int unopened = 0; ///< children in a row
  std::string device, error;
};

/// Runs one child to its end.
void runChild(const SupervisedItems &items, Progress &progress) {
  size_t first = progress.next;
  Child child(items, first);
  std::string said, reason;
  bool opened = false, late = false;
  while (child.started() && !late) {
    json line;
    double limit = opened ? items.itemLimit : items.openLimit;
    Child::Next next = child.next(limit, line);
    if (next == Child::Next::End)
      break;
    if (next == Child::Next::Late) {
      late = true;
      reason = "no end within " + shortSeconds(limit);
      child.kill();
    } else if (line.contains("opened")) {
      opened = true;
      progress.device = line["opened"].get<std::string>();
    } else if (line.contains("item")) {
      progress.next = line["item"].get<size_t>() + 1;
      items.take(line);
    } else if (line.contains("error")) {
      said = line["error"].get<std::string>();
    }
  }
  ChildEnd own = ChildEnd::CannotOpen;
  std::string ended = child.started() ? child.end(own) : "no process can be started";
  if (reason.empty())
    reason = ended;
  progress.unopened = opened ? 0 : progress.unopened + 1;
  bool goesOn = own == ChildEnd::GoOn && progress.next > first;
  if (!opened)
    progress.error = said.empty() ? "the device cannot be opened: " + reason : said;
  else if (!goesOn && progress.next < items.count)
    items.lost(progress.next++, said.empty() ? reason : said);
}

} // namespace

std::string supervise(const SupervisedItems &items, std::string &error) {
  Progress progress;
  while (progress.next < items.count) {
    runChild(items, progress);
    if (progress.unopened == 0)
      continue;
    if (progress.device.empty() || progress.unopened == kOpenAttempts)
      break;
    sleep(kSecondsBetween);
  }
  error = progress.device.empty() ? progress.error : "";
  if (!progress.device.empty())
    for (; progress.next < items.count; ++progress.next)
      items.lost(progress.next, "not run: " + progress.error);
  return progress.device;
}

} // namespace ingot::record

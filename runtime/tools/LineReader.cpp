// SPDX-License-Identifier: Apache-2.0
// Reads with poll, so that a loop may ask without waiting.
#include "runtime/tools/LineReader.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace ingot::runtime {

constexpr size_t longestLine = size_t(64) << 20;

Result<LineReader> LineReader::open(const std::string &path) {
  if (path == "-")
    return LineReader("standard input", STDIN_FILENO);
  LineReader reader(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (reader.descriptor < 0)
    return reader.failed(std::string("cannot be opened: ") + std::strerror(errno));
  return reader;
}

LineReader::LineReader(LineReader &&other) noexcept
    : name(std::move(other.name)), descriptor(std::exchange(other.descriptor, -1)),
      held(std::move(other.held)), begin(other.begin), searched(other.searched),
      ended(other.ended) {}

LineReader::~LineReader() {
  if (descriptor > STDIN_FILENO)
    ::close(descriptor);
}

Status LineReader::failed(const std::string &what) const {
  return Status::error("INGOT-E7101", name + ": " + what, "check the path and its permissions");
}

bool LineReader::takeLine(std::string &line) {
  size_t end = held.find('\n', searched);
  searched = held.size();
  if (end == held.npos && !(ended && begin < held.size()))
    return false;
  line.assign(held, begin, end == held.npos ? end : end - begin);
  begin = end == held.npos ? held.size() : end + 1;
  searched = begin;
  return true;
}

/// False when nothing has come.
Result<bool> LineReader::readMore(bool wait) {
  held.erase(0, begin);
  searched -= begin;
  begin = 0;
  if (held.size() > longestLine)
    return failed("a line has more than " + std::to_string(longestLine) + " bytes");
  char block[1 << 16];
  while (true) {
    pollfd ready = {descriptor, POLLIN, 0};
    if (poll(&ready, 1, wait ? -1 : 0) == 0)
      return false;
    ssize_t count = ::read(descriptor, block, sizeof block);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      if (!wait)
        return false;
      continue;
    }
    if (count < 0)
      return failed(std::string("cannot be read: ") + std::strerror(errno));
    ended = count == 0;
    held.append(block, size_t(count));
    return true;
  }
}

Result<LineReader::Next> LineReader::next(std::string &line, bool wait) {
  while (!takeLine(line)) {
    if (ended)
      return Next::End;
    Result<bool> more = readMore(wait);
    if (!more.ok())
      return std::move(more).status();
    if (!*more)
      return Next::NotYet;
  }
  return Next::Line;
}

} // namespace ingot::runtime

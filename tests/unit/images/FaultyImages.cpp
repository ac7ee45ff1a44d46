// SPDX-License-Identifier: Apache-2.0
// A decoding process with a fault, which the name of the program says. Without one of these names,
// it says that each file is a PNG of 2 x 1 pixels, all 7.
#include "runtime/images/PacketSocket.h"
#include "runtime/images/Protocol.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace ingot::runtime::images;

static constexpr int channel = 3;

[[noreturn]] static void sleepForEver() {
  for (;;)
    ::pause();
}

/// Fills the memory, after trying to make it smaller; false if it could be.
static bool fill(int descriptor, uint64_t bytes) {
  if (::ftruncate(descriptor, 0) == 0)
    return false;
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return false;
  std::memset(memory, 7, bytes);
  ::munmap(memory, bytes);
  return true;
}

static void answer(const std::string &fault, const Request &request, int descriptor) {
  const bool render = request.kind == MessageKind::Render;
  Reply reply;
  reply.kind = request.kind;
  reply.width = 2;
  reply.height = 1;
  reply.bytes = request.bytes;
  size_t size = sizeof reply;
  if (fault == (render ? "hung-render" : "hung"))
    sleepForEver();
  if (fault == (render ? "dies-render" : "dies"))
    ::raise(SIGKILL);
  if (!render && fault == "memory")
    ::_exit(outOfMemoryStatus);
  if (!render && fault == "closes") {
    ::close(channel);
    sleepForEver();
  }
  if (!render && ::pwrite(descriptor, "x", 1, 0) == 1)
    ::_exit(1); // The file could be written to.
  if (render && !fill(descriptor, request.bytes))
    ::_exit(1);
  if (!render && fault == "huge")
    reply.width = 0x80000000;
  if (!render && fault == "zero")
    reply.height = 0;
  if (!render && fault == "many")
    reply.width = reply.height = request.limits.side;
  if (fault == "format")
    reply.format = PictureFormat(77);
  if (fault == "notes")
    reply.notes = 0x100;
  if (render && fault == "other-size")
    reply.width = 3;
  if (render && fault == "fewer")
    --reply.bytes;
  if (fault == "short")
    size -= 8;
  if (fault == "magic")
    reply.magic = 1;
  if (fault == "kind")
    reply.kind = MessageKind::Ready;
  if (fault == "error")
    reply.error = 99;
  if (fault == "text") {
    reply.error = 3;
    std::memset(reply.message, '\n', sizeof reply.message);
  }
  if (render && fault == "last")
    reply.last = 1;
  sendPacket(channel, &reply, size);
}

int main(int, char **argv) {
  const std::string name = argv[0], fault = name.substr(name.rfind('/') + 1);
  if (fault == "exits")
    return 3;
  if (fault == "silent")
    sleepForEver();
  Reply ready;
  if (fault == "open-door") {
    ready.error = lockingUpFailed;
    std::strcpy(ready.message, "locking");
  }
  sendPacket(channel, &ready, sizeof ready);
  for (;;) {
    Request request;
    int descriptor = -1;
    if (receivePacket(channel, &request, sizeof request, &descriptor) != Arrival::Whole)
      return 0;
    answer(fault, request, descriptor);
    ::close(descriptor);
  }
}

// SPDX-License-Identifier: Apache-2.0
// ingot-images: decodes pictures for a process of Ingot, which starts it.
#include "runtime/images/PacketSocket.h"
#include "runtime/images/Protocol.h"
#include "runtime/images/decode/PictureWorker.h"
#include "runtime/images/decode/Sandbox.h"

#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <string_view>
#include <unistd.h>

using namespace ingot::runtime::images;

/// The status that says to whoever waits that memory ran out.
static void endWithoutMemory() { ::_exit(outOfMemoryStatus); }

static constexpr const char *help =
    "usage: ingot-images SOCKET MEMORY\n\n"
    "Decodes PNG, JPEG and WebP pictures for Ingot's other programs, which start it.\n"
    "It can open no files and no connections.\n\n"
    "arguments:\n"
    "  SOCKET     the number of an open socket, on which it is asked\n"
    "  MEMORY     how many bytes of memory it may take\n\n"
    "options:\n"
    "  --help     show this\n"
    "  --version  show the version\n";

/// `ingot-images --help` and `--version`; the status to end with.
static int tell(std::string_view option) {
  if (option == "--version")
    std::printf("ingot-images %s\n", INGOT_VERSION);
  else
    std::fputs(help, option == "--help" ? stdout : stderr);
  return option == "--version" || option == "--help" ? 0 : 2;
}

int main(int argc, char **argv) {
  const int socket = argc == 3 ? std::atoi(argv[1]) : 0;
  const uint64_t memory = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (socket < 3 || memory == 0)
    return tell(argc == 2 ? argv[1] : "");
  std::set_new_handler(endWithoutMemory);
  // Whole pictures are given back when they are done with.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  Reply ready;
  if (const char *failed = lockUp(socket, memory)) {
    ready.error = lockingUpFailed;
    std::snprintf(ready.message, sizeof ready.message, "%s", failed);
  }
  if (!sendPacket(socket, &ready, sizeof ready) || ready.error != 0)
    return 1;
  return answerRequests(socket);
}

// SPDX-License-Identifier: Apache-2.0
// Maps what comes with a request, decodes, resizes, and answers with sizes or an error.
#include "runtime/images/decode/PictureWorker.h"
#include "runtime/images/PacketSocket.h"
#include "runtime/images/Protocol.h"
#include "runtime/images/decode/PictureFile.h"
#include "runtime/images/decode/Sandbox.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ingot::runtime::images {
namespace {

/// Memory that the other process gave.
class SharedMemory {
public:
  SharedMemory() = default;
  SharedMemory(SharedMemory &&other) noexcept { *this = std::move(other); }
  SharedMemory &operator=(SharedMemory &&other) noexcept {
    std::swap(base, other.base);
    std::swap(size, other.size);
    return *this;
  }
  ~SharedMemory() {
    if (base)
      ::munmap(base, size);
  }

  /// False when `descriptor` has not `bytes` bytes or cannot be mapped.
  bool map(int descriptor, uint64_t bytes, int protection) {
    struct stat facts;
    if (descriptor < 0 || bytes == 0 || ::fstat(descriptor, &facts) != 0 ||
        uint64_t(facts.st_size) < bytes)
      return false;
    void *mapped = ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED)
      return false;
    base = static_cast<uint8_t *>(mapped);
    size = bytes;
    return true;
  }

  std::span<uint8_t> bytes() const { return {base, size}; }

private:
  uint8_t *base = nullptr;
  size_t size = 0;
};

struct OpenPicture {
  SharedMemory file;
  PictureHeader header;
};

void refuse(Reply &reply, const Status &status) {
  reply.error = uint32_t(status.code().back() - '0');
  const std::string_view message = status.message();
  std::memcpy(reply.message, message.data(), std::min(message.size(), sizeof reply.message - 1));
}

Status unmapped() {
  return Status::error("INGOT-E6804", "there is no memory for the picture", "send a smaller one");
}

Status open(const Request &request, int descriptor, std::optional<OpenPicture> &picture) {
  picture.reset();
  OpenPicture opened;
  if (!opened.file.map(descriptor, request.bytes, PROT_READ))
    return unmapped();
  Result<PictureHeader> header = readHeader(opened.file.bytes(), request.limits);
  if (!header.ok())
    return std::move(header).status();
  opened.header = *header;
  picture = std::move(opened);
  return Status::success();
}

uint8_t *copyCrop(const Pixels &from, const Crop &crop, uint8_t *to) {
  const size_t line = size_t(crop.width) * 3;
  for (uint32_t y = 0; y < crop.height; ++y, to += line)
    std::memcpy(to, from.rgb.data() + ((size_t(crop.y) + y) * from.width + crop.x) * 3, line);
  return to;
}

Status render(const Request &request, int descriptor, const OpenPicture &picture) {
  if (request.scalingCount > mostScalings || request.cropCount > mostCrops)
    return Status::error("INGOT-E6806", "a picture becomes too many others");
  const Rendering rendering{{request.scalings, request.scalings + request.scalingCount},
                            {request.crops, request.crops + request.cropCount}};
  const PictureHeader &header = picture.header;
  const Result<uint64_t> bytes =
      renderedBytes(rendering, header.shownWidth(), header.shownHeight());
  if (!bytes.ok())
    return bytes.status();
  SharedMemory memory;
  if (*bytes != request.bytes || !memory.map(descriptor, *bytes, PROT_READ | PROT_WRITE))
    return unmapped();
  std::vector<Pixels> made;
  made.reserve(1 + rendering.scalings.size());
  Result<Pixels> decoded = decodePicture(picture.file.bytes(), header);
  if (!decoded.ok())
    return std::move(decoded).status();
  made.push_back(*std::move(decoded));
  for (const Scaling &scaling : rendering.scalings)
    made.push_back(resize(made[scaling.source], scaling.width, scaling.height, scaling.filter));
  uint8_t *to = memory.bytes().data();
  for (const Crop &crop : rendering.crops)
    to = copyCrop(made[crop.source], crop, to);
  return Status::success();
}

double processorSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec);
}

Reply answer(const Request &request, int descriptor, std::optional<OpenPicture> &picture) {
  Reply reply;
  reply.kind = request.kind;
  Status status;
  if (request.kind == MessageKind::Open)
    status = open(request, descriptor, picture);
  else if (picture)
    status = render(request, descriptor, *picture);
  else
    status = Status::error("INGOT-E6806", "no picture is open");
  if (!status.ok()) {
    refuse(reply, status);
    return reply;
  }
  reply.format = picture->header.format;
  reply.width = picture->header.shownWidth();
  reply.height = picture->header.shownHeight();
  reply.notes = picture->header.notes;
  reply.bytes = request.bytes;
  return reply;
}

} // namespace

int answerRequests(int socket) {
  std::optional<OpenPicture> picture;
  for (;;) {
    Request request;
    int descriptor = -1;
    const Arrival arrival = receivePacket(socket, &request, sizeof request, &descriptor);
    if (arrival == Arrival::Closed)
      return 0;
    if (arrival != Arrival::Whole || request.magic != protocolMagic)
      return 1;
    Reply reply = answer(request, descriptor, picture);
    if (descriptor >= 0)
      ::close(descriptor);
    // Between the two rounds of a picture the process stays.
    if (reply.error != 0 || request.kind == MessageKind::Render) {
      picture.reset();
      reply.last = processorSeconds() > mostSeconds;
    }
    if (!sendPacket(socket, &reply, sizeof reply) || reply.last)
      return 0;
  }
}

} // namespace ingot::runtime::images

// SPDX-License-Identifier: Apache-2.0
// Two rounds for a picture: what is it, and its pixels. Memory is shared by descriptors whose size
// is sealed, and what comes back is copied before it is used.
#include "runtime/images/PictureDecoder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

namespace ingot::runtime::images {
namespace {

namespace fs = std::filesystem;

Status withoutMemory() {
  return Status::error("INGOT-E6808",
                       std::string("no memory can be shared with the process that decodes "
                                   "pictures: ") +
                           std::strerror(errno),
                       "free memory of the host");
}

/// Memory that has a descriptor, and a size that nobody can change.
class SealedMemory {
public:
  SealedMemory() = default;
  SealedMemory(const SealedMemory &) = delete;
  SealedMemory &operator=(const SealedMemory &) = delete;
  ~SealedMemory() {
    if (mapped)
      ::munmap(mapped, size);
    if (descriptor >= 0)
      ::close(descriptor);
  }

  /// A copy of `bytes`, which nobody can write to any more.
  bool hold(std::span<const uint8_t> bytes) {
    if (!make(bytes.size()))
      return false;
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t count = ::pwrite(descriptor, bytes.data() + at, bytes.size() - at, off_t(at));
      if (count <= 0 && errno != EINTR)
        return false;
      at += size_t(std::max<ssize_t>(count, 0));
    }
    return seal(F_SEAL_WRITE);
  }

  /// `bytes` bytes that another process may write to.
  bool reserve(size_t bytes) {
    if (!make(bytes) || !seal(0))
      return false;
    void *base = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED)
      return false;
    mapped = static_cast<uint8_t *>(base);
    size = bytes;
    return true;
  }

  int number() const { return descriptor; }
  const uint8_t *data() const { return mapped; }

private:
  bool make(size_t bytes) {
    descriptor = ::memfd_create("picture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return descriptor >= 0 && ::ftruncate(descriptor, off_t(bytes)) == 0;
  }
  bool seal(int more) {
    return ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | more) == 0;
  }

  int descriptor = -1;
  uint8_t *mapped = nullptr;
  size_t size = 0;
};

/// What decoding needs at most: a picture, turned, with the coefficients of a progressive one; and
/// what is made of it.
uint64_t neededMemory(const PictureLimits &limits) {
  return limits.pixels * (3 + 3 + 8) + limits.bytes + (uint64_t(256) << 20);
}

PictureDecoder::Options completed(PictureDecoder::Options options) {
  if (options.memory == 0)
    options.memory = neededMemory(options.limits);
  return options;
}

/// The error of a reply; its text is the process's, its code one that pictures may have.
Status errorOf(const Reply &reply) {
  const uint32_t digit = reply.error >= 1 && reply.error <= 6 ? reply.error : 3;
  return Status::error("INGOT-E680" + std::to_string(digit), reply.message);
}

} // namespace

std::string imagesProgram() {
  constexpr const char *name = "ingot-images";
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path() / name;
  Dl_info info{};
  if (!fs::exists(own, error) && ::dladdr(reinterpret_cast<void *>(&imagesProgram), &info) &&
      info.dli_fname) {
    const fs::path folder = fs::path(info.dli_fname).parent_path();
    // A wheel has its library in lib/pythonN/site-packages/ingot_llm/lib.
    for (const fs::path &other : {folder / name, folder / ".." / "bin" / name,
                                  folder / ".." / ".." / ".." / ".." / ".." / "bin" / name})
      if (fs::exists(other, error))
        return other.string();
  }
  return own.string();
}

PictureDecoder::PictureDecoder(Options options) : options(completed(std::move(options))) {}

pid_t PictureDecoder::processId() {
  const std::lock_guard lock(mutex);
  return process.id();
}

Result<PictureFacts> PictureDecoder::open(std::span<const uint8_t> bytes) {
  const std::lock_guard lock(mutex);
  return openLocked(bytes);
}

Result<DecodedPicture> PictureDecoder::decode(std::span<const uint8_t> bytes,
                                              const Choose &choose) {
  const std::lock_guard lock(mutex);
  Result<PictureFacts> facts = openLocked(bytes);
  if (!facts.ok())
    return std::move(facts).status();
  Result<Rendering> rendering = choose(*facts);
  if (!rendering.ok())
    return std::move(rendering).status();
  return renderLocked(*facts, *rendering);
}

Result<PictureFacts> PictureDecoder::openLocked(std::span<const uint8_t> bytes) {
  const PictureLimits &limits = options.limits;
  if (bytes.size() > limits.bytes)
    return Status::error("INGOT-E6804",
                         "the picture has " + std::to_string(bytes.size()) + " bytes, of at most " +
                             std::to_string(limits.bytes),
                         "send a smaller one");
  if (bytes.empty())
    return Status::error("INGOT-E6801", "a picture has no bytes", "send PNG, JPEG or WebP");
  if (Status status = process.start(options.program, options.memory, options.startTime);
      !status.ok())
    return status;
  SealedMemory file;
  if (!file.hold(bytes))
    return withoutMemory();
  Request request;
  request.bytes = bytes.size();
  request.limits = limits;
  Result<Reply> reply = process.ask(request, file.number(), options.pictureTime);
  if (!reply.ok())
    return std::move(reply).status();
  if (reply->error != 0)
    return errorOf(*reply);
  if (reply->width == 0 || reply->height == 0 || reply->width > limits.side ||
      reply->height > limits.side || uint64_t(reply->width) * reply->height > limits.pixels ||
      reply->format > PictureFormat::WebP || (reply->notes & ~uint32_t(allNotes)) != 0)
    return refuseReply();
  return PictureFacts{reply->format, reply->width, reply->height, reply->notes};
}

Result<DecodedPicture> PictureDecoder::renderLocked(const PictureFacts &facts,
                                                    const Rendering &rendering) {
  Result<uint64_t> bytes = renderedBytes(rendering, facts.width, facts.height);
  if (!bytes.ok())
    return std::move(bytes).status();
  SealedMemory memory;
  Request request;
  request.kind = MessageKind::Render;
  request.bytes = *bytes;
  request.scalingCount = uint32_t(rendering.scalings.size());
  request.cropCount = uint32_t(rendering.crops.size());
  std::copy(rendering.scalings.begin(), rendering.scalings.end(), request.scalings);
  std::copy(rendering.crops.begin(), rendering.crops.end(), request.crops);
  DecodedPicture picture{facts, {}};
  if (*bytes == 0)
    return picture;
  if (!memory.reserve(*bytes))
    return withoutMemory();
  Result<Reply> reply = process.ask(request, memory.number(), options.pictureTime);
  if (!reply.ok())
    return std::move(reply).status();
  if (reply->error != 0)
    return errorOf(*reply);
  if (reply->bytes != *bytes || reply->width != facts.width || reply->height != facts.height ||
      reply->format != facts.format || reply->notes != facts.notes)
    return refuseReply();
  const uint8_t *from = memory.data();
  for (const Crop &crop : rendering.crops) {
    const size_t count = size_t(crop.width) * crop.height * 3;
    picture.crops.push_back({crop.width, crop.height, {from, from + count}});
    from += count;
  }
  return picture;
}

Status PictureDecoder::refuseReply() {
  process.end();
  return Status::error("INGOT-E6809",
                       "the process that decodes pictures gave an answer that makes no sense",
                       "do not send this picture again");
}

} // namespace ingot::runtime::images

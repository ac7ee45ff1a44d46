// SPDX-License-Identifier: Apache-2.0
// Mapping a file over a larger anonymous reservation, so that reads may run past its end, and where
// the system can give it large pages.
#include "runtime/core/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::runtime {
namespace {

constexpr size_t pageBytes = 4096;

/// Of a large page; a file can only have such where it begins at a multiple of them.
constexpr size_t largePageBytes = size_t(2) << 20;

/// Address space of `bytes` bytes at a multiple of largePageBytes; null where there is none.
uint8_t *reserve(size_t bytes) {
  size_t total = 0;
  if (__builtin_add_overflow(bytes, largePageBytes, &total))
    return nullptr;
  void *space = mmap(nullptr, total, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED)
    return nullptr;
  auto *first = static_cast<uint8_t *>(space);
  size_t before = -reinterpret_cast<uintptr_t>(first) % largePageBytes;
  if (before)
    munmap(first, before);
  munmap(first + before + bytes, largePageBytes - before);
  return first + before;
}

Status failed(const std::string &path, const char *action) {
  return Status::error("INGOT-E7101", path + ": cannot " + action + ": " + std::strerror(errno),
                       "check the path and its permissions");
}

int64_t modificationOf(const struct stat &facts) {
  return int64_t(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

} // namespace

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(base, other.base);
  std::swap(size, other.size);
  std::swap(reserved, other.reserved);
  std::swap(path, other.path);
  std::swap(device, other.device);
  std::swap(inode, other.inode);
  std::swap(modified, other.modified);
  return *this;
}

MappedFile::~MappedFile() {
  if (base)
    munmap(base, reserved);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return failed(path, "open");
  struct stat facts;
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(descriptor);
    return Status::error("INGOT-E7101", path + ": not a regular file", "name an engine file");
  }
  MappedFile file;
  file.path = path;
  file.device = facts.st_dev;
  file.inode = facts.st_ino;
  file.modified = modificationOf(facts);
  file.size = size_t(facts.st_size);
  file.reserved = (file.size + pageBytes - 1) / pageBytes * pageBytes + pageBytes;
  file.base = reserve(file.reserved);
  if (!file.base) {
    ::close(descriptor);
    return failed(path, "reserve address space for");
  }
  if (file.size &&
      mmap(file.base, file.size, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    Status status = failed(path, "map");
    ::close(descriptor);
    return status;
  }
  // A hint: pages that are yet to be read come in large ones.
  madvise(file.base, file.size, MADV_HUGEPAGE);
  ::close(descriptor);
  return file;
}

Status MappedFile::unchanged() const {
  struct stat facts;
  // Another file of that name, or none: what is mapped lives on as it was.
  if (stat(path.c_str(), &facts) != 0 || facts.st_dev != device || facts.st_ino != inode)
    return {};
  if (size_t(facts.st_size) == size && modificationOf(facts) == modified)
    return {};
  return Status::error("INGOT-E7104", path + ": has been written to while it was in use",
                       "run again, and replace engines by rename, not in place");
}

} // namespace ingot::runtime

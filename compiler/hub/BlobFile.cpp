// SPDX-License-Identifier: Apache-2.0
// Checked while it arrives, named when it is whole.
#include "compiler/hub/BlobFile.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot::checkpoint;
namespace fs = std::filesystem;

namespace ingot::hub {

bool isKept(const HubCache &cache, const RemoteFile &file) {
  std::error_code error;
  const fs::path blob = cache.blob(file.digest.hex);
  return fs::is_regular_file(blob, error) && fs::file_size(blob, error) == file.bytes;
}

BlobFile::~BlobFile() { release(); }

/// Repositories may have more files than a process may have descriptors.
void BlobFile::release() {
  if (descriptor >= 0)
    close(descriptor);
  descriptor = -1;
  lock = {};
}

Error BlobFile::damaged(std::string what) const {
  return Error{"INGOT-E7311", std::move(what), printable(file.name),
               "nothing of it is kept; try again, and tell the repository's owner if it stays so"};
}

Expected<Sink::State> BlobFile::open() {
  auto taken = lock.take(cache.lock(file.digest.hex));
  if (!taken)
    return taken.error();
  if (!*taken)
    return State::Busy;
  if (isKept(cache, file)) {
    size = file.bytes;
    release();
    return State::Complete;
  }
  descriptor = ::open(incomplete().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  struct stat facts = {};
  if (descriptor < 0 || fstat(descriptor, &facts) != 0)
    return cannotKeep(incomplete(), errno);
  if (!S_ISREG(facts.st_mode))
    return cannotKeep(incomplete(), EEXIST);
  if (uint64_t(facts.st_size) > file.bytes || facts.st_size == 0) {
    if (Outcome emptied = restart(); !emptied)
      return emptied.error();
  } else if (Outcome read = readKept(); !read) {
    return read.error();
  }
  if (size < file.bytes)
    return State::Ready;
  auto finished = finish();
  if (!finished)
    return finished.error();
  return *finished ? State::Complete : State::Ready;
}

/// Digests what an earlier process has left.
Outcome BlobFile::readKept() {
  hash = std::make_unique<BlobHash>(file.digest.kind, file.bytes);
  isResumed = true;
  std::vector<std::byte> piece(size_t{1} << 20);
  for (;;) {
    const ssize_t count = pread(descriptor, piece.data(), piece.size(), off_t(size));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return cannotKeep(incomplete(), errno);
    if (count == 0)
      return {};
    hash->update(std::span(piece).first(size_t(count)));
    size += uint64_t(count);
  }
}

Outcome BlobFile::restart() {
  if (ftruncate(descriptor, 0) != 0)
    return cannotKeep(incomplete(), errno);
  size = 0;
  isResumed = false;
  hash = std::make_unique<BlobHash>(file.digest.kind, file.bytes);
  return {};
}

Outcome BlobFile::take(std::span<const std::byte> bytes) {
  if (bytes.size() > file.bytes - size) {
    (void)restart();
    return damaged(message("there are more than the ", file.bytes, " bytes that are published"));
  }
  hash->update(bytes);
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor, bytes.data(), bytes.size(), off_t(size));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return cannotKeep(incomplete(), count < 0 ? errno : EIO);
    size += uint64_t(count);
    bytes = bytes.subspan(size_t(count));
  }
  return {};
}

Expected<bool> BlobFile::finish() {
  if (size < file.bytes)
    return false;
  auto digest = hash->finish();
  if (!digest)
    return digest.error();
  if (*digest != file.digest.hex) {
    const bool mayBeOlder = isResumed;
    if (Outcome emptied = restart(); !emptied)
      return emptied.error();
    if (mayBeOlder)
      return false;
    unlink(incomplete().c_str());
    return damaged(
        message("the file has the digest ", *digest, ", and ", file.digest.hex, " is published"));
  }
  if (Outcome published = publish(); !published)
    return published.error();
  return true;
}

Outcome BlobFile::publish() {
  if (fsync(descriptor) != 0 || rename(incomplete().c_str(), blob().c_str()) != 0)
    return cannotKeep(blob(), errno);
  const int folder = ::open(blob().parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    // A file system that cannot sync folders has nothing to lose here.
    (void)fsync(folder);
    close(folder);
  }
  release();
  return {};
}

} // namespace ingot::hub

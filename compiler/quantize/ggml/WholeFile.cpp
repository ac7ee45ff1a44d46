// SPDX-License-Identifier: Apache-2.0
// A temporary name, a sync, and a rename.
#include "compiler/quantize/ggml/WholeFile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::quantize {

using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Outcome;

Error WholeFile::failed(int reason, const char *action) const {
  const bool isFull = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  return {isFull ? "INGOT-E7011" : "INGOT-E7012",
          message("cannot ", action, ": ", std::strerror(reason)), finalPath.string(),
          isFull ? "free some space, or write to another disk"
                 : "check the disk and the folder's permissions"};
}

Expected<WholeFile> WholeFile::create(const std::filesystem::path &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return Error{"INGOT-E7010", "the output is a directory or a device", path.string(),
                 "give the name of a file"};
  WholeFile file(path);
  std::string name = path.string() + ".tmp.XXXXXX";
  file.descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (file.descriptor < 0)
    return Error{"INGOT-E7010", message("cannot create a file: ", std::strerror(errno)),
                 path.string(), "check that the folder exists and may be written to"};
  file.temporaryPath = name;
  const mode_t mask = umask(0);
  umask(mask);
  if (fchmod(file.descriptor, 0666 & ~mask) != 0)
    return file.failed(errno, "set permissions");
  return file;
}

WholeFile::WholeFile(WholeFile &&other) noexcept { *this = std::move(other); }

WholeFile &WholeFile::operator=(WholeFile &&other) noexcept {
  std::swap(finalPath, other.finalPath);
  std::swap(temporaryPath, other.temporaryPath);
  std::swap(descriptor, other.descriptor);
  std::swap(written, other.written);
  return *this;
}

WholeFile::~WholeFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporaryPath.empty())
    unlink(temporaryPath.c_str());
}

Outcome WholeFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return failed(count < 0 ? errno : EIO, "write");
    written += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Outcome WholeFile::finish() {
  if (fsync(descriptor) != 0)
    return failed(errno, "sync");
  if (rename(temporaryPath.c_str(), finalPath.c_str()) != 0)
    return Error{"INGOT-E7013",
                 message("cannot put the finished file in place: ", std::strerror(errno)),
                 finalPath.string(), "check the folder's permissions"};
  temporaryPath.clear();
  const std::filesystem::path folder =
      finalPath.has_parent_path() ? finalPath.parent_path() : std::filesystem::path(".");
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0)
    return {};
  // A file system that cannot sync folders has nothing to lose here.
  const int reason = fsync(opened) == 0 ? 0 : errno;
  close(opened);
  return reason == 0 || reason == EINVAL ? Outcome() : failed(reason, "sync the folder");
}

} // namespace ingot::quantize

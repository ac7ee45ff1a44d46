// SPDX-License-Identifier: Apache-2.0
// Nameless or temporary files, positioned writes, and the steps that make a file appear whole.
#include "compiler/engine_file/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ingot::compiler {

using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Outcome;

namespace {

/// Larger than any disk; keeps sums of offsets in 64 bits.
constexpr uint64_t maximumFileBytes = uint64_t(1) << 50;

uint64_t alignTo(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::filesystem::path folderOf(const std::filesystem::path &path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// How a nameless file is reached through the file system.
std::string descriptorPath(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// Bytes that this user may still write beside `path`; the largest number when unknown.
uint64_t freeBytes(const std::filesystem::path &path) {
  struct statvfs facts;
  if (statvfs(folderOf(path).c_str(), &facts) != 0)
    return UINT64_MAX;
  return uint64_t(facts.f_bavail) * facts.f_frsize;
}

bool isDiskFull(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

} // namespace

Error OutputFile::failed(int reason, const char *action, uint64_t neededBytes) const {
  if (isDiskFull(reason))
    return {"INGOT-E7011",
            message("no space for ", neededBytes, " bytes: ", std::strerror(reason), ", ",
                    freeBytes(finalPath), " bytes are free"),
            finalPath.string(), "free some space, or write to another disk"};
  return {"INGOT-E7012", message("cannot ", action, ": ", std::strerror(reason)),
          finalPath.string(), "check the disk and the folder's permissions"};
}

Expected<OutputFile> OutputFile::create(const std::filesystem::path &path, uint64_t expectedBytes) {
  struct stat facts;
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
    return Error{"INGOT-E7010", "the output is a directory or a device", path.string(),
                 "give the name of a file"};
  OutputFile file(path);
  if (Outcome opened = file.open(); !opened)
    return opened.error();
  if (expectedBytes > freeBytes(path))
    return file.failed(ENOSPC, "write", expectedBytes);
  return file;
}

Outcome OutputFile::open() {
  constexpr mode_t mode = 0666; // less the umask
  // Naming a nameless file later goes through /proc.
  if (access("/proc/self/fd", X_OK) == 0)
    descriptor = ::open(folderOf(finalPath).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (descriptor >= 0)
    return {};
  std::string name = finalPath.string() + ".tmp.XXXXXX";
  descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0)
    return Error{"INGOT-E7010", message("cannot create a file: ", std::strerror(errno)),
                 finalPath.string(), "check that the folder exists and may be written to"};
  temporaryPath = name;
  mode_t mask = umask(0);
  umask(mask);
  if (fchmod(descriptor, mode & ~mask) != 0)
    return failed(errno, "set permissions", 0);
  return {};
}

OutputFile::OutputFile(OutputFile &&other) noexcept { *this = std::move(other); }

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  std::swap(finalPath, other.finalPath);
  std::swap(temporaryPath, other.temporaryPath);
  std::swap(descriptor, other.descriptor);
  std::swap(used, other.used);
  std::swap(entries, other.entries);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporaryPath.empty())
    unlink(temporaryPath.c_str());
}

uint64_t OutputFile::end() const { return alignTo(used, sectionAlignment); }

/// Makes the file at least `offset + bytes` long, on blocks that are really there.
Outcome OutputFile::claim(uint64_t offset, uint64_t bytes) {
  if (bytes > maximumFileBytes || offset > maximumFileBytes - bytes)
    return failed(EFBIG, "grow the file", bytes);
  if (bytes == 0 || fallocate(descriptor, 0, off_t(offset), off_t(bytes)) == 0)
    return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS)
    return failed(errno, "claim disk space", bytes);
  if (bytes > freeBytes(finalPath))
    return failed(ENOSPC, "grow the file", bytes);
  if (ftruncate(descriptor, off_t(offset + bytes)) != 0)
    return failed(errno, "grow the file", bytes);
  return {};
}

Expected<uint32_t> OutputFile::reserve(std::string name, SectionKind kind, uint64_t bytes) {
  uint64_t offset =
      alignTo(used, kind == SectionKind::Weights ? weightsAlignment : sectionAlignment);
  if (Outcome claimed = claim(offset, bytes); !claimed)
    return claimed.error();
  used = offset + bytes;
  entries.push_back({std::move(name), kind, offset, bytes, {}});
  return uint32_t(entries.size() - 1);
}

Outcome OutputFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), off_t(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return failed(written < 0 ? errno : EIO, "write", bytes.size());
    offset += uint64_t(written);
    bytes = bytes.subspan(size_t(written));
  }
  return {};
}

Outcome OutputFile::writeAt(uint32_t section, uint64_t offset, std::span<const std::byte> bytes) {
  const SectionEntry &entry = entries[section];
  if (offset > entry.bytes || bytes.size() > entry.bytes - offset)
    return Error{"INGOT-E7012",
                 message("bytes ", offset, " to ", offset + bytes.size(), " lie outside section ",
                         checkpoint::inQuotes(entry.name), " of ", entry.bytes, " bytes"),
                 finalPath.string(), "report this as an error of Ingot"};
  return write(entry.offset + offset, bytes);
}

Expected<uint32_t> OutputFile::append(std::string name, SectionKind kind,
                                      std::span<const std::byte> bytes) {
  checkpoint::Sha256 hash;
  hash.update(bytes);
  Expected<checkpoint::Digest> digest = hash.finish();
  if (!digest)
    return digest.error();
  Expected<uint32_t> section = reserve(std::move(name), kind, bytes.size());
  if (!section)
    return section.error();
  if (Outcome written = writeAt(*section, 0, bytes); !written)
    return written.error();
  setDigest(*section, *digest);
  return section;
}

void OutputFile::setDigest(uint32_t section, const checkpoint::Digest &digest) {
  entries[section].digest = digest;
}

void OutputFile::removeFrom(uint32_t first) {
  entries.resize(first);
  used = entries.empty() ? headerBytes : entries.back().offset + entries.back().bytes;
}

/// Writes what encloses the sections; the file ends with `metadata`, whatever was there before.
Outcome OutputFile::writeEnds(std::span<const std::byte, headerBytes> header,
                              std::span<const std::byte> metadata) {
  uint64_t start = end();
  if (ftruncate(descriptor, static_cast<off_t>(start)) != 0)
    return failed(errno, "write", start);
  if (Outcome claimed = claim(start, metadata.size()); !claimed)
    return claimed;
  if (Outcome written = write(start, metadata); !written)
    return written;
  return write(0, header);
}

Expected<std::filesystem::path> OutputFile::preview(std::span<const std::byte, headerBytes> header,
                                                    std::span<const std::byte> metadata) {
  if (Outcome written = writeEnds(header, metadata); !written)
    return written.error();
  return std::filesystem::path(descriptorPath(descriptor));
}

Outcome OutputFile::finish(std::span<const std::byte, headerBytes> header,
                           std::span<const std::byte> metadata) {
  if (Outcome written = writeEnds(header, metadata); !written)
    return written;
  if (fsync(descriptor) != 0)
    return failed(errno, "sync", end() + metadata.size());
  return publish();
}

/// Gives the complete file its name, replacing a file that has it, and makes that durable.
Outcome OutputFile::publish() {
  auto cannotName = [&](int reason) {
    return Error{"INGOT-E7013",
                 message("cannot put the finished file in place: ", std::strerror(reason)),
                 finalPath.string(), "check the folder's permissions"};
  };
  auto link = [&](const std::filesystem::path &name) {
    return linkat(AT_FDCWD, descriptorPath(descriptor).c_str(), AT_FDCWD, name.c_str(),
                  AT_SYMLINK_FOLLOW);
  };
  if (temporaryPath.empty() && link(finalPath) != 0) {
    if (errno != EEXIST)
      return cannotName(errno);
    // A link cannot replace a file, a rename can: the file needs a name of its own first.
    std::string base = finalPath.string() + ".tmp." + std::to_string(getpid()) + ".";
    for (int attempt = 0; temporaryPath.empty(); ++attempt) {
      std::string name = base + std::to_string(attempt);
      if (link(name) == 0)
        temporaryPath = name;
      else if (errno != EEXIST)
        return cannotName(errno);
    }
  }
  if (!temporaryPath.empty()) {
    if (rename(temporaryPath.c_str(), finalPath.c_str()) != 0)
      return cannotName(errno);
    temporaryPath.clear();
  }
  int folder = ::open(folderOf(finalPath).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    // A file system that cannot sync folders has nothing to lose here.
    int synced = fsync(folder);
    int reason = errno;
    close(folder);
    if (synced != 0 && reason != EINVAL)
      return failed(reason, "sync the folder", 0);
  }
  return {};
}

} // namespace ingot::compiler

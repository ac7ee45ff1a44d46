// SPDX-License-Identifier: Apache-2.0
// Random access reads through pread.
#include "compiler/checkpoint/files/File.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::checkpoint {

static std::string systemText(int number) { return std::strerror(number); }

/// Whether the file is what Git LFS keeps in place of a large one, by its specification: less than
/// 1024 bytes of text, of which the first line is the version's.
static bool isLfsPointer(const File &file) {
  constexpr uint64_t limit = 1024;
  std::string text(std::min(file.size(), limit), '\0');
  return file.size() < limit && file.readAt(0, std::as_writable_bytes(std::span(text))) &&
         text.starts_with("version ") &&
         text.substr(0, text.find('\n')).find("//git-lfs.github.com/spec/") != text.npos;
}

/// Why `path` cannot be opened, by what the system says.
static Error cannotOpen(const std::filesystem::path &path, int reason) {
  std::error_code isNoLink;
  const std::filesystem::path target = std::filesystem::read_symlink(path, isNoLink);
  if (reason == ENOENT && !isNoLink)
    return {"INGOT-E7001",
            message("the link leads to ", inQuotes(target.string()), ", which is not there"),
            printable(path.string()), "download or copy what it leads to"};
  return {"INGOT-E7001", message("cannot open the file: ", systemText(reason)),
          printable(path.string()), "check that the path exists and may be read"};
}

Expected<File> File::open(const std::filesystem::path &path) {
  // Without O_NONBLOCK, opening a FIFO would wait for its writer.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return cannotOpen(path, errno);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return Error{"INGOT-E7002", "not a regular file", printable(path.string()),
                 "give a file, not a directory, pipe or device"};
  }
  File file(descriptor, static_cast<uint64_t>(status.st_size), path);
  if (isLfsPointer(file))
    return Error{"INGOT-E7007", "this is a pointer of Git LFS, not the file that it stands for",
                 printable(path.string()), "get the file by `git lfs pull` in its repository"};
  return file;
}

File::File(int descriptor, uint64_t bytes, std::filesystem::path path)
    : descriptor(descriptor), bytes(bytes), filePath(std::move(path)) {}

File::File(File &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), bytes(std::exchange(other.bytes, 0)),
      filePath(std::move(other.filePath)) {}

File &File::operator=(File &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(bytes, other.bytes);
  std::swap(filePath, other.filePath);
  return *this;
}

File::~File() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Outcome File::readAt(uint64_t offset, std::span<std::byte> out) const {
  auto endsEarly = [&](uint64_t end) {
    return Error{"INGOT-E7004",
                 message("the file ends at byte ", end, ", but ", out.size(),
                         " bytes were to be read at byte ", offset),
                 printable(filePath.string()),
                 "the file is cut short or changes while it is read; copy it again"};
  };
  if (offset > bytes || out.size() > bytes - offset)
    return endsEarly(bytes);
  while (!out.empty()) {
    // Linux transfers at most about 2 GiB a call; a smaller step keeps every kernel content.
    size_t step = std::min<size_t>(out.size(), size_t{1} << 30);
    ssize_t got = ::pread(descriptor, out.data(), step, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return Error{"INGOT-E7003", message("cannot read at byte ", offset, ": ", systemText(errno)),
                   printable(filePath.string()), "check the disk and the file's permissions"};
    if (got == 0)
      return endsEarly(offset);
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Expected<std::string> readText(const std::filesystem::path &path, uint64_t maxBytes) {
  auto file = File::open(path);
  if (!file)
    return file.error();
  if (file->size() > maxBytes)
    return Error{"INGOT-E7005",
                 message("the file has ", file->size(), " bytes; at most ", maxBytes,
                         " are read from a file of this kind"),
                 printable(path.string()), "check that this is the file that was meant"};
  std::string text(file->size(), '\0');
  if (auto read = file->readAt(0, std::as_writable_bytes(std::span(text))); !read)
    return read.error();
  return text;
}

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// Reads and writes by offset, so that rows of any sequence can be had.
#include "compiler/quantize/RowFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

using namespace ingot::quantize;
using ingot::checkpoint::Error;
using ingot::checkpoint::Expected;
using ingot::checkpoint::Outcome;

Expected<RowFile> RowFile::open(const std::filesystem::path &path, int64_t columns) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return Error{"INGOT-E7010",
                 std::string("a file for rows cannot be created: ") + std::strerror(errno),
                 path.string(), "choose a folder that can be written"};
  return RowFile(descriptor, columns, path);
}

RowFile::RowFile(RowFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), width(other.width),
      path(std::move(other.path)) {}

RowFile &RowFile::operator=(RowFile &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(width, other.width);
  std::swap(path, other.path);
  return *this;
}

RowFile::~RowFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Outcome RowFile::write(int64_t row, std::span<const float> rows) {
  auto bytes = std::as_bytes(rows);
  off_t offset = row * width * static_cast<int64_t>(sizeof(float));
  while (!bytes.empty()) {
    const ssize_t done = pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return Error{"INGOT-E7012", std::string("rows cannot be written: ") + std::strerror(errno),
                   path.string(), "free some space"};
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += done;
  }
  return {};
}

Outcome RowFile::read(int64_t row, std::span<float> rows) const {
  auto bytes = std::as_writable_bytes(rows);
  off_t offset = row * width * static_cast<int64_t>(sizeof(float));
  while (!bytes.empty()) {
    const ssize_t done = pread(descriptor, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return Error{"INGOT-E7004", "rows that were written cannot be read", path.string(), ""};
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += done;
  }
  return {};
}

// SPDX-License-Identifier: Apache-2.0
// RowFile: rows of f32 on disk, for what is too large for memory and read in order.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <filesystem>
#include <span>

namespace ingot::quantize {

/// An open file, as large as what was written. Movable; the file stays.
class RowFile {
public:
  /// Opens `path`, or makes it. Errors: INGOT-E7010.
  static checkpoint::Expected<RowFile> open(const std::filesystem::path &path, int64_t columns);
  RowFile(RowFile &&other) noexcept;
  RowFile &operator=(RowFile &&other) noexcept;
  ~RowFile();

  int64_t columns() const { return width; }
  /// Whole rows from `row` on. Errors: INGOT-E7012 and E7004.
  checkpoint::Outcome write(int64_t row, std::span<const float> rows);
  checkpoint::Outcome read(int64_t row, std::span<float> rows) const;

private:
  RowFile(int descriptor, int64_t width, std::filesystem::path path)
      : descriptor(descriptor), width(width), path(std::move(path)) {}

  int descriptor = -1;
  int64_t width = 0;
  std::filesystem::path path;
};

} // namespace ingot::quantize

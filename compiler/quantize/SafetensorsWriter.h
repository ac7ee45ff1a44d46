// SPDX-License-Identifier: Apache-2.0
// Writes the safetensors container, which compiler/checkpoint/files/Safetensors.h describes.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/files/Tensor.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

namespace ingot::quantize {

/// What a file says of a tensor.
struct TensorHeader {
  std::string name;
  checkpoint::DType dtype = checkpoint::DType::F32;
  std::vector<uint64_t> shape; ///< outermost first

  uint64_t bytes() const { return *checkpoint::storedBytes(dtype, shape); }
};

/// A tensor with its data: row-major, little-endian.
struct TensorData {
  TensorHeader header;
  std::vector<std::byte> bytes;
};

using FileMetadata = std::map<std::string, std::string, std::less<>>;

/// A file that appears under its name whole or not at all; data is appended in the order of the
/// headers.
class SafetensorsWriter {
public:
  /// Errors: INGOT-E7010.
  static checkpoint::Expected<SafetensorsWriter> create(const std::filesystem::path &path,
                                                        std::span<const TensorHeader> headers,
                                                        const FileMetadata &metadata);
  SafetensorsWriter(SafetensorsWriter &&) noexcept;
  SafetensorsWriter &operator=(SafetensorsWriter &&) noexcept;
  /// Removes the file unless `finish` succeeded.
  ~SafetensorsWriter();

  /// Errors: INGOT-E7012.
  checkpoint::Outcome append(std::span<const std::byte> bytes);
  /// Syncs and names the file; all data must have been appended. Errors: INGOT-E7012, E7013.
  checkpoint::Outcome finish();

private:
  struct State;
  explicit SafetensorsWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Writes a whole file. Errors: those of the writer.
checkpoint::Outcome writeSafetensors(const std::filesystem::path &path,
                                     std::span<const TensorData> tensors);

/// Writes a small file, whole or not at all. Errors: INGOT-E7010, E7012, E7013.
checkpoint::Outcome writeWhole(const std::filesystem::path &path, std::string_view text);

} // namespace ingot::quantize

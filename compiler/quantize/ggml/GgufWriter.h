// SPDX-License-Identifier: Apache-2.0
// GgufWriter: a GGUF file of version 3, written front to back. GgufKeys: its metadata, each value
// with the type and the bytes that it has in a file.
#pragma once

#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/files/Tensor.h"
#include "compiler/quantize/ggml/WholeFile.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::quantize {

/// Keys and values in the order of the file; setting one that is there keeps its place.
class GgufKeys {
public:
  /// Those of a file that readGguf() has accepted, whose first tensor begins at `firstTensor`.
  /// Errors: INGOT-E1102, those of File.
  static checkpoint::Expected<GgufKeys> read(const checkpoint::File &file, uint64_t firstTensor);

  /// Those of an object: numbers and lists of them have 32 bits.
  static GgufKeys of(const nlohmann::json &keys);

  void setU32(std::string_view key, uint32_t value);
  void setString(std::string_view key, std::string_view value);
  void setStrings(std::string_view key, const std::vector<std::string> &values);
  /// Removes the key, and with a final "*" all keys that begin so.
  void remove(std::string_view key);

  size_t size() const { return entries.size(); }
  /// As they stand in a file.
  std::string bytes() const;

private:
  struct Entry {
    std::string key, typeAndValue;
  };
  void set(std::string_view key, std::string typeAndValue);

  std::vector<Entry> entries;
};

/// What the file says of a tensor before its bytes.
struct GgufTensorPlan {
  std::string name;
  checkpoint::DType dtype = checkpoint::DType::F32; ///< one that ggml numbers
  std::vector<uint64_t> shape;                      ///< outermost first; one to four dimensions
};

class GgufWriter {
public:
  static constexpr uint64_t alignment = 32;

  /// Writes everything before the tensors' bytes. The key `general.alignment` is left out: files
  /// have the alignment that goes without saying.
  /// Errors: INGOT-E7010 to E7012; E1131 for a tensor whose rows are no whole number of blocks.
  static checkpoint::Expected<GgufWriter> create(const std::filesystem::path &path, GgufKeys keys,
                                                 const std::vector<GgufTensorPlan> &tensors);

  /// The next bytes of the tensors, which follow each other in the order of the plan; at most to
  /// the end of the present one. Errors: INGOT-E7011, E7012; E1131 for bytes beyond it.
  checkpoint::Outcome append(std::span<const std::byte> bytes);

  /// The file gets its name when all bytes are there. Errors: INGOT-E7011 to E7013, E1131.
  checkpoint::Outcome finish();

  /// Bytes of the file so far.
  uint64_t size() const { return file.size(); }

private:
  GgufWriter(WholeFile file, std::vector<uint64_t> sizes)
      : file(std::move(file)), sizes(std::move(sizes)) {}
  checkpoint::Outcome pad();

  WholeFile file;
  std::vector<uint64_t> sizes; ///< of the tensors
  size_t tensor = 0;
  uint64_t inTensor = 0;
};

} // namespace ingot::quantize

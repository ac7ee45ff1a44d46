// SPDX-License-Identifier: Apache-2.0
// The file that carries conformance launches to a machine with a GPU: writing, reading, checking.
#pragma once

#include "runtime/core/Status.h"
#include "tests/gpu/LaunchRecord_generated.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ingot::record {

constexpr uint32_t kNone = UINT32_MAX;
constexpr uint32_t kVersion = 3;

/// What stands before the compressed FlatBuffer.
struct FileHeader {
  char magic[8]; ///< "INGOTREC"
  uint32_t version;
  uint32_t reserved;  ///< 0
  uint64_t rawBytes;  ///< of the FlatBuffer
  uint8_t digest[32]; ///< SHA-256 of the compressed bytes
};
static_assert(sizeof(FileHeader) == 56);

/// The file's bytes. Compressed with a window that sees the whole record.
std::vector<uint8_t> packRecord(const RecordT &record);
/// The header and the compressed form of `raw`, the bytes of a FlatBuffer.
std::vector<uint8_t> packRaw(std::span<const uint8_t> raw);

/// Reads and verifies a file; every index and range of what it returns holds. INGOT-E7030.
runtime::Result<std::unique_ptr<RecordT>> unpackRecord(std::span<const uint8_t> file);
/// The same for the FlatBuffer alone.
runtime::Result<std::unique_ptr<RecordT>> parseRecord(std::span<const uint8_t> raw);

/// Collects content, each once.
class BlobStore {
public:
  explicit BlobStore(RecordT &record) : record(record) {}
  /// The index of a blob with these bytes.
  uint32_t add(std::span<const uint8_t> bytes);

private:
  RecordT &record;
  std::map<std::string, uint32_t> known; ///< by digest
};

/// Bytes of an element.
uint64_t elementBytes(Element element);

} // namespace ingot::record

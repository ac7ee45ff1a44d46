// SPDX-License-Identifier: Apache-2.0
// The 64 bytes at the start of every engine file, little-endian, followed by the metadata
// (Engine.fbs) and the sections. Part of the contract: compiler and runtime both include it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::schema {

/// The first eight bytes of an engine file, without a terminating zero.
inline constexpr char fileMagic[8] = {'I', 'N', 'G', 'O', 'T', 'E', 'N', 'G'};

/// Raised when a file can no longer be read by the readers of the version before.
inline constexpr uint32_t fileFormatVersion = 1;

/// The metadata starts at a multiple of this.
inline constexpr uint64_t metadataAlignment = 64;

/// Sections start at a multiple of this, sections of weights at a multiple of `weightsAlignment`,
/// and each weight within its section at a multiple of `sectionAlignment`.
inline constexpr uint64_t sectionAlignment = 64;
inline constexpr uint64_t weightsAlignment = 4096;

/// A FlatBuffer is addressed with 32 bits.
inline constexpr uint64_t maximumMetadataBytes = (uint64_t(1) << 31) - 1;

struct FileHeader {
  char magic[8];              ///< fileMagic
  uint32_t formatVersion;     ///< fileFormatVersion
  uint32_t reserved;          ///< 0
  uint64_t metadataOffset;    ///< from the start of the file, multiple of metadataAlignment
  uint64_t metadataBytes;     ///< size of the FlatBuffer
  uint8_t metadataDigest[32]; ///< SHA-256 of the metadata
};

static_assert(sizeof(FileHeader) == 64 && offsetof(FileHeader, metadataDigest) == 32);

} // namespace ingot::schema

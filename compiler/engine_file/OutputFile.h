// SPDX-License-Identifier: Apache-2.0
// OutputFile: a file of aligned sections that appears under its name whole or not at all.
#pragma once

#include "compiler/checkpoint/files/Digest.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ingot::compiler {

/// What a section is for; mirrors SectionKind of Engine.fbs.
enum class SectionKind : uint8_t { Kernels, Weights, Tokenizer, ChatTemplate, Golden, Other };

struct SectionEntry {
  std::string name;
  SectionKind kind = SectionKind::Other;
  uint64_t offset = 0; ///< from the start of the file
  uint64_t bytes = 0;
  checkpoint::Digest digest = {};
};

/// Name of the section that holds the bytes of a unit's library.
inline std::string librarySectionName(std::string_view unit, std::string_view library) {
  return checkpoint::message("kernels/", unit, "/", library);
}

/// Writes into a file without a name where the file system has such (nothing is left behind then,
/// however the process ends), else into "<name>.tmp.XXXXXX" beside the final place, removed on
/// failure. `finish` gives it its name; an existing file of that name is replaced in one step.
class OutputFile {
public:
  static constexpr uint64_t headerBytes = 64;
  static constexpr uint64_t sectionAlignment = 64;
  static constexpr uint64_t weightsAlignment = 4096;

  /// Starts a file that shall end up at `path`, whose folder must exist. With `expectedBytes` the
  /// free space is checked at once.
  /// Errors: INGOT-E7010 (cannot be created), E7011 (not enough space).
  static checkpoint::Expected<OutputFile> create(const std::filesystem::path &path,
                                                 uint64_t expectedBytes = 0);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&other) noexcept;
  /// Discards the file unless `finish` succeeded.
  ~OutputFile();

  /// Takes the next `bytes` bytes, aligned for `kind`, and claims the disk space; answers the
  /// section's number. Its digest stays empty until `setDigest`.
  /// Errors: INGOT-E7011, E7012 (write failed).
  checkpoint::Expected<uint32_t> reserve(std::string name, SectionKind kind, uint64_t bytes);

  /// Writes part of a reserved section; parts never written are zero. Parts may come in any order
  /// and from several threads at once, while no other method runs. Errors: INGOT-E7011, E7012.
  checkpoint::Outcome writeAt(uint32_t section, uint64_t offset, std::span<const std::byte> bytes);

  /// Reserves and writes a section, digest included.
  checkpoint::Expected<uint32_t> append(std::string name, SectionKind kind,
                                        std::span<const std::byte> bytes);

  void setDigest(uint32_t section, const checkpoint::Digest &digest);

  /// Takes back the sections from `first` on: what was written there is no part of the file.
  void removeFrom(uint32_t first);

  const std::vector<SectionEntry> &sections() const { return entries; }

  /// First byte after the last section, at a multiple of `sectionAlignment`: where `finish` puts
  /// the metadata.
  uint64_t end() const;

  /// Where the file shall end up instead, in the same folder.
  void setPath(std::filesystem::path path) { finalPath = std::move(path); }

  /// Writes `metadata` at `end()`, then `header` at 0, syncs, and gives the file its name. No other
  /// method may be called after it. Errors: INGOT-E7011, E7012, E7013 (cannot be given its name).
  checkpoint::Outcome finish(std::span<const std::byte, headerBytes> header,
                             std::span<const std::byte> metadata);

  /// Writes `metadata` and `header` as `finish` does, but gives the file no name: a path under
  /// which this process can read the whole file until the next call of any method.
  checkpoint::Expected<std::filesystem::path>
  preview(std::span<const std::byte, headerBytes> header, std::span<const std::byte> metadata);

  const std::filesystem::path &path() const { return finalPath; }

private:
  explicit OutputFile(std::filesystem::path path) : finalPath(std::move(path)) {}

  checkpoint::Outcome open();
  checkpoint::Outcome claim(uint64_t offset, uint64_t bytes);
  checkpoint::Outcome write(uint64_t offset, std::span<const std::byte> bytes);
  checkpoint::Outcome writeEnds(std::span<const std::byte, headerBytes> header,
                                std::span<const std::byte> metadata);
  checkpoint::Outcome publish();
  checkpoint::Error failed(int reason, const char *action, uint64_t neededBytes) const;

  std::filesystem::path finalPath;
  std::filesystem::path temporaryPath; // empty: a file without a name
  int descriptor = -1;
  uint64_t used = headerBytes;
  std::vector<SectionEntry> entries;
};

} // namespace ingot::compiler

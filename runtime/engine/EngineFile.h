// SPDX-License-Identifier: Apache-2.0
// An engine file, mapped and verified: its metadata and the bytes of its sections and weights.
#pragma once

#include "runtime/core/MappedFile.h"
#include "runtime/core/Sha256.h"
#include "runtime/schema/Engine_generated.h"

#include <map>
#include <memory>

namespace ingot::runtime {

/// How much of a file `EngineFile::open` proves before it returns.
struct VerifyOptions {
  bool weights = false; ///< also compare the digests of all weights (reads every byte)
};

/// A verified engine. Structure, ranges, expressions, the coverage proof and the digests of
/// metadata, code, tokenizer and every other section that is not weights hold by construction, so
/// readers may follow any index of `metadata()` without checks. Immutable; safe to share.
class EngineFile {
public:
  /// Maps `path` and the side files it names. INGOT-E50xx, or INGOT-E7101 when unreadable.
  static Result<std::shared_ptr<const EngineFile>> open(const std::string &path,
                                                        const VerifyOptions &options = {});

  /// The same over bytes in memory, which must outlive the result, start at a multiple of 64 and be
  /// followed by 64 readable bytes; side files are looked for in `folder`.
  static Result<std::shared_ptr<const EngineFile>> openBytes(std::span<const uint8_t> bytes,
                                                             const std::string &folder,
                                                             const VerifyOptions &options = {});

  const schema::Engine &metadata() const { return *engine; }
  /// SHA-256 of the metadata; names the engine's exact build.
  const Digest &digest() const { return metadataDigest; }
  std::span<const uint8_t> section(uint32_t index) const { return sections[index]; }
  /// The file's bytes of a weight; empty for one that the loader makes.
  std::span<const uint8_t> weight(uint32_t index) const;
  /// The first section of a kind; empty when there is none.
  std::span<const uint8_t> sectionOfKind(schema::SectionKind kind) const;
  /// Bytes of the engine file itself, without side files.
  uint64_t fileBytes() const { return bytes.size(); }

  /// INGOT-E7104 when the file, or a side file, has been written to since it was opened: whatever
  /// was computed in between is of no known model.
  Status unchanged() const;

  /// Compares the digests of every weights section and weight. INGOT-E5018 names the first one.
  Status verifyWeights() const;

private:
  Status load(const std::string &folder, const VerifyOptions &options);
  Status readMetadata();
  Status mapSections(const std::string &folder);
  Status verifyWeightRanges() const;
  Status verifySectionDigests() const;

  MappedFile mapped;
  std::map<std::string, MappedFile> sideFiles;
  std::span<const uint8_t> bytes;
  std::vector<uint8_t> metadataCopy; ///< what was verified stays so, whatever becomes of the file
  std::vector<std::span<const uint8_t>> sections;
  const schema::Engine *engine = nullptr;
  Digest metadataDigest = {};
};

} // namespace ingot::runtime

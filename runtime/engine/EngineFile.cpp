// SPDX-License-Identifier: Apache-2.0
// Reading an engine file: header, metadata digest, FlatBuffer verification, sections and digests.
#include "runtime/engine/EngineFile.h"

#include "runtime/engine/Coverage.h"
#include "runtime/engine/Images.h"
#include "runtime/engine/Verify.h"
#include "runtime/schema/FileHeader.h"

#include <algorithm>
#include <cstring>

namespace ingot::runtime {
namespace {

/// A tree of metadata is at most this deep; the schema itself is far shallower.
constexpr uint32_t maximumMetadataDepth = 32;
constexpr uint32_t maximumMetadataTables = 4'000'000;
constexpr uint64_t maximumSections = 100'000;

Status damaged(const char *code, std::string what) {
  return Status::error(code, std::move(what), "get the file again or rebuild the engine");
}

bool sameDigest(const flatbuffers::Vector<uint8_t> &stated, const Digest &computed) {
  return stated.size() == computed.size() &&
         std::equal(computed.begin(), computed.end(), stated.begin());
}

/// A plain file name: side files never lie in another folder.
bool isPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

} // namespace

Result<std::shared_ptr<const EngineFile>> EngineFile::open(const std::string &path,
                                                           const VerifyOptions &options) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok())
    return std::move(mapped).status();
  auto file = std::make_shared<EngineFile>();
  file->mapped = std::move(*mapped);
  file->bytes = file->mapped.bytes();
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (Status status = file->load(folder, options); !status.ok())
    return std::move(status).in(path);
  if (Status status = file->unchanged(); !status.ok())
    return status;
  return std::shared_ptr<const EngineFile>(std::move(file));
}

Status EngineFile::unchanged() const {
  Status status = mapped.unchanged();
  for (const auto &[name, side] : sideFiles)
    if (status.ok())
      status = side.unchanged();
  return status;
}

Result<std::shared_ptr<const EngineFile>> EngineFile::openBytes(std::span<const uint8_t> bytes,
                                                                const std::string &folder,
                                                                const VerifyOptions &options) {
  auto file = std::make_shared<EngineFile>();
  file->bytes = bytes;
  if (Status status = file->load(folder, options); !status.ok())
    return status;
  return std::shared_ptr<const EngineFile>(std::move(file));
}

Status EngineFile::load(const std::string &folder, const VerifyOptions &options) {
  if (Status status = readMetadata(); !status.ok())
    return status;
  if (Status status = verifyStructure(*engine); !status.ok())
    return status;
  if (Status status = verifyImages(*engine); !status.ok())
    return status;
  if (Status status = mapSections(folder); !status.ok())
    return status;
  if (Status status = verifyWeightRanges(); !status.ok())
    return status;
  if (Status status = verifySectionDigests(); !status.ok())
    return status;
  if (Status status = verifyCoverage(*engine); !status.ok())
    return status;
  return options.weights ? verifyWeights() : Status();
}

Status EngineFile::readMetadata() {
  schema::FileHeader header;
  if (bytes.size() < sizeof header)
    return Status::error("INGOT-E5001", "not an engine file: shorter than its header",
                         "name a file made by 'ingot build'");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, schema::fileMagic, sizeof header.magic) != 0)
    return Status::error("INGOT-E5001", "not an engine file: the first bytes are not INGOTENG",
                         "name a file made by 'ingot build'");
  if (header.formatVersion != schema::fileFormatVersion || header.reserved != 0)
    return Status::error("INGOT-E5002",
                         "the file has format version " + std::to_string(header.formatVersion) +
                             ", this runtime reads version " +
                             std::to_string(schema::fileFormatVersion),
                         "use the runtime of the release that built the engine");
  if (header.metadataOffset < sizeof header ||
      header.metadataOffset % schema::metadataAlignment != 0 || header.metadataBytes == 0 ||
      header.metadataBytes > schema::maximumMetadataBytes || header.metadataOffset > bytes.size() ||
      header.metadataBytes > bytes.size() - header.metadataOffset)
    return damaged("INGOT-E5003", "the header places " + std::to_string(header.metadataBytes) +
                                      " bytes of metadata at byte " +
                                      std::to_string(header.metadataOffset) +
                                      ", outside the file of " + std::to_string(bytes.size()) +
                                      " bytes or misaligned");
  std::span<const uint8_t> stored = bytes.subspan(header.metadataOffset, header.metadataBytes);
  metadataCopy.assign(stored.begin(), stored.end());
  std::span<const uint8_t> data = metadataCopy;
  metadataDigest = sha256(data.data(), data.size());
  if (std::memcmp(header.metadataDigest, metadataDigest.data(), metadataDigest.size()) != 0)
    return damaged("INGOT-E5004", "the metadata does not have the digest stated in the header");
  flatbuffers::Verifier verifier(data.data(), data.size(), maximumMetadataDepth,
                                 maximumMetadataTables);
  if (!schema::VerifyEngineBuffer(verifier))
    return damaged("INGOT-E5005", "the metadata is not a valid FlatBuffer of an engine");
  engine = schema::GetEngine(data.data());
  return {};
}

Status EngineFile::mapSections(const std::string &folder) {
  if (!engine->sections())
    return {};
  if (engine->sections()->size() > maximumSections)
    return damaged("INGOT-E5008", "more sections than any engine has");
  for (const schema::Section *section : *engine->sections()) {
    std::string name = section->name()->str();
    std::span<const uint8_t> whole = bytes;
    if (section->file() && section->file()->size()) {
      std::string sideName = section->file()->str();
      if (!isPlainName(sideName))
        return damaged("INGOT-E5019", "section '" + name + "' lies in a file with a path");
      auto found = sideFiles.find(sideName);
      if (found == sideFiles.end()) {
        Result<MappedFile> side = MappedFile::open(folder + "/" + sideName);
        if (!side.ok())
          return Status::error("INGOT-E5019",
                               "section '" + name + "' needs the side file '" + sideName +
                                   "': " + std::string(side.status().message()),
                               "put the file beside the engine");
        found = sideFiles.emplace(sideName, std::move(*side)).first;
      }
      whole = found->second.bytes();
    }
    uint64_t alignment = section->kind() == schema::SectionKind::Weights ? schema::weightsAlignment
                                                                         : schema::sectionAlignment;
    if (section->offset() % alignment != 0 || section->offset() > whole.size() ||
        section->bytes() > whole.size() - section->offset())
      return damaged("INGOT-E5008", "section '" + name + "' (" + std::to_string(section->bytes()) +
                                        " bytes at byte " + std::to_string(section->offset()) +
                                        ") is misaligned or outside its file of " +
                                        std::to_string(whole.size()) + " bytes");
    sections.push_back(whole.subspan(section->offset(), section->bytes()));
  }
  return {};
}

Status EngineFile::verifyWeightRanges() const {
  if (!engine->weights())
    return {};
  for (const schema::Weight *weight : *engine->weights()) {
    if (weight->fill())
      continue; // made at load
    uint64_t available = sections[weight->section()].size();
    if (weight->offset() % schema::sectionAlignment != 0 || weight->offset() > available ||
        weight->bytes() > available - weight->offset())
      return damaged("INGOT-E5008", "weight '" + weight->name()->str() +
                                        "' is misaligned or outside its section of " +
                                        std::to_string(available) + " bytes");
  }
  return {};
}

Status EngineFile::verifySectionDigests() const {
  for (size_t i = 0; i < sections.size(); ++i) {
    const schema::Section &section = *engine->sections()->Get(uint32_t(i));
    if (section.kind() == schema::SectionKind::Weights)
      continue;
    if (!section.digest() ||
        !sameDigest(*section.digest(), sha256(sections[i].data(), sections[i].size())))
      return damaged("INGOT-E5009",
                     "section '" + section.name()->str() + "' does not have its stated digest");
  }
  return {};
}

Status EngineFile::verifyWeights() const {
  // A section of weights states the digest of its weights' digests.
  std::vector<Sha256> ofDigests(sections.size());
  for (uint32_t i = 0; engine->weights() && i < engine->weights()->size(); ++i) {
    const schema::Weight &stated = *engine->weights()->Get(i);
    if (stated.fill())
      continue; // follows from the metadata
    std::span<const uint8_t> data = weight(i);
    Digest digest = sha256(data.data(), data.size());
    if (!stated.digest() || !sameDigest(*stated.digest(), digest))
      return damaged("INGOT-E5018", "weight '" + stated.name()->str() + "' is damaged");
    ofDigests[stated.section()].update(digest.data(), digest.size());
  }
  for (size_t i = 0; i < sections.size(); ++i) {
    const schema::Section &section = *engine->sections()->Get(uint32_t(i));
    if (section.kind() == schema::SectionKind::Weights && section.digest() &&
        !sameDigest(*section.digest(), ofDigests[i].finish()))
      return damaged("INGOT-E5018", "weights section '" + section.name()->str() +
                                        "' does not have the digest of its weights");
  }
  return {};
}

std::span<const uint8_t> EngineFile::weight(uint32_t index) const {
  const schema::Weight &weight = *engine->weights()->Get(index);
  if (weight.fill())
    return {};
  return sections[weight.section()].subspan(weight.offset(), weight.bytes());
}

std::span<const uint8_t> EngineFile::sectionOfKind(schema::SectionKind kind) const {
  for (size_t i = 0; i < sections.size(); ++i)
    if (engine->sections()->Get(uint32_t(i))->kind() == kind)
      return sections[i];
  return {};
}

} // namespace ingot::runtime

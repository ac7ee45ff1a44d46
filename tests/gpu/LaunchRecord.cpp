// SPDX-License-Identifier: Apache-2.0
// A record is input like any other: nothing of it is used before it is checked.
#include "tests/gpu/LaunchRecord.h"

#include "runtime/core/Sha256.h"
#include "runtime/schema/Elements.h"

#include <algorithm>
#include <cstring>
#include <zstd.h>

namespace ingot::record {

using runtime::Result;
using runtime::Status;

namespace {

constexpr char kMagic[] = "INGOTREC";
/// Of a FlatBuffer, whose offsets are 32 bits, and of all that one launch has in device memory.
constexpr uint64_t kLargest = uint64_t{1} << 30;
constexpr int kLevel = 19;
constexpr int kWindowLog = 30;
constexpr uint32_t kMostThreads = 1024, kMostBlocksOfACluster = 16;
constexpr size_t kMostScalars = 16, kMostBuffers = 64;

Status refuse(const std::string &what) {
  return Status::error("INGOT-E7030", "this is no usable launch record: " + what,
                       "make it again with `conformance --record`");
}

uint64_t product(const Extent &extent) {
  uint64_t plane = uint64_t{extent.x()} * extent.y();
  return extent.z() && plane > UINT64_MAX / extent.z() ? UINT64_MAX : plane * extent.z();
}

/// Checks the indices and ranges of a record whose structure is verified.
class RecordCheck {
public:
  explicit RecordCheck(const RecordT &record) : record(record) {}

  Status check() {
    for (const auto &kernel : record.kernels)
      if (Status status = checkKernel(*kernel); !status.ok())
        return status;
    for (size_t i = 0; i < record.launches.size(); ++i)
      if (Status status = checkLaunch(*record.launches[i]); !status.ok())
        return std::move(status).in("launch " + std::to_string(i));
    return {};
  }

private:
  bool isBlob(uint32_t index) const { return index < record.blobs.size(); }
  uint64_t bytesOf(uint32_t blob) const { return record.blobs[blob]->bytes.size(); }

  Status checkKernel(const KernelT &kernel) const {
    if (!isBlob(kernel.cubin) || !isBlob(kernel.ptx))
      return refuse("kernel '" + kernel.symbol + "' has no code");
    uint64_t threads = product(*kernel.block), blocks = product(*kernel.cluster);
    if (threads == 0 || threads > kMostThreads || blocks == 0 || blocks > kMostBlocksOfACluster)
      return refuse("kernel '" + kernel.symbol + "' has an impossible block or cluster");
    return {};
  }

  Status checkLaunch(const LaunchT &launch) const {
    if (launch.kernel >= record.kernels.size())
      return refuse("its kernel does not exist");
    if (product(*launch.grid) == 0 || launch.scalars.size() > kMostScalars ||
        launch.buffers.size() > kMostBuffers)
      return refuse("its grid, scalars or buffers are out of range");
    if (launch.workspace_bytes < -1 || launch.workspace_bytes > int64_t(kLargest) ||
        launch.counter_bytes > uint64_t(std::max<int64_t>(launch.workspace_bytes, 0)))
      return refuse("its workspace is out of range");
    uint64_t total = 0;
    for (const auto &buffer : launch.buffers) {
      if (Status status = checkBuffer(*buffer, total); !status.ok())
        return status;
      if (total > kLargest)
        return refuse("its buffers are too large");
    }
    for (const auto &map : record.kernels[launch.kernel]->tensor_maps)
      if (!liesInItsBuffer(*map, launch))
        return refuse("a tensor map reads beyond its buffer");
    return {};
  }

  bool liesInItsBuffer(const TensorMapT &map, const LaunchT &launch) const {
    if (map.buffer >= launch.buffers.size() || map.rows > UINT32_MAX || map.row_bytes > UINT32_MAX)
      return false;
    if (map.element >= kElementTypes)
      return false;
    const BufferT &buffer = *launch.buffers[map.buffer];
    return map.rows * map.row_bytes <=
           bytesOf(buffer.input != kNone ? buffer.input : buffer.output);
  }

  Status checkBuffer(const BufferT &buffer, uint64_t &total) const {
    bool hasInput = buffer.input != kNone, hasOutput = buffer.output != kNone;
    if ((hasInput && !isBlob(buffer.input)) || (hasOutput && !isBlob(buffer.output)) ||
        (!hasInput && !hasOutput))
      return refuse("the content of a buffer does not exist");
    uint64_t bytes = bytesOf(hasInput ? buffer.input : buffer.output);
    if (hasInput && hasOutput && bytesOf(buffer.output) != bytes)
      return refuse("a buffer changes its size");
    total += bytes;
    if (buffer.values.empty() && buffer.tolerances == kNone)
      return {};
    if (!hasOutput || buffer.values.empty() || !isBlob(buffer.tolerances))
      return refuse("a buffer has values without tolerances, or tolerances without values");
    uint64_t left = bytesOf(buffer.tolerances) / sizeof(float);
    for (const auto &values : buffer.values) {
      if (!EnumNameElement(values->element)[0])
        return refuse("an element type is unknown");
      uint64_t size = elementBytes(values->element), columns = values->scale_columns;
      if (values->count > left || !fits(values->offset, values->count, size, bytes))
        return refuse("values lie outside their buffer or have no tolerances");
      left -= values->count;
      if (columns && (values->count % columns ||
                      !fits(values->scales, values->count / columns, sizeof(float), bytes)))
        return refuse("scales lie outside their buffer");
    }
    if (left || bytesOf(buffer.tolerances) % sizeof(float))
      return refuse("there are more tolerances than values");
    return {};
  }

  /// Whether `count` elements of `size` bytes from `offset` on lie within `bytes`.
  static bool fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t bytes) {
    return offset <= bytes && count <= (bytes - offset) / size;
  }

  const RecordT &record;
};

/// Bytes of all lists of bytes, texts and scalars, each as often as something refers to it: what
/// unpacking copies.
uint64_t unpackedBytes(const Record &record) {
  auto sizeOf = [](const auto *list) { return list ? uint64_t{list->size()} : 0; };
  uint64_t bytes = sizeOf(record.architecture());
  for (const Blob *blob : *record.blobs())
    bytes += sizeOf(blob->bytes());
  for (const Kernel *kernel : *record.kernels())
    bytes += sizeOf(kernel->symbol()) + sizeOf(kernel->source());
  if (record.left_out())
    for (const flatbuffers::String *line : *record.left_out())
      bytes += sizeOf(line);
  for (const Launch *launch : *record.launches())
    bytes += sizeOf(launch->case_name()) + sizeOf(launch->operation()) +
             sizeof(int64_t) * sizeOf(launch->scalars());
  return bytes;
}

} // namespace

uint64_t elementBytes(Element element) {
  switch (element) {
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::E4M3:
  case Element::E5M2:
  case Element::I8:
    return 1;
  }
  return 1;
}

uint32_t BlobStore::add(std::span<const uint8_t> bytes) {
  runtime::Digest digest = runtime::sha256(bytes.data(), bytes.size());
  auto [place, isNew] = known.try_emplace(std::string(digest.begin(), digest.end()),
                                          static_cast<uint32_t>(record.blobs.size()));
  if (isNew) {
    auto blob = std::make_unique<BlobT>();
    blob->bytes.assign(bytes.begin(), bytes.end());
    record.blobs.push_back(std::move(blob));
  }
  return place->second;
}

std::vector<uint8_t> packRecord(const RecordT &record) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Record::Pack(builder, &record));
  return packRaw({builder.GetBufferPointer(), builder.GetSize()});
}

std::vector<uint8_t> packRaw(std::span<const uint8_t> raw) {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  // Caches of different cases share most of their content, megabytes apart.
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_enableLongDistanceMatching, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, kWindowLog);
  std::vector<uint8_t> file(sizeof(FileHeader) + ZSTD_compressBound(raw.size()));
  uint8_t *compressed = file.data() + sizeof(FileHeader);
  size_t bytes = ZSTD_compress2(context.get(), compressed, file.size() - sizeof(FileHeader),
                                raw.data(), raw.size());
  if (ZSTD_isError(bytes)) // only without memory
    return {};
  file.resize(sizeof(FileHeader) + bytes);
  FileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.version = kVersion;
  header.rawBytes = raw.size();
  runtime::Digest digest = runtime::sha256(compressed, bytes);
  std::copy(digest.begin(), digest.end(), header.digest);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

Result<std::unique_ptr<RecordT>> unpackRecord(std::span<const uint8_t> file) {
  FileHeader header;
  if (file.size() < sizeof header)
    return refuse("it is too short");
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0)
    return refuse("its first bytes are not INGOTREC");
  if (header.version != kVersion)
    return refuse("it has version " + std::to_string(header.version) + " and not " +
                  std::to_string(kVersion));
  std::span<const uint8_t> compressed = file.subspan(sizeof header);
  runtime::Digest digest = runtime::sha256(compressed.data(), compressed.size());
  if (!std::equal(digest.begin(), digest.end(), header.digest))
    return refuse("it does not have its stated digest");
  if (header.rawBytes > kLargest ||
      ZSTD_getFrameContentSize(compressed.data(), compressed.size()) != header.rawBytes)
    return refuse("its size is not what it states");
  std::vector<uint8_t> raw(header.rawBytes);
  size_t bytes = ZSTD_decompress(raw.data(), raw.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(bytes) || bytes != raw.size())
    return refuse("it cannot be decompressed");
  return parseRecord(raw);
}

Result<std::unique_ptr<RecordT>> parseRecord(std::span<const uint8_t> raw) {
  if (flatbuffers::Verifier verifier(raw.data(), raw.size()); !VerifyRecordBuffer(verifier))
    return refuse("its structure is damaged");
  // Lists may share their bytes in a FlatBuffer; a record's do not.
  if (unpackedBytes(*GetRecord(raw.data())) > raw.size())
    return refuse("its lists overlap");
  std::unique_ptr<RecordT> record(GetRecord(raw.data())->UnPack());
  if (Status status = RecordCheck(*record).check(); !status.ok())
    return status;
  return record;
}

} // namespace ingot::record

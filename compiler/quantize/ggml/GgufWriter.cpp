// SPDX-License-Identifier: Apache-2.0
// Metadata as bytes, and the layout of a GGUF file.
#include "compiler/quantize/ggml/GgufWriter.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::File;
using checkpoint::message;
using checkpoint::Outcome;

namespace {

constexpr uint32_t kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kString = 8, kArray = 9;
/// Bytes of a value of each type; strings and arrays say their own.
constexpr std::array<uint64_t, 13> valueBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr uint64_t longestHeader = uint64_t{1} << 30;
constexpr int deepestArray = 8;

template <class T> std::string number(T value) {
  std::string out;
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return out;
}
std::string text(std::string_view value) { return number<uint64_t>(value.size()).append(value); }

uint32_t typeOf(const nlohmann::json &value) {
  return value.is_string()            ? kString
         : value.is_array()           ? kArray
         : value.is_boolean()         ? kBool
         : value.is_number_unsigned() ? kU32
         : value.is_number_integer()  ? kI32
                                      : kF32;
}

/// The bytes behind a value's type. Elements of a list have the type of the first.
std::string bytesOf(const nlohmann::json &value) {
  switch (typeOf(value)) {
  case kString:
    return text(value.get_ref<const std::string &>());
  case kBool:
    return number<uint8_t>(value.get<bool>());
  case kF32:
    return number(std::bit_cast<uint32_t>(value.get<float>()));
  case kArray: {
    std::string bytes =
        number(value.empty() ? kString : typeOf(value.front())) + number<uint64_t>(value.size());
    for (const nlohmann::json &element : value)
      bytes += bytesOf(element);
    return bytes;
  }
  default:
    return number(static_cast<uint32_t>(value.get<int64_t>()));
  }
}

/// Walks over values without reading them.
class Walker {
public:
  explicit Walker(std::string_view bytes) : bytes(bytes) {}

  bool failed() const { return hasFailed; }
  size_t position() const { return at; }

  uint64_t number(size_t width) {
    const std::string_view read = skip(width);
    uint64_t value = 0;
    for (size_t i = 0; i < read.size(); ++i)
      value |= static_cast<uint64_t>(static_cast<uint8_t>(read[i])) << (8 * i);
    return value;
  }
  std::string_view skip(uint64_t count) {
    hasFailed |= count > bytes.size() - at;
    if (hasFailed)
      return {};
    at += count;
    return bytes.substr(at - count, count);
  }
  std::string_view text() { return skip(number(8)); }

  void value(uint64_t type, int depth = 0) {
    if (type >= valueBytes.size() || depth > deepestArray)
      hasFailed = true;
    else if (type == kString)
      text();
    else if (type == kArray)
      array(depth);
    else
      skip(valueBytes[type]);
  }

private:
  void array(int depth) {
    const uint64_t type = number(4), count = number(8);
    if (type < valueBytes.size() && valueBytes[type] > 0) {
      hasFailed |= count > bytes.size();
      skip(hasFailed ? 0 : count * valueBytes[type]);
      return;
    }
    for (uint64_t i = 0; i < count && !hasFailed; ++i)
      value(type, depth + 1);
  }

  std::string_view bytes;
  size_t at = 0;
  bool hasFailed = false;
};

/// The number of a type in files; 255 where it has none.
uint32_t ggmlNumber(DType dtype) {
  for (uint32_t i = 0; i < 255; ++i)
    if (checkpoint::dtypeFromGgml(i) == dtype)
      return i;
  return 255;
}

Error misuse(std::string what) { return {"INGOT-E1131", std::move(what), "", "take another type"}; }

uint64_t padded(uint64_t bytes) {
  return (bytes + GgufWriter::alignment - 1) / GgufWriter::alignment * GgufWriter::alignment;
}

} // namespace

Expected<GgufKeys> GgufKeys::read(const File &file, uint64_t firstTensor) {
  std::string header(std::min({firstTensor, file.size(), longestHeader}), '\0');
  if (Outcome read = file.readAt(0, std::as_writable_bytes(std::span(header))); !read)
    return read.error();
  Walker walker(header);
  walker.skip(4 + 4 + 8);
  GgufKeys keys;
  std::set<std::string_view> known; // a key may be there twice, with one value
  const uint64_t count = walker.number(8);
  for (uint64_t i = 0; i < count && !walker.failed(); ++i) {
    const std::string_view key = walker.text();
    const size_t begin = walker.position();
    walker.value(walker.number(4));
    if (!walker.failed() && known.insert(key).second)
      keys.entries.push_back({std::string(key), header.substr(begin, walker.position() - begin)});
  }
  if (walker.failed())
    return Error{"INGOT-E1102", "the metadata ends early",
                 checkpoint::printable(file.path().string()),
                 "the file is damaged or was written wrongly; download it again"};
  return keys;
}

GgufKeys GgufKeys::of(const nlohmann::json &keys) {
  GgufKeys made;
  for (const auto &[key, value] : keys.items())
    made.set(key, number(typeOf(value)) + bytesOf(value));
  return made;
}

void GgufKeys::set(std::string_view key, std::string typeAndValue) {
  for (Entry &entry : entries)
    if (entry.key == key) {
      entry.typeAndValue = std::move(typeAndValue);
      return;
    }
  entries.push_back({std::string(key), std::move(typeAndValue)});
}

void GgufKeys::setU32(std::string_view key, uint32_t value) {
  set(key, number(kU32) + number(value));
}
void GgufKeys::setString(std::string_view key, std::string_view value) {
  set(key, number(kString) + text(value));
}
void GgufKeys::setStrings(std::string_view key, const std::vector<std::string> &values) {
  std::string bytes = number(kArray) + number(kString) + number<uint64_t>(values.size());
  for (const std::string &value : values)
    bytes += text(value);
  set(key, std::move(bytes));
}

void GgufKeys::remove(std::string_view key) {
  const bool isPrefix = key.ends_with('*');
  if (isPrefix)
    key.remove_suffix(1);
  std::erase_if(entries, [&](const Entry &entry) {
    return isPrefix ? entry.key.starts_with(key) : entry.key == key;
  });
}

std::string GgufKeys::bytes() const {
  std::string out;
  for (const Entry &entry : entries)
    out += text(entry.key) + entry.typeAndValue;
  return out;
}

Expected<GgufWriter> GgufWriter::create(const std::filesystem::path &path, GgufKeys keys,
                                        const std::vector<GgufTensorPlan> &tensors) {
  keys.remove("general.alignment");
  std::string header = "GGUF" + number<uint32_t>(3) + number<uint64_t>(tensors.size()) +
                       number<uint64_t>(keys.size()) + keys.bytes();
  std::vector<uint64_t> sizes;
  uint64_t offset = 0;
  for (const GgufTensorPlan &tensor : tensors) {
    const auto bytes = checkpoint::storedBytes(tensor.dtype, tensor.shape);
    const uint32_t type = ggmlNumber(tensor.dtype);
    if (!bytes || type == 255 || tensor.shape.empty() || tensor.shape.size() > 4)
      return misuse(message("tensor ", checkpoint::inQuotes(tensor.name), " cannot be stored as ",
                            checkpoint::dtypeName(tensor.dtype)));
    header += text(tensor.name) + number(static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i-- > 0;)
      header += number(tensor.shape[i]);
    header += number(type) + number(offset);
    sizes.push_back(*bytes);
    offset += padded(*bytes);
  }
  auto file = WholeFile::create(path);
  if (!file)
    return file.error();
  if (Outcome written = file->append(std::as_bytes(std::span(header))); !written)
    return written.error();
  GgufWriter writer(*std::move(file), std::move(sizes));
  if (Outcome written = writer.pad(); !written)
    return written.error();
  return writer;
}

/// Zeros up to the next multiple of the alignment.
Outcome GgufWriter::pad() {
  const std::array<std::byte, alignment> zeros{};
  return file.append(std::span(zeros).first(padded(file.size()) - file.size()));
}

Outcome GgufWriter::append(std::span<const std::byte> bytes) {
  while (tensor < sizes.size() && sizes[tensor] == 0)
    ++tensor;
  if (bytes.empty())
    return {};
  if (tensor == sizes.size() || bytes.size() > sizes[tensor] - inTensor)
    return misuse("more bytes than the tensor has");
  if (Outcome written = file.append(bytes); !written)
    return written;
  inTensor += bytes.size();
  if (inTensor < sizes[tensor])
    return {};
  ++tensor;
  inTensor = 0;
  return pad();
}

Outcome GgufWriter::finish() {
  if (Outcome skipped = append({}); !skipped)
    return skipped;
  if (tensor < sizes.size())
    return misuse("fewer bytes than the tensors have");
  return file.finish();
}

} // namespace ingot::quantize

// SPDX-License-Identifier: Apache-2.0
// Reading and checking a safetensors header.
#include "compiler/checkpoint/files/Safetensors.h"

#include "compiler/checkpoint/files/Json.h"

#include <algorithm>
#include <array>

namespace ingot::checkpoint {

namespace {

constexpr uint64_t lengthBytes = 8;
constexpr uint64_t longestHeader = 100'000'000; // the format's own limit
constexpr size_t highestRank = 16;

const char *const copyAgain = "the file is damaged or was written wrongly; download it again";

/// The pair `data_offsets`, relative to the data part; checked against its size.
Expected<std::pair<uint64_t, uint64_t>> readOffsets(const Json &entry, uint64_t dataBytes) {
  auto offsets = entry.at("data_offsets");
  if (!offsets)
    return offsets.error();
  if (!offsets->isArray() || offsets->size() != 2)
    return offsets->wrongType("an array of two offsets");
  auto begin = offsets->element(0).unsignedInteger();
  if (!begin)
    return begin.error();
  auto end = offsets->element(1).unsignedInteger();
  if (!end)
    return end.error();
  if (*begin > *end || *end > dataBytes)
    return offsets->error("INGOT-E1014",
                          message("bytes ", *begin, " to ", *end,
                                  " do not lie in the data part, which has ", dataBytes, " bytes"),
                          copyAgain);
  return std::pair(*begin, *end);
}

/// One tensor's entry; its offset is still relative to the data part.
Expected<Tensor> readEntry(const std::string &name, const Json &entry, uint64_t dataBytes) {
  Tensor tensor;
  tensor.name = name;
  for (const std::string &key : entry.keys())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return entry.error("INGOT-E1011", message("unknown key ", inQuotes(key), " of a tensor"),
                         copyAgain);
  auto dtypeValue = entry.at("dtype");
  if (!dtypeValue)
    return dtypeValue.error();
  auto dtypeText = dtypeValue->string();
  if (!dtypeText)
    return dtypeText.error();
  auto dtype = dtypeFromName(*dtypeText);
  if (!dtype)
    return dtypeValue->error("INGOT-E1012", message("unknown element type ", inQuotes(*dtypeText)),
                             "convert the tensor to a type this version of Ingot reads");
  tensor.dtype = *dtype;

  auto shape = entry.at("shape");
  if (!shape)
    return shape.error();
  if (!shape->isArray())
    return shape->wrongType("an array of dimensions");
  if (shape->size() > highestRank)
    return shape->error("INGOT-E1013",
                        message(shape->size(), " dimensions; at most ", highestRank, " are read"),
                        copyAgain);
  for (size_t i = 0; i < shape->size(); ++i) {
    auto dim = shape->element(i).unsignedInteger();
    if (!dim)
      return dim.error();
    tensor.shape.push_back(*dim);
  }

  auto offsets = readOffsets(entry, dataBytes);
  if (!offsets)
    return offsets.error();
  tensor.offset = offsets->first;
  tensor.bytes = offsets->second - offsets->first;
  auto expected = storedBytes(tensor.dtype, tensor.shape);
  if (!expected)
    return shape->error("INGOT-E1013",
                        message("a tensor of this shape and type ", *dtypeText,
                                " is not a whole number of bytes, or more than 2^64 bits"),
                        copyAgain);
  if (*expected != tensor.bytes)
    return entry.error("INGOT-E1015",
                       message("the shape and type ", *dtypeText, " need ", *expected,
                               " bytes, the offsets give ", tensor.bytes),
                       copyAgain);
  return tensor;
}

/// Sorts by offset and refuses holes, overlaps and bytes that belong to no tensor.
Outcome checkTiling(std::vector<Tensor> &tensors, uint64_t dataBytes, const std::string &fileName) {
  std::sort(tensors.begin(), tensors.end(), [](const Tensor &a, const Tensor &b) {
    return std::tuple(a.offset, a.bytes, std::string_view(a.name)) <
           std::tuple(b.offset, b.bytes, std::string_view(b.name));
  });
  uint64_t end = 0;
  auto fault = [&](std::string what) {
    return Error{"INGOT-E1016", std::move(what), fileName, copyAgain};
  };
  for (const Tensor &tensor : tensors) {
    if (tensor.offset != end)
      return fault(
          message(tensor.offset < end ? "tensor " : "bytes before tensor ", inQuotes(tensor.name),
                  tensor.offset < end ? " overlaps the one before it" : " belong to no tensor",
                  ": it starts at data byte ", tensor.offset, ", expected ", end));
    end += tensor.bytes; // at most dataBytes: readOffsets has checked the end
  }
  if (end != dataBytes)
    return fault(message("the tensors end at data byte ", end, ", the file at ", dataBytes));
  return {};
}

Outcome readMetadata(const Json &entry, std::map<std::string, std::string, std::less<>> &metadata) {
  if (!entry.isObject())
    return entry.error("INGOT-E1017", "__metadata__ is not an object of strings", copyAgain);
  for (const std::string &key : entry.keys()) {
    auto text = entry.find(key)->string();
    if (!text)
      return entry.find(key)->error("INGOT-E1017", "__metadata__ holds a value that is no string",
                                    copyAgain);
    metadata.emplace(key, *std::move(text));
  }
  return {};
}

} // namespace

Expected<SafetensorsHeader> parseSafetensors(std::string_view json, uint64_t fileBytes,
                                             const std::string &fileName, uint32_t fileIndex) {
  std::string shownName = printable(fileName);
  if (fileBytes < lengthBytes || json.size() > fileBytes - lengthBytes)
    return Error{"INGOT-E1010", "the header is longer than the file", shownName, copyAgain};
  if (json.empty() || json.front() != '{')
    return Error{"INGOT-E1011", "the header does not start with '{'",
                 message(shownName, ": byte ", lengthBytes),
                 "check that this is a safetensors file"};
  JsonLimits limits;
  limits.maxBytes = longestHeader;
  limits.maxDepth = 4;
  limits.firstByte = lengthBytes;
  limits.maxValues = uint64_t{4} << 20;
  auto root = Json::parse(json, fileName, limits);
  if (!root)
    return root.error();

  SafetensorsHeader header;
  const uint64_t dataStart = lengthBytes + json.size();
  const uint64_t dataBytes = fileBytes - dataStart;
  for (const std::string &name : root->keys()) {
    Json entry = *root->find(name);
    if (name == "__metadata__") {
      if (auto read = readMetadata(entry, header.metadata); !read)
        return read.error();
      continue;
    }
    auto tensor = readEntry(name, entry, dataBytes);
    if (!tensor)
      return tensor.error();
    tensor->fileIndex = fileIndex;
    header.tensors.push_back(*std::move(tensor));
  }
  if (auto tiled = checkTiling(header.tensors, dataBytes, shownName); !tiled)
    return tiled.error();
  for (Tensor &tensor : header.tensors)
    tensor.offset += dataStart;
  return header;
}

Expected<SafetensorsHeader> readSafetensors(const File &file, uint32_t fileIndex) {
  const std::string name = file.path().string();
  if (file.size() < lengthBytes)
    return Error{"INGOT-E1010",
                 message("the file has ", file.size(), " bytes, too few for a header"),
                 printable(name), copyAgain};
  std::array<std::byte, lengthBytes> lengthField;
  if (auto read = file.readAt(0, lengthField); !read)
    return read.error();
  uint64_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= static_cast<uint64_t>(lengthField[i]) << (8 * i);
  if (length > longestHeader || length > file.size() - lengthBytes)
    return Error{"INGOT-E1010",
                 message("the header says it has ", length, " bytes; the file has ", file.size(),
                         ", and a header at most ", longestHeader),
                 message(printable(name), ": byte 0"),
                 "check that this is a safetensors file and that it is complete"};
  std::string json(length, '\0');
  if (auto read = file.readAt(lengthBytes, std::as_writable_bytes(std::span(json))); !read)
    return read.error();
  return parseSafetensors(json, file.size(), name, fileIndex);
}

} // namespace ingot::checkpoint

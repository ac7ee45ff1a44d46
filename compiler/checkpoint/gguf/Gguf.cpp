// SPDX-License-Identifier: Apache-2.0
// Reading and checking one GGUF file.
#include "compiler/checkpoint/gguf/Gguf.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

namespace ingot::checkpoint {

namespace {

constexpr std::string_view magic = "GGUF";
constexpr uint64_t longestHeader = uint64_t{256} << 20;
constexpr uint64_t mostValues = uint64_t{4} << 20; ///< in all arrays: about three per token
constexpr uint64_t mostKeys = uint64_t{1} << 16;
constexpr uint64_t mostTensors = uint64_t{1} << 18;
constexpr uint64_t longestKey = (uint64_t{1} << 16) - 1; // the format's own limit
constexpr uint64_t longestTensorName = 1024;
constexpr unsigned deepestArray = 4;
constexpr uint32_t highestRank = 4; // ggml's own limit
constexpr uint64_t defaultAlignment = 32, largestAlignment = uint64_t{1} << 20;

const char *const copyAgain = "the file is damaged or was written wrongly; download it again";

enum ValueType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

/// The fewest bytes a value of a type takes; of a string its length, of an array its head.
constexpr std::array<uint64_t, 13> leastBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

/// Reads the file front to back through a small window, and remembers the first error; what is
/// read after one is zero.
class Cursor {
public:
  explicit Cursor(const File &file)
      : file(file), limit(std::min(file.size(), longestHeader)),
        window(std::min<uint64_t>(limit, uint64_t{64} << 10)) {}

  uint64_t position() const { return at; }
  /// Bytes that may still be read.
  uint64_t left() const { return limit - at; }
  bool failed() const { return firstError.has_value(); }
  const Error &error() const { return *firstError; }

  /// Records an error at the byte where the value under `what` begins.
  void fail(std::string code, std::string what, std::string fix = copyAgain) {
    if (!firstError)
      firstError =
          Error{std::move(code), std::move(what),
                message(printable(file.path().string()), ": byte ", start), std::move(fix)};
  }

  /// Errors from here on are about what begins here.
  void mark() { start = at; }

  /// A little-endian number.
  template <class T> T number() {
    std::array<std::byte, sizeof(T)> bytes{};
    read(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    if constexpr (std::is_same_v<T, float>)
      return std::bit_cast<float>(static_cast<uint32_t>(value));
    else if constexpr (std::is_same_v<T, double>)
      return std::bit_cast<double>(value);
    else
      return static_cast<T>(value);
  }

  std::string text(uint64_t longest) {
    const auto size = number<uint64_t>();
    if (!failed() && size > left())
      endsEarly(size);
    if (!failed() && size > longest)
      fail("INGOT-E1103", message("a name of ", size, " bytes; at most ", longest, " are read"));
    std::string out(failed() ? 0 : size, '\0');
    read(std::as_writable_bytes(std::span(out)));
    return out;
  }

private:
  void endsEarly(uint64_t wanted) {
    if (limit == file.size())
      fail("INGOT-E1102", message(wanted, " bytes are needed at byte ", at, ", but the file ends ",
                                  "at byte ", limit));
    else
      fail("INGOT-E1103", message("names and metadata take more than ", longestHeader, " bytes"));
  }

  void read(std::span<std::byte> out) {
    if (!failed() && out.size() > left())
      endsEarly(out.size());
    while (!failed() && !out.empty()) {
      if (at >= windowEnd && !refill())
        return;
      const size_t count = std::min<uint64_t>(out.size(), windowEnd - at);
      std::copy_n(window.begin() + static_cast<ptrdiff_t>(at - windowStart), count, out.begin());
      out = out.subspan(count);
      at += count;
    }
  }

  bool refill() {
    const size_t count = std::min<uint64_t>(window.size(), left());
    if (auto done = file.readAt(at, std::span(window).first(count)); !done) {
      firstError = done.error();
      return false;
    }
    windowStart = at;
    windowEnd = at + count;
    return true;
  }

  const File &file;
  uint64_t limit, at = 0, start = 0;
  std::vector<std::byte> window;
  uint64_t windowStart = 0, windowEnd = 0;
  std::optional<Error> firstError;
};

class Reader {
public:
  Reader(const File &file, uint32_t fileIndex)
      : file(file), fileIndex(fileIndex), in(file), metadata(nlohmann::json::object()) {}

  Expected<Gguf> read() {
    readHeader();
    for (uint64_t i = 0; i < keyCount && !in.failed(); ++i)
      readKey();
    readAlignment();
    for (uint64_t i = 0; i < tensorCount && !in.failed(); ++i)
      readTensor();
    if (in.failed())
      return in.error();
    if (auto placed = placeTensors(); !placed)
      return placed.error();
    return Gguf{Json::of(std::move(metadata), file.path().string()), std::move(tensors)};
  }

private:
  void readHeader();
  uint64_t readCount(std::string_view of, uint64_t most, uint64_t leastBytesEach);
  void readKey();
  nlohmann::json readValue(uint32_t type, unsigned depth);
  nlohmann::json readArray(unsigned depth);
  void readAlignment();
  void readTensor();
  void readShape(Tensor &tensor);
  Outcome placeTensors();

  const File &file;
  uint32_t fileIndex;
  Cursor in;
  uint64_t keyCount = 0, tensorCount = 0, values = 0, alignment = defaultAlignment;
  nlohmann::json metadata;
  std::vector<Tensor> tensors; ///< until placeTensors, offsets count from the data part
  std::set<std::string> names;
};

void Reader::readHeader() {
  std::string begin;
  for (size_t i = 0; i < magic.size() && in.left() > 0; ++i)
    begin += in.number<char>();
  if (begin != magic)
    return in.fail("INGOT-E1100", "the file does not begin with \"GGUF\"",
                   "check that this is a GGUF file");
  const auto version = in.number<uint32_t>();
  if (in.failed())
    return;
  if (version == 1)
    return in.fail("INGOT-E1101", "GGUF version 1 is not read", "convert the model again");
  if (version == 2u << 24 || version == 3u << 24)
    return in.fail("INGOT-E1101", "the file is big-endian", "convert it to little-endian");
  if (version != 2 && version != 3)
    return in.fail("INGOT-E1101", message("GGUF version ", version, " is not known"),
                   "give a file of version 2 or 3");
  // A tensor takes at least the length of its name, one dimension, its type and its offset.
  tensorCount = readCount("tensors", mostTensors, 8 + 4 + 8 + 4 + 8);
  keyCount = readCount("metadata keys", mostKeys, 8 + 4 + 1);
}

/// A number of things that follow; absurd ones are refused before anything is made for them.
uint64_t Reader::readCount(std::string_view of, uint64_t most, uint64_t leastBytesEach) {
  in.mark();
  const auto count = in.number<uint64_t>();
  if (!in.failed() && (count > most || count > in.left() / leastBytesEach))
    in.fail("INGOT-E1103", message("the file says that it has ", count, " ", of,
                                   ", more than it can hold or than ", most));
  return in.failed() ? 0 : count;
}

void Reader::readKey() {
  in.mark();
  std::string key = in.text(longestKey);
  const auto type = in.number<uint32_t>();
  if (in.failed())
    return;
  nlohmann::json value = readValue(type, 0);
  if (in.failed())
    return;
  auto &members = metadata.get_ref<nlohmann::json::object_t &>();
  const auto [member, isNew] = members.try_emplace(std::move(key), std::move(value));
  // Writers are known to repeat a key; only a contradiction is a fault.
  if (!isNew && member->second != value)
    in.fail("INGOT-E1105", message("the metadata key ", inQuotes(member->first),
                                   " is there twice, with different values"));
}

nlohmann::json Reader::readValue(uint32_t type, unsigned depth) {
  switch (type) {
  case U8:
    return in.number<uint8_t>();
  case I8:
    return in.number<int8_t>();
  case U16:
    return in.number<uint16_t>();
  case I16:
    return in.number<int16_t>();
  case U32:
    return in.number<uint32_t>();
  case I32:
    return in.number<int32_t>();
  case F32:
    return in.number<float>();
  case Bool: {
    const auto byte = in.number<uint8_t>();
    if (byte > 1)
      in.fail("INGOT-E1104", message("a boolean is ", byte, ", neither 0 nor 1"));
    return byte == 1;
  }
  case String:
    return in.text(longestHeader);
  case Array:
    return readArray(depth);
  case U64:
    return in.number<uint64_t>();
  case I64:
    return in.number<int64_t>();
  case F64:
    return in.number<double>();
  default:
    in.fail("INGOT-E1104", message("a metadata value has the unknown type ", type));
    return nullptr;
  }
}

nlohmann::json Reader::readArray(unsigned depth) {
  const auto type = in.number<uint32_t>();
  const auto count = in.number<uint64_t>();
  nlohmann::json array = nlohmann::json::array();
  if (in.failed())
    return array;
  if (type >= leastBytes.size() || depth == deepestArray) {
    in.fail("INGOT-E1104",
            type >= leastBytes.size()
                ? message("an array has elements of the unknown type ", type)
                : message("arrays inside arrays, more than ", deepestArray, " deep"));
    return array;
  }
  if (count > in.left() / leastBytes[type] || count > mostValues - values) {
    in.fail("INGOT-E1103", message("an array of ", count, " elements, more than the file can hold",
                                   " or than ", mostValues, " in all arrays"));
    return array;
  }
  values += count;
  auto &elements = array.get_ref<nlohmann::json::array_t &>();
  elements.reserve(count);
  for (uint64_t i = 0; i < count && !in.failed(); ++i)
    elements.push_back(readValue(type, depth + 1));
  return array;
}

void Reader::readAlignment() {
  const auto given = metadata.find("general.alignment");
  if (in.failed() || given == metadata.end())
    return;
  alignment = given->is_number_unsigned() ? given->get<uint64_t>() : 0;
  if (!std::has_single_bit(alignment) || alignment > largestAlignment)
    in.fail("INGOT-E1106",
            message("general.alignment is no power of two up to ", largestAlignment));
}

void Reader::readTensor() {
  in.mark();
  Tensor tensor;
  tensor.fileIndex = fileIndex;
  tensor.name = in.text(longestTensorName);
  readShape(tensor);
  const auto number = in.number<uint32_t>();
  tensor.offset = in.number<uint64_t>();
  if (in.failed())
    return;
  const std::string who = "tensor " + inQuotes(tensor.name);
  if (!names.insert(tensor.name).second)
    return in.fail("INGOT-E1105", who + " is there twice");
  const auto dtype = dtypeFromGgml(number);
  if (!dtype)
    return in.fail("INGOT-E1107", message(who, " has the unknown type ", number),
                   "convert the tensor to a type this version of Ingot knows");
  tensor.dtype = *dtype;
  const auto bytes = storedBytes(tensor.dtype, tensor.shape);
  if (!bytes)
    return in.fail("INGOT-E1107",
                   message(who, " of type ", dtypeName(tensor.dtype), " has rows of ",
                           tensor.shape.back(), " elements: no whole number of blocks of ",
                           dtypeUnit(tensor.dtype).elements, ", or more than 2^64 bits in all"));
  tensor.bytes = *bytes;
  if (tensor.offset % alignment != 0)
    return in.fail("INGOT-E1108", message(who, " begins at data byte ", tensor.offset,
                                          ", which is no multiple of ", alignment));
  tensors.push_back(std::move(tensor));
}

void Reader::readShape(Tensor &tensor) {
  const auto rank = in.number<uint32_t>();
  if (!in.failed() && (rank == 0 || rank > highestRank))
    return in.fail("INGOT-E1107", message("tensor ", inQuotes(tensor.name), " has ", rank,
                                          " dimensions; 1 to ", highestRank, " are read"));
  for (uint32_t i = 0; i < rank && !in.failed(); ++i)
    tensor.shape.push_back(in.number<uint64_t>());
  std::reverse(tensor.shape.begin(), tensor.shape.end());
}

/// Makes offsets count from the start of the file, and refuses tensors outside it or in each other.
Outcome Reader::placeTensors() {
  if (tensors.empty())
    return {};
  const uint64_t dataStart = (in.position() + alignment - 1) / alignment * alignment;
  auto fault = [&](const Tensor &tensor, const auto &...what) {
    return Error{"INGOT-E1108", message("tensor ", inQuotes(tensor.name), what...),
                 printable(file.path().string()), copyAgain};
  };
  for (Tensor &tensor : tensors) {
    if (dataStart > file.size() || tensor.offset > file.size() - dataStart ||
        tensor.bytes > file.size() - dataStart - tensor.offset)
      return fault(tensor, ": ", tensor.bytes, " bytes at byte ", dataStart, " + ", tensor.offset,
                   " do not lie in the file, which has ", file.size());
    tensor.offset += dataStart;
  }
  std::vector<const Tensor *> inOrder;
  for (const Tensor &tensor : tensors)
    inOrder.push_back(&tensor);
  std::sort(inOrder.begin(), inOrder.end(), [](const Tensor *a, const Tensor *b) {
    return std::tie(a->offset, a->bytes) < std::tie(b->offset, b->bytes);
  });
  for (size_t i = 1; i < inOrder.size(); ++i)
    if (inOrder[i]->offset < inOrder[i - 1]->offset + inOrder[i - 1]->bytes)
      return fault(*inOrder[i], " overlaps tensor ", inQuotes(inOrder[i - 1]->name), " at byte ",
                   inOrder[i]->offset);
  return {};
}

} // namespace

Expected<Gguf> readGguf(const File &file, uint32_t fileIndex) {
  return Reader(file, fileIndex).read();
}

bool isGguf(const std::filesystem::path &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return false;
  if (path.extension() == ".gguf")
    return true;
  const auto file = File::open(path);
  std::array<char, magic.size()> begin{};
  return file && file->readAt(0, std::as_writable_bytes(std::span(begin))) &&
         std::string_view(begin.data(), begin.size()) == magic;
}

} // namespace ingot::checkpoint

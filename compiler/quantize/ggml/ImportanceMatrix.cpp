// SPDX-License-Identifier: Apache-2.0
// The two forms of files. GGUF: tensors NAME.in_sum2 and NAME.counts, keys imatrix.*. Before that:
// int32 entries, each a length, a name, calls, a number of values and these in f32, which are means
// times calls; then perhaps the number of chunks and the name of the text.
#include "compiler/quantize/ggml/ImportanceMatrix.h"

#include "compiler/checkpoint/gguf/Gguf.h"
#include "compiler/quantize/ggml/GgufWriter.h"

#include <array>
#include <cmath>
#include <cstring>

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::File;
using checkpoint::Gguf;
using checkpoint::inQuotes;
using checkpoint::Json;
using checkpoint::message;
using checkpoint::Outcome;
using checkpoint::printable;
using checkpoint::Tensor;

namespace {

constexpr std::string_view sumsSuffix = ".in_sum2", countsSuffix = ".counts";
constexpr uint64_t longestName = 1024, mostEntries = uint64_t{1} << 18;

Error damaged(const File &file, std::string what) {
  return {"INGOT-E1132", std::move(what), printable(file.path().string()),
          "give a file that llama-imatrix has written"};
}

Outcome checkEntry(const File &file, const std::string &name, const ImportanceEntry &entry) {
  if (entry.counts.empty() || entry.sums.empty() || entry.sums.size() % entry.counts.size() != 0)
    return damaged(file, message(inQuotes(name), " has ", entry.sums.size(), " sums and ",
                                 entry.counts.size(), " counts"));
  for (const auto *numbers : {&entry.sums, &entry.counts})
    for (const float number : *numbers)
      if (!std::isfinite(number) || number < 0)
        return Error{"INGOT-E1130",
                     message("the importance of ", inQuotes(name),
                             " has a number that is NaN, "
                             "infinite or negative"),
                     printable(file.path().string()), "measure the importance again"};
  return {};
}

//===- The GGUF form ------------------------------------------------------------------------===//

Expected<std::vector<float>> readFloats(const File &file, const Tensor &tensor) {
  if (tensor.dtype != DType::F32)
    return damaged(file, message("tensor ", inQuotes(tensor.name), " is not F32"));
  std::vector<float> values(tensor.bytes / sizeof(float));
  if (Outcome read = file.readAt(tensor.offset, std::as_writable_bytes(std::span(values))); !read)
    return read.error();
  return values;
}

/// Fills `value` where the key is there.
Outcome readNumber(const Json &metadata, std::string_view key, uint32_t &value) {
  const auto member = metadata.find(key);
  if (!member)
    return {};
  const auto number = member->unsignedInteger(0, UINT32_MAX);
  if (!number)
    return number.error();
  value = static_cast<uint32_t>(*number);
  return {};
}

Outcome readKeys(const File &file, const Json &metadata, ImportanceMatrix &matrix) {
  // llama.cpp itself does not ask for the type.
  if (const auto type = metadata.find("general.type")) {
    const auto text = type->string();
    if (!text || *text != "imatrix")
      return damaged(file, "general.type is not \"imatrix\"");
  }
  if (const auto datasets = metadata.find("imatrix.datasets"))
    for (size_t i = 0; i < datasets->size(); ++i) {
      const auto name = datasets->element(i).string();
      if (!name)
        return name.error();
      matrix.datasets.push_back(*name);
    }
  if (Outcome read = readNumber(metadata, "imatrix.chunk_count", matrix.chunkCount); !read)
    return read;
  return readNumber(metadata, "imatrix.chunk_size", matrix.chunkSize);
}

Expected<ImportanceMatrix> readGgufForm(const File &file) {
  const auto gguf = checkpoint::readGguf(file);
  if (!gguf)
    return gguf.error();
  ImportanceMatrix matrix;
  if (Outcome read = readKeys(file, gguf->metadata, matrix); !read)
    return read.error();
  for (const Tensor &tensor : gguf->tensors) {
    const std::string_view name = tensor.name;
    const bool isSums = name.ends_with(sumsSuffix);
    if (!isSums && !name.ends_with(countsSuffix))
      continue;
    const auto suffix = isSums ? sumsSuffix : countsSuffix;
    ImportanceEntry &entry =
        matrix.entries[std::string(name.substr(0, name.size() - suffix.size()))];
    auto values = readFloats(file, tensor);
    if (!values)
      return values.error();
    (isSums ? entry.sums : entry.counts) = *std::move(values);
  }
  return matrix;
}

//===- The older form -----------------------------------------------------------------------===//

class OldReader {
public:
  explicit OldReader(const File &file) : file(file) {}

  Expected<ImportanceMatrix> read() {
    ImportanceMatrix matrix;
    const uint64_t count = length("entries", mostEntries, 12);
    for (uint64_t i = 0; i < count && !error; ++i)
      readEntry(matrix);
    // What follows is not in every file.
    if (!error && left() > 0) {
      matrix.chunkCount = static_cast<uint32_t>(std::max(0, number()));
      if (!error && left() > 0)
        if (const uint64_t size = length("bytes of a name", longestName * 4, 1, 0); size > 0)
          matrix.datasets.push_back(text(size));
    }
    if (!error && left() > 0)
      error = damaged(file, message(left(), " bytes follow the end"));
    if (error)
      return *error;
    return matrix;
  }

private:
  void readEntry(ImportanceMatrix &matrix) {
    const std::string name = text(length("bytes of a name", longestName, 1));
    const int32_t calls = number();
    const uint64_t count = length("values", UINT32_MAX, sizeof(float));
    if (error)
      return;
    ImportanceEntry entry;
    entry.sums.resize(count);
    entry.counts = {static_cast<float>(std::max(1, calls))};
    take(std::as_writable_bytes(std::span(entry.sums)));
    if (!error && !matrix.entries.emplace(name, std::move(entry)).second)
      error = damaged(file, message(inQuotes(name), " is there twice"));
  }

  uint64_t left() const { return file.size() - at; }

  void take(std::span<std::byte> out) {
    if (!error && out.size() > left())
      error = damaged(file, message("the file ends at byte ", file.size(),
                                    ", within what begins "
                                    "at byte ",
                                    at));
    if (error)
      return;
    if (Outcome read = file.readAt(at, out); !read)
      error = read.error();
    at += out.size();
  }

  int32_t number() {
    std::array<std::byte, 4> bytes{};
    take(bytes);
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i)
      value |= static_cast<uint32_t>(bytes[i]) << (8 * i);
    return static_cast<int32_t>(value);
  }

  /// How many of something follow, of at least `leastBytes` each.
  uint64_t length(std::string_view of, uint64_t most, uint64_t leastBytes, int32_t least = 1) {
    const uint64_t begin = at;
    const int32_t value = number();
    if (error)
      return 0;
    const auto count = static_cast<uint64_t>(value);
    if (value < least || count > most || count > left() / leastBytes) {
      error = damaged(file, message("byte ", begin, " says ", value, " ", of));
      return 0;
    }
    return count;
  }

  std::string text(uint64_t size) {
    std::string out(size, '\0');
    take(std::as_writable_bytes(std::span(out)));
    return out;
  }

  const File &file;
  uint64_t at = 0;
  std::optional<Error> error;
};

} // namespace

Expected<ImportanceMatrix> ImportanceMatrix::read(const std::filesystem::path &path) {
  const auto file = File::open(path);
  if (!file)
    return file.error();
  std::array<char, 4> begin{};
  if (file->size() >= begin.size())
    if (Outcome read = file->readAt(0, std::as_writable_bytes(std::span(begin))); !read)
      return read.error();
  const bool isGguf = std::string_view(begin.data(), begin.size()) == "GGUF";
  auto matrix = isGguf ? readGgufForm(*file) : OldReader(*file).read();
  if (!matrix)
    return matrix;
  if (matrix->entries.empty())
    return damaged(*file, "the file measures no tensor");
  for (const auto &[name, entry] : matrix->entries)
    if (Outcome checked = checkEntry(*file, name, entry); !checked)
      return checked.error();
  return matrix;
}

Outcome ImportanceMatrix::write(const std::filesystem::path &path) const {
  GgufKeys keys;
  keys.setString("general.type", "imatrix");
  keys.setStrings("imatrix.datasets", datasets);
  keys.setU32("imatrix.chunk_count", chunkCount);
  keys.setU32("imatrix.chunk_size", chunkSize);
  std::vector<GgufTensorPlan> plans;
  for (const auto &[name, entry] : entries) {
    const uint64_t matrices = entry.counts.size();
    plans.push_back({name + std::string(sumsSuffix),
                     DType::F32,
                     {matrices, matrices ? entry.sums.size() / matrices : 0}});
    plans.push_back({name + std::string(countsSuffix), DType::F32, {matrices, 1}});
  }
  auto writer = GgufWriter::create(path, std::move(keys), plans);
  if (!writer)
    return writer.error();
  for (const auto &[name, entry] : entries)
    for (const auto *numbers : {&entry.sums, &entry.counts})
      if (Outcome written = writer->append(std::as_bytes(std::span(*numbers))); !written)
        return written;
  return writer->finish();
}

Expected<std::optional<std::vector<float>>>
ImportanceMatrix::means(const std::string &tensor, uint64_t matrices, uint64_t columns) const {
  const auto found = entries.find(tensor);
  if (found == entries.end())
    return std::optional<std::vector<float>>();
  const ImportanceEntry &entry = found->second;
  const bool fits = columns > 0 && entry.sums.size() % columns == 0 &&
                    entry.sums.size() / columns == matrices && matrices % entry.counts.size() == 0;
  if (!fits)
    return Error{"INGOT-E1133",
                 message("the importance of ", inQuotes(tensor), " is for ", entry.sums.size(),
                         " columns in ", entry.counts.size(), " matrices; the tensor has ",
                         matrices, " of ", columns),
                 "", "measure the importance on this model"};
  std::vector<float> means(entry.sums.size());
  const size_t perCount = entry.sums.size() / entry.counts.size();
  for (size_t i = 0; i < means.size(); ++i) {
    const float count = entry.counts[i / perCount];
    means[i] = count > 0 ? entry.sums[i] / count : 1.0f;
  }
  return std::optional(std::move(means));
}

} // namespace ingot::quantize

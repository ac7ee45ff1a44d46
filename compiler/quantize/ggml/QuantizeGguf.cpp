// SPDX-License-Identifier: Apache-2.0
// Rows in pieces through all threads, in batches that are written in order.
#include "compiler/quantize/ggml/QuantizeGguf.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/quantize/ggml/BlockEncoder.h"
#include "compiler/quantize/ggml/GgufWriter.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::File;
using checkpoint::GgufModel;
using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::Outcome;
using checkpoint::printable;
using checkpoint::Tensor;

namespace {

/// Numbers that a thread takes at once, and pieces for each thread in a batch.
constexpr uint64_t pieceNumbers = uint64_t{1} << 17, piecesPerThread = 4;
constexpr uint64_t copyBytes = uint64_t{4} << 20;

uint64_t rowBytes(DType dtype, uint64_t columns) {
  const checkpoint::DTypeUnit unit = checkpoint::dtypeUnit(dtype);
  return columns / unit.elements * (unit.bits / 8);
}

/// What one piece of rows gave.
struct Piece {
  Outcome outcome;
  double squaredError = 0, squares = 0;
};

/// One tensor on its way to another type.
class TensorQuantizer {
public:
  TensorQuantizer(const File &file, const Tensor &tensor, DType to, std::vector<float> importance)
      : file(file), tensor(tensor), to(to), importance(std::move(importance)),
        columns(tensor.shape.back()), rows(1) {
    for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
      rows *= tensor.shape[i];
    rowsOfMatrix = tensor.shape.size() < 2 ? 1 : tensor.shape[tensor.shape.size() - 2];
  }

  template <class Tell>
  Outcome run(unsigned threads, GgufWriter &writer, QuantizedTensor &report, const Tell &tell) {
    const uint64_t pieceRows = std::max<uint64_t>(1, pieceNumbers / columns);
    const uint64_t batchRows = pieceRows * piecesPerThread * threads;
    std::vector<std::byte> encoded;
    for (uint64_t row = 0; row < rows; row += batchRows) {
      const uint64_t count = std::min(batchRows, rows - row);
      encoded.resize(count * rowBytes(to, columns));
      if (Outcome done = runBatch(row, count, pieceRows, threads, encoded, report); !done)
        return done;
      if (Outcome written = writer.append(encoded); !written)
        return written;
      tell(count * rowBytes(tensor.dtype, columns));
    }
    return {};
  }

private:
  Outcome runBatch(uint64_t first, uint64_t count, uint64_t pieceRows, unsigned threads,
                   std::span<std::byte> out, QuantizedTensor &report) {
    std::vector<Piece> pieces((count + pieceRows - 1) / pieceRows);
    std::atomic<size_t> next = 0;
    auto work = [&] {
      for (size_t i = next++; i < pieces.size(); i = next++) {
        const uint64_t begin = i * pieceRows, size = std::min(pieceRows, count - begin);
        const uint64_t bytes = rowBytes(to, columns);
        runPiece(first + begin, size, out.subspan(begin * bytes, size * bytes), pieces[i]);
      }
    };
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < std::min<size_t>(threads, pieces.size()); ++i)
      others.emplace_back(work);
    work();
    others.clear();
    for (const Piece &piece : pieces) {
      if (!piece.outcome) {
        Error error = piece.outcome.error();
        if (error.where.empty())
          error.where =
              message(printable(file.path().string()), ": tensor ", inQuotes(tensor.name));
        return error;
      }
      report.squaredError += piece.squaredError;
      report.squares += piece.squares;
    }
    return {};
  }

  void runPiece(uint64_t first, uint64_t count, std::span<std::byte> out, Piece &piece) const {
    const uint64_t inBytes = rowBytes(tensor.dtype, columns), bytes = rowBytes(to, columns);
    std::vector<std::byte> stored(count * inBytes);
    std::vector<float> numbers(count * columns);
    piece.outcome = file.readAt(tensor.offset + first * inBytes, stored);
    if (piece.outcome)
      piece.outcome = checkpoint::decodeGgml(tensor.dtype, stored, numbers);
    for (uint64_t row = 0; row < count && piece.outcome; ++row)
      runRow(first + row, numbers.data() + row * columns, out.subspan(row * bytes, bytes), piece);
  }

  void runRow(uint64_t row, const float *numbers, std::span<std::byte> out, Piece &piece) const {
    const auto weights = importanceOf(row);
    piece.outcome = encodeRows(to, numbers, 1, columns, weights, out);
    std::vector<float> back(columns);
    if (piece.outcome)
      piece.outcome = checkpoint::decodeGgml(to, out, back);
    for (uint64_t i = 0; i < columns && piece.outcome; ++i) {
      const double weight = weights.empty() ? 1 : weights[i];
      const double number = numbers[i], rest = number - back[i];
      piece.squaredError += weight * rest * rest;
      piece.squares += weight * number * number;
    }
  }

  std::span<const float> importanceOf(uint64_t row) const {
    if (importance.empty())
      return {};
    return std::span(importance).subspan(row / rowsOfMatrix * columns, columns);
  }

  const File &file;
  const Tensor &tensor;
  DType to;
  std::vector<float> importance;
  uint64_t columns, rows, rowsOfMatrix;
};

/// The importance of a tensor, empty where there is none. The embedding's is not asked to fit: what
/// is measured for it is another product's.
Expected<std::vector<float>> importanceOf(const QuantizeGgufOptions &options,
                                          const Tensor &tensor) {
  if (!options.importance)
    return std::vector<float>();
  uint64_t matrices = 1;
  for (size_t i = 0; i + 2 < tensor.shape.size(); ++i)
    matrices *= tensor.shape[i];
  auto means = options.importance->means(tensor.name, matrices, tensor.shape.back());
  if (!means && tensor.name.ends_with("token_embd.weight"))
    return std::vector<float>();
  if (!means)
    return means.error();
  return *means ? **std::move(means) : std::vector<float>();
}

template <class Tell>
Outcome copyTensor(const File &file, const Tensor &tensor, GgufWriter &writer, const Tell &tell) {
  std::vector<std::byte> bytes(std::min(copyBytes, tensor.bytes));
  for (uint64_t at = 0; at < tensor.bytes; at += bytes.size()) {
    bytes.resize(std::min(copyBytes, tensor.bytes - at));
    if (Outcome read = file.readAt(tensor.offset + at, bytes); !read)
      return read;
    if (Outcome written = writer.append(bytes); !written)
      return written;
    tell(bytes.size());
  }
  return {};
}

Expected<GgufKeys> keysOf(const GgufModel &model, const QuantizeGgufOptions &options) {
  const File &file = model.files.front();
  uint64_t firstTensor = file.size();
  for (const Tensor &tensor : model.tensors)
    if (tensor.fileIndex == 0)
      firstTensor = std::min(firstTensor, tensor.offset);
  auto keys = GgufKeys::read(file, firstTensor);
  if (!keys)
    return keys;
  keys->remove("split.*");
  keys->remove("quantize.imatrix.*");
  keys->setU32("general.quantization_version", 2);
  keys->setU32("general.file_type", fileTypeOf(*options.mix));
  if (const ImportanceMatrix *importance = options.importance) {
    keys->setString("quantize.imatrix.file", options.importanceName);
    if (!importance->datasets.empty())
      keys->setString("quantize.imatrix.dataset", importance->datasets.front());
    keys->setU32("quantize.imatrix.entries_count",
                 static_cast<uint32_t>(importance->entries.size()));
    if (importance->chunkCount > 0)
      keys->setU32("quantize.imatrix.chunks_count", importance->chunkCount);
  }
  return keys;
}

} // namespace

Expected<QuantizedGguf> quantizeGguf(const std::filesystem::path &in,
                                     const std::filesystem::path &out,
                                     const QuantizeGgufOptions &options) {
  const auto model = checkpoint::openGguf(in);
  if (!model)
    return model.error();
  const auto choices = chooseTypes(*options.mix, MixedModel::of(model->metadata), model->tensors,
                                   options.importance != nullptr);
  auto keys = keysOf(*model, options);
  if (!keys)
    return keys.error();
  std::vector<GgufTensorPlan> plans;
  QuantizeProgress progress;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Tensor &tensor = model->tensors[i];
    plans.push_back({tensor.name, choices[i].dtype, tensor.shape});
    progress.allBytes += tensor.bytes;
  }
  auto writer = GgufWriter::create(out, *std::move(keys), plans);
  if (!writer)
    return writer.error();
  QuantizedGguf result;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Tensor &tensor = model->tensors[i];
    const File &file = model->files[tensor.fileIndex];
    progress.tensor = tensor.name;
    auto tell = [&](uint64_t bytes) {
      progress.doneBytes += bytes;
      if (options.progress)
        options.progress(progress);
    };
    QuantizedTensor report = {
        tensor.name,      tensor.dtype,
        choices[i].dtype, choices[i].instead,
        tensor.bytes,     checkpoint::storedBytes(choices[i].dtype, tensor.shape).value_or(0)};
    Outcome done;
    if (tensor.dtype == choices[i].dtype || tensor.bytes == 0) {
      done = copyTensor(file, tensor, *writer, tell);
    } else {
      auto importance = importanceOf(options, tensor);
      if (!importance)
        return importance.error();
      report.hasImportance = !importance->empty();
      done = TensorQuantizer(file, tensor, choices[i].dtype, *std::move(importance))
                 .run(std::max(1u, options.threads), *writer, report, tell);
    }
    if (!done)
      return done.error();
    result.tensors.push_back(std::move(report));
  }
  if (Outcome finished = writer->finish(); !finished)
    return finished.error();
  result.bytes = writer->size();
  return result;
}

} // namespace ingot::quantize

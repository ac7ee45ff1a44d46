// SPDX-License-Identifier: Apache-2.0
// Tensor by tensor into one file, which the writer of checkpoints takes in.
#include "compiler/quantize/RotatedCheckpoint.h"

#include "codegen/ForEachParallel.h"
#include "compiler/analysis/ResidualStream.h"
#include "compiler/build/DiagnosticCollector.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/files/Digest.h"
#include "compiler/importers/Importer.h"
#include "compiler/quantize/CheckpointWriter.h"
#include "compiler/quantize/StoredMatrices.h"
#include "compiler/quantize/methods/Hadamard.h"
#include "compiler/weights/WeightNumerics.h"

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using checkpoint::Outcome;
using compiler::Channels;
using compiler::StreamTensor;
namespace fs = std::filesystem;

namespace {

/// Numbers that are rotated at a time, where rows allow it.
constexpr uint64_t kPiece = uint64_t{4} << 20;

/// What takes channels of a kind to their rotated ones.
struct Rotations {
  HadamardTransform stream;
  std::optional<HadamardTransform> heads; ///< nothing for widths without a known matrix

  /// Null for those that are not rotated.
  const HadamardTransform *of(Channels channels) const {
    if (channels == Channels::Stream)
      return &stream;
    return channels == Channels::Heads && heads ? &*heads : nullptr;
  }
};

class RotatedWriter {
public:
  RotatedWriter(const checkpoint::Checkpoint &model, const compiler::ResidualStream &stream,
                const Rotations &rotations, unsigned threads, compiler::Progress &progress)
      : model(model), stream(stream), rotations(rotations), threads(threads), progress(progress) {}

  /// Fills the new folder `folder`; `file` is made and removed.
  Outcome write(const fs::path &folder, const fs::path &file) {
    if (auto written = writeTensors(file); !written)
      return written;
    CheckpointParts parts{model, {file}, {}};
    parts.keepsOtherParts = false; // what they put into the stream is not rotated
    for (const StreamTensor &tensor : stream.tensors)
      parts.replaced.insert(model.shownName(tensor.name));
    for (const compiler::StreamNorm &norm : stream.norms)
      parts.replaced.insert(model.shownName(norm.weight));
    if (model.config().tiedEmbeddings)
      parts.configuration["tie_word_embeddings"] = false;
    auto written = writeCheckpoint(parts, folder, [](uint64_t, uint64_t) {});
    std::error_code ignored;
    fs::remove(file, ignored);
    return written;
  }

private:
  Expected<TensorHeader> headerOf(const std::string &stored, const std::string &name) const {
    auto tensor = model.get(stored);
    if (!tensor)
      return tensor.error();
    return TensorHeader{model.shownName(name), (*tensor)->dtype, (*tensor)->shape};
  }

  Outcome writeTensors(const fs::path &file) {
    std::vector<TensorHeader> headers;
    for (const StreamTensor &tensor : stream.tensors) {
      auto header = headerOf(tensor.stored, tensor.name);
      if (!header)
        return header.error();
      total += header->bytes();
      headers.push_back(*std::move(header));
    }
    for (const compiler::StreamNorm &norm : stream.norms) {
      auto header = headerOf(norm.weight, norm.weight);
      if (!header)
        return header.error();
      headers.push_back(*std::move(header));
    }
    auto writer = SafetensorsWriter::create(file, headers, {});
    if (!writer)
      return writer.error();
    for (size_t i = 0; i < stream.tensors.size(); ++i)
      if (auto rotated = rotate(stream.tensors[i], headers[i], *writer); !rotated)
        return rotated;
    for (size_t i = 0; i < stream.norms.size(); ++i) {
      const TensorHeader &header = headers[stream.tensors.size() + i];
      const std::vector<float> ones(header.shape[0], stream.norms[i].lessOne ? 0.0f : 1.0f);
      if (auto written = append(ones, header.dtype, *writer); !written)
        return written;
    }
    return writer->finish();
  }

  Outcome append(std::span<const float> values, checkpoint::DType type, SafetensorsWriter &writer) {
    std::vector<std::byte> bytes(values.size() * checkpoint::dtypeUnit(type).bits / 8);
    compiler::narrow(*checkpoint::readAs(type), values.data(), bytes.data(),
                     static_cast<int64_t>(values.size()));
    return writer.append(bytes);
  }

  /// The factors of the tensor's columns; empty where they have none.
  Expected<std::vector<float>> factorsOf(const StreamTensor &tensor) const {
    if (tensor.norm.empty())
      return std::vector<float>();
    auto norm = model.get(tensor.norm);
    if (!norm)
      return norm.error();
    auto factors = readValues(model, **norm, 0, (*norm)->shape[0]);
    if (factors && tensor.lessOne)
      for (float &factor : *factors)
        factor += 1;
    return factors;
  }

  /// `values`: of whole runs of the tensor's rows, from the `first` on.
  void rotateRows(const StreamTensor &tensor, std::span<const float> factors, int64_t first,
                  int64_t columns, std::vector<float> &values) const {
    for (size_t i = 0; !factors.empty() && i < values.size(); ++i)
      values[i] *= factors[i % factors.size()];
    const int64_t rows = static_cast<int64_t>(values.size()) / columns;
    if (const HadamardTransform *byColumn = rotations.of(tensor.columns))
      byColumn->applyToColumns(values.data(), rows, columns, threads);
    const int64_t from = std::max(first, tensor.firstRow),
                  to = std::min(first + rows, tensor.firstRow + tensor.rowCount);
    if (const HadamardTransform *byRow = rotations.of(tensor.rows); byRow && from < to)
      byRow->applyToRows(values.data() + (from - first) * columns, to - from, columns, threads);
  }

  Outcome rotate(const StreamTensor &tensor, const TensorHeader &header,
                 SafetensorsWriter &writer) {
    auto factors = factorsOf(tensor);
    if (!factors)
      return factors.error();
    auto stored = model.get(tensor.stored);
    if (!stored)
      return stored.error();
    const uint64_t columns = header.shape.size() < 2 ? 1 : header.shape.back();
    const uint64_t bits = checkpoint::dtypeUnit(header.dtype).bits;
    const uint64_t elements = header.bytes() * 8 / bits;
    const HadamardTransform *byRow = rotations.of(tensor.rows);
    const uint64_t run = columns * (byRow ? static_cast<uint64_t>(byRow->width()) : 1);
    const uint64_t most = std::max<uint64_t>(1, kPiece / run) * run;
    for (uint64_t first = 0; first < elements; first += most) {
      auto values = readValues(model, **stored, first, std::min(most, elements - first));
      if (!values)
        return values.error();
      rotateRows(tensor, *factors, static_cast<int64_t>(first / columns),
                 static_cast<int64_t>(columns), *values);
      if (auto written = append(*values, header.dtype, writer); !written)
        return written;
      done += values->size() * bits / 8;
      progress.update(done, total);
    }
    return {};
  }

  const checkpoint::Checkpoint &model;
  const compiler::ResidualStream &stream;
  const Rotations &rotations;
  unsigned threads;
  compiler::Progress &progress;
  uint64_t done = 0, total = 0;
};

Expected<compiler::ResidualStream> streamOf(mlir::MLIRContext &context,
                                            const checkpoint::Checkpoint &model, int64_t length) {
  compiler::DiagnosticCollector diagnostics(context);
  auto module = compiler::importModel(&context, model, {length, false, false, nullptr, nullptr});
  if (failed(module))
    return diagnostics.error();
  return compiler::readResidualStream(**module);
}

/// The folder of the rotated model.
Expected<fs::path> rotate(mlir::MLIRContext &context, const QuantizeOptions &options,
                          const checkpoint::Checkpoint &model, const fs::path &folder,
                          compiler::Progress &progress) {
  auto stream = streamOf(context, model, options.text.length);
  if (!stream)
    return stream.error();
  auto ofStream = HadamardTransform::create(stream->width, options.text.seed);
  if (!ofStream)
    return checkpoint::Error{"INGOT-E2161",
                             checkpoint::message("no Hadamard matrix of the stream's ",
                                                 stream->width, " channels is known"),
                             options.model.string(), "leave rotation out of the recipe"};
  const Rotations rotations{*std::move(ofStream),
                            HadamardTransform::create(stream->headDim, options.text.seed)};
  const std::string embedding = std::string(model.config().names.embedding) + ".weight";
  if (model.config().tiedEmbeddings && model.shownName(embedding) != embedding)
    return checkpoint::Error{
        "INGOT-E2162",
        "the head is tied to the embedding, and the name that its own tensor would have "
        "is not known",
        model.shownName(embedding), "store the head too, or leave rotation out"};
  // A run that goes on finds what it made of the same files.
  const std::string key = checkpoint::hex(*checkpoint::sha256(
      checkpoint::message(revisionAndFiles(model.inputs(), options), "\n", options.text.seed)));
  const fs::path whole = folder / ("rotated-" + key), unfinished = folder / "unfinished";
  std::error_code error;
  if (fs::exists(whole, error))
    return whole;
  progress.begin("rotate");
  fs::remove_all(unfinished, error);
  fs::create_directories(unfinished, error);
  RotatedWriter writer(model, *stream, rotations, codegen::usableThreads(options.threads),
                       progress);
  if (auto written = writer.write(unfinished, folder / "rotated.safetensors"); !written)
    return written.error();
  fs::rename(unfinished, whole, error);
  if (error)
    return checkpoint::Error{
        "INGOT-E7013",
        checkpoint::message("the rotated model cannot be given its name: ", error.message()),
        whole.string(), "choose another output"};
  progress.end(checkpoint::message(stream->width, " channels"));
  if (!rotations.heads && stream->headDim != 0)
    progress.warn(checkpoint::message("heads of values are not rotated: no Hadamard matrix of ",
                                      stream->headDim, " channels is known"));
  if (const size_t others = model.tensorsOfOtherParts().size())
    progress.warn(checkpoint::message(others, " tensors of other parts are left out: what these "
                                              "put among the channels is not rotated"));
  if (model.config().tiedEmbeddings)
    progress.warn("the head is no longer tied to the embedding: it takes the last norm's factors");
  if (const size_t kept = stream->keptHeads.size()) // layers are alike
    progress.warn(checkpoint::message(
        "heads of values are not rotated at ", stream->keptHeads.front(),
        kept > 1 ? checkpoint::message("; nor at ", kept - 1, " more places") : ""));
  return whole;
}

} // namespace

Expected<checkpoint::Checkpoint> quantize::rotatedIfAsked(mlir::MLIRContext &context,
                                                          QuantizeOptions &options,
                                                          checkpoint::Checkpoint model,
                                                          const fs::path &folder,
                                                          compiler::Progress &progress) {
  if (options.recipe.rotation == recipe::Rotation::None)
    return model;
  if (auto fits = checkSpace(folder, weightBytes(model)); !fits)
    return fits.error();
  auto rotated = rotate(context, options, model, folder, progress);
  if (!rotated)
    return rotated.error();
  options.model = *std::move(rotated);
  return checkpoint::Checkpoint::open(options.model);
}

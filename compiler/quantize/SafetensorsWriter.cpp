// SPDX-License-Identifier: Apache-2.0
// Headers by nlohmann-json; data goes straight to a file under a temporary name.
#include "compiler/quantize/SafetensorsWriter.h"

#include "compiler/quantize/ggml/WholeFile.h"

#include <cassert>
#include <nlohmann/json.hpp>

using namespace ingot;
using namespace ingot::quantize;
using ingot::checkpoint::Expected;
using ingot::checkpoint::Outcome;

struct SafetensorsWriter::State {
  WholeFile file;
  uint64_t missing = 0; ///< bytes of data
};

SafetensorsWriter::SafetensorsWriter(std::unique_ptr<State> state) : state(std::move(state)) {}
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter &&) noexcept = default;
SafetensorsWriter &SafetensorsWriter::operator=(SafetensorsWriter &&) noexcept = default;
SafetensorsWriter::~SafetensorsWriter() = default;

/// The 8 bytes of the header's length and the header, padded so that data begins at a multiple of
/// 8.
static std::string headerText(std::span<const TensorHeader> headers, const FileMetadata &metadata) {
  auto json = nlohmann::ordered_json::object(); // a file without tensors has one too
  if (!metadata.empty())
    json["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorHeader &header : headers) {
    const uint64_t end = offset + header.bytes();
    json[header.name] = {{"dtype", checkpoint::dtypeName(header.dtype)},
                         {"shape", header.shape},
                         {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string whole(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    whole[i] = static_cast<char>(uint64_t{text.size()} >> (8 * i));
  return whole + text;
}

Expected<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path &path,
                                                      std::span<const TensorHeader> headers,
                                                      const FileMetadata &metadata) {
  auto file = WholeFile::create(path);
  if (!file)
    return file.error();
  auto state = std::make_unique<State>(State{*std::move(file)});
  for (const TensorHeader &header : headers)
    state->missing += header.bytes();
  const std::string text = headerText(headers, metadata);
  if (auto written = state->file.append(std::as_bytes(std::span(text))); !written)
    return written.error();
  return SafetensorsWriter(std::move(state));
}

Outcome SafetensorsWriter::append(std::span<const std::byte> bytes) {
  assert(bytes.size() <= state->missing && "more data than the headers state");
  state->missing -= bytes.size();
  return state->file.append(bytes);
}

Outcome SafetensorsWriter::finish() {
  assert(state->missing == 0 && "data is missing");
  return state->file.finish();
}

Outcome quantize::writeSafetensors(const std::filesystem::path &path,
                                   std::span<const TensorData> tensors) {
  std::vector<TensorHeader> headers;
  for (const TensorData &tensor : tensors)
    headers.push_back(tensor.header);
  auto writer = SafetensorsWriter::create(path, headers, {});
  if (!writer)
    return writer.error();
  for (const TensorData &tensor : tensors)
    if (auto written = writer->append(tensor.bytes); !written)
      return written;
  return writer->finish();
}

Outcome quantize::writeWhole(const std::filesystem::path &path, std::string_view text) {
  auto file = WholeFile::create(path);
  if (!file)
    return file.error();
  if (auto written = file->append(std::as_bytes(std::span(text))); !written)
    return written;
  return file->finish();
}

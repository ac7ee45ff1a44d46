// SPDX-License-Identifier: Apache-2.0
// Headers by nlohmann-json; data goes straight to a file under a temporary name.
#include "compiler/quantize/SafetensorsWriter.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace ingot;
using namespace ingot::quantize;
using ingot::checkpoint::Error;
using ingot::checkpoint::Expected;
using ingot::checkpoint::Outcome;
using ingot::checkpoint::printable;

namespace ingot::quantize {
/// A file under a temporary name.
struct NewFile {
  std::filesystem::path path, temporary;
  int descriptor = -1;
  uint64_t missing = 0; ///< bytes of data

  ~NewFile() {
    if (descriptor >= 0) {
      close(descriptor);
      unlink(temporary.c_str());
    }
  }

  Error failed(const char *code, const char *what) const {
    return Error{code, checkpoint::message(what, ": ", std::strerror(errno)),
                 printable(path.string()), "choose a folder that can be written and has room"};
  }

  Outcome open() {
    std::string name = path.string() + ".tmp.XXXXXX";
    descriptor = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor < 0)
      return failed("INGOT-E7010", "the file cannot be created");
    temporary = name;
    return {};
  }

  Outcome write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR)
        continue;
      if (done <= 0)
        return failed("INGOT-E7012", "writing failed");
      bytes = bytes.subspan(static_cast<size_t>(done));
    }
    return {};
  }

  Outcome publish() {
    if (fchmod(descriptor, 0644) != 0 || fsync(descriptor) != 0)
      return failed("INGOT-E7012", "writing failed");
    if (rename(temporary.c_str(), path.c_str()) != 0)
      return failed("INGOT-E7013", "the finished file cannot be given its name");
    close(std::exchange(descriptor, -1));
    return {};
  }
};
} // namespace ingot::quantize

struct SafetensorsWriter::State : NewFile {};

SafetensorsWriter::SafetensorsWriter(std::unique_ptr<State> state) : state(std::move(state)) {}
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter &&) noexcept = default;
SafetensorsWriter &SafetensorsWriter::operator=(SafetensorsWriter &&) noexcept = default;
SafetensorsWriter::~SafetensorsWriter() = default;

/// The 8 bytes of the header's length and the header, padded so that data begins at a multiple of
/// 8.
static std::string headerText(std::span<const TensorHeader> headers, const FileMetadata &metadata) {
  nlohmann::ordered_json json;
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
  auto state = std::make_unique<State>();
  state->path = path;
  for (const TensorHeader &header : headers)
    state->missing += header.bytes();
  if (auto opened = state->open(); !opened)
    return opened.error();
  const std::string text = headerText(headers, metadata);
  if (auto written = state->write(std::as_bytes(std::span(text))); !written)
    return written.error();
  return SafetensorsWriter(std::move(state));
}

Outcome SafetensorsWriter::append(std::span<const std::byte> bytes) {
  assert(bytes.size() <= state->missing && "more data than the headers state");
  state->missing -= bytes.size();
  return state->write(bytes);
}

Outcome SafetensorsWriter::finish() {
  assert(state->missing == 0 && "data is missing");
  return state->publish();
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
  NewFile state;
  state.path = path;
  if (auto opened = state.open(); !opened)
    return opened;
  if (auto written = state.write(std::as_bytes(std::span(text))); !written)
    return written;
  return state.publish();
}

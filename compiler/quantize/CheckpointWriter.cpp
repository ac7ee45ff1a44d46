// SPDX-License-Identifier: Apache-2.0
// Tensors are copied in pieces: memory does not depend on the model.
#include "compiler/quantize/CheckpointWriter.h"

#include "compiler/checkpoint/files/Safetensors.h"

#include <cstdio>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Outcome;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kShardBytes = uint64_t{4} << 30;
constexpr size_t kPiece = size_t{4} << 20;
/// Files beside the weights are configuration and tokenizers.
constexpr uint64_t kLongestFile = uint64_t{256} << 20;

/// A tensor of the result and where its bytes are.
struct Part {
  TensorHeader header;
  const checkpoint::Tensor *original = nullptr; ///< of the model; else of an added file
  size_t file = 0;
  uint64_t offset = 0;
};

class Writer {
public:
  Writer(const CheckpointParts &parts, const fs::path &folder,
         const std::function<void(uint64_t, uint64_t)> &progress)
      : parts(parts), folder(folder), progress(progress) {}

  Outcome run() {
    if (auto collected = collect(); !collected)
      return collected;
    if (auto written = writeWeights(); !written)
      return written;
    if (auto written = writeConfig(); !written)
      return written;
    return copyOthers();
  }

private:
  Outcome collect() {
    for (const checkpoint::Tensor &tensor : parts.original.tensors()) {
      std::string name = parts.original.shownName(tensor.name);
      if (!parts.replaced.contains(name))
        tensors.push_back({{std::move(name), tensor.dtype, tensor.shape}, &tensor});
    }
    if (parts.keepsOtherParts)
      for (const checkpoint::Tensor &tensor : parts.original.tensorsOfOtherParts())
        tensors.push_back({{tensor.name, tensor.dtype, tensor.shape}, &tensor});
    for (const fs::path &path : parts.files) {
      auto file = checkpoint::File::open(path);
      if (!file)
        return file.error();
      auto header = checkpoint::readSafetensors(*file);
      if (!header)
        return header.error();
      for (const checkpoint::Tensor &tensor : header->tensors)
        tensors.push_back(
            {{tensor.name, tensor.dtype, tensor.shape}, nullptr, added.size(), tensor.offset});
      added.push_back(*std::move(file));
    }
    std::sort(tensors.begin(), tensors.end(),
              [](const Part &a, const Part &b) { return a.header.name < b.header.name; });
    for (const Part &part : tensors)
      total += part.header.bytes();
    return {};
  }

  Outcome copyData(const Part &part, SafetensorsWriter &writer) {
    std::vector<std::byte> piece(kPiece);
    const uint64_t bytes = part.header.bytes();
    for (uint64_t at = 0; at < bytes;) {
      std::span<std::byte> now(piece.data(), std::min<uint64_t>(kPiece, bytes - at));
      if (auto read = part.original ? parts.original.read(*part.original, at, now)
                                    : added[part.file].readAt(part.offset + at, now);
          !read)
        return read;
      if (auto written = writer.append(now); !written)
        return written;
      at += now.size();
      done += now.size();
      progress(done, total);
    }
    return {};
  }

  Outcome writeWeights() {
    std::vector<std::pair<size_t, size_t>> shards; // first part, behind the last
    uint64_t filled = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const uint64_t bytes = tensors[i].header.bytes();
      if (shards.empty() || filled + bytes > kShardBytes) {
        shards.emplace_back(i, i);
        filled = 0;
      }
      shards.back().second = i + 1;
      filled += bytes;
    }
    nlohmann::ordered_json map = nlohmann::ordered_json::object();
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      std::string name = "model.safetensors";
      if (shards.size() > 1) {
        char text[64];
        std::snprintf(text, sizeof text, "model-%05zu-of-%05zu.safetensors", shard + 1,
                      shards.size());
        name = text;
      }
      std::vector<TensorHeader> headers;
      for (size_t i = shards[shard].first; i < shards[shard].second; ++i) {
        headers.push_back(tensors[i].header);
        map[tensors[i].header.name] = name;
      }
      FileMetadata metadata = shard == 0 ? parts.original.allFileMetadata() : FileMetadata();
      metadata["format"] = "pt";
      auto writer = SafetensorsWriter::create(folder / name, headers, metadata);
      if (!writer)
        return writer.error();
      for (size_t i = shards[shard].first; i < shards[shard].second; ++i)
        if (auto copied = copyData(tensors[i], *writer); !copied)
          return copied;
      if (auto finished = writer->finish(); !finished)
        return finished;
    }
    if (shards.size() < 2)
      return {};
    nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
    return writeWhole(folder / "model.safetensors.index.json", index.dump(2) + "\n");
  }

  Outcome writeConfig() {
    const fs::path path = parts.original.folder() / "config.json";
    auto text = checkpoint::readText(path, kLongestFile);
    if (!text)
      return text.error();
    auto config = nlohmann::ordered_json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!config.is_object())
      return Error{"INGOT-E2121", "config.json is not the JSON object that is to be extended",
                   path.string(), "write it without what JSON does not have, such as NaN"};
    config.update(parts.configuration);
    for (const auto &[name, companion] : parts.companions)
      if (auto written = writeWhole(folder / name, companion.dump(2) + "\n"); !written)
        return written;
    return writeWhole(folder / "config.json", config.dump(2) + "\n");
  }

  /// Everything beside configuration and weights: tokenizers, templates, generation's settings.
  Outcome copyOthers() {
    std::error_code error;
    for (const fs::directory_entry &entry :
         fs::directory_iterator(parts.original.folder(), error)) {
      const fs::path &path = entry.path();
      static constexpr std::string_view kWeights[] = {".safetensors", ".bin",  ".pt",
                                                      ".pth",         ".gguf", ".h5"};
      const bool isWeights = std::find(std::begin(kWeights), std::end(kWeights),
                                       path.extension().string()) != std::end(kWeights) ||
                             path.filename().string().ends_with(".index.json");
      if (!entry.is_regular_file(error) || isWeights || path.filename() == "config.json" ||
          entry.file_size(error) > kLongestFile || fs::exists(folder / path.filename(), error))
        continue;
      auto text = checkpoint::readText(path, kLongestFile);
      if (!text)
        return text.error();
      if (auto written = writeWhole(folder / path.filename(), *text); !written)
        return written;
    }
    if (error)
      return Error{"INGOT-E7001",
                   checkpoint::message("the folder cannot be read: ", error.message()),
                   parts.original.folder().string(), ""};
    return {};
  }

  const CheckpointParts &parts;
  const fs::path &folder;
  const std::function<void(uint64_t, uint64_t)> &progress;
  std::vector<Part> tensors;
  std::vector<checkpoint::File> added;
  uint64_t done = 0, total = 0;
};

} // namespace

Outcome quantize::writeCheckpoint(const CheckpointParts &parts, const fs::path &folder,
                                  const std::function<void(uint64_t, uint64_t)> &progress) {
  return Writer(parts, folder, progress).run();
}

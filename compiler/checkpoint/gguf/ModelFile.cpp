// SPDX-License-Identifier: Apache-2.0
// The formats of model files, and that of llama2.c.
#include "compiler/checkpoint/gguf/ModelFile.h"

#include "compiler/checkpoint/config/ModelConfig.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace fs = std::filesystem;

namespace {

constexpr uint32_t laterMagic = 0x616b3432; // "ak42"
constexpr uint64_t floatBytes = sizeof(float);

/// The seven numbers of a file; nothing where they are none that a model has.
struct Header {
  uint64_t dim, hidden, layers, heads, kvHeads, vocabulary, positions;
  bool ownClassifier;

  static constexpr uint64_t bytes = 7 * sizeof(int32_t);
  uint64_t headSize() const { return dim / heads; }
  uint64_t kvDim() const { return headSize() * kvHeads; }

  static std::optional<Header> of(const std::array<int32_t, 7> &numbers) {
    constexpr std::array<uint64_t, 7> most = {
        ModelConfig::widest,    ModelConfig::widest,    ModelConfig::mostLayers,
        ModelConfig::mostHeads, ModelConfig::mostHeads, ModelConfig::largestVocabulary,
        Rope::mostPositions};
    std::array<uint64_t, 7> values{};
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t value = numbers[i];
      values[i] = static_cast<uint64_t>(i == 5 && value < 0 ? -value : std::max<int64_t>(value, 0));
      if (values[i] == 0 || values[i] > most[i])
        return std::nullopt;
    }
    Header header{values[0], values[1], values[2], values[3],
                  values[4], values[5], values[6], numbers[5] < 0};
    if (header.dim % header.heads != 0 || header.heads % header.kvHeads != 0 ||
        header.headSize() % 2 != 0)
      return std::nullopt;
    return header;
  }
};

std::optional<std::array<int32_t, 7>> numbersOf(const File &file) {
  std::array<int32_t, 7> numbers{};
  if (file.size() < sizeof(numbers) || !file.readAt(0, std::as_writable_bytes(std::span(numbers))))
    return std::nullopt;
  return numbers;
}

/// Lists tensors in the order of the file. A matrix of all layers is one for each.
class Places {
public:
  explicit Places(const Header &header) : header(header) {}

  void one(std::string name, std::vector<uint64_t> shape) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = DType::F32;
    tensor.shape = std::move(shape);
    tensor.offset = end;
    tensor.bytes = floatBytes;
    for (uint64_t extent : tensor.shape)
      tensor.bytes *= extent;
    end += tensor.bytes;
    tensors.push_back(std::move(tensor));
  }
  void ofLayers(std::string_view name, const std::vector<uint64_t> &shape) {
    for (uint64_t layer = 0; layer < header.layers; ++layer)
      one(message("blk.", layer, ".", name, ".weight"), shape);
  }
  void skip(uint64_t floats) { end += floats * floatBytes; }

  std::vector<Tensor> tensors;
  uint64_t end = Header::bytes;

private:
  const Header &header;
};

Places placesOf(const Header &header) {
  const uint64_t dim = header.dim, hidden = header.hidden, kv = header.kvDim();
  Places places(header);
  places.one("token_embd.weight", {header.vocabulary, dim});
  places.ofLayers("attn_norm", {dim});
  places.ofLayers("attn_q", {dim, dim});
  places.ofLayers("attn_k", {kv, dim});
  places.ofLayers("attn_v", {kv, dim});
  places.ofLayers("attn_output", {dim, dim});
  places.ofLayers("ffn_norm", {dim});
  places.ofLayers("ffn_gate", {hidden, dim});
  places.ofLayers("ffn_down", {dim, hidden});
  places.ofLayers("ffn_up", {hidden, dim});
  places.one("output_norm.weight", {dim});
  places.skip(header.positions * header.headSize()); // cosines and sines, as any rope has them
  if (header.ownClassifier)
    places.one("output.weight", {header.vocabulary, dim});
  return places;
}

/// The vocabulary, as the keys of a GGUF file.
Outcome readVocabulary(const fs::path &path, uint64_t count, nlohmann::json &keys) {
  enum TokenType { Normal = 1, Unknown = 2, Control = 3, Byte = 6 };
  constexpr uint64_t most = uint64_t{1} << 28;
  auto bytes = readText(path, most);
  if (!bytes)
    return bytes.error();
  const std::string where = printable(path.string());
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int> types;
  size_t at = sizeof(int32_t); // the longest token's length
  while (at < bytes->size()) {
    float score = 0;
    int32_t length = 0;
    if (bytes->size() - at < sizeof(score) + sizeof(length))
      return Error{"INGOT-E1123", message("token ", tokens.size(), " is cut short"), where,
                   "copy the file again"};
    std::memcpy(&score, bytes->data() + at, sizeof(score));
    std::memcpy(&length, bytes->data() + at + sizeof(score), sizeof(length));
    at += sizeof(score) + sizeof(length);
    if (length < 0 || bytes->size() - at < static_cast<size_t>(length))
      return Error{"INGOT-E1123", message("token ", tokens.size(), " is cut short"), where,
                   "copy the file again"};
    std::string text = bytes->substr(at, static_cast<size_t>(length));
    at += static_cast<size_t>(length);
    // The exporter puts special tokens between newlines and spaces where sentencepiece has a mark.
    const bool special = text == "\n<s>\n" || text == "\n</s>\n";
    const bool byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
    std::string piece;
    for (char c : special ? text.substr(1, text.size() - 2) : text)
      piece += c == ' ' ? std::string("\u2581") : std::string(1, c);
    types.push_back(special ? Control : byte ? Byte : text == "<unk>" ? Unknown : Normal);
    tokens.push_back(std::move(piece));
    scores.push_back(score);
  }
  if (tokens.size() != count)
    return Error{"INGOT-E1123",
                 message("the vocabulary has ", tokens.size(), " tokens, the model ", count), where,
                 "give the vocabulary that the model was trained with"};
  keys["tokenizer.ggml.model"] = "llama";
  keys["tokenizer.ggml.tokens"] = std::move(tokens);
  keys["tokenizer.ggml.scores"] = std::move(scores);
  keys["tokenizer.ggml.token_type"] = std::move(types);
  keys["tokenizer.ggml.unknown_token_id"] = 0;
  keys["tokenizer.ggml.bos_token_id"] = 1;
  keys["tokenizer.ggml.eos_token_id"] = 2;
  return {};
}

} // namespace

bool isLlama2c(const fs::path &path) {
  if (path.extension() != ".bin")
    return false;
  auto file = File::open(path);
  if (!file)
    return false;
  const auto numbers = numbersOf(*file);
  return numbers &&
         (static_cast<uint32_t>((*numbers)[0]) == laterMagic || Header::of(*numbers).has_value());
}

std::optional<fs::path> tokenizerOfModelFile(const fs::path &path) {
  if (!isLlama2c(path))
    return std::nullopt;
  std::error_code failed;
  if (fs::path usual = path.parent_path() / "tokenizer.bin"; fs::exists(usual, failed))
    return usual;
  std::optional<fs::path> found;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const fs::path &candidate = entry->path();
    if (candidate.extension() != ".bin" || !candidate.filename().string().starts_with("tok"))
      continue;
    if (found)
      return std::nullopt; // which one is not known
    found = candidate;
  }
  return found;
}

Expected<GgufModel> openLlama2c(const fs::path &path) {
  auto file = File::open(path);
  if (!file)
    return file.error();
  const std::string where = printable(path.string());
  const auto numbers = numbersOf(*file);
  if (!numbers || static_cast<uint32_t>((*numbers)[0]) == laterMagic)
    return Error{"INGOT-E1122", "only version 0 of llama2.c's checkpoints is supported", where,
                 "export the model as version 0, or as a Hugging Face model"};
  const auto header = Header::of(*numbers);
  if (!header)
    return Error{"INGOT-E1122", "the file does not begin like a checkpoint of llama2.c", where,
                 "give a model directory, a GGUF file or a checkpoint of llama2.c"};
  Places places = placesOf(*header);
  if (places.end != file->size())
    return Error{"INGOT-E1122",
                 message("a checkpoint of llama2.c with these sizes has ", places.end,
                         " bytes, this file ", file->size()),
                 where, "copy the file again"};
  const auto vocabulary = tokenizerOfModelFile(path);
  if (!vocabulary)
    return Error{"INGOT-E1123", "there is no tokenizer.bin and no single tok*.bin beside it", where,
                 "put the model's vocabulary there"};
  constexpr double epsilon = 1e-5;
  nlohmann::json keys = {
      {"general.architecture", "llama"},
      {"llama.context_length", header->positions},
      {"llama.embedding_length", header->dim},
      {"llama.block_count", header->layers},
      {"llama.feed_forward_length", header->hidden},
      {"llama.vocab_size", header->vocabulary},
      {"llama.attention.head_count", header->heads},
      {"llama.attention.head_count_kv", header->kvHeads},
      {"llama.attention.layer_norm_rms_epsilon", epsilon},
  };
  if (auto read = readVocabulary(*vocabulary, header->vocabulary, keys); !read)
    return read.error();
  GgufModel model{Json::of(std::move(keys), path.string()), {}, std::move(places.tensors)};
  model.files.push_back(*std::move(file));
  return model;
}

fs::path modelFileName(const fs::path &path) {
  std::error_code error;
  fs::path plain = fs::absolute(path, error).lexically_normal();
  if (plain.filename().empty())
    plain = plain.parent_path();
  for (fs::path at = plain; at.has_relative_path(); at = at.parent_path()) {
    const std::string repository = at.parent_path().parent_path().filename();
    if (at.parent_path().filename() == "snapshots" && repository.starts_with("models--"))
      return at == plain ? fs::path(repository.substr(repository.rfind("--") + 2))
                         : plain.filename();
  }
  return fs::weakly_canonical(path, error).filename();
}

bool isModelFile(const fs::path &path) { return isGguf(path) || isLlama2c(path); }

Expected<GgufModel> openModelFile(const fs::path &path) {
  return isLlama2c(path) ? openLlama2c(path) : openGguf(path);
}

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// Names, keys and orders of rows as readers of GGUF files turn them back.
#include "compiler/quantize/FolderToGguf.h"

#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/gguf/GgufConfig.h"
#include "compiler/checkpoint/gguf/GgufConfigKeys.h"
#include "compiler/checkpoint/gguf/GgufNames.h"
#include "compiler/checkpoint/gguf/ModelFile.h"
#include "compiler/checkpoint/tokenizer/GgufTokenizerKeys.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/importers/RotaryTable.h"
#include "compiler/quantize/StoredMatrices.h"
#include "compiler/quantize/ggml/GgufWriter.h"

#include <charconv>
#include <cstring>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Checkpoint;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::Family;
using checkpoint::message;
using checkpoint::ModelConfig;
using checkpoint::Outcome;
using checkpoint::Tensor;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

/// A tensor on its way.
struct Move {
  GgufTensorPlan plan;
  const Tensor *from = nullptr; ///< null: `values`
  std::vector<float> values;
  bool plusOne = false; ///< norms that multiply by 1 more than what is stored
  uint64_t half = 0; ///< rows i and i + half of each 2 half become rows 2i and 2i + 1; 0: none do
};

Error cannotSay(const std::string &what, const fs::path &folder) {
  return {"INGOT-E2157", "GGUF files cannot say of the model " + what, folder.string(),
          "choose a recipe that is no mix of GGUF files"};
}

/// Layers in their order, between what stands before and behind them.
std::tuple<int, uint64_t, std::string_view> placeOf(std::string_view name) {
  constexpr std::string_view layers = "blk.";
  if (!name.starts_with(layers))
    return {name.starts_with("output") ? 2 : 0, 0, name};
  uint64_t layer = 0;
  const char *end = name.data() + name.size();
  const auto rest = std::from_chars(name.data() + layers.size(), end, layer).ptr;
  return {1, layer, std::string_view(rest, end)};
}

class FolderToGguf {
public:
  FolderToGguf(const fs::path &folder, const Checkpoint &model, const Family &family)
      : folder(folder), model(model), config(model.config()), family(family) {}

  /// Where each tensor goes. Those without a place are told.
  Outcome plan(compiler::Progress &progress) {
    for (const Tensor &tensor : model.tensors()) {
      const bool isHead = tensor.name == message(config.names.head, ".weight");
      const auto name = checkpoint::ggufNameOf(isHead && config.tiedEmbeddings
                                                   ? message(config.names.embedding, ".weight")
                                                   : tensor.name,
                                               config);
      if (!name) {
        progress.warn(message(tensor.name, " has no name in GGUF files, and is left out"));
        continue;
      }
      if (auto added = add(*name, tensor); !added)
        return added;
    }
    if (config.ropes.front().type == checkpoint::RopeType::Llama3)
      addDivisors();
    std::ranges::sort(moves, {}, [](const Move &move) { return placeOf(move.plan.name); });
    return {};
  }

  /// All keys, once they are read back as the model.
  Expected<nlohmann::json> keys(compiler::Progress &progress) const {
    const auto tokenizer = checkpoint::readTokenizer(folder);
    if (!tokenizer)
      return tokenizer.error();
    auto ofTokenizer = checkpoint::ggufTokenizerKeys(*tokenizer, config.vocabSize, model.eosIds(),
                                                     folder.string());
    if (!ofTokenizer)
      return ofTokenizer.error();
    nlohmann::json keys = checkpoint::ggufConfigKeys(config, family);
    keys.update(ofTokenizer->keys);
    keys["general.type"] = "model";
    keys["general.name"] = checkpoint::modelFileName(folder).string();
    checkpoint::GgufModel read{checkpoint::Json::of(keys, folder.string()), {}, {}};
    auto file = checkpoint::File::open(model.inputs().front());
    if (!file)
      return file.error();
    read.files.push_back(*std::move(file));
    for (const Move &move : moves)
      if (move.from)
        read.tensors.push_back({move.plan.name, move.plan.dtype, move.plan.shape});
    const auto back = checkpoint::readGgufConfig(read);
    if (!back)
      return back.error();
    if (const std::string what = checkpoint::differenceOf(config, *back); !what.empty())
      return cannotSay(what, folder);
    if (!ofTokenizer->deviation.empty())
      progress.warn(ofTokenizer->deviation);
    return keys;
  }

  Outcome write(const nlohmann::json &keys, const fs::path &out,
                compiler::Progress &progress) const {
    std::vector<GgufTensorPlan> plans;
    uint64_t all = 0, done = 0;
    for (const Move &move : moves) {
      plans.push_back(move.plan);
      all += move.from ? move.from->bytes : 0;
    }
    auto writer = GgufWriter::create(out, GgufKeys::of(keys), plans);
    if (!writer)
      return writer.error();
    for (const Move &move : moves) {
      auto moved =
          move.plan.shape.size() == 1 ? moveVector(move, *writer) : moveMatrix(move, *writer);
      if (!moved)
        return moved;
      done += move.from ? move.from->bytes : 0;
      progress.update(done, all);
    }
    return writer->finish();
  }

private:
  Outcome add(const std::string &name, const Tensor &tensor) {
    const bool isPlain =
        tensor.dtype == DType::F32 || tensor.dtype == DType::F16 || tensor.dtype == DType::BF16;
    const bool isRotated = name.find(".attn_q.") != name.npos || name.find(".attn_k.") != name.npos;
    Move move{{name, tensor.dtype, tensor.shape}, &tensor, {}};
    const checkpoint::Attention &attention = *config.layers.front().attention();
    if (isRotated && family.gguf.ropeInterleaved && !attention.ropeInterleaved)
      move.half = config.ropes.front().pairs(attention.headDim);
    const bool isWhole = tensor.bytes > 0 && !tensor.shape.empty() &&
                         (move.half == 0 || tensor.shape.front() % (2 * move.half) == 0);
    if (!isPlain || !isWhole)
      return cannotSay(message("what ", tensor.name, " is: ",
                               isPlain ? "its shape" : checkpoint::dtypeName(tensor.dtype)),
                       folder);
    if (tensor.shape.size() == 1)
      move.plan.dtype = DType::F32;
    move.plusOne = config.normsLessOne && name.ends_with("norm.weight");
    moves.push_back(std::move(move));
    return {};
  }

  /// What scales by wavelength divides the frequency of each pair by.
  void addDivisors() {
    const checkpoint::Rope &rope = config.ropes.front();
    const checkpoint::Rope plain = {.theta = rope.theta, .rotated = rope.rotated};
    const auto context = static_cast<int64_t>(config.maxPositions);
    const uint64_t headDim = config.layers.front().attention()->headDim;
    const auto whole = compiler::rotaryTable(plain, headDim, context).frequencies,
               scaled = compiler::rotaryTable(rope, headDim, context).frequencies;
    Move move{{std::string(checkpoint::kDivisors), DType::F32, {whole.size()}}, nullptr, {}};
    for (size_t pair = 0; pair < whole.size(); ++pair)
      move.values.push_back(whole[pair] / scaled[pair]);
    moves.push_back(std::move(move));
  }

  /// The bytes of rows, in the order of the file; as many as `move` puts together.
  static std::vector<std::byte> ordered(std::span<const std::byte> rows, uint64_t rowBytes,
                                        uint64_t half) {
    std::vector<std::byte> out(rows.begin(), rows.end());
    for (uint64_t row = 0; half > 0 && row * rowBytes < rows.size(); ++row) {
      const uint64_t inRun = row % (2 * half), run = row - inRun;
      const uint64_t to = run + inRun % half * 2 + inRun / half;
      std::memcpy(out.data() + to * rowBytes, rows.data() + row * rowBytes, rowBytes);
    }
    return out;
  }

  Outcome moveVector(const Move &move, GgufWriter &writer) const {
    std::vector<float> values = move.values;
    if (move.from) {
      auto read = readValues(model, *move.from, 0, move.from->shape.front());
      if (!read)
        return read.error();
      values = *std::move(read);
    }
    for (float &value : values)
      value += move.plusOne ? 1.0f : 0.0f;
    return writer.append(ordered(std::as_bytes(std::span(values)), sizeof(float), move.half));
  }

  Outcome moveMatrix(const Move &move, GgufWriter &writer) const {
    const uint64_t rows = move.from->shape.front(), rowBytes = move.from->bytes / rows;
    const uint64_t run = move.half > 0 ? 2 * move.half : 1;
    const uint64_t pieceRows = std::max<uint64_t>(1, kPieceBytes / (run * rowBytes)) * run;
    for (uint64_t row = 0; row < rows; row += pieceRows) {
      std::vector<std::byte> piece(std::min(pieceRows, rows - row) * rowBytes);
      if (auto read = model.read(*move.from, row * rowBytes, piece); !read)
        return read;
      if (auto written = writer.append(ordered(piece, rowBytes, move.half)); !written)
        return written;
    }
    return {};
  }

  const fs::path &folder;
  const Checkpoint &model;
  const ModelConfig &config;
  const Family &family;
  std::vector<Move> moves;
};

} // namespace

Outcome quantize::writeAsGguf(const fs::path &folder, const fs::path &out,
                              compiler::Progress &progress) {
  const auto model = Checkpoint::open(folder);
  if (!model)
    return model.error();
  if (model->quantization().isQuantized())
    return Error{"INGOT-E2105", "the model is quantized already", folder.string(),
                 "give the folder of a model in 16 bits or f32"};
  const auto family = checkpoint::ggufFamilyOf(model->config(), folder.string());
  if (!family)
    return family.error();
  FolderToGguf work(folder, *model, **family);
  progress.begin("as a GGUF file");
  if (auto planned = work.plan(progress); !planned)
    return planned;
  const auto keys = work.keys(progress);
  if (!keys)
    return keys.error();
  if (auto written = work.write(*keys, out, progress); !written)
    return written;
  progress.end();
  return {};
}

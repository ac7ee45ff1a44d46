// SPDX-License-Identifier: Apache-2.0
// Tells leftovers from what would change numbers, by names as transformers has them.
#include "compiler/importers/UnreadTensors.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Checkpoint;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::ModelConfig;
using checkpoint::Tensor;

namespace {

/// Ends of names of what a model computes itself, or keeps for other programs.
constexpr StringLiteral kLeftovers[] = {".rotary_emb.inv_freq",
                                        ".rotary_pos_emb.inv_freq",
                                        ".position_ids",
                                        ".rotary_emb.original_inv_freq",
                                        ".rotary_emb.cos_cached",
                                        ".rotary_emb.sin_cached",
                                        ".masked_bias",
                                        "._extra_state",
                                        ".attn.bias",
                                        ".attention.bias"};
/// Beginnings of names of layers that predict more tokens than the next one.
constexpr StringLiteral kDrafts[] = {"mtp.", "model.mtp.", "model.mtp_layers."};
/// Ends of names of what a checkpoint was calibrated with, which BuildRequest takes or declines.
constexpr StringLiteral kCalibrated[] = {".k_scale",     ".v_scale",      ".q_scale",
                                         ".input_scale", ".output_scale", ".prob_output_scale"};
/// Those of other numbers that a quantized checkpoint has beside its matrices.
constexpr StringLiteral kQuantized[] = {"scale", "zero_point", "g_idx"};

constexpr StringLiteral kLayers = "model.layers.";

bool endsWithOneOf(StringRef name, ArrayRef<StringLiteral> ends) {
  return llvm::any_of(ends, [&](StringRef end) { return name.ends_with(end); });
}

/// The layer that a tensor belongs to; nothing for others.
std::optional<uint64_t> layerOf(StringRef name) {
  uint64_t layer = 0;
  if (!name.consume_front(kLayers) || name.consumeInteger(10, layer) || !name.starts_with("."))
    return std::nullopt;
  return layer;
}

/// Whether a layer is one of those that follow the model's own and only draft.
bool draftsOnly(const Checkpoint &checkpoint, uint64_t layer) {
  const auto count = checkpoint.config().raw.find("num_nextn_predict_layers");
  return count && count->unsignedInteger(layer - checkpoint.config().layerCount() + 1, UINT64_MAX);
}

/// Whether a tensor makes keys or values of a layer that reads those of another.
bool isOfSharer(const ModelConfig &config, uint64_t layer, StringRef name) {
  if (layer >= config.layerCount() || !config.layers[layer].attention() || config.keepsKeys(layer))
    return false;
  const checkpoint::ModuleNames &names = config.names;
  const std::string begin = (Twine(kLayers) + Twine(layer) + "." + names.attention + ".").str();
  return name.consume_front(begin) &&
         llvm::is_contained({names.key, names.value, names.keyNorm, std::string_view("v_norm")},
                            std::string_view(name.split('.').first));
}

/// Whether transformers keeps the tensor for a model that does not read it.
bool isUnusedScale(const ModelConfig &config, StringRef name) {
  return config.altUp.streams > 1 && !config.altUp.scales &&
         name.ends_with(".altup.correct_output_scale");
}

class Leftovers {
public:
  Leftovers(const Checkpoint &checkpoint, const ReadTensors &read)
      : checkpoint(checkpoint), read(read) {}

  bool isHarmless(const Tensor &tensor) const {
    StringRef name = tensor.name;
    auto layer = layerOf(name);
    return endsWithOneOf(name, kLeftovers) || endsWithOneOf(name, kCalibrated) ||
           llvm::any_of(kDrafts, [&](StringRef begin) { return name.starts_with(begin); }) ||
           (layer && *layer >= checkpoint.config().layerCount() &&
            draftsOnly(checkpoint, *layer)) ||
           (layer && isOfSharer(checkpoint.config(), *layer, name)) ||
           (layer && isUnusedScale(checkpoint.config(), name)) || belongsToQuantized(name) ||
           (checkpoint.quantization().isQuantized() && endsWithOneOf(name, kQuantized));
  }

  /// Whether the tensor lies where all weights of a model count: in its layers, in a part that
  /// sees, or as a norm or a bias of what follows them.
  bool counts(StringRef name) const {
    StringRef module = name.rsplit('.').first.rsplit('.').second;
    return name.starts_with(kLayers) || name == "lm_head.bias" ||
           (checkpoint.config().vision && name.starts_with("vision.")) ||
           (name.starts_with("model.") && module.contains("norm"));
  }

  /// Whether all bytes are 0: a bias that some quantizers add to every matrix.
  Expected<bool> isZero(const Tensor &tensor) const {
    std::array<std::byte, 4096> bytes;
    for (uint64_t done = 0; done < tensor.bytes; done += bytes.size()) {
      auto part = std::span(bytes).first(std::min<uint64_t>(bytes.size(), tensor.bytes - done));
      if (auto filled = checkpoint.read(tensor, done, part); !filled)
        return filled.error();
      if (llvm::any_of(part, [](std::byte byte) { return byte != std::byte(0); }))
        return false;
    }
    return true;
  }

private:
  /// Whether `name` is a part of a matrix that is stored quantized, and no bias.
  bool belongsToQuantized(StringRef name) const {
    if (name.ends_with(".bias"))
      return false;
    for (StringRef module = name; module.contains('.');) {
      module = module.rsplit('.').first;
      std::string weight = (module + ".weight").str();
      if (read.asked.contains(weight) && read.weights.isQuantized(weight))
        return true;
    }
    return read.asked.contains(matrixName(name)) ||
           (name.consume_back("_scales") && read.asked.contains(name));
  }

  const Checkpoint &checkpoint;
  const ReadTensors &read;
};

} // namespace

Expected<std::vector<std::string>> compiler::unreadTensors(const Checkpoint &checkpoint,
                                                           const ReadTensors &read) {
  const Leftovers leftovers(checkpoint, read);
  std::vector<std::string> unread;
  for (const Tensor &tensor : checkpoint.tensors()) {
    bool isNeeded = checkpoint.isComplete() || checkpoint::isAdapterTensor(tensor.name);
    // A second copy of a tied matrix is asked for, and the first one found.
    if (read.stored.contains(tensor.name) || read.asked.contains(tensor.name) ||
        (!isNeeded && leftovers.isHarmless(tensor)))
      continue;
    if (!isNeeded && StringRef(tensor.name).ends_with(".bias")) {
      auto zero = leftovers.isZero(tensor);
      if (!zero)
        return zero.error();
      if (*zero)
        continue;
    }
    if (isNeeded || leftovers.counts(tensor.name))
      return Error{"INGOT-E1083",
                   "tensor " + checkpoint::inQuotes(checkpoint.shownName(tensor.name)) +
                       " is none that " + checkpoint.config().architecture + " reads",
                   checkpoint.fileName(tensor),
                   "check config.json against the weights, or use a model of a supported "
                   "architecture"};
    unread.push_back(tensor.name);
  }
  return unread;
}

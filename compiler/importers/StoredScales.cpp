// SPDX-License-Identifier: Apache-2.0
// Finds scales by the names that the field gives them, and reads their one number.
#include "compiler/importers/StoredScales.h"

#include "compiler/checkpoint/config/ModelConfig.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::Tensor;

static const llvm::fltSemantics *semanticsOf(DType type) {
  switch (type) {
  case DType::F32:
    return &llvm::APFloat::IEEEsingle();
  case DType::BF16:
    return &llvm::APFloat::BFloat();
  case DType::F16:
    return &llvm::APFloat::IEEEhalf();
  default:
    return nullptr;
  }
}

/// A number that a scale may not be.
static Error isNoScale(const checkpoint::Checkpoint &checkpoint, const std::string &name,
                       float number) {
  return Error{"INGOT-E1125", message("scale ", name, " is ", number),
               checkpoint.fileName(*checkpoint.find(name)),
               "calibrate the checkpoint again, or let a recipe say what is read: activations, "
               "kv_cache"};
}

namespace {

/// A tensor of floats, and how one of them is stored.
struct Floats {
  const Tensor *tensor;
  const llvm::fltSemantics *semantics;

  unsigned bits() const { return llvm::APFloat::getSizeInBits(*semantics); }
};

} // namespace

static Expected<Floats> findFloats(const checkpoint::Checkpoint &checkpoint,
                                   const std::string &name) {
  auto found = checkpoint.get(name);
  if (!found)
    return found.error();
  const Tensor &tensor = **found;
  if (const llvm::fltSemantics *semantics = semanticsOf(tensor.dtype))
    return Floats{&tensor, semantics};
  return Error{"INGOT-E1081",
               message("tensor ", checkpoint.shownName(tensor.name), " holds ",
                       dtypeName(tensor.dtype), " elements"),
               checkpoint.fileName(tensor), "such numbers are F32, BF16 or F16"};
}

static Expected<std::vector<float>> readFloats(const checkpoint::Checkpoint &checkpoint,
                                               const Floats &floats) {
  const unsigned bits = floats.bits(), each = bits / 8;
  std::vector<std::byte> bytes(floats.tensor->bytes);
  if (auto done = checkpoint.read(*floats.tensor, 0, bytes); !done)
    return done.error();
  std::vector<float> numbers;
  for (size_t at = 0; at < bytes.size(); at += each) {
    std::array<std::byte, 4> element{};
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), each, element.begin());
    const llvm::APInt value(bits, llvm::support::endian::read32le(element.data()));
    numbers.push_back(llvm::APFloat(*floats.semantics, value).convertToFloat());
  }
  return numbers;
}

Expected<std::vector<float>> compiler::storedNumbers(const checkpoint::Checkpoint &checkpoint,
                                                     const std::string &name) {
  const auto floats = findFloats(checkpoint, name);
  if (!floats)
    return floats.error();
  return readFloats(checkpoint, *floats);
}

Expected<float> compiler::storedNumber(const checkpoint::Checkpoint &checkpoint,
                                       const std::string &name, bool isBound) {
  const auto floats = findFloats(checkpoint, name);
  if (!floats)
    return floats.error();
  if (floats->tensor->bytes != floats->bits() / 8)
    return Error{"INGOT-E1054", message("a scale of several numbers, ", name, ", is not supported"),
                 checkpoint.fileName(*floats->tensor), "supported: one for the tensor"};
  const auto numbers = readFloats(checkpoint, *floats);
  if (!numbers)
    return numbers.error();
  if (isBound ? std::isnan(numbers->front()) : !std::isfinite(numbers->front()))
    return isNoScale(checkpoint, name, numbers->front());
  return numbers->front();
}

Expected<float> compiler::storedScale(const checkpoint::Checkpoint &checkpoint,
                                      const std::string &name) {
  auto scale = storedNumber(checkpoint, name);
  if (scale && !(*scale > 0))
    return isNoScale(checkpoint, name, *scale);
  return scale;
}

bool compiler::isOfOnes(const checkpoint::Checkpoint &checkpoint, const std::string &name) {
  const Tensor &tensor = *checkpoint.find(name);
  const llvm::fltSemantics *semantics = semanticsOf(tensor.dtype);
  std::vector<std::byte> bytes(tensor.bytes);
  if (!semantics || !checkpoint.read(tensor, 0, bytes))
    return false;
  const llvm::APInt one = llvm::APFloat::getOne(*semantics).bitcastToAPInt();
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != std::byte(one.extractBitsAsZExtValue(8, i * 8 % one.getBitWidth())))
      return false;
  return true;
}

std::string compiler::inputScaleOf(const std::string &weight) {
  return weight.substr(0, weight.rfind('.')) + ".input_scale";
}

std::optional<KvScaleNames> compiler::kvScaleNames(const checkpoint::Checkpoint &checkpoint,
                                                   const std::string &prefix) {
  constexpr std::array<std::pair<const char *, const char *>, 3> known = {{
      {"k_scale", "v_scale"},
      {"k_proj.k_scale", "v_proj.v_scale"},
      {"k_proj.output_scale", "v_proj.output_scale"},
  }};
  for (auto [keys, values] : known)
    if (checkpoint.find(prefix + keys) && checkpoint.find(prefix + values))
      return KvScaleNames{prefix + keys, prefix + values};
  return std::nullopt;
}

uint64_t compiler::layersWithKvScales(const checkpoint::Checkpoint &checkpoint) {
  uint64_t layers = 0;
  for (uint64_t i = 0; i < checkpoint.config().layerCount(); ++i)
    layers += checkpoint.config().keepsKeys(i) &&
              kvScaleNames(checkpoint, message("model.layers.", i, ".",
                                               checkpoint.config().names.attention, "."))
                  .has_value();
  return layers;
}

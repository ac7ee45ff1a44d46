// SPDX-License-Identifier: Apache-2.0
// ModelOpt, which states its method in config.json, or in a file of its own under `quantization`.
#include "compiler/checkpoint/quantized/methods/Methods.h"
#include "compiler/checkpoint/quantized/methods/Scheme.h"

#include <algorithm>
#include <set>

namespace ingot::checkpoint::methods {

using namespace rows;
using Activations = MethodReader::Activations;

static constexpr std::string_view exportAgain = "quantize with ModelOpt to one of the algorithms "
                                                "that docs/formats.md has";

static constexpr StoredFormat formats[] = {
    {{"FP8"}, byTensor, Reader::Float8, 8, 32, fp8Tensor},
    {{"FP8_PER_CHANNEL_PER_TOKEN"}, byRows, Reader::Float8, 8, 32, fp8Rows},
    {{"NVFP4", "NVFP4_AWQ", "W4A16_NVFP4", "W4A8_NVFP4_FP8"}, e2m1E4m3, Reader::NvFp4, 4, 8, nvfp4},
    {{"W4A8_MXFP4_FP8"}, e2m1E8m0, Reader::MxFp4, 4, 8, mxfp4},
    {{"MXFP8"}, e4m3E8m0, Reader::MxFp8, 8, 8, mxfp8},
    {{"W4A16_AWQ", "W4A8_AWQ"}, symmetric, Reader::NibblesOfRows, 4, 16, int4},
    {{"W8A16", "W8A8_SQ_PER_CHANNEL"}, symmetric, Reader::Integers, 8, 32, int8Rows},
    {.packings = {"NVFP4_SVD"},
     .refusal = "a product of low rank is added to each of its own",
     .instead = exportAgain},
};

/// What products read; nothing for groups of them.
struct Algorithm {
  std::string_view name;
  std::optional<Activations> activations;
};
static constexpr Algorithm algorithms[] = {
    {"FP8", Activations::Float8PerTensor},
    {"FP8_PER_CHANNEL_PER_TOKEN", Activations::Float8PerToken},
    {"NVFP4", {}},
    {"NVFP4_AWQ", {}},
    {"W4A16_NVFP4", Activations::AsStored},
    {"W4A8_NVFP4_FP8", Activations::Float8PerTensor},
    {"W4A8_MXFP4_FP8", Activations::Float8PerTensor},
    {"MXFP8", {}},
    {"W4A16_AWQ", Activations::AsStored},
    {"W4A8_AWQ", Activations::Float8PerTensor},
    {"W8A16", Activations::AsStored},
    {"W8A8_SQ_PER_CHANNEL", Activations::Int8PerTensor},
};

/// What `name`, one of the formats, computes.
static std::optional<Activations> activationsOf(std::string_view name) {
  return std::find_if(std::begin(algorithms), std::end(algorithms),
                      [&](const Algorithm &algorithm) { return algorithm.name == name; })
      ->activations;
}

static void readCache(MethodReader &reader) {
  if (Scheme::readCache(reader))
    return;
  std::string cache = reader.fields.stringOr("kv_cache_quant_algo", "");
  if (cache == "FP8")
    reader.config.kvCache = MethodReader::KvCache::Float8;
  else if (!cache.empty())
    reader.declineCache(printable(cache));
}

/// Modules of algorithms of their own, which their tensors tell apart; those that these cannot tell
/// are refused. A file may leave it to the tensors altogether.
static void readMixed(MethodReader &reader) {
  constexpr std::string_view key = "quantized_layers";
  std::set<std::string> names;
  if (auto modules = reader.object.find(key))
    for (const std::string &module : modules->keys()) {
      JsonFields own(*modules->find(module));
      names.insert(own.stringOr("quant_algo", ""));
      reader.take(key, own.error());
    }
  for (const std::string &name : names) {
    const StoredFormat *format = reader.format(key, name, "ModelOpt's");
    if (!format)
      return;
    if (format->reader == Reader::NibblesOfRows || format->reader == Reader::MxFp4)
      return reader.refuse(key, message(inQuotes(name), " of some modules"), exportAgain);
    if (activationsOf(name) != Activations::AsStored)
      reader.declineActivations("input_scale", message(name, " of some modules"));
  }
  reader.config.packing = FormatReader::None;
}

static void read(MethodReader &reader) {
  std::string name = reader.fields.stringOr("quant_algo", "");
  readCache(reader);
  if (name == "MIXED_PRECISION")
    return readMixed(reader);
  const StoredFormat *format = reader.format("quant_algo", name, "ModelOpt's");
  if (!format)
    return;
  reader.refuseUnlessOff("has_zero_point", "quantize symmetrically");
  if (format->reader == Reader::NibblesOfRows) {
    reader.config.bits = 4;
    reader.config.group = reader.group("group_size");
  }
  // It was calibrated with them.
  if (name == "W4A8_AWQ")
    reader.config.deviations.push_back(
        {"weight_scale_2", "weights that are rounded to e4m3 once more",
         "weights of 4 bits times their scale", "kernels decode weights without rounding them"});
  if (auto activations = activationsOf(name))
    reader.config.activations = *activations;
  else
    reader.declineActivations("input_scale", name);
}

constinit const QuantizationMethod modelOpt = {{"modelopt"}, formats, read};

} // namespace ingot::checkpoint::methods

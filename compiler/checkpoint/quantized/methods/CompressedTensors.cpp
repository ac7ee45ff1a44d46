// SPDX-License-Identifier: Apache-2.0
// compressed-tensors.
#include "compiler/checkpoint/quantized/methods/Methods.h"
#include "compiler/checkpoint/quantized/methods/Scheme.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr std::string_view sparse =
    "half of its weights or more are zeros that are not stored";

static constexpr auto formats = join(
    words({"pack-quantized"}, Reader::PackedIntegers), bytes({"int-quantized", "naive-quantized"}),
    e4m3({"float-quantized"}),
    std::array<StoredFormat, 5>{{
        {{"nvfp4-pack-quantized"}, e2m1E4m3, Reader::NvFp4, 4, 8, nvfp4},
        {{"mxfp4-pack-quantized"}, e2m1E8m0, Reader::MxFp4, 4, 8, mxfp4},
        {{"mxfp8-quantized"}, e4m3E8m0, Reader::MxFp8, 8, 8, mxfp8},
        {.packings = {"sparse-bitmask", "sparse-24-bitmask"},
         .refusal = sparse,
         .instead = "load it with transformers and CompressedTensorsConfig(run_compressed=False), "
                    "and save it"},
        {.packings = {"marlin-24"},
         .refusal = sparse,
         .instead = "quantize with llm-compressor and save with quantization_format "
                    "pack-quantized"},
    }});

/// Refuses a group of weights that no reader of tensors knows; sets what its products read.
static void readGroup(MethodReader &reader, const Json &group) {
  constexpr std::string_view key = "config_groups";
  auto weights = group.find("weights");
  if (weights && weights->isObject()) {
    Scheme scheme = Scheme::read(reader, key, *weights);
    if (scheme.isFloat && scheme.bits != 8 && scheme.bits != 4)
      reader.refuse(key, message("a ", scheme.bits, "-bit float weight"),
                    "supported: 8 and 4 bits");
    JsonFields own(*weights);
    reader.readBlock(own, "block_structure");
    reader.take(key, own.error());
  }
  auto inputs = group.find("input_activations");
  if (!inputs || !inputs->isObject())
    return;
  using Activations = MethodReader::Activations;
  Scheme scheme = Scheme::read(reader, key, *inputs);
  if (scheme.bits == 8 && scheme.dynamic && scheme.strategy == "token")
    reader.config.activations =
        scheme.isFloat ? Activations::Float8PerToken : Activations::Int8PerToken;
  else if (scheme.hasStaticScale())
    reader.config.activations =
        scheme.isFloat ? Activations::Float8PerTensor : Activations::Int8PerTensor;
  else
    reader.declineActivations("input_activations", scheme.str());
}

static void read(MethodReader &reader) {
  std::string format = reader.fields.stringOr("format", "");
  if (format != "mixed-precision") // Its groups have formats of their own, as tensors show.
    reader.format("format", format, "compressed-tensors' format");
  for (std::string_view key : {"sparsity_config", "transform_config"})
    if (auto member = reader.object.find(key); member && member->size() > 0)
      reader.refuse(key, std::string(key), "use a checkpoint without it");
  Scheme::readCache(reader);
  auto groups = reader.object.find("config_groups");
  if (!groups)
    return;
  for (const std::string &key : groups->keys())
    if (auto group = groups->find(key); group && group->isObject())
      readGroup(reader, *group);
}

constinit const QuantizationMethod compressedTensors = {{"compressed-tensors"}, formats, read};

} // namespace ingot::checkpoint::methods

// SPDX-License-Identifier: Apache-2.0
// HQQ, as transformers saves it: settings of all layers, or of some by the ends of their names.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr std::string_view quantizeAgain =
    "quantize with HqqConfig(nbits=4, axis=1) of transformers";

/// By `nbits`. Those of 5 and 6 bits have a byte each.
static constexpr StoredFormat formats[] = {
    {{"8", "6", "5"}, withOffsets, Reader::Hqq, 8, 16, {{Kind::Affine8, 64}, kF32}},
    {{"4"}, withOffsets, Reader::Hqq, 4, 16, {{Kind::Affine4, 64}, kF32}},
    {{"2"}, withOffsets, Reader::Hqq, 2, 16, {{Kind::Affine2, 64}, kF32}},
    {.packings = {"3"},
     .refusal = "ten codes in a word, of rows far apart",
     .instead = quantizeAgain},
    {.packings = {"1", "1.58"}, .refusal = "no kernel reads them", .instead = quantizeAgain},
};

/// `layers`: the settings of some, or of all.
static void readLayers(MethodReader &reader, const Json &layers, bool isFirst) {
  constexpr std::string_view key = "quant_config";
  for (std::string_view other : {"scale_quant_params", "zero_quant_params"})
    if (auto own = layers.find(other); own && !own->isNull())
      reader.refuse(key, message(other, ", quantized scales or zero points"), quantizeAgain);
  auto weights = layers.find("weight_quant_params");
  if (!weights)
    return;
  JsonFields own(*weights);
  double bits = own.numberOr("nbits", 4, 0, 8);
  uint64_t axis = own.unsignedIntegerOr("axis", 1, 0, 1);
  auto size = weights->find("group_size");
  uint64_t group = size && !size->isNull()
                       ? own.unsignedIntegerOr("group_size", 64, 1, MethodReader::mostColumns)
                       : 0;
  if (axis != 1)
    reader.refuse(key, "axis 0, where a scale is for codes of several outputs", quantizeAgain);
  if (!own.booleanOr("channel_wise", true))
    reader.refuse(key, "one scale of all, channel_wise false", quantizeAgain);
  if (own.booleanOr("view_as_float", false))
    reader.refuse(key, "codes that are viewed as floats, view_as_float", quantizeAgain);
  reader.take(key, own.error());
  std::string name = message(bits);
  const StoredFormat *format = reader.format(key, name, "HQQ's nbits");
  if (!format)
    return;
  if (isFirst) {
    reader.config.bits = format->bits;
    reader.config.group = group;
  } else if (reader.config.bits != format->bits || reader.config.group != group) {
    reader.config.bits = reader.config.group = std::nullopt;
  }
}

static void read(MethodReader &reader) {
  auto settings = reader.object.find("quant_config");
  if (!settings || !settings->isObject())
    return reader.refuse("quant_config", "HQQ without quant_config", quantizeAgain);
  if (settings->find("weight_quant_params"))
    return readLayers(reader, *settings, true);
  bool isFirst = true;
  for (const std::string &name : settings->keys())
    if (auto layers = settings->find(name); layers && layers->isObject()) {
      readLayers(reader, *layers, isFirst);
      isFirst = false;
    }
}

constinit const QuantizationMethod hqq = {{"hqq"}, formats, read};

} // namespace ingot::checkpoint::methods

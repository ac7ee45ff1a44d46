// SPDX-License-Identifier: Apache-2.0
// AutoRound's own exports: words of GPTQ or of AWQ, FP8, and what compressed-tensors has.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

static constexpr std::string_view kGptq = "auto_round:auto_gptq";
static constexpr std::string_view exportAgain =
    "export with AutoRound's format auto_gptq, auto_awq or "
    "llm_compressor";

static constexpr auto formats =
    join(words({"auto_round", kGptq, "auto_round:gptq", "auto_round:gptqmodel"}, Reader::Gptq),
         std::array<StoredFormat, 8>{{
             {{"auto_round:auto_awq", "auto_round:awq"},
              withZeros,
              Reader::AwqByColumns,
              4,
              16,
              int4Zeros},
             {{"auto_round:fp8_static"}, byRows, Reader::Float8, 8, 32, fp8Rows},
             {{"auto_round:fp8_static"}, byTensor, Reader::Float8, 8, 32, fp8Tensor},
             {{"auto_round:llm_compressor"}, e2m1E4m3, Reader::NvFp4, 4, 8, nvfp4},
             {{"auto_round:llm_compressor"}, e2m1E8m0, Reader::MxFp4, 4, 8, mxfp4},
             {{"auto_round:llm_compressor"}, e4m3E8m0, Reader::MxFp8, 8, 8, mxfp8},
             {.packings = {"auto_round:llm_compressor_nvfp4_e5m3", "auto_round:fake"},
              .refusal = "no kernel reads such scales",
              .instead = exportAgain},
             {.packings = {"mlx", "auto_round:mlx"},
              .refusal = "its words have the order of MLX's kernels",
              .instead = exportAgain},
         }});

/// What of a module's own settings, `name` in `extra_config`, differs from those of all. Which
/// modules are quantized at all, the tensors say.
static void readModule(MethodReader &reader, const Json &module, const std::string &dataType,
                       uint64_t actBits) {
  constexpr std::string_view key = "extra_config";
  QuantizationConfig &config = reader.config;
  JsonFields own(module);
  bool isStored = own.unsignedIntegerOr("bits", 4, 1, 32) <= 8;
  if (isStored && (own.has("bits") || own.has("group_size")))
    config.bits = config.group = std::nullopt;
  // Zero points of symmetric matrices are stored too.
  if (isStored && own.booleanOr("sym", config.symmetric) != config.symmetric)
    config.symmetric = false;
  if (std::string type = own.stringOr("data_type", dataType); isStored && type != dataType)
    reader.refuse(key, message("data_type ", inQuotes(type), " of some modules"),
                  "export with one data_type");
  if (uint64_t bits = own.unsignedIntegerOr("act_bits", actBits, 1, 32);
      isStored && bits != actBits)
    reader.declineActivations(std::string(key), message(bits, " bits, of some modules"));
  for (std::string_view other : {"super_bits", "rotation_config"})
    if (!own.isOff(other))
      reader.refuse(key, std::string(other), "export without it");
  reader.take(key, own.error());
}

/// What products read.
static void readActivations(MethodReader &reader, const StoredFormat &format, uint64_t bits) {
  JsonFields &fields = reader.fields;
  bool isDynamic = fields.booleanOr("act_dynamic", true);
  if (bits > 8)
    return;
  // Beside words, a number scales the weights once more.
  if (format.reader == Reader::Gptq || format.reader == Reader::AwqByColumns)
    reader.refuse("act_bits", "words with quantized activations", exportAgain);
  else if (format.reader == Reader::Float8 && !isDynamic)
    reader.config.activations = MethodReader::Activations::Float8PerTensor;
  else
    reader.declineActivations("act_bits", message(isDynamic ? "dynamic" : "static", " of ",
                                                  fields.stringOr("act_data_type", "int")));
}

static void read(MethodReader &reader) {
  JsonFields &fields = reader.fields;
  QuantizationConfig &config = reader.config;
  config.bits = fields.unsignedIntegerOr("bits", 4, 1, 8);
  config.group = reader.group("group_size");
  config.symmetric = fields.booleanOr("sym", true);
  // The first exports do not say how zero points are stored.
  if (!fields.has("packing_format") && !config.symmetric)
    reader.refuse("packing_format", "a packing that is not stated", exportAgain);
  std::string packing = fields.stringOr("packing_format", std::string(kGptq));
  if (packing == "auto")
    packing = kGptq;
  config.zeroIncrement = packing == kGptq || packing == "auto_round:gptq" ? 1 : 0;
  for (std::string_view key : {"super_bits", "rotation_config"})
    reader.refuseUnlessOff(key, "export without it");
  const StoredFormat *format = reader.format("packing_format", packing, "AutoRound's packing");
  if (!format)
    return;
  bool isWords = format->reader == Reader::Gptq || format->reader == Reader::AwqByColumns;
  std::string dataType = fields.stringOr("data_type", "int");
  if (isWords && dataType != "int")
    reader.refuse("data_type", message("data_type ", inQuotes(dataType), " in words"), exportAgain);
  if (fields.stringOr("fmt", "e4m3") != "e4m3")
    reader.refuse("fmt", "FP8 other than e4m3", "export with data_type fp8");
  if (!isWords)
    config.bits = config.group = std::nullopt;
  uint64_t actBits = fields.unsignedIntegerOr("act_bits", 16, 1, 32);
  readActivations(reader, *format, actBits);
  if (auto modules = reader.object.find("extra_config"); modules && modules->isObject())
    for (const std::string &name : modules->keys())
      if (auto module = modules->find(name); module && module->isObject())
        readModule(reader, *module, dataType, actBits);
}

constinit const QuantizationMethod autoRound = {{"auto-round", "intel/auto-round"}, formats, read};

} // namespace ingot::checkpoint::methods

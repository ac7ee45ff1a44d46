// SPDX-License-Identifier: Apache-2.0
// AMD Quark: a specification of the weights, inputs and outputs of all layers, and others of some.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;
using Activations = MethodReader::Activations;
using KvCache = MethodReader::KvCache;

static constexpr auto formats = join(
    e4m3({"fp8_e4m3"}), bytes({"int8"}),
    std::array<StoredFormat, 5>{{
        {{"int4"}, symmetric, Reader::AwqByColumns, 4, 16, int4},
        {{"int4", "uint4"}, withZeros, Reader::AwqByColumns, 4, 16, int4Zeros},
        {{"fp4"}, e2m1E8m0, Reader::MxFp4, 4, 8, mxfp4},
        {.packings = {"fp6_e2m3", "fp6_e3m2", "mx"},
         .refusal = "no kernel reads codes of 6 bits, or blocks with their exponent among them",
         .instead = "quantize with Quark to fp4 with scale_format e8m0"},
        {.packings = {"fp8_e5m2"}, .refusal = "no kernel reads weights of e5m2"},
    }});

namespace {

/// How values of one kind are quantized.
struct Spec {
  std::string dtype, qscheme, scaleFormat;
  bool dynamic = false, symmetric = true;
  std::optional<uint64_t> group;

  bool isStatic() const { return !dynamic && qscheme == "per_tensor" && symmetric; }
  bool isByToken() const { return dynamic && qscheme == "per_channel" && symmetric; }
  std::string str() const {
    return message(dynamic ? "dynamic " : "static ", symmetric ? "" : "asymmetric ", dtype, " ",
                   qscheme);
  }
};

class QuarkReader {
public:
  explicit QuarkReader(MethodReader &reader) : reader(reader) {}

  /// The specification called `name` of a layer; nothing where it is null.
  std::optional<Spec> spec(std::string_view key, const Json &layer, std::string_view name);
  /// A layer's specifications, `pattern` of `key`.
  void readLayer(std::string_view key, const Json &layer, const std::string &pattern);
  /// Those of many, by their patterns.
  void readLayers(std::string_view key);
  void readAlgorithms();

private:
  void readWeights(std::string_view key, const Spec &weights);
  void readOutputs(std::string_view key, const Spec &outputs, const std::string &pattern);
  static std::optional<Activations> activationsOf(const Spec &inputs);

  MethodReader &reader;
  std::optional<std::string> weights, inputs; ///< what the layers before have
};

} // namespace

std::optional<Spec> QuarkReader::spec(std::string_view key, const Json &layer,
                                      std::string_view name) {
  auto object = layer.find(name);
  if (!object || object->isNull())
    return std::nullopt;
  if (!object->isObject()) {
    reader.refuse(key, message(name, " in several steps"), "quantize in one step");
    return std::nullopt;
  }
  JsonFields own(*object);
  Spec result;
  result.dtype = own.stringOr("dtype", "");
  result.qscheme = own.stringOr("qscheme", "per_tensor");
  result.scaleFormat = own.stringOr("scale_format", "float");
  result.dynamic = own.booleanOr("is_dynamic", false);
  result.symmetric = own.booleanOr("symmetric", true);
  if (own.has("group_size"))
    result.group = own.unsignedIntegerOr("group_size", 128, 1, MethodReader::mostColumns);
  if (own.booleanOr("is_scale_quant", false))
    reader.refuse(key, "scales that are quantized", "quantize without is_scale_quant");
  if (result.qscheme == "per_block")
    reader.readBlock(own, "block_size");
  reader.take(key, own.error());
  return result;
}

/// What Quark stores of each type, in which groups.
void QuarkReader::readWeights(std::string_view key, const Spec &weights) {
  const StoredFormat *format = reader.format(key, weights.dtype, "Quark's weights of type");
  if (!format)
    return;
  const std::string &scheme = weights.qscheme;
  bool inGroups = scheme == "per_group", isWords = format->reader == Reader::AwqByColumns,
       isBlocks = format->reader == Reader::MxFp4, isFloat8 = format->reader == Reader::Float8;
  if (weights.dynamic || inGroups != (isWords || isBlocks) || (scheme == "per_block" && !isFloat8))
    reader.refuse(key, "Quark's " + weights.str() + " of weights",
                  "supported: int4, uint4 and fp4 per_group, others per_tensor or per_channel");
  if (isBlocks && (weights.scaleFormat != "e8m0" || weights.group != 32))
    reader.refuse(key, "fp4 with scales other than e8m0 for 32",
                  "quantize with scale_format e8m0 and group_size 32");
  if (!isWords)
    return;
  QuantizationConfig &config = reader.config;
  config.bits = 4;
  config.group = weights.group;
  config.symmetric = weights.symmetric && weights.dtype == "int4";
  // Two's complement, and codes from the least number on.
  config.increment = config.zeroIncrement = weights.dtype == "int4" ? 8 : 0;
}

std::optional<Activations> QuarkReader::activationsOf(const Spec &inputs) {
  bool isFloat8 = inputs.dtype == "fp8_e4m3";
  if (!isFloat8 && inputs.dtype != "int8")
    return std::nullopt;
  if (inputs.isStatic())
    return isFloat8 ? Activations::Float8PerTensor : Activations::Int8PerTensor;
  if (inputs.isByToken())
    return isFloat8 ? Activations::Float8PerToken : Activations::Int8PerToken;
  return std::nullopt;
}

/// Of k and v: what the KV cache holds.
void QuarkReader::readOutputs(std::string_view key, const Spec &outputs,
                              const std::string &pattern) {
  if (!pattern.ends_with("k_proj") && !pattern.ends_with("v_proj"))
    return reader.refuse(key, "quantized outputs of " + inQuotes(pattern),
                         "quantize weights, inputs and the KV cache only");
  if (outputs.isStatic() && (outputs.dtype == "fp8_e4m3" || outputs.dtype == "int8"))
    reader.config.kvCache = outputs.dtype == "int8" ? KvCache::Int8 : KvCache::Float8;
  else if (reader.config.kvCache != KvCache::Declined)
    reader.declineCache(outputs.str());
}

void QuarkReader::readLayer(std::string_view key, const Json &layer, const std::string &pattern) {
  if (spec(key, layer, "bias"))
    reader.refuse(key, "quantized biases", "quantize weights, inputs and the KV cache only");
  if (auto outputs = spec(key, layer, "output_tensors"))
    readOutputs(key, *outputs, pattern);
  auto stored = spec(key, layer, "weight"), read = spec(key, layer, "input_tensors");
  if (!stored) // not quantized, or a specification of outputs alone
    return;
  const std::string text = message(stored->str(), " ", stored->group.value_or(0)),
                    inputText = read ? read->str() : "";
  if (weights && (*weights != text || *inputs != inputText))
    return reader.refuse(key, "layers that are quantized in several ways",
                         "quantize all layers in one way, or exclude some");
  if (weights)
    return;
  weights = text;
  inputs = inputText;
  readWeights(key, *stored);
  if (!read)
    return;
  if (auto activations = activationsOf(*read))
    reader.config.activations = *activations;
  else
    reader.declineActivations("input_tensors", read->str());
}

void QuarkReader::readLayers(std::string_view key) {
  auto layers = reader.object.find(key);
  if (!layers || !layers->isObject())
    return;
  for (const std::string &pattern : layers->keys())
    if (auto layer = layers->find(pattern); layer && layer->isObject())
      readLayer(key, *layer, pattern);
}

/// Those that change weights alone are done; a rotation may also turn inputs.
void QuarkReader::readAlgorithms() {
  auto algorithms = reader.object.find("algo_config");
  for (size_t i = 0; algorithms && algorithms->isArray() && i < algorithms->size(); ++i) {
    JsonFields own(algorithms->element(i));
    for (std::string_view key : {"r3", "r4", "online_r1_rotation"})
      if (own.booleanOr(key, false))
        reader.refuse("algo_config", message("a rotation of inputs, ", key),
                      "quantize with rotations r1 and r2 alone");
    reader.take("algo_config", own.error());
  }
}

static void read(MethodReader &reader) {
  QuarkReader quark(reader);
  auto all = reader.object.find("global_quant_config");
  if (all && all->isObject())
    quark.readLayer("global_quant_config", *all, "*");
  for (std::string_view key :
       {"layer_quant_config", "layer_type_quant_config", "kv_cache_quant_config"})
    quark.readLayers(key);
  quark.readAlgorithms();
  reader.refuseUnlessOff("softmax_quant_spec", "quantize weights, inputs and the KV cache only");
  if (auto exported = reader.object.find("export"); exported && exported->isObject()) {
    JsonFields own(*exported);
    reader.config.outputsInOrder = own.stringOr("pack_method", "reorder") != "reorder";
    reader.take("export", own.error());
  }
}

constinit const QuantizationMethod quark = {{"quark"}, formats, read};

} // namespace ingot::checkpoint::methods

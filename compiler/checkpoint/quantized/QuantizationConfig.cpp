// SPDX-License-Identifier: Apache-2.0
// One reader per method. A setting that would change the numbers is honoured, refused by name, or
// listed as declined.
#include "compiler/checkpoint/quantized/QuantizationConfig.h"

#include "compiler/checkpoint/files/JsonFields.h"

#include <algorithm>
#include <array>

namespace ingot::checkpoint {

namespace {

using Method = QuantizationConfig::Method;
using Activations = QuantizationConfig::Activations;
using KvCache = QuantizationConfig::KvCache;

constexpr uint64_t mostColumns = 1u << 24;

/// Refuses `key` by what it says.
void refuse(JsonFields &fields, std::string_view key, const std::string &what,
            std::string_view fix) {
  fields.fail(key, "INGOT-E1054", what + " is not supported", std::string(fix));
}

/// The format of `method` that the value of `key` names. Refuses it where the registry does, or
/// does not have it; then null.
const StoredFormat *namedFormat(JsonFields &fields, std::string_view key, std::string_view method,
                                const std::string &name, std::string_view shown) {
  const StoredFormat *found = findFormat(method, name);
  if (found && found->isRead())
    return found;
  std::vector<std::string_view> known;
  for (const StoredFormat &format : storedFormats())
    for (std::string_view packing : format.packings)
      if (format.method == method && format.isRead() && !packing.empty() &&
          std::find(known.begin(), known.end(), packing) == known.end())
        known.push_back(packing);
  std::string fix = known.empty() ? "use the unquantized checkpoint and let the recipe quantize it"
                                  : "supported: ";
  for (std::string_view packing : known)
    fix += message(packing == known.front() ? "" : ", ", packing);
  refuse(fields, key,
         message(shown, " ", inQuotes(name), found ? message(" (", found->refusal, ")") : ""), fix);
  return nullptr;
}

void declineCache(QuantizationConfig &config, std::string stated) {
  config.kvCache = KvCache::Declined;
  config.deviations.push_back({"KV cache", std::move(stated), "as the recipe says",
                               "no kernel stores keys and values this way"});
}

/// Products read activations as they are stored, not as `what` of the checkpoint states.
void declineActivations(QuantizationConfig &config, std::string what, std::string stated) {
  config.deviations.push_back({std::move(what), std::move(stated), "activations as they are stored",
                               "no kernel quantizes them this way"});
}

/// How compressed-tensors quantizes values of one kind.
struct Scheme {
  uint64_t bits = 8;
  bool isFloat = false, dynamic = false, symmetric = true;
  std::string strategy;

  /// One scale for all values, of the checkpoint.
  bool hasStaticScale() const { return bits == 8 && !dynamic && symmetric && strategy == "tensor"; }

  std::string str() const {
    return message(dynamic     ? "dynamic "
                   : symmetric ? "static "
                               : "static, asymmetric, ",
                   bits, "-bit ", isFloat ? "float" : "int", " by ", strategy);
  }
};

/// `object` is the value of `key` in the configuration that `fields` reads.
Scheme readScheme(const Json &object, JsonFields &fields, std::string_view key) {
  JsonFields own(object);
  Scheme scheme;
  scheme.bits = own.unsignedIntegerOr("num_bits", 8, 1, 16);
  scheme.isFloat = own.stringOr("type", "int") == "float";
  scheme.symmetric = own.booleanOr("symmetric", true);
  scheme.strategy = own.stringOr("strategy", own.has("group_size") ? "group" : "tensor");
  // "local": scales of groups are found at run time, under one of the tensor.
  auto member = object.find("dynamic");
  bool isLocal = member && member->isString();
  scheme.dynamic = isLocal || own.booleanOr("dynamic", false);
  if (own.error())
    fields.fail(key, own.error()->code, own.error()->what, own.error()->fix);
  return scheme;
}

/// `group_size`: -1 or null stands for a whole row.
std::optional<uint64_t> groupOf(const Json &object, JsonFields &fields, std::string_view key) {
  auto member = object.find(key);
  if (!member)
    return std::nullopt;
  if (member->isNull())
    return 0;
  if (auto minusOne = member->number(-1, -1))
    return 0;
  return fields.unsignedIntegerOr(key, 0, 1, mostColumns);
}

/// Rows and columns of a block, where `key` gives them.
void readBlock(JsonFields &fields, std::string_view key, QuantizationConfig &config) {
  auto sizes = fields.unsignedIntegers(key, 1, mostColumns);
  if (!sizes)
    return;
  if (sizes->size() != config.block.size())
    return refuse(fields, key, message("a block of ", sizes->size(), " sizes"),
                  "give rows and columns");
  std::copy(sizes->begin(), sizes->end(), config.block.begin());
}

void readAwq(const Json &object, JsonFields &fields, QuantizationConfig &config) {
  // Older files of the method spell the keys otherwise.
  config.bits = fields.unsignedIntegerOr(fields.has("w_bit") ? "w_bit" : "bits", 4, 1, 8);
  config.group =
      groupOf(object, fields, fields.has("q_group_size") ? "q_group_size" : "group_size");
  if (*config.bits != 4)
    refuse(fields, "bits", message("AWQ with ", *config.bits, " bits"), "AWQ has 4 bits");
  std::string version = fields.stringOr("version", "gemm");
  std::transform(version.begin(), version.end(), version.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // The same packing by its authors' name.
  if (fields.stringOr("backend", "autoawq") == "llm-awq")
    version = "gemv_fast";
  if (const StoredFormat *format = namedFormat(fields, "version", "awq", version, "AWQ's packing"))
    config.packing = format->reader;
  if (!fields.booleanOr("zero_point", true))
    refuse(fields, "zero_point", "AWQ without zero points", "supported: zero_point true");
}

void readGptq(const Json &object, JsonFields &fields, QuantizationConfig &config) {
  config.bits = fields.unsignedIntegerOr("bits", 4, 1, 8);
  config.group = groupOf(object, fields, "group_size");
  if (auto dynamic = object.find("dynamic"); dynamic && dynamic->size() > 0)
    config.bits = config.group = std::nullopt;
  config.symmetric = fields.booleanOr("sym", true);
  std::string key = fields.has("format") ? "format" : "checkpoint_format";
  std::string format = fields.stringOr(key, "gptq");
  namedFormat(fields, key, "gptq", format, "GPTQ's packing");
  config.zerosLessOne = format == "gptq";
}

/// Refuses a group of weights that no reader of tensors knows; sets what its products read.
void readGroup(const Json &group, JsonFields &fields, QuantizationConfig &config) {
  auto weights = group.find("weights");
  if (weights && weights->isObject()) {
    Scheme scheme = readScheme(*weights, fields, "config_groups");
    if (scheme.isFloat && scheme.bits != 8 && scheme.bits != 4)
      refuse(fields, "config_groups", message("a ", scheme.bits, "-bit float weight"),
             "supported: 8 and 4 bits");
    JsonFields own(*weights);
    readBlock(own, "block_structure", config);
    if (own.error())
      fields.fail("config_groups", own.error()->code, own.error()->what, own.error()->fix);
  }
  auto inputs = group.find("input_activations");
  if (!inputs || !inputs->isObject())
    return;
  Scheme scheme = readScheme(*inputs, fields, "config_groups");
  if (scheme.bits == 8 && scheme.dynamic && scheme.strategy == "token")
    config.activations = scheme.isFloat ? Activations::Float8PerToken : Activations::Int8PerToken;
  else if (scheme.hasStaticScale())
    config.activations = scheme.isFloat ? Activations::Float8PerTensor : Activations::Int8PerTensor;
  else
    declineActivations(config, "input_activations", scheme.str());
}

/// `kv_cache_scheme`, an object.
void readCacheScheme(const Json &object, JsonFields &fields, QuantizationConfig &config) {
  Scheme scheme = readScheme(object, fields, "kv_cache_scheme");
  if (scheme.hasStaticScale())
    config.kvCache = scheme.isFloat ? KvCache::Float8 : KvCache::Int8;
  else
    declineCache(config, scheme.str());
}

void readCompressedTensors(const Json &object, JsonFields &fields, QuantizationConfig &config) {
  std::string format = fields.stringOr("format", "");
  if (format != "mixed-precision") // Its groups have formats of their own, as tensors show.
    namedFormat(fields, "format", "compressed-tensors", format, "compressed-tensors' format");
  for (std::string_view key : {"sparsity_config", "transform_config"})
    if (auto member = object.find(key); member && member->size() > 0)
      refuse(fields, key, std::string(key), "use a checkpoint without it");
  if (auto scheme = object.find("kv_cache_scheme"); scheme && scheme->isObject())
    readCacheScheme(*scheme, fields, config);
  auto groups = object.find("config_groups");
  if (!groups)
    return;
  for (const std::string &key : groups->keys())
    if (auto group = groups->find(key); group && group->isObject())
      readGroup(*group, fields, config);
}

void readFloat8(const Json &, JsonFields &fields, QuantizationConfig &config) {
  std::string format = fields.stringOr("fmt", "e4m3");
  namedFormat(fields, "fmt", "fp8", format, "FP8 weights of type");
  if (fields.has("kv_cache_scheme"))
    config.kvCache = KvCache::Float8;
  std::string scheme = fields.stringOr("activation_scheme", "dynamic");
  const bool blocks = fields.has("weight_block_size");
  readBlock(fields, "weight_block_size", config);
  if (scheme == "dynamic" && !blocks)
    config.activations = Activations::Float8PerToken;
  else if (scheme == "static" && !blocks)
    config.activations = Activations::Float8PerTensor;
  else
    declineActivations(config, "activation_scheme",
                       scheme == "dynamic"
                           ? message("dynamic FP8 by ", config.block[1], " channels")
                           : printable(scheme) + " FP8");
}

/// ModelOpt states its method in config.json, or in a file of its own under `quantization`.
void readModelOpt(const Json &object, JsonFields &fields, QuantizationConfig &config) {
  std::string algorithm = fields.stringOr("quant_algo", "");
  bool isAwq = algorithm == "W4A16_AWQ", hasBlocks = algorithm == "NVFP4" || algorithm == "MXFP8";
  namedFormat(fields, "quant_algo", "modelopt", algorithm, "ModelOpt's");
  if (auto scheme = object.find("kv_cache_scheme"); scheme && scheme->isObject())
    readCacheScheme(*scheme, fields, config);
  else if (std::string cache = fields.stringOr("kv_cache_quant_algo", ""); cache == "FP8")
    config.kvCache = KvCache::Float8;
  else if (!cache.empty())
    declineCache(config, printable(cache));
  if (isAwq) {
    config.bits = 4;
    config.group = groupOf(object, fields, "group_size");
    return;
  }
  if (hasBlocks)
    declineActivations(config, "input_scale", algorithm);
  else
    config.activations = Activations::Float8PerTensor;
}

void readBitsAndBytes(const Json &, JsonFields &fields, QuantizationConfig &config) {
  // The 4-bit formats say all that there is to know in their tensors.
  if (fields.booleanOr("load_in_4bit", false)) {
    if (fields.booleanOr("bnb_4bit_use_double_quant", false))
      config.deviations.push_back({"scales", "quantized twice, 8 bits", "f32",
                                   "kernels read no such scales; the values are the same"});
    return;
  }
  if (!fields.booleanOr("load_in_8bit", false))
    return refuse(fields, "load_in_8bit", "bitsandbytes with neither 4 nor 8 bits",
                  "supported: load_in_4bit, load_in_8bit");
  config.deviations.push_back({"llm_int8_threshold", "columns of large activations in f16",
                               "activations as they are stored", "all columns are computed alike"});
}

/// Blocks and exponents say all.
void readMxFp4(const Json &, JsonFields &, QuantizationConfig &) {}

/// `quant_type` says which configuration it is. What is read of it holds for all matrices that are
/// quantized; the metadata of their files say the rest.
void readTorchAo(const Json &object, JsonFields &fields, QuantizationConfig &config) {
  std::string name = "of an unknown type";
  auto type = object.find("quant_type");
  if (type && type->isObject())
    type = type->find("default");
  if (auto own = type && type->isObject() ? type->find("_type") : type)
    if (auto text = own->string())
      name = *text;
  if (!namedFormat(fields, "quant_type", "torchao", name, "TorchAO's"))
    return;
  auto data = type->find("_data");
  auto packing = data ? data->find("int4_packing_format") : std::nullopt;
  if (packing && packing->isObject())
    packing = packing->find("_data");
  if (packing && !packing->isNull()) {
    const auto text = packing->string();
    if (const std::string stated = text ? *text : ""; stated != "PLAIN" && stated != "plain")
      refuse(fields, "quant_type", message("TorchAO's packing ", inQuotes(stated)),
             "supported: plain");
  }
  config.deviations.push_back({"scales", "bf16, with the value of the middle",
                               "f32, with that of "
                               "the least code",
                               "kernels count codes from the least one"});
}

struct Reader {
  std::string_view name; ///< as `quant_method` has it
  Method method;
  void (*read)(const Json &object, JsonFields &fields, QuantizationConfig &config);
};

constexpr std::array<Reader, 8> readers = {{
    {"awq", Method::Awq, readAwq},
    {"gptq", Method::Gptq, readGptq},
    {"compressed-tensors", Method::CompressedTensors, readCompressedTensors},
    {"fp8", Method::Float8, readFloat8},
    {"modelopt", Method::ModelOpt, readModelOpt},
    {"bitsandbytes", Method::BitsAndBytes, readBitsAndBytes},
    {"mxfp4", Method::MxFp4, readMxFp4},
    {"torchao", Method::TorchAo, readTorchAo},
}};

Expected<QuantizationConfig> readObject(const Json &object, std::string name) {
  std::string known;
  for (const Reader &reader : readers) {
    known += message(known.empty() ? "" : ", ", reader.name);
    if (reader.name != name)
      continue;
    JsonFields fields(object);
    QuantizationConfig config;
    config.method = reader.method;
    config.methodName = std::move(name);
    reader.read(object, fields, config);
    if (fields.error())
      return *fields.error();
    return config;
  }
  return object.error("INGOT-E1054",
                      message("weights quantized by ", inQuotes(name), " are not supported"),
                      "supported methods: " + known);
}

/// Files that hold the configuration beside config.json, with the method they stand for.
struct Companion {
  std::string_view file, member, method;
};
constexpr std::array<Companion, 3> companions = {{
    {"quant_config.json", "", "awq"},
    {"quantize_config.json", "", "gptq"},
    {"hf_quant_config.json", "quantization", "modelopt"},
}};

} // namespace

Expected<QuantizationConfig> QuantizationConfig::read(const Json &config,
                                                      const std::filesystem::path &directory,
                                                      std::vector<std::filesystem::path> &inputs) {
  if (auto own = config.find("quantization_config"); own && !own->isNull()) {
    auto method = own->at(own->find("quant_method") ? "quant_method" : "method");
    if (!method)
      return method.error();
    auto name = method->string();
    if (!name)
      return name.error();
    return readObject(*own, *name);
  }
  for (const Companion &companion : companions) {
    std::filesystem::path path = directory / companion.file;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
      continue;
    auto file = Json::readFile(path, JsonLimits::ofPython());
    if (!file)
      return file.error();
    inputs.push_back(path);
    auto object = companion.member.empty() ? file : file->at(companion.member);
    if (!object)
      return object.error();
    auto method = object->find("quant_method");
    auto stated = method ? method->string() : Expected<std::string>(std::string(companion.method));
    return stated ? readObject(*object, *stated) : Expected<QuantizationConfig>(stated.error());
  }
  return QuantizationConfig();
}

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// make-checkpoint: writes a Hugging Face directory of a given shape with random weights, for
// measurements that need size but no sense. Uses a few megabytes of memory whatever the shape.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// A model of the Llama family.
struct Shape {
  const char *name;
  uint64_t hidden, ffn, layers, heads, kvHeads, headDim, vocab, context;
  double theta;
  bool tied;
};

constexpr Shape shapes[] = {
    {"tiny", 172, 344, 2, 4, 2, 44, 320, 256, 10000.0, true},
    {"llama-3.2-1b", 2048, 8192, 16, 32, 8, 64, 128256, 131072, 500000.0, true},
    {"llama-3-8b", 4096, 14336, 32, 32, 8, 128, 128256, 8192, 500000.0, false},
    {"llama-70b", 8192, 28672, 80, 64, 8, 128, 128256, 131072, 500000.0, false},
};

struct Options {
  Shape shape = shapes[0];
  bool f32 = true;
  uint64_t seed = 1;
  uint64_t shardBytes = uint64_t{1} << 30;
  std::filesystem::path directory;
};

struct Tensor {
  std::string name;
  std::vector<uint64_t> extents;
  bool isNorm = false; ///< around 1, not around 0

  uint64_t elements() const {
    uint64_t product = 1;
    for (uint64_t extent : extents)
      product *= extent;
    return product;
  }
};

std::vector<Tensor> tensorsOf(const Shape &shape) {
  uint64_t query = shape.heads * shape.headDim, key = shape.kvHeads * shape.headDim;
  std::vector<Tensor> tensors{{"model.embed_tokens.weight", {shape.vocab, shape.hidden}}};
  for (uint64_t layer = 0; layer < shape.layers; ++layer) {
    std::string prefix = "model.layers." + std::to_string(layer) + ".";
    auto add = [&](const char *name, std::vector<uint64_t> extents, bool isNorm = false) {
      tensors.push_back({prefix + name + ".weight", std::move(extents), isNorm});
    };
    add("input_layernorm", {shape.hidden}, true);
    add("self_attn.q_proj", {query, shape.hidden});
    add("self_attn.k_proj", {key, shape.hidden});
    add("self_attn.v_proj", {key, shape.hidden});
    add("self_attn.o_proj", {shape.hidden, query});
    add("post_attention_layernorm", {shape.hidden}, true);
    add("mlp.gate_proj", {shape.ffn, shape.hidden});
    add("mlp.up_proj", {shape.ffn, shape.hidden});
    add("mlp.down_proj", {shape.hidden, shape.ffn});
  }
  tensors.push_back({"model.norm.weight", {shape.hidden}, true});
  if (!shape.tied)
    tensors.push_back({"lm_head.weight", {shape.vocab, shape.hidden}});
  return tensors;
}

//===- Random numbers -----------------------------------------------------------------------===//

/// The 64 random bits of place `index`: the mixing function of SplitMix64, so that any part of a
/// weight can be made alone and loops vectorise.
inline uint64_t randomBits(uint64_t seed, uint64_t index) {
  uint64_t bits = seed + index * 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

/// Nearly normal, of mean 0 and deviation 0.02: the sum of four 16-bit numbers.
inline float randomWeight(uint64_t seed, uint64_t index) {
  uint64_t bits = randomBits(seed, index);
  auto sum = static_cast<int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                  ((bits >> 32) & 0xffff) + (bits >> 48));
  return static_cast<float>(sum - 131070) * (0.02f / 37837.0f);
}

void fillF32(uint64_t seed, uint64_t first, float mean, float *out, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    out[i] = mean + randomWeight(seed, first + i);
}

/// Rounds by adding half of what is cut off; ties do not matter here.
void fillBf16(uint64_t seed, uint64_t first, float mean, uint16_t *out, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    float value = mean + randomWeight(seed, first + i);
    out[i] = static_cast<uint16_t>((std::bit_cast<uint32_t>(value) + 0x8000u) >> 16);
  }
}

//===- Files --------------------------------------------------------------------------------===//

[[noreturn]] void stop(const std::string &text) {
  std::cerr << "make-checkpoint: " << text << "\n";
  std::exit(1);
}

void writeText(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    stop("cannot write " + path.string());
}

struct Shard {
  std::string name;
  std::vector<size_t> tensors;
};

/// Fills shards up to the size asked for; a tensor that is larger gets a shard of its own.
std::vector<Shard> distribute(const std::vector<Tensor> &tensors, const Options &options) {
  std::vector<Shard> shards;
  uint64_t used = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    uint64_t bytes = tensors[i].elements() * (options.f32 ? 4 : 2);
    if (shards.empty() || used + bytes > options.shardBytes) {
      shards.emplace_back();
      used = 0;
    }
    shards.back().tensors.push_back(i);
    used += bytes;
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    shards[i].name = shards.size() == 1 ? "model.safetensors" : name;
  }
  return shards;
}

std::string headerOf(const Shard &shard, const std::vector<Tensor> &tensors, bool f32) {
  std::ostringstream json;
  json << R"({"__metadata__":{"format":"pt"})";
  uint64_t offset = 0;
  for (size_t index : shard.tensors) {
    const Tensor &tensor = tensors[index];
    uint64_t bytes = tensor.elements() * (f32 ? 4 : 2);
    json << ",\"" << tensor.name << R"(":{"dtype":")" << (f32 ? "F32" : "BF16") << R"(","shape":[)";
    for (size_t i = 0; i < tensor.extents.size(); ++i)
      json << (i ? "," : "") << tensor.extents[i];
    json << R"(],"data_offsets":[)" << offset << "," << offset + bytes << "]}";
    offset += bytes;
  }
  json << "}";
  std::string text = json.str();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

void writeShard(const Shard &shard, const std::vector<Tensor> &tensors, const Options &options) {
  std::filesystem::path path = options.directory / shard.name;
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    stop("cannot write " + path.string());
  auto put = [&](const void *bytes, size_t count) {
    if (std::fwrite(bytes, 1, count, file) != count)
      stop("cannot write " + path.string());
  };
  std::string header = headerOf(shard, tensors, options.f32);
  uint64_t length = header.size();
  put(&length, sizeof(length));
  put(header.data(), header.size());
  constexpr uint64_t piece = uint64_t{1} << 20;
  std::vector<float> floats(options.f32 ? piece : 0);
  std::vector<uint16_t> halves(options.f32 ? 0 : piece);
  for (size_t index : shard.tensors) {
    const Tensor &tensor = tensors[index];
    uint64_t seed = randomBits(options.seed, index);
    float mean = tensor.isNorm ? 1.0f : 0.0f;
    for (uint64_t first = 0; first < tensor.elements(); first += piece) {
      uint64_t count = std::min(piece, tensor.elements() - first);
      if (options.f32) {
        fillF32(seed, first, mean, floats.data(), count);
        put(floats.data(), count * sizeof(float));
      } else {
        fillBf16(seed, first, mean, halves.data(), count);
        put(halves.data(), count * sizeof(uint16_t));
      }
    }
  }
  if (std::fclose(file) != 0)
    stop("cannot write " + path.string());
}

std::string indexOf(const std::vector<Shard> &shards, const std::vector<Tensor> &tensors,
                    const Options &options) {
  uint64_t total = 0;
  for (const Tensor &tensor : tensors)
    total += tensor.elements() * (options.f32 ? 4 : 2);
  std::ostringstream json;
  json << "{\"metadata\":{\"total_size\":" << total << "},\"weight_map\":{";
  const char *separator = "";
  for (const Shard &shard : shards)
    for (size_t index : shard.tensors) {
      json << separator << "\n\"" << tensors[index].name << "\":\"" << shard.name << "\"";
      separator = ",";
    }
  json << "}}\n";
  return json.str();
}

std::string configOf(const Options &options) {
  const Shape &shape = options.shape;
  std::ostringstream json;
  json << "{\n\"architectures\": [\"LlamaForCausalLM\"],\n\"model_type\": \"llama\",\n"
       << "\"hidden_act\": \"silu\",\n\"hidden_size\": " << shape.hidden
       << ",\n\"intermediate_size\": " << shape.ffn << ",\n\"num_hidden_layers\": " << shape.layers
       << ",\n\"num_attention_heads\": " << shape.heads
       << ",\n\"num_key_value_heads\": " << shape.kvHeads << ",\n\"head_dim\": " << shape.headDim
       << ",\n\"vocab_size\": " << shape.vocab
       << ",\n\"max_position_embeddings\": " << shape.context
       << ",\n\"rms_norm_eps\": 1e-05,\n\"rope_theta\": " << shape.theta
       << ",\n\"tie_word_embeddings\": " << (shape.tied ? "true" : "false")
       << ",\n\"bos_token_id\": 256,\n\"eos_token_id\": 257,\n\"torch_dtype\": \""
       << (options.f32 ? "float32" : "bfloat16") << "\"\n}\n";
  return json.str();
}

bool isShown(unsigned byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/// How byte-level BPE writes a byte: printable Latin-1 as it is, the others from U+0100 on. As the
/// inside of a JSON string.
std::string spelling(unsigned byte) {
  unsigned code = byte;
  if (!isShown(byte)) {
    code = 256;
    for (unsigned smaller = 0; smaller < byte; ++smaller)
      code += isShown(smaller) ? 0 : 1;
  }
  if (code == '"' || code == '\\')
    return {'\\', static_cast<char>(code)};
  if (code < 128)
    return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | (code >> 6)), static_cast<char>(0x80 | (code & 63))};
}

/// Bytes, two special tokens and, as byte-level BPE needs one, a single merge: a token a byte.
std::string tokenizer() {
  std::ostringstream json;
  auto special = [&](int id, const char *text) {
    json << "{\"id\":" << id << ",\"content\":\"" << text
         << R"(","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,)"
         << "\"special\":true}";
  };
  json << R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)";
  special(256, "<|begin_of_text|>");
  json << ",";
  special(257, "<|end_of_text|>");
  json << R"(],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,)"
       << R"("trim_offsets":true,"use_regex":true},"post_processor":null,)"
       << R"("decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,)"
       << R"("use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,)"
       << R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
       << R"("byte_fallback":false,"ignore_merges":false,"vocab":{)";
  for (unsigned byte = 0; byte < 256; ++byte)
    json << (byte ? "," : "") << "\"" << spelling(byte) << "\":" << byte;
  json << R"(,"th":258},"merges":[["t","h"]]}})" << "\n";
  return json.str();
}

//===- Command line -------------------------------------------------------------------------===//

constexpr const char *usage =
    "usage: make-checkpoint --shape tiny|llama-3.2-1b|llama-70b [--layers N] [--dtype f32|bf16]\n"
    "                       [--shard-mib N] [--seed N] DIRECTORY\n";

[[noreturn]] void stopWithUsage(const std::string &text) { stop(text + "\n" + usage); }

uint64_t numberFrom(const std::string &option, const std::string &text, uint64_t most) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > most)
    stopWithUsage(option + " needs a number from 1 to " + std::to_string(most));
  return number;
}

Options parse(int count, char **arguments) {
  Options options;
  std::optional<uint64_t> layers;
  for (int i = 1; i < count; ++i) {
    std::string option = arguments[i];
    if (!option.starts_with("--")) {
      options.directory = option;
      continue;
    }
    if (++i == count)
      stopWithUsage(option + " needs a value");
    std::string value = arguments[i];
    if (option == "--shape") {
      auto *shape = std::find_if(std::begin(shapes), std::end(shapes),
                                 [&](const Shape &known) { return value == known.name; });
      if (shape == std::end(shapes))
        stopWithUsage("unknown shape " + value);
      options.shape = *shape;
    } else if (option == "--dtype" && (value == "f32" || value == "bf16")) {
      options.f32 = value == "f32";
    } else if (option == "--layers") {
      layers = numberFrom(option, value, 1000);
    } else if (option == "--shard-mib") {
      options.shardBytes = numberFrom(option, value, 1 << 20) << 20;
    } else if (option == "--seed") {
      options.seed = numberFrom(option, value, ~uint64_t{0});
    } else {
      stopWithUsage("unknown option " + option + " " + value);
    }
  }
  if (options.directory.empty())
    stopWithUsage("no directory is given");
  if (layers)
    options.shape.layers = *layers;
  return options;
}

} // namespace

int main(int count, char **arguments) {
  Options options = parse(count, arguments);
  std::error_code failed;
  std::filesystem::create_directories(options.directory, failed);
  if (failed)
    stop("cannot make " + options.directory.string() + ": " + failed.message());
  std::vector<Tensor> tensors = tensorsOf(options.shape);
  std::vector<Shard> shards = distribute(tensors, options);
  for (const Shard &shard : shards)
    writeShard(shard, tensors, options);
  if (shards.size() > 1)
    writeText(options.directory / "model.safetensors.index.json",
              indexOf(shards, tensors, options));
  writeText(options.directory / "config.json", configOf(options));
  writeText(options.directory / "generation_config.json",
            "{\"bos_token_id\": 256, \"eos_token_id\": 257}\n");
  writeText(options.directory / "tokenizer.json", tokenizer());
  writeText(options.directory / "tokenizer_config.json",
            "{\"tokenizer_class\": \"PreTrainedTokenizerFast\", "
            "\"bos_token\": \"<|begin_of_text|>\", \"eos_token\": \"<|end_of_text|>\"}\n");
  return 0;
}

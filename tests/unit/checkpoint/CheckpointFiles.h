// SPDX-License-Identifier: Apache-2.0
// Checkpoints made on the spot: temporary directories, and safetensors files.
#pragma once

#include "compiler/checkpoint/files/Tensor.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::test {

/// A directory that is gone when the test ends.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingot-test-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(root); }

  const std::filesystem::path &path() const { return root; }

  std::filesystem::path write(const std::string &name, std::string_view content) const {
    // Some file systems write a truncated file to disk at once, but not a new one.
    std::filesystem::remove(root / name);
    std::ofstream(root / name, std::ios::binary) << content;
    return root / name;
  }

private:
  std::filesystem::path root;
};

/// A safetensors file: `json` with its length before and `data` behind.
inline std::string safetensorsFile(std::string_view json, std::string_view data = "") {
  std::string file;
  for (int i = 0; i < 8; ++i)
    file += static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i) & 0xff);
  return file.append(json).append(data);
}

/// The header of a file that holds `tensors` one after the other; sets where in it they lie.
inline std::string safetensorsHeader(std::vector<checkpoint::Tensor> &tensors) {
  std::string header = "{";
  uint64_t end = 0;
  for (checkpoint::Tensor &tensor : tensors) {
    std::string shape;
    for (uint64_t extent : tensor.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    header += (header.size() > 1 ? ",\"" : "\"") + tensor.name + "\":{\"dtype\":\"";
    header += checkpoint::dtypeName(tensor.dtype);
    header += "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(end) + "," +
              std::to_string(end + tensor.bytes) + "]}";
    tensor.offset = end;
    end += tensor.bytes;
  }
  header += "}";
  for (checkpoint::Tensor &tensor : tensors)
    tensor.offset += sizeof(uint64_t) + header.size();
  return header;
}

/// A config.json for what no importer looks at.
inline constexpr std::string_view plainConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_act":"silu",)"
    R"("hidden_size":64,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":1,)"
    R"("num_key_value_heads":1,"vocab_size":64,"max_position_embeddings":64,)"
    R"("rms_norm_eps":1e-5,"rope_theta":10000.0})";

} // namespace ingot::test

// SPDX-License-Identifier: Apache-2.0
// QuantizationConfig: what a checkpoint's files say of weights that are stored quantized. How a
// single tensor is stored shows in the tensors themselves (compiler/importers/StoredWeights.h).
#pragma once

#include "compiler/checkpoint/files/Deviation.h"
#include "compiler/checkpoint/files/Json.h"
#include "compiler/checkpoint/quantized/StoredFormats.h"

#include <array>

namespace ingot::checkpoint {

/// A checkpoint's own quantization, from `quantization_config` of config.json, or from
/// quant_config.json, quantize_config.json or hf_quant_config.json beside it. Formats: AutoAWQ,
/// AutoGPTQ and GPTQModel, compressed-tensors, fine-grained FP8 (DeepSeek-V3), AutoFP8, ModelOpt,
/// bitsandbytes, MXFP4 (gpt-oss) and TorchAO, as their projects write them.
struct QuantizationConfig {
  enum class Method : uint8_t {
    None,
    Awq,
    Gptq,
    CompressedTensors,
    Float8,
    ModelOpt,
    BitsAndBytes,
    MxFp4,
    TorchAo,
  };
  /// What products read, where the checkpoint was made for other than 16-bit activations.
  enum class Activations : uint8_t {
    AsStored,
    Int8PerToken,
    Float8PerToken,
    Int8PerTensor, ///< with the scale of each product's input, as Float8PerTensor
    Float8PerTensor,
  };
  /// What the KV cache holds, with scales of the checkpoint; Declined: what no engine can do.
  enum class KvCache : uint8_t { Unstated, Declined, Int8, Float8 };

  Method method = Method::None;
  std::string methodName; ///< as the file has it; empty for Method::None
  /// Bits and columns of a group (0: a whole row) that hold for every matrix. Nothing where the
  /// file states none, or others for some matrices.
  std::optional<uint64_t> bits, group;
  /// Float8 and CompressedTensors: rows and columns of a block of a matrix that has one scale.
  std::array<uint64_t, 2> block = {128, 128};
  FormatReader packing = FormatReader::None; ///< Awq: who reads the one that is stated
  bool symmetric = false;                    ///< Gptq: every zero point is half the range
  bool zerosLessOne = false;                 ///< Gptq: stored zero points are one too small
  Activations activations = Activations::AsStored;
  KvCache kvCache = KvCache::Unstated;
  std::vector<Deviation> deviations; ///< from what the checkpoint states

  /// Reads what `config` (config.json) and the files beside it say. Adds the files it read to
  /// `inputs`. Errors: those of Json, and INGOT-E1054 for a method or a setting that is not
  /// supported.
  static Expected<QuantizationConfig> read(const Json &config,
                                           const std::filesystem::path &directory,
                                           std::vector<std::filesystem::path> &inputs);
};

} // namespace ingot::checkpoint

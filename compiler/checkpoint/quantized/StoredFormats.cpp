// SPDX-License-Identifier: Apache-2.0
// The registry. A format is a row here, its reader (compiler/importers/StoredWeights.h) and a
// checkpoint of it in the tests.
#include "compiler/checkpoint/quantized/StoredFormats.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

using Kind = EncodingKind;
using Reader = FormatReader;

/// Groups of 128 where checkpoints choose them.
constexpr HeldFormat integers(Kind kind, bool zeroPoints) { return {{kind, 128, zeroPoints}}; }

constexpr HeldFormat int2 = integers(Kind::Int2, false), int2Zeros = integers(Kind::Int2, true),
                     int3 = integers(Kind::Int3, false), int3Zeros = integers(Kind::Int3, true),
                     int4 = integers(Kind::Int4, false), int4Zeros = integers(Kind::Int4, true),
                     int8 = integers(Kind::Int8, false), int8Zeros = integers(Kind::Int8, true),
                     int8Rows{{Kind::Int8, 0}, kF32}, int8RowZeros{{Kind::Int8, 0, true}, kF32},
                     fp8Blocks{{Kind::Fp8, 128}, kF32}, fp8Rows{{Kind::Fp8, 0}, kF32},
                     fp8Tensor{{Kind::Fp8, -1}, kF32},
                     nvfp4{{Kind::CodeBook4, 16, false, kTableScales}, kF32},
                     mxfp4{{Kind::CodeBook4, 32, false, kTableScales}, kF32},
                     mxfp8{{Kind::Fp8, 32, false, kTableScales}, kF32},
                     blocksOf64{{Kind::CodeBook4, 64}, kF32};

constexpr std::string_view symmetric = "integers", withZeros = "integers, zero points",
                           byBlocks = "e4m3, a scale for 128 x 128",
                           byRows = "e4m3, a scale for a row", byTensor = "e4m3, one scale",
                           e2m1E4m3 = "e2m1, e4m3 scales, one of the tensor",
                           e2m1E8m0 = "e2m1, scales that are powers of two",
                           e4m3E8m0 = "e4m3, scales that are powers of two";
constexpr std::string_view oneKernels = "its words have the order of one kernel",
                           sparse = "half of its weights or more are zeros that are not stored";

constexpr StoredFormat formats[] = {
    {"awq", {"gemm"}, withZeros, Reader::AwqByColumns, 4, 16, int4Zeros},
    {"awq", {"gemv"}, withZeros, Reader::AwqByRows, 4, 16, int4Zeros},
    {"awq", {"gemv_fast"}, "integers, offsets", Reader::AwqFast, 4, 16, {{Kind::Affine4, 128}}},
    {.method = "awq", .packings = {"marlin"}, .refusal = oneKernels},

    {"gptq", {"gptq", "gptq_v2"}, symmetric, Reader::Gptq, 2, 16, int2},
    {"gptq", {"gptq", "gptq_v2"}, withZeros, Reader::Gptq, 2, 16, int2Zeros},
    {"gptq", {"gptq", "gptq_v2"}, symmetric, Reader::Gptq, 3, 16, int3},
    {"gptq", {"gptq", "gptq_v2"}, withZeros, Reader::Gptq, 3, 16, int3Zeros},
    {"gptq", {"gptq", "gptq_v2"}, symmetric, Reader::Gptq, 4, 16, int4},
    {"gptq", {"gptq", "gptq_v2"}, withZeros, Reader::Gptq, 4, 16, int4Zeros},
    {"gptq", {"gptq", "gptq_v2"}, symmetric, Reader::Gptq, 8, 16, int8},
    {"gptq", {"gptq", "gptq_v2"}, withZeros, Reader::Gptq, 8, 16, int8Zeros},
    {.method = "gptq", .packings = {"marlin"}, .refusal = oneKernels},
    {.method = "gptq", .packings = {"gptq_p"}, .refusal = "numbers of 5 to 7 bits in planes"},

    {"compressed-tensors", {"pack-quantized"}, symmetric, Reader::PackedIntegers, 2, 16, int2},
    {"compressed-tensors", {"pack-quantized"}, withZeros, Reader::PackedIntegers, 2, 16, int2Zeros},
    {"compressed-tensors", {"pack-quantized"}, symmetric, Reader::PackedIntegers, 3, 16, int3},
    {"compressed-tensors", {"pack-quantized"}, withZeros, Reader::PackedIntegers, 3, 16, int3Zeros},
    {"compressed-tensors", {"pack-quantized"}, symmetric, Reader::PackedIntegers, 4, 16, int4},
    {"compressed-tensors", {"pack-quantized"}, withZeros, Reader::PackedIntegers, 4, 16, int4Zeros},
    {"compressed-tensors", {"pack-quantized"}, symmetric, Reader::PackedIntegers, 8, 16, int8},
    {"compressed-tensors", {"pack-quantized"}, withZeros, Reader::PackedIntegers, 8, 16, int8Zeros},
    {"compressed-tensors",
     {"int-quantized", "naive-quantized"},
     symmetric,
     Reader::Integers,
     8,
     32,
     int8Rows},
    {"compressed-tensors",
     {"int-quantized", "naive-quantized"},
     withZeros,
     Reader::Integers,
     8,
     32,
     int8RowZeros},
    {"compressed-tensors", {"float-quantized"}, byBlocks, Reader::Float8, 8, 32, fp8Blocks},
    {"compressed-tensors", {"float-quantized"}, byRows, Reader::Float8, 8, 32, fp8Rows},
    {"compressed-tensors", {"float-quantized"}, byTensor, Reader::Float8, 8, 32, fp8Tensor},
    {"compressed-tensors", {"nvfp4-pack-quantized"}, e2m1E4m3, Reader::NvFp4, 4, 8, nvfp4},
    {"compressed-tensors", {"mxfp4-pack-quantized"}, e2m1E8m0, Reader::MxFp4, 4, 8, mxfp4},
    {"compressed-tensors", {"mxfp8-quantized"}, e4m3E8m0, Reader::MxFp8, 8, 8, mxfp8},
    {.method = "compressed-tensors",
     .packings = {"sparse-bitmask", "sparse-24-bitmask"},
     .refusal = sparse},
    {.method = "compressed-tensors", .packings = {"marlin-24"}, .refusal = sparse},

    {"fp8", {"e4m3"}, byBlocks, Reader::Float8, 8, 32, fp8Blocks},
    {"fp8", {"e4m3"}, byRows, Reader::Float8, 8, 32, fp8Rows},
    {"fp8", {"e4m3"}, byTensor, Reader::Float8, 8, 32, fp8Tensor},
    {.method = "fp8", .packings = {"e5m2"}, .refusal = "no kernel reads weights of e5m2"},

    {"modelopt", {"FP8"}, byTensor, Reader::Float8, 8, 32, fp8Tensor},
    {"modelopt", {"NVFP4"}, e2m1E4m3, Reader::NvFp4, 4, 8, nvfp4},
    {"modelopt", {"MXFP8"}, e4m3E8m0, Reader::MxFp8, 8, 8, mxfp8},
    {"modelopt", {"W4A16_AWQ"}, symmetric, Reader::NibblesOfRows, 4, 16, int4},
    {.method = "modelopt",
     .packings = {"W4A8_AWQ", "W4A8_NVFP4_FP8", "W4A8_MXFP4_FP8"},
     .refusal = "no kernel quantizes activations this way"},
    {.method = "modelopt",
     .packings = {"NVFP4_AWQ", "W8A8_SQ_PER_CHANNEL"},
     .refusal = "its inputs are smoothed"},
    {.method = "modelopt",
     .packings = {"W8A16", "FP8_PER_CHANNEL_PER_TOKEN"},
     .refusal = "there is no checkpoint to test it with"},
    {.method = "modelopt",
     .packings = {"MIXED_PRECISION"},
     .refusal = "layers name algorithms of their own"},

    {"bitsandbytes", {"nf4", "fp4"}, "a code book", Reader::BitsAndBytes4, 4, 32, blocksOf64},
    {"bitsandbytes",
     {"nf4", "fp4"},
     "a code book, scales of 8 bits",
     Reader::BitsAndBytes4,
     4,
     8,
     blocksOf64},
    {"bitsandbytes", {"int8"}, symmetric, Reader::BitsAndBytes8, 8, 32, int8Rows},

    {"torchao",
     {"Int4WeightOnlyConfig"},
     "integers, offsets",
     Reader::TorchAoInt4,
     4,
     16,
     {{Kind::Affine4, 128}, kF32}},
    {.method = "torchao",
     .packings = {"Int8WeightOnlyConfig", "Float8WeightOnlyConfig"},
     .refusal = "its files hold tensors as TorchAO's own classes lay them out"},
    {.method = "torchao",
     .packings = {"Int8DynamicActivationInt4WeightConfig", "Int8DynamicActivationInt8WeightConfig",
                  "Float8DynamicActivationFloat8WeightConfig"},
     .refusal = "its files hold tensors as TorchAO's own classes lay them out"},

    {"mxfp4", {""}, e2m1E8m0, Reader::MxFp4, 4, 8, mxfp4},
};

} // namespace

bool StoredFormat::isWidened() const {
  auto widens = [](ElementType element, uint32_t stored) {
    return static_cast<uint32_t>(elementBits(element)) > stored;
  };
  return widens(held.encoding.element(), bits) || widens(held.scaleElement(), scaleBits);
}

std::span<const StoredFormat> storedFormats() { return formats; }

const StoredFormat *findFormat(std::string_view method, std::string_view packing) {
  const auto *found = std::find_if(std::begin(formats), std::end(formats), [&](const auto &format) {
    const auto &names = format.packings;
    return format.method == method && !packing.empty() &&
           std::find(names.begin(), names.end(), packing) != names.end();
  });
  return found == std::end(formats) ? nullptr : found;
}

const StoredFormat *findFormat(FormatReader reader, uint32_t bits, bool zeroPoints) {
  const auto *found = std::find_if(std::begin(formats), std::end(formats), [&](const auto &format) {
    return format.reader == reader && format.bits == bits &&
           format.held.encoding.zeroPoints == zeroPoints;
  });
  return found == std::end(formats) ? nullptr : found;
}

} // namespace ingot::checkpoint

// SPDX-License-Identifier: Apache-2.0
// The words that recipes' keys take.
#include "compiler/recipe/RecipeWords.h"

#include <algorithm>

namespace ingot::recipe {

namespace {

using enum NumberFormat;

constexpr RecipeWord word(std::string_view text, NumberFormat value, unsigned keys) {
  return {text, static_cast<int32_t>(value), keys};
}

constexpr RecipeWord method(std::string_view text, Method value) {
  return {text, static_cast<int32_t>(value), Quantizer};
}

constexpr unsigned kFloats = Format | Compute | Store | KvCache;

constexpr RecipeWord kWords[] = {
    word("stored", Stored, kFloats | Attention),
    word("f32", F32, kFloats),
    word("bf16", BF16, kFloats),
    word("f16", F16, kFloats),
    word("int8", Int8, Format | KvCache),
    word("int3", Int3, Format),
    word("int4", Int4, Format),
    word("int5", Int5, Format),
    word("int6", Int6, Format),
    word("nf4", NF4, Format),
    word("fp4", FP4, Format),
    word("nvfp4", NVFP4, Format),
    word("mxfp4", MXFP4, Format),
    word("e4m3", E4M3, KvCache),
    word("e5m2", E5M2, KvCache),
    word("fp8", E4M3, Format | KvCache | Attention),
    word("int8-dynamic", Int8, Compute),
    word("fp8-dynamic", E4M3, Compute),
    word("int8-static", Int8Static, Compute | KvCache),
    word("e4m3-static", E4M3Static, KvCache),
    word("fp8-static", E4M3Static, Compute | KvCache),
    {"32", 32, Group | TokenGroup},
    {"64", 64, Group | TokenGroup},
    {"128", 128, Group | TokenGroup},
    {"channel", kWholeRow, Group | Scale},
    {"token", kWholeRow, TokenGroup},
    {"tensor", kWholeTensor, Scale},
    {"true", 1, ZeroPoints},
    {"false", 0, ZeroPoints},
    method("round", Method::Round),
    method("round-mse", Method::RoundMse),
    method("smoothquant", Method::SmoothQuant),
    method("awq", Method::Awq),
    method("gptq", Method::Gptq),
    method("awq-gptq", Method::AwqGptq),
    method("best", Method::Best),
    {"none", static_cast<int32_t>(Rotation::None), Rotate},
    {"hadamard", static_cast<int32_t>(Rotation::Hadamard), Rotate},
};

} // namespace

std::span<const RecipeWord> words() { return kWords; }

std::string_view wordFor(KeyBit key, int32_t value) {
  const auto *word =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const RecipeWord &word) {
        return (word.keys & key) && word.value == value;
      });
  return word == std::end(kWords) ? std::string_view() : word->text;
}

std::string_view wordFor(KeyBit key, NumberFormat value) {
  return wordFor(key, static_cast<int32_t>(value));
}

} // namespace ingot::recipe

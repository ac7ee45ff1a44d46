// SPDX-License-Identifier: Apache-2.0
// Recipe: which numbers a model is computed with: the format of each weight, of activations and of
// the KV cache. Its text form is described in docs/recipes.md.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace ingot::recipe {

using checkpoint::Error;
using checkpoint::Expected;

/// How numbers are held. `Stored` is the checkpoint's own type; settled() leaves it to weights and
/// attention alone. Those of fewer than 16 bits have scales: `Static` ones those of the checkpoint,
/// the others what fits the values.
enum class NumberFormat : uint8_t {
  Stored,
  F32,
  BF16,
  F16,
  Int8,
  Int3,
  Int4,
  Int5,
  Int6,
  E4M3,
  E5M2,
  NF4,
  FP4,
  NVFP4,
  MXFP4,
  Int8Static,
  E4M3Static,
};

/// Fewer than 16 bits.
constexpr bool isNarrow(NumberFormat format) { return format >= NumberFormat::Int8; }
/// Integers of fewer bits than a byte.
constexpr bool isGrouped(NumberFormat format) {
  return format >= NumberFormat::Int3 && format <= NumberFormat::Int6;
}
/// Floats of 4 bits, which builds read but do not make.
constexpr bool isFourBitFloat(NumberFormat format) {
  return format >= NumberFormat::NF4 && format <= NumberFormat::MXFP4;
}
constexpr bool isStatic(NumberFormat format) { return format >= NumberFormat::Int8Static; }

/// Elements of a row that share a scale, where that is not a number of columns.
inline constexpr int32_t kWholeRow = 0, kWholeTensor = -1;

/// How one weight matrix [out, in] is stored. Fields that its type does not use keep their
/// defaults.
struct WeightFormat {
  static constexpr int32_t defaultGroup = 64;

  NumberFormat type = NumberFormat::Stored;
  /// Int3 to Int6: 32, 64, 128, kWholeRow; E4M3: kWholeRow, kWholeTensor.
  int32_t group = kWholeRow;
  bool zeroPoints = false; ///< Int3 to Int6: each group has a zero point beside its scale

  bool operator==(const WeightFormat &) const = default;
};

/// How tensors of a part that sees are called. Only patterns that begin so match them: what is said
/// of all weights does not mean these.
inline constexpr std::string_view kVision = "vision.";

/// The format of all tensors whose names match.
struct WeightRule {
  std::string match; ///< `*` stands for any characters, `?` for one; the whole name must match
  WeightFormat format;

  bool isOfVision() const { return match.starts_with(kVision); }
  bool matches(std::string_view tensorName) const;

  bool operator==(const WeightRule &) const = default;
};

/// How `ingot quantize` decides what codes a matrix becomes.
enum class Method : uint8_t {
  Round,       ///< each weight to the nearest
  RoundMse,    ///< likewise, with the range of each group that has the least error
  SmoothQuant, ///< of int8: inputs are scaled so that they lose less too (arXiv 2211.10438)
  Awq,         ///< scaled inputs and clipped ranges (arXiv 2306.00978)
  Gptq,        ///< errors are made up for by later columns (arXiv 2210.17323, 2504.02692)
  AwqGptq,     ///< scaled inputs, then that
  Best,        ///< likewise, then coordinate descent
};

/// Whether inputs are scaled, and weights against them.
constexpr bool scalesInputs(Method method) {
  return method == Method::SmoothQuant || method == Method::Awq || method == Method::AwqGptq ||
         method == Method::Best;
}
constexpr bool usesGptq(Method method) { return method >= Method::Gptq; }
/// Whether it looks at the inputs of products.
constexpr bool isCalibrated(Method method) { return method >= Method::SmoothQuant; }

/// What `ingot quantize` does with the channels of a model before it quantizes.
enum class Rotation : uint8_t {
  None,
  Hadamard, ///< the residual stream and heads of values are rotated (arXiv 2404.00456)
};

struct Activations {
  NumberFormat compute = NumberFormat::Stored; ///< what a matrix product reads
  /// What results are rounded to: `compute` itself, unless that is narrow.
  NumberFormat store = NumberFormat::Stored;
  int32_t group = kWholeRow; ///< Int8: elements of a token that share a scale, as in weights

  bool operator==(const Activations &) const = default;
};

/// A rule that decides no tensor's format.
struct UnusedRule {
  size_t rule = 0;       ///< its index in Recipe::weights
  bool shadowed = false; ///< names match it, but each matches an earlier rule too
};

struct Recipe {
  std::vector<WeightRule> weights; ///< the first that matches decides
  Activations activations;
  NumberFormat kvCache = NumberFormat::Stored;
  NumberFormat attention = NumberFormat::Stored; ///< what its products read
  Method method = Method::Round;                 ///< of formats of 8 bits and fewer
  Rotation rotation = Rotation::None;            ///< before that

  /// Everything in the checkpoint's own types.
  static Recipe defaults() { return {}; }

  /// This recipe for a checkpoint whose own type is `own`, which is not Stored: activations and KV
  /// cache with their types written out.
  Recipe settled(NumberFormat own) const;

  /// Errors: INGOT-E2001 to E2010 and E2014, each with line and column; `fileName` is used in
  /// messages only.
  static Expected<Recipe> parse(const std::string &text, const std::string &fileName);
  static Expected<Recipe> read(const std::filesystem::path &path);

  /// The rule that decides the format of a tensor; null: none.
  const WeightRule *ruleFor(std::string_view tensorName) const;

  /// The format of a tensor; Stored when no rule matches.
  WeightFormat formatFor(std::string_view tensorName) const;

  /// The rules that decide the format of none of these tensors, in order.
  std::vector<UnusedRule> unusedRules(std::span<const std::string> tensorNames) const;

  /// The one text form of this recipe, with every effective value written out; parse() gives the
  /// same recipe back.
  std::string str() const;

  bool operator==(const Recipe &) const = default;
};

/// Whether `text` as a whole matches `pattern`, as WeightRule::match explains.
bool matchesPattern(std::string_view pattern, std::string_view text);

} // namespace ingot::recipe

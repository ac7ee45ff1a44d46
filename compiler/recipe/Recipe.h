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

enum class WeightType : uint8_t { Stored, F32, BF16, F16, Int8, Int4, Fp8 };
enum class ScaleShape : uint8_t { Tensor, Channel };
// `Stored` is the checkpoint's own type; settled() leaves it to weights and attention alone.
// `Static`: with the scales of the checkpoint.
enum class ActivationType : uint8_t {
  Stored,
  F32,
  BF16,
  F16,
  Int8Dynamic,
  Fp8Dynamic,
  Int8Static,
  Fp8Static,
};
enum class StoreType : uint8_t { Stored, F32, BF16, F16 };
enum class KvType : uint8_t { Stored, F32, BF16, F16, Int8, E4M3, E5M2, Int8Static, E4M3Static };
enum class AttentionType : uint8_t { Stored, Fp8 };

// The names used in recipes.
std::string_view name(WeightType type);
std::string_view name(ScaleShape shape);
std::string_view name(ActivationType type);
std::string_view name(StoreType type);
std::string_view name(KvType type);
std::string_view name(AttentionType type);

/// Whether products read 8 bits.
bool isEightBits(ActivationType type);
/// Whether the scales are the checkpoint's.
bool isStatic(ActivationType type);
bool isStatic(KvType type);

/// How one weight matrix [out, in] is stored. Fields that its type does not use keep their
/// defaults.
struct WeightFormat {
  /// `group` of a scale for each whole row.
  static constexpr uint32_t wholeRow = 0;
  static constexpr uint32_t defaultGroup = 64;

  WeightType type = WeightType::Stored;
  uint32_t group = wholeRow; ///< Int4: elements of a row that share a scale: 32, 64, 128, wholeRow
  bool zeroPoints = false;   ///< Int4: each group has a zero point beside its scale
  ScaleShape scale = ScaleShape::Channel; ///< Fp8: one scale for the tensor, or one for each row

  bool operator==(const WeightFormat &) const = default;
};

/// The format of all tensors whose names match.
struct WeightRule {
  std::string match; ///< `*` stands for any characters, `?` for one; the whole name must match
  WeightFormat format;

  bool operator==(const WeightRule &) const = default;
};

struct Activations {
  /// `group` of a scale for each whole row.
  static constexpr uint32_t wholeRow = 0;

  ActivationType compute = ActivationType::Stored; ///< what a matrix product reads
  StoreType store =
      StoreType::Stored; ///< what results are rounded to; `compute` itself, unless it has 8 bits
  uint32_t group = wholeRow; ///< Int8Dynamic: elements of a token that share a scale, as in weights

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
  KvType kvCache = KvType::Stored;
  AttentionType attention = AttentionType::Stored; ///< what its products read

  /// Everything in the checkpoint's own types.
  static Recipe defaults() { return {}; }

  /// This recipe for a checkpoint whose own type is `own`, which is not Stored: activations and KV
  /// cache with their types written out.
  Recipe settled(StoreType own) const;

  /// Errors: INGOT-E2001 to E2010, each with line and column; `fileName` is used in messages only.
  static Expected<Recipe> parse(const std::string &text, const std::string &fileName);
  static Expected<Recipe> read(const std::filesystem::path &path);

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

// SPDX-License-Identifier: Apache-2.0
// The vocabulary of recipes: which keys there are, and which words each takes. Reading, the text
// form, what errors list and the check of docs/recipes.md follow from these two tables.
#pragma once

#include "compiler/recipe/Recipe.h"

#include <variant>

namespace ingot::recipe {

/// The keys that take words; bits, for a word may be a value of several.
enum KeyBit : uint16_t {
  Format = 1 << 0,
  Group = 1 << 1,
  ZeroPoints = 1 << 2,
  Scale = 1 << 3,
  Compute = 1 << 4,
  Store = 1 << 5,
  TokenGroup = 1 << 6,
  KvCache = 1 << 7,
  Attention = 1 << 8,
  Quantizer = 1 << 9,
  Rotate = 1 << 10,
};

struct RecipeWord {
  std::string_view text;
  int32_t value; ///< of the key's field: a NumberFormat, columns that share a scale, or 0 and 1
  unsigned keys; ///< KeyBit
};

/// All of them. Where two words of a key mean the same, its text form has the first.
std::span<const RecipeWord> words();

/// A key of a section, whose first key, where any of its keys is `with`, says what kind it is.
template <class Section> struct RecipeKey {
  std::string_view name;
  std::string_view meaning; ///< of its value, for errors
  KeyBit bit;
  std::variant<NumberFormat Section::*, int32_t Section::*, bool Section::*, Method Section::*,
               Rotation Section::*>
      field;
  unsigned with = ~0u; ///< 1 << NumberFormat: the kinds of section that have this key
  int32_t initial = 0; ///< what the field is where the key is left out

  int32_t get(const Section &section) const {
    return std::visit([&](auto member) { return static_cast<int32_t>(section.*member); }, field);
  }
  void set(Section &section, int32_t value) const {
    std::visit(
        [&](auto member) {
          section.*member = static_cast<std::remove_reference_t<decltype(section.*member)>>(value);
        },
        field);
  }
  bool isOf(NumberFormat kind) const { return with >> static_cast<unsigned>(kind) & 1; }
};

template <std::same_as<NumberFormat>... Kinds> constexpr unsigned only(Kinds... kinds) {
  return ((1u << static_cast<unsigned>(kinds)) | ...);
}

/// Integers of fewer bits than a byte.
inline constexpr unsigned kGrouped =
    only(NumberFormat::Int3, NumberFormat::Int4, NumberFormat::Int5, NumberFormat::Int6);

inline constexpr RecipeKey<WeightFormat> kWeightKeys[] = {
    {"format", "weight format", Format, &WeightFormat::type},
    {"group", "group size", Group, &WeightFormat::group, kGrouped, WeightFormat::defaultGroup},
    {"zero_points", "value", ZeroPoints, &WeightFormat::zeroPoints, kGrouped},
    {"scale", "scale", Scale, &WeightFormat::group, only(NumberFormat::E4M3)},
};

inline constexpr RecipeKey<Activations> kActivationKeys[] = {
    {"compute", "activation format", Compute, &Activations::compute},
    {"store", "store type", Store, &Activations::store,
     only(NumberFormat::Int8, NumberFormat::E4M3, NumberFormat::Int8Static,
          NumberFormat::E4M3Static)},
    {"group", "group size", TokenGroup, &Activations::group, only(NumberFormat::Int8)},
};

/// Keys of the recipe itself, beside `version` and the two sections.
inline constexpr RecipeKey<Recipe> kRecipeKeys[] = {
    {"kv_cache", "KV cache format", KvCache, &Recipe::kvCache},
    {"attention", "attention format", Attention, &Recipe::attention},
    {"method", "method of quantization", Quantizer, &Recipe::method},
    {"rotation", "rotation", Rotate, &Recipe::rotation},
};

/// The word for a value of a key, which has one.
std::string_view wordFor(KeyBit key, int32_t value);
std::string_view wordFor(KeyBit key, NumberFormat value);

} // namespace ingot::recipe

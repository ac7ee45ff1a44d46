// SPDX-License-Identifier: Apache-2.0
// Recipes that have a name, and need no file.
#pragma once

#include "compiler/recipe/Recipe.h"

#include <optional>
#include <string>

namespace ingot::recipe {

/// A recipe that comes with Ingot.
struct Preset {
  std::string_view name;    ///< as in `--recipe int4`
  std::string_view summary; ///< one line, for people
  std::string_view text;    ///< as Recipe::parse reads it
  /// How the matrices of sensitiveParts() are held, which stands before the rules of `text`; where
  /// it is nothing, `text` decides.
  std::optional<NumberFormat> sensitive = std::nullopt;
};

/// Patterns of the matrices of models that lose most in 4 bits, for what they take: docs/recipes.md
/// says by what measurement.
std::span<const std::string_view> sensitiveParts();

/// What is said of them.
inline constexpr std::string_view kWhySensitive = "4 bits would cost more there than elsewhere";

/// Whether a rule with one of those patterns decides the format of the tensor.
bool isSensitive(const Recipe &recipe, std::string_view tensorName);

/// Leaves what those rules decide as it is stored, for want of a place beside 4 bits.
void keepSensitive(Recipe &recipe);

/// All of them, in the order in which people are told of them.
std::span<const Preset> presets();

/// The preset called `name`; nothing if there is none.
std::optional<Recipe> presetCalled(std::string_view name);

/// The recipe that `asked` means: a preset's name, or a file (which a path with a folder, as in
/// ./int4, always is). Errors: INGOT-E2012, no such preset nor file; those of Recipe::read.
Expected<Recipe> presetOrFile(const std::filesystem::path &asked);

} // namespace ingot::recipe

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
};

/// All of them, in the order in which people are told of them.
std::span<const Preset> presets();

/// The preset called `name`; nothing if there is none.
std::optional<Recipe> presetCalled(std::string_view name);

/// The recipe that `asked` means: a preset's name, or a file (which a path with a folder, as in
/// ./int4, always is). Errors: INGOT-E2012, no such preset nor file; those of Recipe::read.
Expected<Recipe> presetOrFile(const std::filesystem::path &asked);

} // namespace ingot::recipe

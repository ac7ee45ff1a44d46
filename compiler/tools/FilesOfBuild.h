// SPDX-License-Identifier: Apache-2.0
// Files that commands of the compiler read and write beside those that options name.
#pragma once

#include "compiler/build/BuildOptions.h"
#include "compiler/checkpoint/Checkpoint.h"
#include "runtime/tools/CommandFiles.h"

namespace ingot::compiler {

/// Adds all files of a model, opened from `path`. `name`: what messages call it.
void addModel(runtime::CommandFiles &files, const std::string &name,
              const checkpoint::Checkpoint &model, const std::filesystem::path &path);
/// The same of the model at `path`. Errors: those of Checkpoint::open.
checkpoint::Outcome addModel(runtime::CommandFiles &files, const std::string &name,
                             const std::filesystem::path &path);

/// Adds the files of the folders of texts that `option` names, and a recipe unless it has a name.
void addTexts(runtime::CommandFiles &files, const std::string &option,
              std::span<const std::filesystem::path> paths);
void addRecipe(runtime::CommandFiles &files, const std::filesystem::path &recipe);

/// Adds what a search for `output` writes; `lockfile`: where --lockfile says, or empty.
void addSearch(runtime::CommandFiles &files, const std::filesystem::path &output,
               const std::filesystem::path &lockfile);

/// CommandFiles::check() with the compiler's errors.
checkpoint::Outcome checkFiles(const runtime::CommandFiles &files);

} // namespace ingot::compiler

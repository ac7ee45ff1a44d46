// SPDX-License-Identifier: Apache-2.0
// Models that are given by name, in place of a path.
#pragma once

#include <filesystem>
#include <optional>

namespace ingot::compiler {

/// Lets `ingot-pull` find or fetch `model` where that has the form of a name and nothing is at that
/// path, and makes it the path that results; what was pulled once is taken without asking again.
/// Nothing where the command goes on, else its exit status, and why is printed. `quiet`: no
/// progress.
std::optional<int> pullNamedModel(std::filesystem::path &model, bool quiet = false);

/// The program of that name beside this one.
std::filesystem::path programBeside(const char *name);

/// Prints that it cannot be started, for errno's reason, and returns the exit status. `code`: the
/// error's.
int cannotStart(const char *code, const std::filesystem::path &program, int reason);

/// Waits for a child and returns its exit status; 1 where a signal ended it.
int statusOfChild(int child);

} // namespace ingot::compiler

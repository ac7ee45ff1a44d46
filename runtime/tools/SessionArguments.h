// SPDX-License-Identifier: Apache-2.0
// Command-line options shared by every command that loads an engine.
#pragma once

#include "runtime/serving/Session.h"

#include <CLI/CLI.hpp>

namespace ingot::runtime {

/// Adds --memory, --max-sequences, --max-context, --max-tokens, --max-logit-rows, --threads,
/// --target and --verify-weights; parsing fills `options`, which must outlive `app`.
void addSessionOptions(CLI::App &app, SessionOptions &options);

/// Prints "error INGOT-Ennnn: message" to stderr and returns 1.
int reportError(const Status &status);

/// Parses. False when the command ends here (help, or an error that was printed): `exitStatus` is
/// set.
bool parseArguments(CLI::App &app, int argc, char **argv, int &exitStatus);

} // namespace ingot::runtime

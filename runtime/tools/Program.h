// SPDX-License-Identifier: Apache-2.0
// What every program does around its work, and the one shape of its errors.
#pragma once

#include "runtime/core/Status.h"

#include <string>

namespace ingot::runtime {

class CommandLine;

/// Runs `work` and returns its exit status. Descriptors 0 to 2 that are closed are occupied first,
/// so that no file gets one of them and what is printed does not end up in it: writing to them
/// fails. What `work` leaves unsaid ends in an error on stderr and status 1: an exception of any
/// thread (INGOT-E2110), no memory (INGOT-E6010), output that was not written (INGOT-E7102), and an
/// engine that is cut or overwritten meanwhile (INGOT-E7104).
int runProgram(int argc, char **argv, int (*work)(int argc, char **argv));

/// Prints "error: INGOT-Ennnn: message" to stderr, behind what stdout holds. The exit status: 2
/// where the command line is wrong (INGOT-E2100, INGOT-E2103), otherwise 1.
int reportError(const Status &status);

/// Prints what the program does not handle, as INGOT-E2110, and returns the exit status.
int reportDefect(const std::string &what);

/// Prints that there is not enough memory, as INGOT-E6010, without using any; the exit status.
int reportNoMemory();

/// What is wrong with a command line, as INGOT-E2103. `program`: with the command, as people type
/// it.
Status usageError(const std::string &program, const std::string &what);

/// Parses, and checks the files that options name. `isHelp`: it was asked for, and printed.
Status readArguments(CommandLine &app, int argc, char **argv, bool &isHelp);

/// The same; an error is printed. False when the command ends here, with `exitStatus`.
bool parseArguments(CommandLine &app, int argc, char **argv, int &exitStatus);

} // namespace ingot::runtime

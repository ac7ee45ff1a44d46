// SPDX-License-Identifier: Apache-2.0
// What every program does around its work.
#pragma once

namespace ingot::runtime {

/// Runs `work` and returns its exit status. Descriptors 0 to 2 that are closed are occupied first,
/// so that no file gets one of them and what is printed does not end up in it: writing to them
/// fails. What `work` leaves unsaid ends in an error on stderr and status 1: an exception
/// (INGOT-E2110), no memory (INGOT-E6010), output that was not written (INGOT-E7102), and an engine
/// that is cut or overwritten meanwhile (INGOT-E7104).
int runProgram(int argc, char **argv, int (*work)(int argc, char **argv));

} // namespace ingot::runtime

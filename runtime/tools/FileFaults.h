// SPDX-License-Identifier: Apache-2.0
// What a program says when a file it has mapped is cut or overwritten.
#pragma once

namespace ingot::runtime {

/// From now on SIGBUS on a page of a mapped file, and SIGSEGV while a mapped file has been written
/// to since this call, end the program with INGOT-E7104, which names the file, and status 1. Other
/// faults end it as before.
void reportFileFaults();

} // namespace ingot::runtime
